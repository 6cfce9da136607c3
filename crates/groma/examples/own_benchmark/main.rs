//! How fast the standard library checks that bytes are UTF-8.
//!
//! Measures: `str::from_utf8` over one buffer, again and again, so that the buffer is in the
//! fastest cache that holds it. Does not measure text with multi-byte characters, which takes a
//! slower path through the same function.
//!
//! Method: whole passes over the buffer, many in one short interval. The result of each call is
//! checked.
//!
//! Pitfalls: the compiler could see that the result is always the same; `black_box` hides the
//! buffer from it.

use groma::prelude::*;
use std::hint::black_box;
use std::process::ExitCode;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Checking that bytes are UTF-8",
        about: about!("main.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "one pass over the buffer",
        params: &[Param::size("size", "bytes in the buffer")
            .quick(&["4K"])
            .standard(&["1M"])
            .full(&["64", "64K", "16M"])],
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
    ctx.prove("checks that failed", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

fn main() -> ExitCode {
    groma::main(&[&BENCH])
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma::testing::try_out;

    #[test]
    fn every_check_succeeds() {
        for size in ["64", "4K"] {
            let tried = try_out(&BENCH, &[("size", size)], None).expect("nothing is needed but memory");
            assert!(tried.samples("") >= 3 && tried.iterations > 100);
            assert_eq!(tried.proven("checks that failed"), 0.0);
        }
    }
}
