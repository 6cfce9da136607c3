//! The kernels of random updates against the portable ones: places, values, results, counters;
//! never a time.
//!
//! # Safety
//! The kernels get buffers of the length that they are given.
#![expect(unsafe_code, reason = "calls the raw kernels")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod objdump;

use groma_sys::arch::hammer::{self, ANY_WORD, FIRST_LINE, HAMMER_PAGE, STEP, place, portable, word};
use groma_sys::hammer::{Bare, Hammer, Kind, Standing, replay};
use groma_sys::pages::{Map, Policy};

const MASKS: [u64; 2] = [FIRST_LINE, ANY_WORD];

fn memory(pages: u64) -> Map {
    Map::anonymous(pages as usize * HAMMER_PAGE, Policy::Base).unwrap()
}

#[test]
fn known_words_and_places() {
    // wyrand itself: the product of a counter and the inverted counter, folded. Computed with
    // Python's integers.
    let by_hand = |c: u64| {
        let product = u128::from(c) * u128::from(c ^ 0xe703_7ed1_a0b4_28db);
        (product >> 64) as u64 ^ (product & u128::from(u64::MAX)) as u64
    };
    for c in [1, STEP, u64::MAX] {
        assert_eq!(word(c), by_hand(c));
    }
    assert_eq!(word(1), 0xe703_7ed1_a0b4_28da);
    // Half of the range is the middle page, at its start.
    assert_eq!(place(0x8000_0000, 10, ANY_WORD), 5 * 4096);
    assert_eq!(place(u32::MAX, 10, ANY_WORD), 9 * 4096 + 4088);
    assert_eq!(place(u32::MAX, 10, FIRST_LINE), 9 * 4096 + 56);
    assert_eq!(place(u32::MAX, 1 << 26, FIRST_LINE), ((1 << 26) - 1) * 4096);
}

#[test]
fn stores_go_where_the_reference_goes() {
    for (pages, pairs, mask) in [(1, 0, MASKS[0]), (1, 1, MASKS[1]), (3, 7, MASKS[0]), (100, 5000, MASKS[1])] {
        let (mut native, mut reference) = (memory(pages), memory(pages));
        // SAFETY: both have that many pages.
        let counters = unsafe {
            [
                hammer::hammer_store(native.as_mut_ptr(), pages, mask, 42, pairs),
                portable::hammer_store(reference.as_mut_ptr(), pages, mask, 42, pairs),
            ]
        };
        let expected = 42u64.wrapping_add(STEP.wrapping_mul(pairs));
        assert_eq!(counters, [expected; 2]);
        assert_eq!(hammer::hammer_bare(pages, mask, 42, pairs), expected);
        assert_eq!(portable::hammer_bare(pages, mask, 42, pairs), expected);
        assert!(native[..] == reference[..], "{pages} pages, {pairs} pairs");
    }
}

#[test]
fn ownership_answers_as_the_reference_does() {
    for (pages, ops) in [(1, 0), (1, 1), (2, 3000), (100, 5000)] {
        let (mut native, mut reference) = (memory(pages), memory(pages));
        // SAFETY: both have that many pages.
        let ends = unsafe {
            [
                hammer::hammer_own(native.as_mut_ptr(), pages, ANY_WORD, 42, 9, ops),
                portable::hammer_own(reference.as_mut_ptr(), pages, ANY_WORD, 42, 9, ops),
            ]
        };
        assert_eq!(ends[0], ends[1]);
        assert!(native[..] == reference[..], "{pages} pages, {ops} operations");
        let total: u64 = native.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap())).sum();
        assert_eq!(total, ops);
        let bare = [
            hammer::hammer_own_bare(pages, ANY_WORD, 42, 9, ops),
            portable::hammer_own_bare(pages, ANY_WORD, 42, 9, ops),
        ];
        assert_eq!(bare[0], bare[1]);
        assert_eq!(bare[0].0, 42u64.wrapping_add(STEP.wrapping_mul(ops)));
    }
    // The result changes the sequence: a different one, different places.
    let ends = [9, 10].map(|answer| hammer::hammer_own_bare(100, ANY_WORD, 42, answer, 3).1);
    assert_ne!(ends[0], ends[1]);
}

#[test]
fn a_replay_is_what_the_memory_holds() {
    for kind in Kind::ALL {
        let mut map = memory(64);
        let mut hammer = Hammer::new(&mut map, kind, 7).unwrap();
        let before = hammer.standing();
        hammer.run(3000);
        assert_eq!(hammer.wrong_words(before, 3000), 0, "{kind:?}");
        let (words, standing) = replay(kind, 64, before, 3000);
        assert_eq!((standing, hammer.ops_since(before)), (hammer.standing(), 3000));
        // And nothing else was accessed.
        let touched = map.chunks_exact(8).filter(|w| w.iter().any(|b| *b != 0)).count();
        assert_eq!(touched, words.values().filter(|v| **v != 0).count(), "{kind:?}");
        Bare::new(map.len(), kind, 7).run(3000);
    }
}

/// Every page equally often, every place in it too, and one page is independent of the next: chi
/// squared.
#[test]
fn places_are_spread_evenly() {
    for kind in Kind::ALL {
        let (pages, ops) = (64u64, 64 * 512);
        let mut counts = vec![0f64; 64];
        let mut after = vec![0f64; 64];
        let mut within = vec![0f64; 512];
        let mut last = 0;
        let (mut at, mut seen) = (Standing { counter: 99, answer: 0 }, 0.0);
        for _ in 0..ops / 2 {
            let (words, next) = replay(kind, pages, at, 2);
            at = next;
            for place in words.keys() {
                let page = (place / 4096) as usize;
                counts[page] += 1.0;
                after[(page + 64 - last) % 64] += 1.0;
                within[(place % 4096 / 8) as usize] += 1.0;
                (last, seen) = (page, seen + 1.0);
            }
        }
        let within = if kind == Kind::Store { &within[..8] } else { &within[..] };
        for cells in [&counts[..], &after[..], within] {
            let expected = seen / cells.len() as f64;
            let chi: f64 = cells.iter().map(|n| (n - expected).powi(2) / expected).sum();
            let freedom = cells.len() as f64 - 1.0;
            // Five standard deviations on either side; the sequence is fixed, so the result never
            // changes.
            assert!((chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{kind:?}: {chi} of {freedom}");
        }
    }
}

#[test]
fn the_end_of_the_buffer_is_respected() {
    // The largest half and the largest place in the page: the last word, not one beyond.
    for mask in MASKS {
        for pages in [1u64, 7, 1 << 26] {
            assert!(place(u32::MAX, pages, mask) + 8 <= pages * HAMMER_PAGE as u64);
        }
    }
}

/// Two stores a turn in one, none in the other; one atomic addition in the chain.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
fn the_claimed_instructions_are_in_the_loops_and_no_other_goes_to_memory() {
    let (store, own): (&str, &[&str]) = match std::env::consts::ARCH {
        "x86_64" => ("mov QWORD PTR [rdi+rdx*1],rax", &["lock xadd QWORD PTR [rdi+rax*1],rdx"]),
        "aarch64" => ("str x", &["ldadd x", "ldxr x", "stxr w"]),
        _ => ("sd ", &["amoadd.d "]),
    };
    let function = |address: *const ()| objdump::disassemble(objdump::in_file(address as usize));
    // RISC-V has some in two bytes (`c.`).
    let text = |i: &objdump::Instruction| i.text.trim_start_matches("c.").to_owned();
    let to_memory = |function: &[objdump::Instruction]| {
        let turn = objdump::innermost(function).iter();
        turn.filter(|i| i.memory().is_some()).map(text).collect::<Vec<_>>()
    };
    let Some(stores) = function(hammer::hammer_store as *const ()) else { return };
    let seen = to_memory(&stores);
    assert_eq!((seen.len(), seen.iter().filter(|i| i.starts_with(store)).count()), (2, 2), "{stores:#?}");
    let bare = function(hammer::hammer_bare as *const ()).unwrap();
    assert_eq!(to_memory(&bare).len(), 0, "{bare:#?}");
    // Except for the stores, and for adding the base to an address, the two loops are the same.
    let multiplies = |function: &[objdump::Instruction]| function.iter().filter(|i| i.text.contains("mul")).count();
    assert_eq!(multiplies(&stores), multiplies(&bare));
    let chain = function(hammer::hammer_own as *const ()).unwrap();
    for claimed in own {
        assert_eq!(chain.iter().filter(|i| text(i).starts_with(claimed)).count(), 1, "{claimed}: {chain:#?}");
    }
    let bare = function(hammer::hammer_own_bare as *const ()).unwrap();
    assert!(!bare.iter().any(|i| own.iter().any(|o| text(i).starts_with(o))), "{bare:#?}");
}
