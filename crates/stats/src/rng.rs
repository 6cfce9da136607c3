//! A small, fast, seeded generator: the same seed gives the same run order on every machine, in
//! every version.
//!
//! For shuffling, jitter and simulation; not for secrets.

/// Pseudo-random numbers by xoshiro256++ (Blackman and Vigna, "Scrambled linear pseudorandom number
/// generators", ACM TOMS 2021), its state filled by splitmix64 as the authors recommend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose whole stream is determined by `seed`. Every seed is good, including 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut position = seed;
        let state = std::array::from_fn(|_| {
            position = position.wrapping_add(GOLDEN_GAMMA);
            mix(position)
        });
        Self { state }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A uniformly distributed whole number from 0 to `n` - 1; 0 if `n` is 0.
    ///
    /// Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019: multiplies instead
    /// of dividing, and rejects the few outputs that would favour some numbers.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            // The limit is below `n`, so that hardly any number needs the division for it.
            if product as u64 >= n || product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A uniformly distributed multiple of 2^-53 in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A standard normal number (Box and Muller 1958).
    ///
    /// Unlike the other functions it uses the platform's logarithm and cosine, so its last bit may
    /// differ between platforms.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles `items`, every order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }

    /// A generator for `label` whose stream is unrelated to this one and to those of other labels.
    ///
    /// This generator does not advance, so the use of one label's stream never changes another's.
    /// The same label twice, without an output in between, gives the same stream twice.
    #[must_use]
    pub fn fork(&self, label: u64) -> Self {
        let seed = self
            .state
            .iter()
            .fold(mix(label.wrapping_add(GOLDEN_GAMMA)), |seed, word| mix(seed.wrapping_add(GOLDEN_GAMMA) ^ word));
        Self::new(seed)
    }
}

/// The step of splitmix64: 2^64 divided by the golden ratio, odd (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of splitmix64, a one-to-one map: every input bit changes every output bit
/// with a chance of about one half. Only 0 becomes 0.
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden values from an implementation in Python, written from the papers.
    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let first = |seed| {
            let mut rng = Rng::new(seed);
            [rng.next_u64(), rng.next_u64(), rng.next_u64(), rng.next_u64()]
        };
        assert_eq!(first(0), [0x53175d61490b23df, 0x61da6f3dc380d507, 0x5c0fdf91ec9a7bfc, 0x02eebf8c3bbe5e1a]);
        assert_eq!(first(42), [0xd0764d4f4476689f, 0x519e4174576f3791, 0xfbe07cfb0c24ed8c, 0xb37d9f600cd835b8]);
        assert_eq!(first(u64::MAX), [0x56ccf8ce948e27b2, 0xe68588432e5a5b90, 0xe3e9b5a48119ca8b, 0x460f19495532ae73]);
    }

    #[test]
    fn derived_numbers_never_change() {
        let mut rng = Rng::new(42);
        assert_eq!([rng.unit(), rng.unit(), rng.unit()], [0.8143051451229099, 0.3188210400616611, 0.9838941681774888]);

        let mut rng = Rng::new(42);
        let digits: Vec<u64> = (0..12).map(|_| rng.below(10)).collect();
        assert_eq!(digits, [8, 3, 9, 7, 7, 5, 1, 6, 2, 9, 5, 8]);

        // Half of all outputs are rejected here.
        let mut rng = Rng::new(42);
        let large: Vec<u64> = (0..4).map(|_| rng.below((1 << 63) + 1)).collect();
        assert_eq!(large, [2940605065665682376, 9074821957992740550, 6466834469879552732, 5581269471817655715]);

        let mut items: Vec<u32> = (0..10).collect();
        Rng::new(42).shuffle(&mut items);
        assert_eq!(items, [5, 3, 1, 0, 9, 6, 4, 7, 2, 8]);

        assert_eq!(Rng::new(42).fork(7).next_u64(), 0xedb7f2ba4147aee3);
        assert_eq!(Rng::new(42).fork(8).next_u64(), 0x70d0326bd3fd9ae6);

        let mut rng = Rng::new(42);
        for expected in [-0.7689930538210061, -0.8684461074702454, -1.5109749830006707] {
            assert!((rng.normal() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut rng = Rng::new(1);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 24);
        let chi_squared: f64 = counts.values().map(|&count| f64::from(count - 1000).powi(2) / 1000.0).sum();
        // scipy: chi2.ppf(0.9999, 23)
        assert!(chi_squared < 57.07, "{chi_squared}");
    }

    #[test]
    fn normal_numbers_have_the_normal_moments() {
        let mut rng = Rng::new(2);
        let n = 200_000;
        let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let moment = |power| values.iter().map(|value| value.powi(power)).sum::<f64>() / f64::from(n);
        assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.015, "{} {}", moment(1), moment(2));
        assert!(moment(3).abs() < 0.03 && (moment(4) - 3.0).abs() < 0.08, "{} {}", moment(3), moment(4));
    }

    #[test]
    fn a_fork_does_not_advance_its_parent_and_has_its_own_stream() {
        let parent = Rng::new(3);
        let (mut one, mut two, mut same) = (parent.fork(1), parent.fork(2), parent.fork(1));
        assert_eq!(parent, Rng::new(3));
        let pairs: Vec<(u64, u64)> = (0..1000).map(|_| (one.next_u64(), two.next_u64())).collect();
        assert!(pairs.iter().all(|(one, _)| *one == same.next_u64()));
        // Independent bits differ in half of the 64 000 places, give or take 4 standard deviations
        // of 126.
        let different: u32 = pairs.iter().map(|(one, two)| (one ^ two).count_ones()).sum();
        assert!(different.abs_diff(32_000) < 506, "{different}");
    }

    #[test]
    fn an_empty_range_does_not_panic() {
        let mut rng = Rng::new(4);
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        rng.shuffle::<u8>(&mut []);
    }
}
