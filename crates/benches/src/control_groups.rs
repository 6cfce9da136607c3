//! Control groups of a round, and why there are none.

use groma_harness::prelude::*;
use groma_harness::sys::control_group::ControlGroup;
use std::io;

/// A group below that of this process, or why there is none.
pub(crate) fn own_group(controller: Option<&str>) -> Result<ControlGroup, BenchError> {
    nested_group(controller, "", 1)
}

/// As [`own_group`], the lowest of `depth` groups.
pub(crate) fn nested_group(controller: Option<&str>, name: &str, depth: usize) -> Result<ControlGroup, BenchError> {
    ControlGroup::nested(controller, name, depth).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => BenchError::Unsupported(format!(
            "no control group at or above that of this process enables '{}' for its children (cgroup.subtree_control)",
            controller.unwrap_or_default()
        )),
        io::ErrorKind::NotFound => BenchError::Unsupported(match controller {
            Some(name) => format!("no hierarchy of control groups has the controller '{name}' here"),
            None => "the unified hierarchy of control groups is not mounted".to_owned(),
        }),
        _ => BenchError::Denied(format!("making a control group: {error}")),
    })
}
