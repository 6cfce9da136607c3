//! enough, timing_o, loop_o, msleep, hello, flushdisk: what lmbench's own scripts call.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::measure::{Want, point, points};
use groma_harness::sys::disk;
use std::os::fd::AsFd;
use std::time::Duration;

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "enough",
        usage: "",
        letters: "",
        prints: "on standard output microseconds: 200",
        differs: "the interval that groma times on this machine and checks for proportionality to \
                  the work; there 5 ms to 1 s",
        native: "groma run clock.step: the step of the clock, from which it follows",
        run: enough,
    },
    Program {
        name: "timing_o",
        usage: "",
        letters: "",
        prints: "on standard output whole microseconds: 0",
        differs: "cut to whole microseconds, as there",
        native: "groma run clock.read: in nanoseconds",
        run: timing_o,
    },
    Program {
        name: "loop_o",
        usage: "",
        letters: "",
        prints: "on standard output microseconds: 0.00028000",
        differs: "a turn of an empty loop; there a difference of two loops of loads",
        native: "groma run clock.loop",
        run: loop_o,
    },
    Program {
        name: "msleep",
        usage: "milliseconds",
        letters: "",
        prints: "nothing: it sleeps",
        differs: "",
        native: "groma run timer.sleep measures how late sleeps end",
        run: msleep,
    },
    Program {
        name: "hello",
        usage: "",
        letters: "",
        prints: "on standard output Hello world",
        differs: "it is groma, so what it takes to start is not what lat_proc measures",
        native: "groma run proc.exec has small programs of its own",
        run: hello,
    },
    Program {
        name: "flushdisk",
        usage: "device [device...]",
        letters: "",
        prints: "nothing: it flushes the buffers of devices",
        differs: "without the pause of 100 ms after each device",
        native: "groma run disk: reads past the page cache, which need no flush",
        run: flushdisk,
    },
];

fn enough(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let measured = points(call, &[Want::of("clock.step")])?;
    let us = measured.host.interval_ns / 1e3;
    call.out((us > 0.0).then(|| format!("{us:.0}")));
    Ok(())
}

fn timing_o(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let seconds = point(call, Want::of("clock.read"))?.value(call, "");
    call.out(seconds.map(|seconds| format!("{:.0}", (seconds * 1e6).floor())));
    Ok(())
}

fn loop_o(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let seconds = point(call, Want::of("clock.loop"))?.value(call, "");
    call.out(seconds.map(|seconds| format!("{:.8}", seconds * 1e6)));
    Ok(())
}

fn msleep(call: &mut Call<'_>) -> Outcome {
    /// A day.
    const MAX_MS: u64 = 86_400_000;
    let text = call.needed(0, "the milliseconds")?;
    call.at_most(1)?;
    std::thread::sleep(Duration::from_millis(call.number(&format!("'{text}'"), text, [0, MAX_MS])?));
    Ok(())
}

fn hello(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    call.out(Some("Hello world".to_owned()));
    Ok(())
}

fn flushdisk(call: &mut Call<'_>) -> Outcome {
    call.needed(0, "the device")?;
    for name in &call.words.operands {
        let failed = |e: std::io::Error| Stop::Missing(format!("{name}: {e}"));
        let device = std::fs::File::open(name).map_err(failed)?;
        disk::flush_buffers(device.as_fd()).map_err(failed)?;
    }
    Ok(())
}
