//! The memory nodes that pages may be on, and those that they are on.
//!
//! # Safety
//! `mbind` changes where future pages of an exclusively held mapping come from; `move_pages`
//! without a list of nodes only reads. Both get buffers of the lengths that they are given.
#![expect(unsafe_code, reason = "mbind and move_pages")]

use crate::pages::{Map, page_size};
use crate::topology::parse_cpus;
use std::io;

/// Only the named nodes, and an error where they have no memory left (`linux/mempolicy.h`).
const MPOL_BIND: i32 = 2;

/// Allocates new pages of the mapping on this node.
///
/// # Errors
/// Those of `mbind`: `EINVAL` for a node that does not exist or is not allowed, `ENOSYS` where the
/// kernel has no nodes.
pub fn bind(map: &mut Map, node: u32) -> io::Result<()> {
    let mut mask = vec![0u64; node as usize / 64 + 1];
    mask[node as usize / 64] |= 1 << (node % 64);
    // The kernel uses one bit less than it is given.
    let bits = mask.len() * 64 + 1;
    // SAFETY: see the module's Safety section.
    let done =
        unsafe { libc::syscall(libc::SYS_mbind, map.as_mut_ptr(), map.len(), MPOL_BIND, mask.as_ptr(), bits, 0) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The node of each of up to `samples` pages of the mapping, evenly spread; `None` for a page that
/// is not present.
///
/// # Errors
/// Those of `move_pages`: `ENOSYS` where the kernel has no nodes.
pub fn nodes(map: &Map, samples: usize) -> io::Result<Vec<Option<u32>>> {
    let pages = map.len() / page_size();
    let many = samples.min(pages);
    let at: Vec<*const u8> = (0..many).map(|i| map[i * pages / many * page_size()..].as_ptr()).collect();
    let mut status = vec![0i32; many];
    // SAFETY: see the module's Safety section; both lists have `many` entries.
    let done = unsafe {
        libc::syscall(libc::SYS_move_pages, 0, many, at.as_ptr(), std::ptr::null::<i32>(), status.as_mut_ptr(), 0)
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(status.into_iter().map(|node| u32::try_from(node).ok()).collect())
}

/// The nodes with memory, in ascending order; `None` where the kernel does not say.
pub fn with_memory() -> Option<Vec<u32>> {
    let list = std::fs::read_to_string("/sys/devices/system/node/has_memory").ok()?;
    parse_cpus(list.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Policy;

    #[test]
    fn pages_bound_to_a_node_are_there() {
        let mut map = Map::anonymous(64 * page_size(), Policy::Base).expect("memory");
        match bind(&mut map, 0) {
            // A kernel without nodes, or a filter.
            Err(e) => return println!("skipped: {e}"),
            Ok(()) => map.populate(),
        }
        assert_eq!(nodes(&map, 16).expect("nodes"), vec![Some(0); 16]);
        map.drop_pages().expect("madvise");
        assert_eq!(nodes(&map, 3).expect("nodes"), [None; 3]);
        assert!(bind(&mut map, 1000).is_err());
    }
}
