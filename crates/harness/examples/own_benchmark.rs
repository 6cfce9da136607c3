//! How fast the standard library checks that bytes are UTF-8.
//!
//! Measures `str::from_utf8` over one buffer again and again, so that the buffer is in the cache
//! that it fits in. Does not measure text with accents, which takes a slower way through the same
//! function.
//!
//! Method: whole passes over the buffer in one short interval. The proof is the answer of each
//! call.
//!
//! Traps: the compiler sees that the answer is always the same; `black_box` hides the buffer from
//! it.

use groma_harness::prelude::*;
use groma_harness::testing::try_out;
use groma_harness::{protocol, worker};
use std::hint::black_box;

static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Checking that bytes are UTF-8",
        about: about!("own_benchmark.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer",
        params: &[Param {
            name: "size",
            help: "bytes in the buffer",
            kind: ParamKind::Size,
            quick: &[],
            default: &["4K", "1M"],
            full: &["64", "4K", "64K", "1M", "16M"],
        }],
        ..Info::new("text.utf8_check")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let text = vec![b'a'; size as usize];
    let mut wrong = 0u64;
    ctx.measure_per(size as f64, |iters| {
        for _ in 0..iters {
            wrong += u64::from(std::str::from_utf8(black_box(&text)).is_err());
        }
        Ok(())
    })?;
    ctx.prove("checks that found fault", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

fn main() {
    // Whoever supervises starts this very program again, with this argument, for each round.
    if std::env::args().nth(1).is_some_and(|a| a == worker::ARGUMENT) {
        worker::main(&[&BENCH]);
    }
    for size in BENCH.info.params[0].default {
        match try_out(&BENCH, &[("size", size)], None) {
            Ok(tried) => println!("size={size}\n{}", protocol::write_result(&tried.result)),
            Err(why) => println!("size={size}: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_made_and_finds_nothing() {
        for size in ["64", "4K"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("nothing is needed but memory");
            assert!(tried.samples("") >= 3 && tried.iterations > 100);
            assert_eq!(tried.proven("checks that found fault"), 0.0);
        }
    }
}
