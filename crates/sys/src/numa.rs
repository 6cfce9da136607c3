//! NUMA: memory bound to a node, the node of each page, and the distances that the firmware
//! declares.
//!
//! # Safety
//! Both calls get ranges of memory that the caller borrows, and masks and lists of their true
//! lengths. Binding changes where pages come from and may move them, never what they hold.
#![expect(unsafe_code, reason = "mbind and move_pages")]

use crate::arch::syscall6;
use crate::cpu_list::parse_cpus;
use crate::pages::{checked, page_size};
use std::io;

/// `MPOL_BIND` of the kernel's `linux/mempolicy.h`: memory of these nodes or none.
const MPOL_BIND: usize = 2;
/// `MPOL_MF_STRICT` and `MPOL_MF_MOVE`: moves pages that are elsewhere, and fails when one cannot
/// be moved.
const MPOL_MF_STRICT_AND_MOVE: usize = 1 | 2;
/// The kernel takes off one bit of the mask's length before it looks (`get_nodes`).
const ONE_MORE: usize = 1;

/// Binds memory to a node: every page of it, present or not yet.
///
/// # Errors
/// Those of `mbind`: `EINVAL` for a node without memory, `EIO` when a page is elsewhere and stays
/// there, `EPERM` under some filters, `ENOSYS` without NUMA.
pub fn bind(memory: &mut [u8], node: u32) -> io::Result<()> {
    let bits = usize::BITS as usize;
    let mut mask = vec![0usize; node as usize / bits + 1];
    mask[node as usize / bits] |= 1 << (node as usize % bits);
    let (at, len, most) = (memory.as_mut_ptr() as usize, memory.len(), mask.len() * bits + ONE_MORE);
    // SAFETY: the range is borrowed exclusively, the mask is as long as it says and only read. The
    // kernel refuses a range that does not begin at a page.
    checked(unsafe {
        syscall6(libc::SYS_mbind as usize, at, len, MPOL_BIND, mask.as_ptr() as usize, most, MPOL_MF_STRICT_AND_MOVE)
    })
}

/// The node of the page at each of these offsets; `None` where there is no page.
///
/// # Errors
/// Those of `move_pages`.
///
/// # Panics
/// When an offset is beyond the memory.
pub fn nodes_of(memory: &[u8], offsets: &[usize]) -> io::Result<Vec<Option<u32>>> {
    let pages: Vec<usize> = offsets
        .iter()
        .map(|&offset| {
            assert!(offset < memory.len(), "an offset is beyond the memory");
            (memory.as_ptr() as usize + offset) / page_size() * page_size()
        })
        .collect();
    let mut found = vec![i32::MIN; pages.len()];
    let (addresses, status) = (pages.as_ptr() as usize, found.as_mut_ptr() as usize);
    // SAFETY: process 0 is this one; without a list of nodes nothing is moved; both lists have the
    // length passed.
    checked(unsafe { syscall6(libc::SYS_move_pages as usize, 0, pages.len(), addresses, 0, status, 0) })?;
    Ok(found.into_iter().map(|node| u32::try_from(node).ok()).collect())
}

/// The node of each of up to `samples` pages of the memory, evenly spread; `None` for a page that
/// is not present.
///
/// # Errors
/// Those of `move_pages`: `ENOSYS` where the kernel has no nodes.
pub fn nodes(memory: &[u8], samples: usize) -> io::Result<Vec<Option<u32>>> {
    nodes_of(memory, &spread(memory.len(), page_size(), samples))
}

/// The offsets of up to `samples` pages of `page` bytes, evenly spread over `len` bytes.
fn spread(len: usize, page: usize, samples: usize) -> Vec<usize> {
    let pages = len / page;
    let samples = samples.min(pages);
    (0..samples).map(|i| i * pages / samples * page).collect()
}

/// The nodes with memory, in ascending order; `None` where the kernel does not say.
pub fn with_memory() -> Option<Vec<u32>> {
    let list = std::fs::read_to_string("/sys/devices/system/node/has_memory").ok()?;
    parse_cpus(list.trim()).ok()
}

/// The relative distance that the firmware declares (SLIT): 10 for the node itself.
pub fn distance(from: u32, to: u32) -> Option<u32> {
    let nodes = "/sys/devices/system/node";
    let row = std::fs::read_to_string(format!("{nodes}/node{from}/distance")).ok()?;
    distance_in(&row, &std::fs::read_to_string(format!("{nodes}/online")).ok()?, to)
}

/// A row has a column for each online node, in their order.
fn distance_in(row: &str, online: &str, to: u32) -> Option<u32> {
    let column = parse_cpus(online.trim()).ok()?.iter().position(|node| *node == to)?;
    row.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Map, Policy};

    /// The error of a kernel without NUMA, or of a filter.
    fn is_refused(e: &io::Error) -> bool {
        matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM | libc::EACCES))
    }

    #[test]
    fn memory_bound_to_node_0_is_there() {
        let mut map = Map::anonymous(8 * page_size(), Policy::Base).expect("memory");
        // Present before it is bound, and after.
        map[0] = 1;
        match bind(&mut map, 0) {
            Err(e) if is_refused(&e) => return eprintln!("skipped: {e}"),
            bound => bound.expect("node 0 has memory"),
        }
        map[page_size()] = 2;
        let seen = nodes_of(&map, &[0, page_size() + 7, 5 * page_size()]).expect("asked of its own memory");
        assert_eq!(seen, [Some(0), Some(0), None]);
        assert_eq!((map[0], map[page_size()]), (1, 2));
    }

    #[test]
    fn pages_are_sampled_evenly_and_those_that_are_gone_have_no_node() {
        let mut map = Map::anonymous(64 * page_size(), Policy::Base).expect("memory");
        match bind(&mut map, 0) {
            Err(e) if is_refused(&e) => return eprintln!("skipped: {e}"),
            bound => bound.expect("node 0 has memory"),
        }
        map.populate();
        assert_eq!(nodes(&map, 16).expect("nodes"), [Some(0); 16]);
        assert_eq!(nodes(&map, 1000).expect("nodes").len(), 64);
        map.drop_pages().expect("madvise");
        assert_eq!(nodes(&map, 3).expect("nodes"), [None; 3]);
    }

    #[test]
    fn samples_go_from_the_first_page_to_the_last_quarter() {
        assert_eq!(spread(16 * 4096 + 7, 4096, 4), [0, 4 * 4096, 8 * 4096, 12 * 4096]);
        assert_eq!(spread(10 * 4096, 4096, 4), [0, 2 * 4096, 5 * 4096, 7 * 4096]);
        assert_eq!(spread(3 * 4096, 4096, 64), [0, 4096, 2 * 4096]);
        assert_eq!((spread(4095, 4096, 4), spread(8192, 4096, 0)), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_distance_is_found_by_the_order_of_online_nodes() {
        let of = |to| distance_in("21 10 32\n", "0,2-3\n", to);
        assert_eq!([0, 1, 2, 3].map(of), [Some(21), None, Some(10), Some(32)]);
    }

    #[test]
    fn a_node_that_is_not_there_is_refused() {
        let mut map = Map::anonymous(page_size(), Policy::Base).expect("memory");
        assert!(bind(&mut map, 1000).is_err());
        assert!(bind(&mut map, 63).is_err() || distance(0, 63).is_some());
    }

    #[test]
    fn a_node_is_nearest_to_itself() {
        if let Some(own) = distance(0, 0) {
            assert_eq!(own, 10);
        }
        assert_eq!(distance(0, 100_000), None);
    }

    /// Every node with memory has a directory in sysfs.
    #[test]
    fn nodes_with_memory_are_nodes() {
        let Some(nodes) = with_memory() else { return println!("skipped: the kernel has no nodes") };
        assert!(!nodes.is_empty() && nodes.is_sorted());
        let total = |node: &u32| {
            let text = std::fs::read_to_string(format!("/sys/devices/system/node/node{node}/meminfo")).ok()?;
            let line = text.lines().find(|line| line.contains("MemTotal:"))?.to_owned();
            line.split_whitespace().nth(3)?.parse::<u64>().ok()
        };
        assert!(nodes.iter().all(|node| total(node).is_none_or(|kib| kib > 0)), "{nodes:?}");
    }
}
