//! The pointer chase: the chain that is built is one cycle in the promised order, and the chase
//! follows it.
//!
//! # Safety
//!
//! Chains are built before a closed page, so an access beyond them faults.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fenced;
mod random;

use fenced::{Fenced, UNTOUCHED};
use groma_sys::arch::{self, portable};
use groma_sys::chase::Chain;
use random::random;
use std::collections::{HashMap, HashSet};

/// The offsets of a chain's nodes in the order of the walk, read from the buffer, from `start`
/// until the cycle closes.
fn lap(buffer: &[u8], start: usize) -> Vec<usize> {
    let mut order = vec![start];
    loop {
        let here = order[order.len() - 1];
        let word = buffer[here..here + size_of::<usize>()].try_into().unwrap();
        let next = usize::from_ne_bytes(word) - buffer.as_ptr().addr();
        if next == start {
            return order;
        }
        assert!(order.len() < buffer.len(), "the chain never comes back to its start");
        order.push(next);
    }
}

/// Builds a chain in the last `span` bytes before a closed page, checks that it is one cycle
/// through all its nodes and that both chases follow it; returns the order.
fn check(
    span: usize,
    page: usize,
    spacing: usize,
    build: impl for<'a> Fn(&'a mut [u8]) -> Result<Chain<'a>, String>,
) -> Vec<usize> {
    let mut memory = Fenced::new(span.next_multiple_of(page) + page);
    let open = memory.memory();
    let base = open.as_ptr().addr().next_multiple_of(page) - open.as_ptr().addr();
    let buffer = &mut open[base..][..span];
    buffer.fill(UNTOUCHED);
    let chain = build(buffer).unwrap();
    let (nodes, start) = (chain.nodes(), chain.position());
    assert_eq!(span, chain.span());
    assert_eq!((span - 8) / spacing + 1, nodes);
    let mut positions = vec![];
    let mut chain = chain;
    let mut total = 0;
    for loads in [1, 64, 65, 640] {
        total += chain.walk(loads);
        positions.push((total, chain.position()));
    }
    assert_eq!(64 + 64 + 128 + 640, total);

    let order = lap(buffer, start);
    assert_eq!(nodes, order.len(), "a lap is not all nodes");
    assert_eq!(nodes, order.iter().collect::<HashSet<_>>().len());
    assert!(order.iter().all(|node| node % spacing == 0));
    for (loads, position) in positions {
        assert_eq!(order[loads as usize % nodes], position, "after {loads} loads");
    }
    let linked = |i: usize| i % spacing < size_of::<usize>();
    assert!(buffer.iter().enumerate().all(|(i, byte)| linked(i) || *byte == UNTOUCHED), "wrote between nodes");

    // The raw chases follow the same order, in whole turns.
    let first = buffer.as_ptr().wrapping_add(start);
    // SAFETY: the closed cycle just checked.
    for loads in [0, 63, 64, 700] {
        // SAFETY: the closed cycle just checked.
        let (native, portable) = unsafe { (arch::chase(first, loads), portable::chase(first, loads)) };
        let expected = order[(loads - loads % arch::CHASE_UNROLL) as usize % nodes];
        assert_eq!(expected, native.addr() - buffer.as_ptr().addr());
        assert_eq!(native, portable);
    }
    order
}

#[test]
fn chains_with_translation_are_one_cycle_in_random_order() {
    for (span, spacing) in [(8, 64), (64, 64), (128, 64), (4096, 64), (4104, 64), (1 << 20, 64), (1 << 20, 4096 + 64)] {
        let order = check(span, 4096, spacing, |buffer| Chain::translation_included(buffer, spacing, random(1)));
        if order.len() > 1000 {
            let near = order.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 4096).count();
            assert!(near < order.len() / 20, "{near} of {} steps stay near", order.len());
        }
    }
}

#[test]
fn chains_without_translation_finish_a_group_of_pages_first() {
    let page = 4096;
    // Less than a page, pages and a bit, a number of pages that no group size divides.
    for span in [64, 4096, 4096 + 512, 33 * 4096, 100 * 4096 + 64, 1 << 20] {
        for spacing in [64, 256] {
            for group in [1, 16, 32, 1000] {
                let order = check(span, page, spacing, |buffer| {
                    Chain::translation_amortised(buffer, spacing, group, page, random(2))
                });
                if group == 1 && order.len() > 100 * page / spacing / 2 {
                    let mut visited: Vec<usize> = order.iter().map(|node| node / page).collect();
                    visited.dedup();
                    let next = visited.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
                    assert!(next < visited.len() / 4, "{next} of {} pages follow the one before", visited.len());
                }
                // A group ends when none of its pages occurs again.
                let last: HashMap<usize, usize> = order.iter().enumerate().map(|(i, node)| (node / page, i)).collect();
                let (mut groups, mut pages, mut end) = (0, HashSet::new(), None);
                for (i, number) in order.iter().map(|node| node / page).enumerate() {
                    if end.is_none_or(|end| i > end) {
                        groups += 1;
                        pages.clear();
                    }
                    pages.insert(number);
                    assert!(pages.len() <= group, "{span} bytes, {spacing} apart: more than {group} pages at once");
                    end = end.max(Some(last[&number]));
                }
                assert_eq!(span.div_ceil(page).div_ceil(group), groups, "{span} bytes, {spacing} apart, by {group}");
                // In random order: the next higher node follows no more often than any other.
                let steps = order.windows(2).filter(|pair| pair[1] == pair[0] + spacing).count();
                assert!(group < 16 || order.len() < 1000 || steps < order.len() / 50, "{steps} steps straight on");
            }
        }
    }
}

#[test]
fn equal_random_numbers_make_equal_chains_and_others_do_not() {
    let order =
        |seed| check(1 << 16, 4096, 64, |buffer| Chain::translation_amortised(buffer, 64, 4, 4096, random(seed)));
    assert_eq!(order(3), order(3));
    assert_ne!(order(3), order(4));
    let order = |seed| check(1 << 16, 4096, 64, |buffer| Chain::translation_included(buffer, 64, random(seed)));
    assert_eq!(order(3), order(3));
    assert_ne!(order(3), order(4));
}

#[test]
fn chains_through_listed_nodes_go_that_way_and_no_other() {
    let page = 4096;
    let mut memory = Fenced::new(16 * page);
    // One line per page, pairs of words, a single node, the very last word.
    let lists: [Vec<usize>; 4] = [
        (0..16).map(|i| (i * 7 % 16) * page + i * 64).collect(),
        (0..8).flat_map(|i| [i * 1024, i * 1024 + 8]).collect(),
        vec![128],
        vec![0, 16 * page - 8, 64],
    ];
    for nodes in lists {
        let buffer = memory.memory();
        buffer.fill(UNTOUCHED);
        let mut chain = Chain::through(buffer, &nodes).unwrap();
        assert_eq!((nodes.len(), nodes[0]), (chain.nodes(), chain.position()));
        let mut total = 0;
        for loads in [64, 640, 64 * 13] {
            total += chain.walk(loads) as usize;
            assert_eq!(nodes[total % nodes.len()], chain.position());
        }
        chain.flush(64);
        chain.walk(64);
        assert_eq!(nodes[(total + 64) % nodes.len()], chain.position());
        assert_eq!(nodes, lap(memory.memory(), nodes[0]));
        let linked = |at: usize| nodes.iter().any(|node| (*node..node + 8).contains(&at));
        assert!(memory.memory().iter().enumerate().all(|(i, byte)| linked(i) || *byte == UNTOUCHED));
    }
}

#[test]
fn impossible_lists_of_nodes_say_why() {
    let mut memory = Fenced::new(4096);
    let mut why = |nodes: &[usize]| Chain::through(memory.memory(), nodes).map(|_| ()).unwrap_err();
    assert_eq!("a chain needs a node", why(&[]));
    assert_eq!("no node can be at 4: not a multiple of 8 below 4096", why(&[0, 4]));
    assert_eq!("no node can be at 4096: not a multiple of 8 below 4096", why(&[0, 4096]));
    assert_eq!("no node can be at 18446744073709551608: not a multiple of 8 below 4096", why(&[usize::MAX - 7]));
    for nodes in [&[0, 8, 0][..], &[8, 8], &[0, 8, 16, 8, 24]] {
        assert!(why(nodes).ends_with("is there twice"), "{nodes:?}");
    }
    assert!(Chain::through(&mut memory.memory()[..4], &[0]).is_err());
}

#[test]
fn impossible_chains_say_why() {
    let mut memory = Fenced::new(1 << 16);
    let memory = memory.memory();
    let zero = |_| 0;
    let mut amortised = |range: std::ops::Range<usize>, spacing, group, page| {
        Chain::translation_amortised(&mut memory[range], spacing, group, page, zero).map(|_| ()).unwrap_err()
    };
    assert_eq!("nodes cannot be 0 bytes apart: not a multiple of 8", amortised(0..4096, 0, 1, 4096));
    assert_eq!("nodes cannot be 60 bytes apart: not a multiple of 8", amortised(0..4096, 60, 1, 4096));
    assert_eq!("a chain needs 8 bytes and an address that is a multiple of it", amortised(0..7, 8, 1, 4096));
    assert_eq!("a chain needs 8 bytes and an address that is a multiple of it", amortised(4..4096, 8, 1, 4096));
    assert_eq!("the buffer does not begin at a page of 4096 bytes", amortised(64..4096, 64, 1, 4096));
    assert_eq!("cannot group 0 pages of 4096 bytes with nodes 64 bytes apart", amortised(0..4096, 64, 0, 4096));
    assert_eq!("cannot group 1 pages of 4096 bytes with nodes 192 bytes apart", amortised(0..4096, 192, 1, 4096));
    assert_eq!("cannot group 1 pages of 0 bytes with nodes 64 bytes apart", amortised(0..4096, 64, 1, 0));
    assert!(Chain::translation_included(&mut memory[..0], 64, zero).is_err());
}

#[test]
#[should_panic = "a random number was not below its limit"]
fn a_broken_source_of_random_numbers_is_noticed() {
    let mut memory = vec![0_u64; 512];
    // SAFETY: the same memory as bytes.
    let bytes = unsafe { memory.align_to_mut::<u8>() }.1;
    drop(Chain::translation_included(bytes, 64, |limit| limit));
}
