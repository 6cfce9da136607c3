//! Code of AArch64: see [`super`]. `x0` counts turns down, `x1` is the address of the places.
//!
//! # Safety
//! `__clear_cache` gets the bounds of a slice that the caller borrows.

use super::{Filler, NOTHING};

/// Bytes of an instruction.
pub(super) const JUMP: usize = 4;
const NOP: u32 = 0xd503_201f;
/// `brk #0`
const TRAP: u32 = 0xd420_0000;
/// `mov x9, #0`
const COUNT_FROM_0: u32 = 0xd280_0009;
/// `add x9, x9, #1`
const COUNT: u32 = 0x9100_0529;
/// `mov x0, x9`
const COUNTED: u32 = 0xaa09_03e0;
const RETURN: u32 = 0xd65f_03c0;
/// Instructions from one function to the next.
const FUNCTION_WORDS: usize = 8;

unsafe extern "C" {
    /// Of the compiler's run-time library: makes what was stored in this range visible to the
    /// fetch of instructions.
    fn __clear_cache(start: *mut u8, end: *mut u8);
}

pub(super) fn function() -> Option<&'static [u8]> {
    // nop; ret: the argument is in the register of the result.
    Some(&[0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6])
}

pub(super) fn block(count: usize) -> Option<Vec<u8>> {
    const { assert!(NOTHING == 4) };
    let mut text = vec![NOP; count + 1];
    text[0] = COUNT_FROM_0;
    text.push(COUNT);
    turn(&mut text, 1);
    text.extend([COUNTED, RETURN]);
    Some(bytes(&text))
}

pub(super) fn jumps(count: usize, spacing: usize) -> Option<Vec<u8>> {
    let mut text = vec![TRAP; 1 + count * spacing / 4];
    text[0] = COUNT_FROM_0;
    for slot in text[1..].chunks_exact_mut(spacing / 4) {
        slot[0] = branch(0, spacing / 4);
    }
    text.push(COUNT);
    turn(&mut text, 1);
    text.extend([COUNTED, RETURN]);
    Some(bytes(&text))
}

pub(super) fn calls(depth: usize) -> Option<Vec<u8>> {
    let mut text = vec![TRAP; FUNCTION_WORDS * (depth + 1)];
    // stp x29, x30, [sp, #-16]!; 0; bl; subs x0, x0, #1; b.ne to bl; the count; ldp x29, x30,
    // [sp], #16; ret
    let begin =
        [0xa9bf_7bfd, COUNT_FROM_0, link(2, FUNCTION_WORDS), 0xf100_0400, 0x54ff_ffc1, COUNTED, 0xa8c1_7bfd, RETURN];
    text[..FUNCTION_WORDS].copy_from_slice(&begin);
    for function in 1..=depth {
        let at = function * FUNCTION_WORDS;
        text[at] = COUNT;
        if function < depth {
            text[at + 1..at + 5].copy_from_slice(&[
                0xa9bf_7bfd,
                link(at + 2, at + FUNCTION_WORDS),
                0xa8c1_7bfd,
                RETURN,
            ]);
        } else {
            text[at + 1] = RETURN;
        }
    }
    Some(bytes(&text))
}

pub(super) fn window(count: usize, filler: Filler) -> Option<Vec<u8>> {
    // ldr x8, [x1]; ldr x9, [x1, #8]
    let mut text = vec![0xf940_0028, 0xf940_0429];
    // ldr x8, [x8]
    text.push(0xf940_0108);
    fill(&mut text, count, filler, 0);
    // ldr x9, [x9]
    text.push(0xf940_0129);
    fill(&mut text, count, filler, 1);
    turn(&mut text, 2);
    // str x8, [x1]; str x9, [x1, #8]
    text.extend([0xf900_0028, 0xf900_0429, RETURN]);
    Some(bytes(&text))
}

/// Behind the load of `x8` or, for a `ring` of 1, of `x9`.
fn fill(text: &mut Vec<u32>, count: usize, filler: Filler, ring: u32) {
    for i in 0..count {
        let register = 10 + (i % 5) as u32;
        text.push(match filler {
            Filler::Nothing => NOP,
            // add xR, xR, #1
            Filler::Additions => 0x9100_0400 | register << 5 | register,
            // add xR, xR, x8 or x9
            Filler::Waiting => 0x8b00_0000 | (8 + ring) << 16 | register << 5 | register,
            // ldr x10, [x1, #16]
            Filler::Loads => 0xf940_082a,
            // str x10, [x1, #16]
            Filler::Stores => 0xf900_082a,
        });
    }
}

/// `subs x0, x0, #1`, `b.eq` over the next instruction, and `b` back to `start`: a conditional
/// branch reaches no further than 1 MiB.
fn turn(text: &mut Vec<u32>, start: usize) {
    text.extend([0xf100_0400, 0x5400_0040]);
    text.push(branch(text.len(), start));
}

fn branch(at: usize, to: usize) -> u32 {
    0x1400_0000 | ((to as i64 - at as i64) as u32 & 0x03ff_ffff)
}

fn link(at: usize, to: usize) -> u32 {
    0x9400_0000 | ((to as i64 - at as i64) as u32 & 0x03ff_ffff)
}

fn bytes(text: &[u32]) -> Vec<u8> {
    text.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn see_code(text: &[u8]) {
    let bounds = text.as_ptr_range();
    // SAFETY: both are bounds of a slice, and nothing is written.
    unsafe { __clear_cache(bounds.start.cast_mut(), bounds.end.cast_mut()) };
}
