//! Energy of an operation, and the power of the processor while it works and while it idles.
//!
//! **Measures:** Joules that the processor packages use for an operation beyond what they use while
//! this CPU idles: `add`, one of a chain of dependent additions, or `read`, a line of 64 bytes read
//! from memory in order. `.power` is the power of all packages while one CPU works so, `.idle`
//! while it does not.
//!
//! **Does not measure:** Memory modules, disks, fans and power supplies: a meter at the plug does.
//!
//! **Method:** The kernel's counters of the packages (power capping, RAPL) are read before and
//! after 50 ms of work and 50 ms of sleep, in turns. The difference of the two powers, times the
//! time of an operation, is its energy. It may be negative where others were busier meanwhile.
//!
//! **Proofs:** The counters have moved in every stretch, and the loop ran as often as it was told.
//!
//! **Pitfalls:**
//! - The packages are shared: what other tasks do is in both stretches, if it is steady.
//! - A processor that works leaves deeper idle states as a whole: that is part of the difference.
//! - Counters move once a millisecond, and those of some processors are models and not meters.
//! - A guest has no counters, and since Linux 5.10 only root may read them.
//!
//! **Sources:** perf stat -e power/energy-pkg/. See docs/methods/processor.md#energy.

use groma_harness::prelude::*;
use groma_harness::sys::arch::{self, Op};
use groma_harness::sys::energy::{Packages, ZONES};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::sleep;
use groma_harness::sys::stream::Stream;
use std::io;
use std::path::Path;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Energy of an operation beyond idling; power of the processor",
        about: about!("energy.rs"),
        iteration: "one operation",
        timing: Timing::Stated,
        quantity: Quantity::Energy,
        outputs: &[
            Output::MAIN,
            Output::named("power", "Power of the packages while one CPU works").quantity(Quantity::Power),
            Output::named("idle", "Power of the packages while it idles").quantity(Quantity::Power),
        ],
        params: &[Param::word("op", "the work: dependent additions, or lines read from memory", &["add", "read"])
            .quick(&["add"])
            .standard(&["read"])],
        scaling: Scaling::alone("packages are shared: energy cannot be told by task"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("cpu.energy")
    },
    run: Run::Here(run),
};

/// How long a stretch of work or of sleep takes: 50 steps of the counters.
const STRETCH_NS: u64 = 50_000_000;
/// The fewest pairs of stretches in a round.
const MIN_PAIRS: usize = 2;
/// Additions between two looks at the clock.
const ADDITIONS: u64 = 1 << 16;
/// Memory that is read: more than the caches of one core.
const BYTES: usize = 64 << 20;
const LINE: u64 = 64;

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, Path::new(ZONES), || ())
}

/// Measures by the counters below `zones`. `before` is called before each reading of them: the
/// counters of a test have no hardware that moves them.
fn measure(ctx: &mut Ctx, zones: &Path, before: impl Fn()) -> Outcome {
    let mut packages = Packages::below(zones).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BenchError::Unsupported(format!(
            "no counters of energy in {}: a guest, or a processor or kernel without them",
            zones.display()
        )),
        _ => BenchError::Denied(format!("reading the counters of energy takes root: {error}")),
    })?;
    ctx.fact("energy.packages", packages.count());
    let mut memory =
        Map::anonymous(if ctx.word("op") == "read" { BYTES } else { 4096 }, Policy::Base).context("mapping memory")?;
    memory.populate();
    let stream = Stream::new(Op::Read, None).map_err(BenchError::Unsupported)?;
    let mut pass = stream.over(&mut [], &memory).map_err(BenchError::Failed)?;
    let adds = ctx.word("op") == "add";
    let mut work = || {
        if adds {
            arch::add_chain(ADDITIONS);
            ADDITIONS
        } else {
            pass.run(1) / LINE
        }
    };
    // The joules so far, and the time that belongs to them: both are read in the same order at both
    // ends of a stretch, so that what a reading takes cancels.
    let mut reading = || -> Result<(f64, u64), BenchError> {
        before();
        Ok((packages.joules().context("reading a counter")?, sleep::now_ns()))
    };
    // The joules, seconds and operations of one stretch.
    let mut stretch = |busy: bool| -> Result<(f64, f64, u64), BenchError> {
        let (joules, begun) = reading()?;
        let mut operations = 0;
        if busy {
            while sleep::now_ns() < begun + STRETCH_NS {
                operations += work();
            }
        } else {
            // A sleep cut short by a signal is a shorter stretch.
            drop(sleep::until(begun + STRETCH_NS));
        }
        let (after, ended) = reading()?;
        Ok((after - joules, (ended - begun) as f64 * 1e-9, operations))
    };
    let (begun, end) = (ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    let (mut pairs, mut moved, mut all) = (0, 0u64, 0);
    while pairs < MIN_PAIRS || ctx.now_ns() < end {
        let (at_rest, resting, _) = stretch(false)?;
        let (at_work, working, operations) = stretch(true)?;
        moved += u64::from(at_rest > 0.0) + u64::from(at_work > 0.0);
        let (idle, power) = (at_rest / resting, at_work / working);
        ctx.state((power - idle) * working / operations as f64);
        ctx.state_as("power", power);
        ctx.state_as("idle", idle);
        all += operations;
        pairs += 1;
    }
    ctx.sampled_since(begun);
    ctx.prove("stretches in which the counters moved, of all", "1", moved as f64 / (2 * pairs) as f64, 1.0..=1.0);
    ctx.prove("operations", "some", all as f64, 1.0..);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::testing::Place;
    use groma_harness::testing::try_out;
    use std::fs::{create_dir, write};
    use std::path::PathBuf;
    use std::sync::OnceLock;

    const WATTS: f64 = 25.0;
    /// The counter starts again every 0.4 s.
    const RANGE: u64 = 10_000_000;
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    static FAKE: Benchmark =
        Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, TREE.get().expect("a tree"), tell)) };

    /// The counter as it stands now.
    fn tell() {
        let used = (sleep::now_ns() as f64 * 1e-3 * WATTS) as u64 % RANGE;
        write(TREE.get().expect("a tree").join("intel-rapl:0/energy_uj"), format!("{used}\n")).expect("a file");
    }

    /// A package that uses 25 W whatever happens: an operation then costs nothing more.
    #[test]
    fn a_package_of_25_watts_has_25_watts() {
        let place = Place::new();
        let zone = place.path().join("intel-rapl:0");
        create_dir(&zone).expect("a directory");
        write(zone.join("name"), "package-0\n").expect("a file");
        write(zone.join("max_energy_range_uj"), format!("{RANGE}\n")).expect("a file");
        TREE.set(place.path().to_owned()).expect("set once");
        tell();
        let tried = try_out(&FAKE, &[("op", "add")], None).expect("a value");
        for name in ["power", "idle"] {
            // A stretch that is kept from its CPU between its two clocks, or for longer than the
            // counter takes to start again, has another power: hence the middle one of them.
            let mut watts = tried.result.series(name).expect("values").values.clone();
            watts.sort_by(f64::total_cmp);
            let middle = watts[watts.len() / 2];
            assert!((WATTS / 3.0..WATTS * 3.0).contains(&middle), "{name}: {watts:?}");
        }
        place.clear();
    }
}
