//! Kernels of dependent accesses, parallel chases and cache-line management, each compared with a
//! model of the chain, for every implementation that the CPU has, and found in the disassembly of
//! this program.
//!
//! # Safety
//!
//! The tests call the raw kernels with chains of their own.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod random;

use groma_sys::arch::access::{ACCESS_UNROLL, Access, access_kernels};
use groma_sys::arch::flush::flush_kernels;
use groma_sys::arch::parallel_chase::{
    MAX_PARALLEL_CHASES, PARALLEL_CHASE_UNROLL, PARALLEL_CHASES, parallel_chase_kernels,
};
use groma_sys::arch::portable;
use groma_sys::flush::Flush;
use groma_sys::pages::{Map, Policy, page_size};
use groma_sys::parallel_chase::{Accessor, Chains, Link, Order};
use random::random;
use std::collections::HashSet;

fn memory(bytes: usize) -> Map {
    let mut map = Map::anonymous(bytes, Policy::Base).unwrap();
    map.populate();
    map
}

/// A ring of `n` nodes of 64 bytes: node `i` leads to `i + 3` (with `n` not a multiple of 3, one
/// cycle).
#[repr(align(64))]
struct Node([u64; 8]);

fn ring(n: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = (0..n).map(|_| Node([0; 8])).collect();
    let base = nodes.as_mut_ptr();
    for i in 0..n {
        // SAFETY: within the vector.
        unsafe { (*base.add(i)).0[0] = base.add((i + 3) % n) as u64 };
    }
    nodes
}

fn index_of(nodes: &[Node], at: *const u8) -> usize {
    (at as usize - nodes.as_ptr() as usize) / size_of::<Node>()
}

#[test]
fn an_access_makes_the_requested_steps_and_only_its_own_change() {
    for kernel in access_kernels() {
        let mut nodes = ring(50);
        // Several laps, so that a chain broken by the kernel shows.
        let before: Vec<u64> = nodes.iter().map(|node| node.0[0]).collect();
        let start = nodes.as_mut_ptr().cast::<u8>();
        for (asked, steps) in [(0, 0), (15, 0), (16, 16), (31, 16), (1600, 1600)] {
            nodes.iter_mut().for_each(|node| node.0[2] = 7);
            // SAFETY: a ring of nodes of 64 bytes.
            let end = unsafe { (kernel.run)(start, asked) };
            assert_eq!(index_of(&nodes, end), 3 * steps % 50, "{kernel:?}");
            let counted: u64 = nodes.iter().map(|node| node.0[2] - 7).sum();
            assert_eq!(counted, if kernel.kind == Access::Dirty { steps as u64 } else { 0 }, "{kernel:?}");
            assert!(nodes.iter().map(|node| node.0[0]).eq(before.iter().copied()), "{kernel:?}");
        }
    }
}

#[test]
fn there_is_a_kernel_of_every_kind_that_the_architecture_has() {
    let kinds: HashSet<Access> = access_kernels().iter().map(|kernel| kernel.kind).collect();
    for kind in [Access::Read, Access::Dirty, Access::Own] {
        assert!(kinds.contains(&kind));
    }
    #[cfg(target_arch = "x86_64")]
    assert!(kinds.contains(&Access::Prefetched));
    assert_eq!(
        access_kernels().iter().filter(|k| k.instruction == "portable").count(),
        portable::access::ACCESSES.len()
    );
}

#[test]
fn chases_at_once_are_each_a_chase() {
    for kernels in [parallel_chase_kernels(), portable::parallel_chase::parallel_chase_kernels()] {
        assert!(kernels.iter().map(|kernel| kernel.chains).eq(PARALLEL_CHASES));
        for kernel in kernels {
            let nodes = ring(100);
            let at = |i: usize| (&raw const nodes[i]).cast::<u8>();
            for (asked, steps) in [(0, 0), (PARALLEL_CHASE_UNROLL - 1, 0), (PARALLEL_CHASE_UNROLL, 16), (330, 320)] {
                let mut cursors = [std::ptr::null(); MAX_PARALLEL_CHASES];
                for (c, cursor) in cursors[..kernel.chains].iter_mut().enumerate() {
                    *cursor = at(c);
                }
                // SAFETY: every cursor is a node of a ring.
                unsafe { (kernel.run)(&mut cursors, asked) };
                for (c, cursor) in cursors.iter().enumerate() {
                    if c < kernel.chains {
                        assert_eq!(index_of(&nodes, *cursor), (c + 3 * steps) % 100, "chain {c} of {kernel:?}");
                    } else {
                        assert!(cursor.is_null(), "{kernel:?} changed cursor {c}");
                    }
                }
            }
        }
    }
}

/// The offsets of the nodes that a chain visits in a lap.
fn lap(chains: &mut Chains<'_>, chain: usize, of: usize, read: Accessor) -> HashSet<usize> {
    let each = chains.nodes() / of;
    let mut seen = HashSet::new();
    // A turn is 16 steps: every node ends a turn if 16 and the lap have no common divisor.
    for _ in 0..each {
        chains.access(read, chain, 16);
        assert!(seen.insert(chains.position(0, chain)), "chain {chain} of {of} came back early");
    }
    seen
}

#[test]
fn chains_are_disjoint_closed_cycles_through_all_nodes() {
    let page = page_size();
    let read = Accessor::new(Access::Read).unwrap();
    // An odd number of nodes per chain, so that steps of 16 reach every node.
    for (of, each) in [(1, 1023), (2, 511), (4, 255), (12, 85), (64, 15)] {
        for order in [Order::Anywhere, Order::Grouped { pages: 3, page }] {
            let mut map = memory(64 * of * each);
            let mut chains = Chains::new(&mut map[..64 * of * each], 64, order, random(5)).unwrap();
            chains.link(&[Link { offset: 0, chains: of, ahead: 1, start: 0 }]).unwrap();
            assert_eq!(chains.nodes(), of * each);
            let mut all = HashSet::new();
            for chain in 0..of {
                for node in lap(&mut chains, chain, of, read) {
                    assert!(node.is_multiple_of(64) && node < 64 * of * each);
                    assert!(all.insert(node), "a node in two chains of {of}");
                }
            }
            assert_eq!(all.len(), of * each);
        }
    }
}

/// Consecutive neighbours are what a prefetcher looks for.
#[test]
fn no_order_goes_from_neighbour_to_neighbour() {
    let (nodes, page) = (1024, 4096);
    for order in [Order::Anywhere, Order::Grouped { pages: 4, page }] {
        let mut map = memory(64 * nodes);
        let mut chains = Chains::new(&mut map[..64 * nodes], 64, order, random(7)).unwrap();
        chains.link(&[Link { offset: 0, chains: 1, ahead: 1, start: 0 }]).unwrap();
        let next = |at: usize| usize::from_ne_bytes(chains.bytes()[at..at + size_of::<usize>()].try_into().unwrap());
        let base = chains.bytes().as_ptr() as usize;
        let in_order = (0..nodes).filter(|i| next(i * 64) == base + (i + 1) * 64).count();
        // By chance: one, or four within the pages of a group.
        assert!(in_order < nodes / 16, "{order:?}: {in_order} of {nodes}");
    }
}

#[test]
fn a_link_begins_at_the_named_node_of_its_order() {
    let mut map = memory(256 * 1000);
    let mut chains = Chains::new(&mut map[..256 * 1000], 256, Order::Anywhere, random(9)).unwrap();
    for of in [1, 2] {
        let steps = 3 * PARALLEL_CHASE_UNROLL;
        let link = |start| [Link { offset: 0, chains: of, ahead: 1, start }];
        // As many nodes further as steps on all chains go.
        chains.link(&link(of * steps as usize)).unwrap();
        let there: Vec<usize> = (0..of).map(|c| chains.position(0, c)).collect();
        chains.link(&link(0)).unwrap();
        assert_ne!(there, (0..of).map(|c| chains.position(0, c)).collect::<Vec<_>>());
        chains.walk(0, steps);
        assert_eq!(there, (0..of).map(|c| chains.position(0, c)).collect::<Vec<_>>(), "{of} chains");
    }
}

#[test]
fn links_share_nodes_and_do_not_disturb_each_other() {
    let mut map = memory(256 * 1000);
    let mut chains = Chains::new(&mut map[..256 * 1000], 256, Order::Anywhere, random(9)).unwrap();
    let link = |offset, chains, start| Link { offset, chains, ahead: 1, start };
    chains.link(&[link(0, 1, 0), link(8, 6, 500), link(128, 64, 999)]).unwrap();
    for (i, of) in [1, 6, 64].into_iter().enumerate() {
        assert_eq!(chains.kernel(i).chains, of);
        let start: Vec<usize> = (0..of).map(|c| chains.position(i, c)).collect();
        assert_eq!(start.iter().collect::<HashSet<_>>().len(), of);
        let each = chains.nodes() / of;
        // Sixteen laps are whole turns.
        let steps = chains.walk(i, 16 * each as u64);
        assert_eq!(steps, 16 * each as u64);
        let end: Vec<usize> = (0..of).map(|c| chains.position(i, c)).collect();
        assert_eq!(start, end, "{of} chains");
        // And not fewer.
        chains.walk(i, 16);
        assert_ne!(end, (0..of).map(|c| chains.position(i, c)).collect::<Vec<_>>());
    }
}

#[test]
fn a_chain_is_the_same_after_accesses_of_every_kind() {
    let bytes = 64 * 2 * 511;
    let mut map = memory(bytes);
    let mut chains = Chains::new(&mut map[..bytes], 64, Order::Anywhere, random(3)).unwrap();
    let ahead = 8;
    chains.link(&[Link { offset: 0, chains: 2, ahead: 1, start: 0 }, Chains::link_ahead(2, ahead)]).unwrap();
    let read = Accessor::new(Access::Read).unwrap();
    let before = lap(&mut chains, 1, 2, read);
    let mut increments = 0;
    for kind in Access::ALL {
        let Ok(by) = Accessor::new(kind) else { continue };
        for steps in [1, 16, 16 * 511, 5000] {
            let done = chains.access(by, 1, steps);
            assert_eq!(done, steps.next_multiple_of(ACCESS_UNROLL));
            increments += if kind == Access::Dirty { done } else { 0 };
        }
        assert_eq!(lap(&mut chains, 1, 2, read), before, "{kind:?}");
        assert_eq!(chains.counted(), increments, "{kind:?}");
    }
    assert_eq!(lap(&mut chains, 0, 2, read).intersection(&before).count(), 0);
}

#[test]
fn impossible_chains_are_refused() {
    let mut map = memory(64 * 64);
    assert!(Chains::new(&mut map, 8, Order::Anywhere, random(1)).is_err());
    assert!(Chains::new(&mut map, 40, Order::Anywhere, random(1)).is_err());
    assert!(Chains::new(&mut map[8..], 64, Order::Anywhere, random(1)).is_err());
    assert!(Chains::new(&mut map[..32], 64, Order::Anywhere, random(1)).is_err());
    assert!(Chains::new(&mut map, 64, Order::Grouped { pages: 0, page: 4096 }, random(1)).is_err());
    assert!(Chains::new(&mut map, 64, Order::Grouped { pages: 1, page: 100 }, random(1)).is_err());
    let mut chains = Chains::new(&mut map[..64 * 64], 64, Order::Anywhere, random(1)).unwrap();
    let link = |offset, chains, ahead| Link { offset, chains, ahead, start: 0 };
    for bad in [link(4, 1, 1), link(64, 1, 1), link(0, 0, 1), link(0, 1, 0), link(0, 3, 1), link(0, 64, 2)] {
        assert!(chains.link(&[bad]).is_err(), "{bad:?}");
    }
    assert!(chains.link(&[link(0, 1, 1), link(0, 2, 1)]).is_err());
    assert!(chains.link(&[link(0, 64, 1), link(56, 1, 64)]).is_ok());
}

#[test]
fn managing_lines_changes_no_contents() {
    let mut map = memory(256 * 200);
    let mut chains = Chains::new(&mut map[..256 * 200], 256, Order::Anywhere, random(2)).unwrap();
    chains.link(&[Link { offset: 0, chains: 1, ahead: 1, start: 0 }]).unwrap();
    chains.modify(0, 200);
    assert_eq!(chains.counted(), 200);
    let before = chains.bytes().to_vec();
    for kernel in flush_kernels() {
        let by = Flush::named(kernel.name).unwrap();
        chains.manage(by, 0, 3, 192, 64);
        chains.manage(by, 128, 0, 200, 1);
        chains.load(0, 200);
    }
    assert_eq!(chains.evict(), Flush::evict().is_some());
    assert_eq!(chains.bytes(), before);
    assert!(Flush::named("nonsense").is_err());
    // Every CPU of these two has one.
    let must = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    assert!(Flush::evict().is_some() || !must);
    let mut two = memory(4096);
    two.fill(9);
    if let Some(evict) = Flush::evict() {
        evict.pair(&mut two, 0, 4088, 100);
    }
    assert!(two.iter().all(|byte| *byte == 9));
}

/// The instructions themselves, as bytes: a step of each loop, as often as the loop is unrolled,
/// and the managed line.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_loops_hold_the_instructions_that_they_claim() {
    /// Where these bytes begin in a function or in what lies behind it.
    fn find(function: *const u8, bytes: &[u8]) -> Option<usize> {
        // SAFETY: no function of this program is within a kilobyte of the end of its text.
        let code = unsafe { std::slice::from_raw_parts(function, 1024) };
        code.windows(bytes.len()).position(|seen| seen == bytes)
    }
    let holds = |function: *const u8, bytes: &[u8]| find(function, bytes).is_some();
    for kernel in access_kernels().into_iter().filter(|kernel| kernel.instruction != "portable") {
        let step: &[u8] = match kernel.kind {
            // mov rax, [rax]
            Access::Read => &[0x48, 0x8b, 0x00],
            // add qword ptr [rax + 16], 1; mov rax, [rax]
            Access::Dirty => &[0x48, 0x83, 0x40, 0x10, 0x01, 0x48, 0x8b, 0x00],
            // xor edx, edx; lock xadd [rax], rdx; mov rax, rdx
            Access::Own => &[0x31, 0xd2, 0xf0, 0x48, 0x0f, 0xc1, 0x10, 0x48, 0x89, 0xd0],
            // mov rdx, [rax + 8]; prefetcht0 [rdx]; mov rax, [rax]
            Access::Prefetched => &[0x48, 0x8b, 0x50, 0x08, 0x0f, 0x18, 0x0a, 0x48, 0x8b, 0x00],
            // movntdqa xmm0, [rax]; movq rax, xmm0
            Access::NonTemporal => &[0x66, 0x0f, 0x38, 0x2a, 0x00, 0x66, 0x48, 0x0f, 0x7e, 0xc0],
        };
        assert!(holds(kernel.run as *const u8, &step.repeat(ACCESS_UNROLL as usize)), "{kernel:?}");
    }
    for kernel in flush_kernels() {
        // The instruction on [rdi].
        let managed: &[u8] = match kernel.name {
            "clflush" => &[0x0f, 0xae, 0x3f],
            "clflushopt" => &[0x66, 0x0f, 0xae, 0x3f],
            "clwb" => &[0x66, 0x0f, 0xae, 0x37],
            "cldemote" => &[0x0f, 0x1c, 0x07],
            other => panic!("no bytes for {other}"),
        };
        // add rdi, rsi
        let line = [managed, &[0x48, 0x01, 0xf7]].concat();
        assert!(holds(kernel.run as *const u8, &line) && holds(kernel.pair as *const u8, managed), "{kernel:?}");
        // Not a longer encoding of another: clflushopt is clflush behind a prefix. Up to the fence
        // (mfence) only: the linker may put the loop of clflushopt right behind this one.
        if kernel.name == "clflush" {
            let [fence, longer] = [&[0x0f, 0xae, 0xf0], &[0x66, 0x0f, 0xae, 0x3f][..]];
            let [fence, longer] = [fence, longer].map(|bytes| find(kernel.run as *const u8, bytes));
            assert!(longer.is_none_or(|at| fence.is_some_and(|fence| at > fence)), "{longer:?}, fence {fence:?}");
        }
    }
}
