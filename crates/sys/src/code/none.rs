//! No code can be written for this CPU yet.

use super::Filler;

pub(super) const JUMP: usize = 4;

pub(super) fn function() -> Option<&'static [u8]> {
    None
}

pub(super) fn block(_: usize) -> Option<Vec<u8>> {
    None
}

pub(super) fn jumps(_: usize, _: usize) -> Option<Vec<u8>> {
    None
}

pub(super) fn calls(_: usize) -> Option<Vec<u8>> {
    None
}

pub(super) fn window(_: usize, _: Filler) -> Option<Vec<u8>> {
    None
}

pub(super) fn see_code(_: &[u8]) {}
