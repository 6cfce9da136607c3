//! The whole numbers below a bound in random order, without storing a list of them.

use crate::Rng;
use crate::rng::mix;

/// A random order of the numbers from 0 to `n` - 1; each occurs at exactly one place.
///
/// A Feistel network permutes the numbers of an even count of bits; an output of `n` or more goes
/// in again until it is below ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite
/// domains", CT-RSA 2002). At most four times `n` numbers have that many bits, so this takes at
/// worst four passes through the network on average. A linear congruential generator of full period
/// was rejected: its neighbours are a constant distance apart, which read-ahead can learn
/// (docs/methods/statistics.md#random-numbers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permutation {
    n: u64,
    /// The number of bits of each half.
    half: u32,
    keys: [u64; ROUNDS],
}

/// Three give a pseudo-random permutation, four a strong one (Luby and Rackoff 1988). There are two
/// more because the round function is a good mixer but not a cipher, and halves may have one bit.
const ROUNDS: usize = 6;

impl Permutation {
    /// An order determined by the next outputs of the generator.
    #[must_use]
    pub fn new(n: u64, rng: &mut Rng) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self { n, half: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// The number at that place; `None` from `n` on.
    #[must_use]
    pub fn at(&self, place: u64) -> Option<u64> {
        if place >= self.n {
            return None;
        }
        let mut number = self.permute(place);
        // The value falls below `n` at the latest when the cycle returns to `place`.
        while number >= self.n {
            number = self.permute(number);
        }
        Some(number)
    }

    fn permute(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (u64::BITS - self.half);
        let (mut left, mut right) = (number >> self.half, number & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_comes_exactly_once() {
        for n in (0..70).chain([255, 256, 257, 1000, 4095, 4096, 4097, 65_537]) {
            let order = Permutation::new(n, &mut Rng::new(n));
            let mut seen = vec![0u32; n as usize];
            for place in 0..n {
                seen[order.at(place).expect("within") as usize] += 1;
            }
            assert!(seen.iter().all(|times| *times == 1), "n = {n}");
            assert_eq!((order.at(n), order.at(u64::MAX)), (None, None), "n = {n}");
        }
    }

    #[test]
    fn bounds_at_the_end_of_64_bits() {
        for n in [(1 << 62) + 1, 1 << 63, u64::MAX] {
            let order = Permutation::new(n, &mut Rng::new(1));
            let mut first: Vec<u64> = (0..10_000).map(|place| order.at(place).expect("within")).collect();
            assert!(first.iter().all(|number| *number < n));
            first.sort_unstable();
            first.dedup();
            assert_eq!(first.len(), 10_000, "n = {n}");
        }
    }

    /// The number of adjacent successors, of rises and of distinct distances, and the average of a
    /// part, are those of a random order. The probability of leaving these bounds is below one in a
    /// thousand; the seeds are fixed.
    #[test]
    fn the_order_is_random_and_follows_from_the_seed() {
        const N: u64 = 10_000;
        let numbers = |seed| -> Vec<u64> {
            let order = Permutation::new(N, &mut Rng::new(seed));
            (0..N).filter_map(|place| order.at(place)).collect()
        };
        for seed in 0..20 {
            let order = numbers(seed);
            let rises = order.windows(2).filter(|w| w[0] < w[1]).count() as f64;
            // Of n numbers in random order, (n - 1) / 2 rise, with a variance of (n + 1) / 12.
            assert!((rises - (N as f64 - 1.0) / 2.0).abs() < 4.0 * (N as f64 / 12.0).sqrt(), "seed {seed}: {rises}");
            let next = order.windows(2).filter(|w| w[1].wrapping_sub(w[0]) == 1).count();
            assert!(next < 8, "seed {seed}: {next} are followed by their successor");
            let mut steps: Vec<u64> = order.windows(2).map(|w| w[1].wrapping_sub(w[0])).collect();
            steps.sort_unstable();
            steps.dedup();
            assert!(steps.len() > 5000, "seed {seed}: {} distances", steps.len());
            let early = order[..1000].iter().sum::<u64>() as f64 / 1000.0;
            assert!(
                (early - N as f64 / 2.0).abs() < 4.0 * N as f64 / (12.0 * 1000.0f64).sqrt(),
                "seed {seed}: {early}"
            );
        }
        assert_eq!(numbers(3), numbers(3));
        assert_ne!(numbers(3), numbers(4));
    }

    /// The first two outputs of splitmix64 with seed 0, as the authors' C program prints them.
    #[test]
    fn the_finaliser_is_that_of_splitmix64() {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        assert_eq!(mix(GAMMA), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GAMMA.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }
}
