//! Asking with `select` which of some descriptors can be read.
//!
//! Measures one call that does not wait: the entry into the kernel, the copying of the set in and out, a look at every number
//! up to the highest, and the question to each file that is asked about. Setting up the set for each call belongs to it,
//! since the kernel overwrites it: at most 128 bytes. Does not measure waiting, nor waking.
//!
//! Method: many calls in one short interval with a timeout of zero; each has to find as many ready as there are. The things
//! asked about are all made for it, and have the lowest numbers there are; what makes them ready (the other end of a pipe)
//! is numbered above them. The call is `pselect6` without a mask, which every architecture has. Proofs: the same loop in a
//! child cut off from the kernel, and the set that came back, number by number.
//!
//! Traps: lmbench asks about copies of one descriptor, which share one queue of waiters, about as many numbers as there are
//! descriptors instead of up to the highest one, and beyond 1024 into memory that is not the set's: here numbers beyond are
//! `unsupported`. Regular files are always ready. An empty pipe without a writer is at its end, and that is ready, too.
//!
//! Source: Ousterhout 1990 table 4 (1 empty, 10 empty, 10 full pipes), lmbench3 `lat_select` (100 to 500 TCP sockets, all
//! ready).

use groma_harness::model::Params;
use groma_harness::prelude::*;
use groma_harness::sys::ready::{SELECT_LIMIT, Select};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: select over some descriptors, without waiting, by number",
        about: about!("select.rs"),
        iteration: "one select",
        params: &[
            super::COUNT.quick(&["1"]).standard(&["10", "100"]).full(&["500", "1000"]),
            super::KIND.standard(&["tcp"]),
            super::READY.quick(&["none"]).standard(&["all"]),
        ],
        combination_tier,
        scaling: super::PROCESSES,
        lineage: &["ousterhout1990:table4", "lmbench3:lat_select"],
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
    fn more_than_a_set_can_hold_is_unsupported() {
        match try_out(&BENCH, &[("count", "1024")], None) {
            Err(BenchError::Unsupported(why)) => assert!(why.contains("select goes up to 1023"), "{why}"),
            Err(BenchError::Denied(why)) => eprintln!("{why}"),
            other => panic!("{other:?}"),
        }
    }
}
