//! Leaves a running child and a file behind: the round has to be `ok`, and both have to go.
//!
//! **Measures:** A short chain of additions, whose value does not matter.
//!
//! **Method:** It forks a child that sleeps, and creates a file in the round's private directory.
//! The round has to report and remove both.
//!
//! **Sources:** See docs/methods/operating-system.md#clean-up and
//! docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::fork;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Leaves a child and a file behind: must come back as ok, both gone",
        about: about!("orphan.rs"),
        iteration: "one chain of additions",
        needs: &[Need::WorkDir],
        scaling: Scaling::alone("one orphan is enough"),
        tier: Tier::Named,
        ..Info::new("selftest.orphan")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let file = ctx.work_dir()?.join("orphan");
    std::fs::write(&file, "left behind on purpose").context("writing a file")?;
    let child = fork::fork(|| {
        loop {
            std::thread::park();
        }
    });
    let child = child.context("forking a child")?;
    ctx.fact("orphan.pid", child.pid());
    ctx.fact("orphan.file", file.display());
    // Dropping it would end and reap it.
    std::mem::forget(child);
    ctx.measure(|iters| {
        super::filler(iters);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::process;
    use groma_harness::testing::try_out;

    #[test]
    fn leaves_a_child_and_a_file() {
        let dir = std::env::temp_dir().join(format!("groma-selftest-orphan-{}", process::id()));
        std::fs::create_dir(&dir).expect("a temporary directory");
        let tried = try_out(&BENCH, &[], Some(&dir)).expect("a child and a file");
        let fact = |key| tried.result.fact(key).map(str::to_owned).expect(key);
        let pid = fact("orphan.pid").parse().expect("a number");
        assert!(process::exists(pid));
        process::kill(pid);
        assert!(process::wait(pid).expect("it is our child").signal().is_some());
        std::fs::remove_file(fact("orphan.file")).expect("the file is there");
        std::fs::remove_dir(&dir).expect("and nothing else");
    }
}
