//! Requests to the kernel through the rings of io_uring. See
//! docs/methods/operating-system.md#io_uring.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::prelude::*;

mod nop;
mod nop_mode;
mod read;
mod read_registered;
mod receive;
mod accept;
mod cancel;
mod poll;
mod msg_ring;

pub(crate) static ABOUT: Family = Family {
    name: "uring",
    summary: "Operations through the rings of io_uring",
    says: Say::Text("an empty operation through io_uring costs {}", &[Figure::Range(Select::Metric("uring.nop"))]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("uring");

/// How many operations are submitted and waited for at once.
const BATCH: Param = Param::count("batch", "operations submitted and waited for by one system call")
    .quick(&["1"])
    .standard(&["32"])
    .full(&["8"]);

/// Whether the result is that of an operation that the kernel does not know.
fn is_unknown(result: i32) -> bool {
    const EINVAL: i32 = 22;
    const EOPNOTSUPP: i32 = 95;
    matches!(-result, EINVAL | EOPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EINVAL and EOPNOTSUPP, as the negative results of an operation.
    #[test]
    fn only_an_operation_that_the_kernel_does_not_know_is_unknown() {
        let seen = [-22, -95, -1, -38, 0, 22].map(is_unknown);
        assert_eq!(seen, [true, true, false, false, false, false]);
    }
}
