//! lat_ctx: context switches.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::measure::{Want, points};
use super::load;

pub(in super::super) static PROGRAMS: &[Program] = &[Program {
    name: "lat_ctx",
    usage: load!(" [-s kilobytes] processes [processes...]"),
    letters: "P:W:N:s:",
    prints: "an empty line, \"size=0k ovr=0.50, and for each number of processes: 2 1.06",
    differs: "as there the cost of pipe and sum is taken off; the ring stays on one CPU, which \
              there depends on the scheduler; a process touches a word of each line instead of \
              every word; ovr is that of the first ring",
    native: "groma run ctx.switch --param kind=process --param access=read: `ctx.switch.net`; the \
             main value has the pipe in it",
    run,
}];

/// As many tasks as fit what `ctx.switch` allows; lmbench has a constant of 2048 that it ignores.
const MAX_PROCESSES: u64 = 2048;
/// A gigabyte for each process, in kilobytes.
const MAX_KILOBYTES: u64 = 1 << 20;

fn run(call: &mut Call<'_>) -> Outcome {
    let kilobytes = call.number_of('s', 0, [0, MAX_KILOBYTES])?;
    call.needed(0, "the number of processes")?;
    let counts: Vec<u64> = call
        .words
        .operands
        .iter()
        .map(|text| call.number(&format!("'{text}'"), text, [1, MAX_PROCESSES]))
        .collect::<Result<_, Stop>>()?;
    // A ring of one makes no switch, so there is no row for it.
    let rings: Vec<u64> = counts.into_iter().filter(|n| *n > 1).collect();
    if rings.is_empty() {
        return Err(Stop::Unmeasured("one process switches to no other".to_owned()));
    }
    let want = |n: &u64| {
        let size = format!("{kilobytes}K");
        let size = if kilobytes == 0 { "0".to_owned() } else { size };
        let want = Want::of("ctx.switch").with("tasks", n).with("working_set", size);
        want.with("kind", "process").with("access", "read")
    };
    let wants: Vec<Want> = rings.iter().map(want).collect();
    let measured = points(call, &wants)?.found;
    let Some(overhead) = measured.first().and_then(|found| found.value(call, "hot")) else { return Ok(()) };
    call.line(Some(String::new()));
    call.line(Some(format!("\"size={kilobytes}k ovr={:.2}", overhead * 1e6)));
    for (n, found) in rings.iter().zip(&measured) {
        let Some(seconds) = found.value(call, "net") else { continue };
        if seconds > 0.0 {
            call.line(Some(format!("{n} {:.2}", seconds * 1e6)));
        } else {
            call.absent(&format!("{n} processes: the ring took no longer than the pipe alone"));
        }
    }
    Ok(())
}
