//! Random numbers for tests: the same in every run.

/// Marsaglia's xorshift64, reduced to a range by multiplication.
pub(crate) fn random(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((u128::from(state) * u128::from(limit)) >> 64) as u64
    }
}
