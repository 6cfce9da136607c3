//! Making a pair of virtual network interfaces, and removing it.
//!
//! **Measures:** One message to the kernel (rtnetlink) that makes a pair, `veth`, as each container
//! with a network has one, and its answer; as `.remove` the removal of both.
//!
//! **Does not measure:** Addresses, routes, or moving one end to another namespace; packets over
//! the pair.
//!
//! **Method:** In a network namespace of the worker's own. The two take turns; each is timed alone.
//!
//! **Proofs:** After each message that makes, both interfaces are listed in `/proc/self/net/dev`;
//! after each that removes, neither is.
//!
//! **Pitfalls:**
//! - A removal waits until no CPU can still use the interface: milliseconds, and more where many
//!   CPUs are busy.
//! - It takes CAP_NET_ADMIN and a kernel with veth.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#isolation.

use super::toggle;
use groma_harness::prelude::*;
use groma_harness::sys::namespaces::leave_network;
use groma_harness::sys::netlink::Pair;
use std::io;

/// The series of what makes, which is the main one, and of what removes.
const SERIES: [&str; 2] = ["make", "remove"];
/// The names of both ends.
const ENDS: [&str; 2] = ["groma0", "groma1"];

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Making a pair of virtual network interfaces; removing it",
        about: about!("veth.rs"),
        iteration: "one pair",
        timing: Timing::Each,
        outputs: &[Output::MAIN.series(SERIES[0]), Output::named(SERIES[1], "removing the pair")],
        scaling: Scaling::processes("each copy has a network namespace of its own"),
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.veth")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    leave_network().map_err(|e| BenchError::Denied(format!("making a network namespace: {e}")))?;
    let pair = Pair::new(ENDS[0], ENDS[1]).context("making a netlink socket")?;
    let made = || {
        pair.make().map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => BenchError::Unsupported("this kernel has no veth".to_owned()),
            _ => BenchError::from_io("making a pair of interfaces", &error),
        })
    };
    let there = || {
        let names = std::fs::read_to_string("/proc/self/net/dev").context("reading /proc/self/net/dev")?;
        let listed = ENDS.map(|end| names.contains(&format!("{end}:")));
        if listed[0] == listed[1] {
            Ok(listed[0])
        } else {
            Err(BenchError::Failed("one end alone is there".to_owned()))
        }
    };
    toggle(ctx, SERIES, made, || pair.remove().context("removing a pair of interfaces"), there)
}
