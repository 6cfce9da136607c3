//! What containers and sandboxes cost: namespaces, filters of system calls, supervisors. See
//! docs/methods/operating-system.md#isolation.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};
use groma_harness::prelude::*;

mod namespace;
mod filter;
mod supervisor;
mod container;
mod control_group;
mod landlock;
mod tracepoint;
mod uprobe;

pub(crate) use control_group::own_group;

pub(crate) static ABOUT: Family = Family {
    name: "isolation",
    summary: "Namespaces, filters and supervisors of system calls",
    says: Say::Each(&[
        Say::Text("a network namespace costs {}", &[Figure::Value(first("isolation.namespace"))]),
        Say::Text("a supervised system call {}", &[Figure::Value(first("isolation.supervisor"))]),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("isolation");
