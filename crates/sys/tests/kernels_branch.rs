//! Kernels of branches, store forwarding, split accesses and wide vectors against their references:
//! counts, states and values, never a time.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod objdump;

use groma_sys::arch::branch::{
    self, BRANCH_BIT, BRANCHES_LONG, BRANCHES_RANDOM, BRANCHES_SHORT, Drawn, JUMPS_RANDOM, Layout, xorshift,
};
use groma_sys::arch::wide::{WIDE_STEP, WIDE_UNROLL, vector_work};
use groma_sys::arch::{CHAIN_OPERAND, portable};
use groma_sys::split::{SPLIT_BYTES, SPLITS, Split, unaligned_usable};
use groma_sys::store_forward::{FORWARDS, Forward, Forwarding};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// 256 bytes that start at a multiple of 64.
#[repr(align(64))]
struct Lines([u8; 8192]);

fn numbered() -> Box<Lines> {
    let mut lines = Box::new(Lines([0; 8192]));
    lines.0.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 37 + 11) as u8);
    lines
}

#[test]
fn branches_are_taken_or_not_as_requested() {
    for layout in [Layout::Apart, Layout::Dense, Layout::Indirect] {
        for (short, in_a_turn) in [(false, BRANCHES_LONG), (true, BRANCHES_SHORT)] {
            for turns in [0, 1, 3, 100] {
                for run in [branch::branches(layout, short), portable::branch::branches(layout, short)] {
                    assert_eq!(0, run(turns, true), "{layout:?}, {turns} turns, all taken");
                    assert_eq!(turns * in_a_turn, run(turns, false), "{layout:?}, {turns} turns, none taken");
                }
            }
        }
    }
}

/// Consecutive taken branches in the same 16 bytes cost more on many CPUs: the layout is part of
/// what is measured.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn taken_branches_are_as_far_apart_as_their_layout_says() {
    for (layout, name, apart) in
        [(Layout::Apart, "jb", true), (Layout::Indirect, "jmp", true), (Layout::Dense, "jb", false)]
    {
        for (short, in_a_turn) in [(false, BRANCHES_LONG), (true, BRANCHES_SHORT)] {
            let run = branch::branches(layout, short) as usize;
            let Some(function) = objdump::disassemble(objdump::in_file(run)) else { return };
            let body = objdump::innermost(&function);
            let at: Vec<usize> = body.iter().filter(|i| i.name() == name).map(|i| i.address).collect();
            assert_eq!(in_a_turn, at.len() as u64, "{layout:?}: {body:#?}");
            let far = at.windows(2).all(|pair| pair[1] - pair[0] >= 16);
            assert_eq!(apart, far, "{layout:?}: {at:x?}");
        }
    }
}

/// The generator's decisions, in the simplest way.
fn chosen(steps: u64, mask: u64) -> Drawn {
    let mut drawn = Drawn { state: SEED, taken: 0 };
    for _ in 0..steps {
        drawn.state = xorshift(drawn.state);
        drawn.taken += drawn.state >> BRANCH_BIT & mask;
    }
    drawn
}

#[test]
fn random_branches_go_where_the_generator_says() {
    for turns in [0, 1, 2, 1000] {
        for random in [false, true] {
            let expected = chosen(turns * BRANCHES_RANDOM, u64::from(random));
            assert_eq!(expected, branch::random_branches(turns, SEED, random));
            assert_eq!(expected, portable::branch::random_branches(turns, SEED, random));
        }
        for mask in [0, 1, 3, 7, 15] {
            let expected = chosen(turns * JUMPS_RANDOM, mask);
            assert_eq!(expected, branch::random_jumps(turns, SEED, mask), "mask {mask}");
            assert_eq!(expected, portable::branch::random_jumps(turns, SEED, mask), "mask {mask}");
        }
    }
}

#[test]
fn the_generator_is_fair_and_without_short_memory() {
    let steps = 1 << 16;
    let taken = chosen(steps, 1).taken;
    // Six standard deviations of 128.
    assert!(taken.abs_diff(steps / 2) < 768, "{taken} of {steps}");
    // Equal to the outcome up to 64 earlier in half of the cases.
    let mut state = SEED;
    let bits: Vec<u64> = (0..steps)
        .map(|_| {
            state = xorshift(state);
            state >> BRANCH_BIT & 1
        })
        .collect();
    for lag in 1..=64 {
        let same = bits.iter().zip(&bits[lag..]).filter(|(a, b)| a == b).count() as u64;
        assert!(same.abs_diff(steps / 2) < 800, "lag {lag}: {same}");
    }
}

#[test]
#[should_panic(expected = "16 targets")]
fn too_many_targets_are_refused() {
    branch::random_jumps(1, SEED, 31);
}

/// The value and the memory of a chain, byte by byte.
fn forwarded(kind: Forward, memory: &mut [u8], store: usize, load: usize, steps: u64) -> u64 {
    let mut x = CHAIN_OPERAND;
    for _ in 0..steps {
        let bytes = match kind {
            Forward::Same | Forward::Renamed | Forward::Narrower | Forward::Other => 8,
            Forward::Wider | Forward::TwoStores => 4,
        };
        memory[store..store + bytes].copy_from_slice(&x.to_ne_bytes()[..bytes]);
        if kind == Forward::TwoStores {
            memory[store + 4..store + 8].copy_from_slice(&CHAIN_OPERAND.to_ne_bytes()[..4]);
        }
        let word = |at: usize| u64::from_ne_bytes(memory[at..at + 8].try_into().unwrap());
        let loaded = match kind {
            Forward::Other => word(load),
            Forward::Narrower => u64::from(u32::from_ne_bytes(memory[store + 4..store + 8].try_into().unwrap())),
            _ => word(store),
        };
        x = loaded.wrapping_add(CHAIN_OPERAND);
    }
    x
}

#[test]
fn loads_see_what_was_stored() {
    // Within a line, across two lines, and across two pages of 4 KiB as far as the buffer reaches.
    for store in [64, 60, 4092] {
        if store % 8 != 0 && unaligned_usable().is_err() {
            continue;
        }
        for kind in Forward::ALL {
            let load = store + 2048;
            for turns in [0, 1, 7] {
                let mut expected = numbered();
                if kind == Forward::Other {
                    expected.0[load..load + 8].fill(0);
                }
                let x = forwarded(kind, &mut expected.0, store, load, turns * FORWARDS);
                for portable in [false, true] {
                    let mut lines = numbered();
                    let make = if portable { Forwarding::portable } else { Forwarding::new };
                    let mut chain = make(kind, &mut lines.0, store, load).unwrap();
                    assert_eq!(x, chain.run(turns), "{kind:?} at {store}, {turns} turns, portable {portable}");
                    assert!(chain.memory() == expected.0, "{kind:?} at {store}: the memory");
                }
            }
        }
    }
}

#[test]
fn chains_outside_of_their_buffer_are_refused() {
    let mut lines = numbered();
    let end = lines.0.len();
    for (kind, store, load) in [
        (Forward::Same, end - 7, 0),
        (Forward::Same, usize::MAX, 0),
        (Forward::Other, 0, end - 4),
        (Forward::Other, 64, 64),
        (Forward::Other, 64, 71),
    ] {
        assert!(Forwarding::new(kind, &mut lines.0, store, load).is_err(), "{kind:?} {store} {load}");
    }
    assert!(Forwarding::new(Forward::Same, &mut lines.0, end - 8, 0).is_ok());
    assert!(Split::new(&mut lines.0, [0, 8, 16, end - 7]).is_err());
    assert!(Split::new(&mut lines.0, [0, 8, 16, end - 8]).is_ok());
}

#[test]
fn loads_at_any_address_are_summed_and_stores_arrive() {
    for at in [[0, 8, 16, 24], [60, 188, 316, 444], [4092, 124, 252, 380]] {
        if at[0] % SPLIT_BYTES != 0 && unaligned_usable().is_err() {
            continue;
        }
        for turns in [0, 1, 5] {
            let mut lines = numbered();
            let before = lines.0;
            let word = |at: usize| u64::from_ne_bytes(before[at..at + 8].try_into().unwrap());
            let once = at.iter().fold(0_u64, |sum, at| sum.wrapping_add(word(*at)));
            let mut split = Split::new(&mut lines.0, at).unwrap();
            assert_eq!(once.wrapping_mul(turns * SPLITS / 4), split.load(turns), "{at:?}, {turns} turns");
            split.store(turns, SEED);
            assert_eq!(split.words(), if turns > 0 { [SEED; 4] } else { at.map(word) });
            let mut expected = before;
            if turns > 0 {
                at.iter().for_each(|at| expected[*at..at + 8].copy_from_slice(&SEED.to_ne_bytes()));
            }
            assert!(lines.0 == expected, "{at:?}: other bytes were changed");
        }
    }
}

#[test]
fn vector_work_does_all_of_its_additions() {
    let mut some = 0;
    for name in ["vector128", "vector256", "vector512", "sve"] {
        match vector_work(name) {
            Ok(works) => {
                some += 1;
                for (work, turns) in works.iter().flat_map(|work| [0, 1, 3, 1000].map(|turns| (work, turns))) {
                    let expected = (turns * WIDE_UNROLL) as f64 * WIDE_STEP;
                    assert_eq!(expected, work(turns), "{name}");
                    assert_eq!(expected, portable::wide::reference(turns));
                }
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
    println!("{some} kinds of vector work here");
    assert!(vector_work("vector7").is_err());
}
