//! Code of x86-64: see [`super`]. `rdi` counts turns down, `rsi` is the address of the places.

use super::{Filler, NOTHING};

/// A jump has two bytes; in units of these its spacing is given.
pub(super) const JUMP: usize = 2;
/// `nop dword [rax + 0]`
const NOP4: [u8; NOTHING] = [0x0f, 0x1f, 0x40, 0x00];
/// `xor eax, eax`
const COUNT_FROM_0: [u8; 2] = [0x31, 0xc0];
/// `add rax, 1`
const COUNT: [u8; 4] = [0x48, 0x83, 0xc0, 0x01];
/// `nop`
const NOP: [u8; 1] = [0x90];
/// `int3`
const TRAP: u8 = 0xcc;
/// `ret`
const RETURN: u8 = 0xc3;
/// Bytes from one function to the next: no two in one line of 32 bytes, which share predictor
/// entries.
const FUNCTION_BYTES: usize = 32;

pub(super) fn function() -> Option<&'static [u8]> {
    // endbr64; mov rax, rdi; ret
    Some(&[0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, RETURN])
}

pub(super) fn block(count: usize) -> Option<Vec<u8>> {
    let mut text = COUNT_FROM_0.to_vec();
    text.extend(NOP4.repeat(count));
    text.extend(COUNT);
    turn(&mut text, COUNT_FROM_0.len());
    text.push(RETURN);
    Some(text)
}

pub(super) fn jumps(count: usize, spacing: usize) -> Option<Vec<u8>> {
    let mut text = COUNT_FROM_0.to_vec();
    text.resize(COUNT_FROM_0.len() + count * spacing, TRAP);
    for slot in text[COUNT_FROM_0.len()..].chunks_exact_mut(spacing) {
        match i8::try_from(spacing - 2) {
            // jmp rel8
            Ok(over) => slot[..2].copy_from_slice(&[0xeb, over as u8]),
            // jmp rel32
            Err(_) => {
                slot[0] = 0xe9;
                slot[1..5].copy_from_slice(&(spacing as i32 - 5).to_le_bytes());
            }
        }
    }
    text.extend(COUNT);
    turn(&mut text, COUNT_FROM_0.len());
    text.push(RETURN);
    Some(text)
}

pub(super) fn calls(depth: usize) -> Option<Vec<u8>> {
    let mut text = vec![TRAP; FUNCTION_BYTES * (depth + 1)];
    text[..2].copy_from_slice(&COUNT_FROM_0);
    // call the first function
    call(&mut text, 2, FUNCTION_BYTES);
    let mut end = Vec::new();
    // sub rdi, 1; jnz to the call; ret
    end.extend([0x48, 0x83, 0xef, 0x01, 0x75, (-(5 + 4 + 2_i8)) as u8, RETURN]);
    text[7..7 + end.len()].copy_from_slice(&end);
    for function in 1..=depth {
        let at = function * FUNCTION_BYTES;
        text[at..at + 4].copy_from_slice(&COUNT);
        if function < depth {
            call(&mut text, at + 4, at + FUNCTION_BYTES);
            text[at + 9] = RETURN;
        } else {
            text[at + 4] = RETURN;
        }
    }
    Some(text)
}

pub(super) fn window(count: usize, filler: Filler) -> Option<Vec<u8>> {
    // mov r8, [rsi]; mov r9, [rsi + 8]
    let mut text = vec![0x4c, 0x8b, 0x06, 0x4c, 0x8b, 0x4e, 0x08];
    let start = text.len();
    // mov r8, [r8]
    text.extend([0x4d, 0x8b, 0x00]);
    fill(&mut text, count, filler, 0);
    // mov r9, [r9]
    text.extend([0x4d, 0x8b, 0x09]);
    fill(&mut text, count, filler, 1);
    turn(&mut text, start);
    // mov [rsi], r8; mov [rsi + 8], r9
    text.extend([0x4c, 0x89, 0x06, 0x4c, 0x89, 0x4e, 0x08, RETURN]);
    Some(text)
}

/// Behind the load of `r8` or, for a `ring` of 1, of `r9`.
fn fill(text: &mut Vec<u8>, count: usize, filler: Filler, ring: u8) {
    for i in 0..count {
        // rax, rcx, rdx, r10, r11: the bit that extends the number, and its other three.
        let (extended, register) = [(0, 0), (0, 1), (0, 2), (1, 2), (1, 3)][i % 5];
        match filler {
            Filler::Nothing => text.extend(NOP),
            // add register, 1
            Filler::Additions => text.extend([0x48 | extended, 0x83, 0xc0 | register, 0x01]),
            // add register, r8 or r9
            Filler::Waiting => text.extend([0x4c | extended, 0x01, 0xc0 | ring << 3 | register]),
            // mov rax, [rsi + 16]
            Filler::Loads => text.extend([0x48, 0x8b, 0x46, 0x10]),
            // mov [rsi + 16], rax
            Filler::Stores => text.extend([0x48, 0x89, 0x46, 0x10]),
        }
    }
}

/// `sub rdi, 1` and `jnz` back to `start`.
fn turn(text: &mut Vec<u8>, start: usize) {
    text.extend([0x48, 0x83, 0xef, 0x01, 0x0f, 0x85]);
    let back = start as i64 - (text.len() as i64 + 4);
    text.extend((back as i32).to_le_bytes());
}

fn call(text: &mut [u8], at: usize, to: usize) {
    text[at] = 0xe8;
    text[at + 1..at + 5].copy_from_slice(&(to as i32 - (at as i32 + 5)).to_le_bytes());
}

/// Stores to code are seen by all that is fetched later.
pub(super) fn see_code(_: &[u8]) {}
