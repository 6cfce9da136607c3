use super::*;
use crate::pages::{Map, Policy};
use std::collections::BTreeSet;

/// Random numbers below a limit.
pub(super) fn random(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |limit| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % limit
    }
}

/// A line that is skipped or evicted twice only makes a walk faster or slower; no count shows it.
#[test]
fn every_line_of_every_node_is_evicted_once() {
    for (nodes, offsets) in [(1, &[0][..]), (63, &[0]), (64, &[0, 8]), (65, &[8, 64, 72]), (1000, &[0, 128, 192])] {
        let lines: BTreeSet<usize> = offsets.iter().map(|offset| offset / 64 * 64).collect();
        let mut seen = BTreeSet::new();
        for (line, first, count, batch) in batches(nodes, &lines_of(offsets.iter().copied())) {
            assert!(batch > 0 && count.is_multiple_of(batch), "{count} in batches of {batch}");
            for node in first..first + count {
                assert!(seen.insert((line, node)), "line {line} of node {node} twice");
            }
        }
        let all: BTreeSet<_> = lines.iter().flat_map(|line| (0..nodes).map(move |node| (*line, node))).collect();
        assert_eq!(seen, all, "{nodes} nodes with pointers at {offsets:?}");
    }
}

/// Otherwise the walk needs more translations than the first-level TLB holds, or a prefetcher finds
/// the pages one after the other.
#[test]
fn grouped_nodes_stay_within_some_shuffled_pages_before_they_go_on() {
    const PAGE: usize = 4096;
    let mut map = Map::anonymous(101 * PAGE, Policy::Base).expect("memory");
    // A last page that is incomplete, and a number of pages that no group size divides.
    let bytes = 100 * PAGE + 512;
    for in_group in [1, 7, 32] {
        let order = Order::Grouped { pages: in_group, page: PAGE };
        let chains = Chains::new(&mut map[..bytes], 64, order, random(11)).expect("nodes");
        let pages: Vec<usize> = (0..chains.order.len()).map(|i| chains.order.node(i) * 64 / PAGE).collect();
        assert_eq!(pages.len(), bytes / 64);
        // A group ends when none of its pages comes again.
        let last = |page: usize| pages.iter().rposition(|other| *other == page).expect("it is there");
        let (mut groups, mut begin) = (Vec::new(), 0);
        while begin < pages.len() {
            let (mut end, mut at) = (last(pages[begin]), begin);
            while at < end {
                at += 1;
                end = end.max(last(pages[at]));
            }
            let group: BTreeSet<usize> = pages[begin..=end].iter().copied().collect();
            assert!(group.len() <= in_group, "{} pages at once, not {in_group}", group.len());
            groups.push(group);
            begin = end + 1;
        }
        assert_eq!(groups.len(), 101_usize.div_ceil(in_group), "groups of {in_group}");
        assert!(groups.iter().all(|group| group.len() >= in_group / 2), "{groups:?}");
        // In random order: neither the pages of a group nor the groups are neighbours.
        let visited: Vec<usize> = groups.iter().flatten().copied().collect();
        let neighbours = visited.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbours < visited.len() / 2, "{neighbours} of 101 pages follow the one before");
    }
}

/// For any number of chains.
#[test]
fn a_pointer_ahead_leads_to_the_node_that_many_steps_later() {
    let mut map = Map::anonymous(64 * 6 * 50, Policy::Base).expect("memory");
    for (chains_of, ahead) in [(1, 8), (2, 8), (6, 3)] {
        let nodes = chains_of * 50;
        let mut chains = Chains::new(&mut map[..64 * nodes], 64, Order::Anywhere, random(5)).expect("nodes");
        let walked = Link { offset: 0, chains: chains_of, ahead: 1, start: 0 };
        chains.link(&[walked, Chains::link_ahead(chains_of, ahead)]).expect("links");
        let base = chains.bytes().as_ptr() as usize;
        // The node that the pointer at this offset of a node leads to.
        let next = |node: usize, offset: usize| {
            let (at, mut word) = (node * 64 + offset, [0; POINTER]);
            word.copy_from_slice(&chains.bytes()[at..at + POINTER]);
            let to = usize::from_ne_bytes(word) - base;
            assert_eq!(to % 64, offset, "it leads to the same place of another node");
            to / 64
        };
        for node in 0..nodes {
            let later = (0..ahead).fold(node, |node, _| next(node, 0));
            assert_eq!(next(node, ACCESS_AHEAD), later, "{ahead} ahead in {chains_of} chains");
        }
    }
}

/// Pages that were not resident before show which nodes were accessed.
#[test]
fn only_the_named_nodes_are_loaded_modified_and_managed() {
    type Touch = fn(&mut Chains<'_>);
    let touches: [(&str, Touch); 3] = [
        ("load", |chains| assert_eq!(chains.load(3, 6), 6)),
        ("modify", |chains| chains.modify(3, 6)),
        ("manage", |chains| match Flush::evict() {
            Some(evict) => assert_eq!(chains.manage(evict, 128, 3, 6, 2), 6),
            None => chains.modify(3, 6),
        }),
    ];
    let page = crate::pages::page_size();
    for (name, touch) in touches {
        let mut map = Map::anonymous(12 * page, Policy::Base).expect("memory");
        let mut chains = Chains::new(&mut map, page, Order::Anywhere, random(1)).expect("nodes");
        touch(&mut chains);
        let there = crate::pages::residency(chains.bytes()).expect("mincore");
        assert_eq!(there, (0..12).map(|node| (3..9).contains(&node)).collect::<Vec<_>>(), "{name}");
    }
}
