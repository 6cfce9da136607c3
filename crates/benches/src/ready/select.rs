//! Asking with `select` which of some descriptors are readable.
//!
//! **Measures:** One call that does not wait: the entry into the kernel, the set copied in and out,
//! a look at every number up to the highest, and a poll of each file in the set. It includes
//! filling the set for each call (at most 128 bytes), since the kernel overwrites it.
//!
//! **Does not measure:** Waiting or waking.
//!
//! **Method:** Many calls in one short interval with a time-out of zero; each must report as many
//! descriptors as are ready. All descriptors are made for the benchmark and have the lowest free
//! numbers; whatever makes them ready (the other end of a pipe) has a higher number. The call is
//! `pselect6` without a mask, which every architecture has. The proofs are the same loop in a child
//! cut off from the kernel, and the set of the last call, checked number by number.
//!
//! **Calls:**
//! - `count=4 ready=last`: `select`, not `poll(`
//!
//! **Pitfalls:**
//! - lmbench asks about duplicates of one descriptor, which share one wait queue; it passes the
//!   number of descriptors instead of the highest number plus one; and beyond 1024 it writes
//!   outside the set. Here such numbers are `unsupported`.
//! - Regular files are always ready.
//! - An empty pipe without a writer is at its end, which counts as ready.
//!
//! **Sources:** Ousterhout 1990 table 4 (1 empty, 10 empty, 10 full pipes); lmbench3 `lat_select`
//! (100 to 500 TCP sockets, all ready). See docs/methods/operating-system.md#readiness.

use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::ready::{SELECT_LIMIT, Select};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: select over some descriptors, without waiting",
        about: about!("select.rs"),
        iteration: "one select",
        params: &[
            super::COUNT.quick(&["1"]).standard(&["10", "100"]).full(&["500", "1000"]),
            super::KIND.standard(&["tcp"]),
            super::READY.quick(&["none"]).standard(&["all"]),
        ],
        combination_tier,
        scaling: super::PROCESSES,
        ..Info::new("ready.select")
    },
    run: Run::Here(run),
};

/// Without `--full`: the three points of Ousterhout's table of 1990, and one of lmbench's.
fn combination_tier(params: &Params) -> Tier {
    match (params.int("count"), params.word("kind"), params.word("ready")) {
        (Some(1), Some("pipe"), Some("none")) | (Some(10), Some("pipe"), _) | (Some(100), Some("tcp"), Some("all")) => {
            Tier::Quick
        }
        _ => Tier::Full,
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let mut numbers = 0;
    super::measure(ctx, |fds| {
        let select = Select::over(fds).map_err(|number| {
            BenchError::Unsupported(format!(
                "a descriptor has the number {number}: select goes up to {}",
                SELECT_LIMIT - 1
            ))
        })?;
        numbers = select.numbers();
        Ok(select)
    })?;
    ctx.fact("select.numbers", numbers);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_standard_run_takes_four_points() {
        let texts: Vec<String> = BENCH.info.points(Tier::Standard).iter().map(Params::to_string).collect();
        assert_eq!(texts[..2], ["count=1 kind=pipe ready=none", "count=10 kind=pipe ready=none"]);
        assert_eq!(texts[2..], ["count=10 kind=pipe ready=all", "count=100 kind=tcp ready=all"]);
    }

    #[test]
    fn more_than_a_set_can_hold_is_unsupported() {
        match try_out(&BENCH, &[("count", "1024")], None) {
            Err(BenchError::Unsupported(why)) => assert!(why.contains("select goes up to 1023"), "{why}"),
            Err(BenchError::Denied(why)) => eprintln!("{why}"),
            other => panic!("{other:?}"),
        }
    }

    /// The kernel looks through all numbers up to the highest: those of the other ends are not
    /// among them.
    #[test]
    fn the_numbers_looked_through_are_those_of_the_set() {
        let numbers = |count: &str| -> Option<u64> {
            match try_out(&BENCH, &[("count", count)], None) {
                Ok(tried) => tried.result.fact("select.numbers").and_then(|n| n.parse().ok()),
                Err(why) => {
                    println!("not here: {why}");
                    None
                }
            }
        };
        // Other tests hold descriptors, for seconds, up to some thousands.
        let mut seen = Vec::new();
        for _ in 0..100 {
            let (Some(few), Some(many)) = (numbers("100"), numbers("400")) else { return };
            seen.push((few, many));
            // Behind the three standard ones.
            assert!(few >= 103 && many >= 403, "{few} {many}");
            if few < 200 && many < 550 {
                return;
            }
        }
        panic!("numbers for 100 pipes, and for 400: {seen:?}");
    }
}
