//! The reference for operations: each in plain Rust, for every element of every chain.
//!
//! There are no kernels here: a compiler may fold, reorder and vectorise, so times would mean
//! nothing. A CPU without native kernels has none.

use super::super::operation::{MAX_CHAINS, Operands, OperationKernel, OperationLoop, Register, State};
use std::num::FpCategory;

/// No kernels: see above.
pub static OPERATION_KERNELS: &[OperationKernel] = &[];

/// Whether the CPU has an extension: none is known.
pub fn operation_isa_here(isa: &str) -> bool {
    isa == "base"
}

/// What a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Element {
    /// Its size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Element::I32 | Element::F32 => 4,
            Element::I64 | Element::F64 => 8,
        }
    }
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Add,
    Mul,
    Div,
    DivSmall,
    Mod,
    ModSmall,
    Xor,
    Shift,
    Rotate,
    Sqrt,
    Fma,
    Popcnt,
    Crc32,
}

/// An operation as the table in [`operation`](super::super::operation) defines it.
#[derive(Debug)]
pub struct Reference {
    /// As [`OperationKernel::name`].
    pub name: &'static str,
    /// What a lane holds.
    pub element: Element,
    /// Elements in a register.
    pub lanes: usize,
    kind: Kind,
}

macro_rules! references {
    ($($name:literal $element:ident $lanes:literal $kind:ident;)*) => {
        /// All operations that are defined.
        pub static REFERENCES: &[Reference] =
            &[$(Reference { name: $name, element: Element::$element, lanes: $lanes, kind: Kind::$kind }),*];
    };
}

references! {
    "i64.add" I64 1 Add; "i64.mul" I64 1 Mul; "i64.div" I64 1 Div; "i64.div_small" I64 1 DivSmall; "i64.mod" I64 1 Mod;
    "i64.mod_small" I64 1 ModSmall; "i64.xor" I64 1 Xor; "i64.shift" I64 1 Shift; "i64.rotate" I64 1 Rotate;
    "i64.popcnt" I64 1 Popcnt; "i64.crc32" I64 1 Crc32;
    "i32.add" I32 1 Add; "i32.mul" I32 1 Mul; "i32.div" I32 1 Div; "i32.div_small" I32 1 DivSmall; "i32.mod" I32 1 Mod;
    "i32.mod_small" I32 1 ModSmall; "i32.xor" I32 1 Xor; "i32.shift" I32 1 Shift; "i32.rotate" I32 1 Rotate;
    "f64.add" F64 1 Add; "f64.mul" F64 1 Mul; "f64.div" F64 1 Div; "f64.sqrt" F64 1 Sqrt; "f64.fma" F64 1 Fma;
    "f64.add_subnormal" F64 1 Add; "f64.mul_subnormal" F64 1 Mul;
    "f32.add" F32 1 Add; "f32.mul" F32 1 Mul; "f32.div" F32 1 Div; "f32.sqrt" F32 1 Sqrt; "f32.fma" F32 1 Fma;
    "f64x2.add" F64 2 Add; "f64x2.mul" F64 2 Mul; "f64x2.div" F64 2 Div; "f64x2.fma" F64 2 Fma;
    "f64x4.add" F64 4 Add; "f64x4.mul" F64 4 Mul; "f64x4.div" F64 4 Div; "f64x4.fma" F64 4 Fma;
    "f64x8.add" F64 8 Add; "f64x8.mul" F64 8 Mul; "f64x8.div" F64 8 Div; "f64x8.fma" F64 8 Fma;
    "i32x4.add" I32 4 Add; "i32x4.mul" I32 4 Mul;
    "i32x8.add" I32 8 Add; "i32x8.mul" I32 8 Mul;
    "i32x16.add" I32 16 Add; "i32x16.mul" I32 16 Mul;
}

/// The smallest positive double.
const SMALLEST_DOUBLE: f64 = f64::from_bits(1);

/// A double as bits, or its single-precision counterpart.
fn float(element: Element, value: f64) -> u64 {
    if element == Element::F32 { u64::from((value as f32).to_bits()) } else { value.to_bits() }
}

impl Reference {
    /// The operation of that name.
    pub fn find(name: &str) -> Option<&'static Reference> {
        REFERENCES.iter().find(|r| r.name == name)
    }

    /// The operands, as bits of an element.
    fn operands(&self) -> [u64; 3] {
        let floats = |y0, y1, z| [y0, y1, z].map(|value| float(self.element, value));
        let wide = self.element == Element::I64;
        match (self.element, self.kind) {
            // Their difference is the smallest number: no sum becomes normal within a day.
            (_, Kind::Add) if self.is_subnormal() => floats(3.0 * SMALLEST_DOUBLE, -2.0 * SMALLEST_DOUBLE, 0.0),
            // No bit is lost: the seeds are even.
            _ if self.is_subnormal() => floats(0.5, 2.0, 0.0),
            (Element::F32 | Element::F64, Kind::Add) => floats(1.0, -0.75, 0.0),
            // The product of the operands is 1 except for rounding.
            (Element::F32 | Element::F64, Kind::Mul | Kind::Div) => floats(1.5, 2.0 / 3.0, 0.0),
            // A third: a product that is rounded before the addition would show.
            (Element::F32 | Element::F64, _) => floats(1.0, -0.75, 1.0 / 3.0),
            (_, Kind::Div) if wide => [0xd1b5_4a32_d192_ed03, 0xd1b5_4a32_d192_ed03, 0],
            (_, Kind::Div) => [0xd1b5_4a33, 0xd1b5_4a33, 0],
            (_, Kind::DivSmall) => [50021, 50021, 0],
            (_, Kind::Mod) if wide => [0xb504_f333, 0xb504_f333, 0xd1b5_4a32_d192_ed03],
            (_, Kind::Mod) => [0xb505, 0xb505, 0xd1b5_4a33],
            (_, Kind::ModSmall) => [251, 251, 50021],
            // Odd: multiplying loses no bit, not in 32 bits either.
            (Element::I32, _) => [0x7f4a_7c15, 0x27d4_eb4f, 0],
            _ => [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0],
        }
    }

    /// The start value of a lane of a chain: all differ.
    fn seed(&self, chain: usize, lane: usize) -> u64 {
        let n = (chain * 16 + lane) as u64;
        match (self.element, self.kind) {
            // Even, and far from the smallest normal number, which is 1 << 52.
            _ if self.is_subnormal() => (1 << 50) + 2 * n,
            // Far from 0 whatever is added in turn, and below 1 for roots.
            (Element::F32 | Element::F64, Kind::Sqrt) => float(self.element, 0.5 + n as f64 / 1024.0),
            (Element::F32 | Element::F64, _) => float(self.element, 2.0 + n as f64 / 1024.0),
            // About the root of the dividend, so that quotients are as large as divisors.
            (Element::I64, Kind::Div) => 3_000_000_000 + n * 1_000_003,
            (_, Kind::Div) => 40_000 + n * 37,
            (_, Kind::DivSmall | Kind::ModSmall) => 101 + n / 4,
            (_, Kind::Mod) => 1009 * (n + 1) % 0xb505,
            (Element::I32, _) => (0x85eb_ca6b + n * 0x0101_0101) & 0xffff_ffff,
            _ => 0x8510_2ad3_5c6e_91b7 ^ n.wrapping_mul(0x0101_0101_0101_0101),
        }
    }

    /// One step, on bits of an element.
    fn step(&self, x: u64, y: u64, z: u64) -> u64 {
        match self.element {
            Element::I64 => match self.kind {
                Kind::Add => x.wrapping_add(y),
                Kind::Mul => x.wrapping_mul(y),
                Kind::Xor => x ^ y,
                Kind::Div | Kind::DivSmall => y / x,
                Kind::Mod | Kind::ModSmall => x.wrapping_add(z) % y,
                Kind::Shift => (x.cast_signed() >> 3).cast_unsigned(),
                Kind::Rotate => x.rotate_right(7),
                Kind::Popcnt => u64::from(x.count_ones()),
                Kind::Crc32 => u64::from(y.to_le_bytes().into_iter().fold(x as u32, crc32c)),
                Kind::Sqrt | Kind::Fma => unreachable!("no such operation of integers"),
            },
            Element::I32 => u64::from({
                let (x, y, z) = (x as u32, y as u32, z as u32);
                match self.kind {
                    Kind::Add => x.wrapping_add(y),
                    Kind::Mul => x.wrapping_mul(y),
                    Kind::Xor => x ^ y,
                    Kind::Div | Kind::DivSmall => y / x,
                    Kind::Mod | Kind::ModSmall => x.wrapping_add(z) % y,
                    Kind::Shift => (x.cast_signed() >> 3).cast_unsigned(),
                    Kind::Rotate => x.rotate_right(7),
                    _ => unreachable!("no such operation of 32-bit integers"),
                }
            }),
            Element::F32 => {
                let [x, y, z] = [x, y, z].map(|bits| f32::from_bits(bits as u32));
                u64::from(match self.kind {
                    Kind::Add => (x + y).to_bits(),
                    Kind::Mul => (x * y).to_bits(),
                    Kind::Div => (x / y).to_bits(),
                    Kind::Sqrt => x.sqrt().to_bits(),
                    Kind::Fma => y.mul_add(z, x).to_bits(),
                    _ => unreachable!("no such operation of floats"),
                })
            }
            Element::F64 => {
                let [x, y, z] = [x, y, z].map(f64::from_bits);
                match self.kind {
                    Kind::Add => (x + y).to_bits(),
                    Kind::Mul => (x * y).to_bits(),
                    Kind::Div => (x / y).to_bits(),
                    Kind::Sqrt => x.sqrt().to_bits(),
                    Kind::Fma => y.mul_add(z, x).to_bits(),
                    _ => unreachable!("no such operation of floats"),
                }
            }
        }
    }

    /// A register with these elements.
    fn register(&self, element: impl Fn(usize) -> u64) -> Register {
        let mut register = [0; size_of::<Register>()];
        let size = self.element.bytes();
        for (lane, room) in register.chunks_exact_mut(size).take(self.lanes).enumerate() {
            room.copy_from_slice(&element(lane).to_le_bytes()[..size]);
        }
        register
    }

    /// The operands as kernels expect them: the same in every lane.
    pub fn operand_registers(&self) -> Operands {
        Operands(self.operands().map(|value| self.register(|_| value)))
    }

    /// The state that loops start from, for all chains whether a loop has them or not.
    pub fn start(&self) -> State {
        State(std::array::from_fn(|chain| self.register(|lane| self.seed(chain, lane))))
    }

    /// The state after `turns` turns of a loop.
    pub fn after(&self, of: &OperationLoop, turns: u64) -> State {
        let mut state = self.start();
        let [y0, y1, z] = self.operands();
        for (chain, register) in state.0.iter_mut().take(of.chains.min(MAX_CHAINS)).enumerate() {
            *register = self.register(|lane| {
                (0..turns * of.steps)
                    .fold(self.seed(chain, lane), |x, i| self.step(x, if i % 2 == 0 { y0 } else { y1 }, z))
            });
        }
        state
    }

    /// What its floating-point values are, from the first to the last.
    pub fn class(&self) -> FpCategory {
        if self.is_subnormal() { FpCategory::Subnormal } else { FpCategory::Normal }
    }

    /// The number of floating-point values of the first `chains` that are of another
    /// [class](Reference::class).
    pub fn of_another_class(&self, state: &State, chains: usize) -> usize {
        let bytes = self.lanes * self.element.bytes();
        let elements =
            state.0.iter().take(chains).flat_map(|register| register[..bytes].chunks_exact(self.element.bytes()));
        let classes = elements.filter_map(|bits| match self.element {
            Element::F32 => bits.try_into().ok().map(|bits| f32::from_le_bytes(bits).classify()),
            Element::F64 => bits.try_into().ok().map(|bits| f64::from_le_bytes(bits).classify()),
            Element::I32 | Element::I64 => None,
        });
        classes.filter(|class| *class != self.class()).count()
    }

    /// The name of the kernel: operations on subnormal numbers are those on others with other
    /// operands.
    pub fn kernel(&self) -> &'static str {
        self.name.trim_end_matches("_subnormal")
    }

    fn is_subnormal(&self) -> bool {
        self.kernel() != self.name
    }
}

/// A byte into a CRC-32C (Castagnoli's polynomial, bits reversed), without the usual complements.
fn crc32c(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: OperationLoop = OperationLoop { chains: MAX_CHAINS, steps: 26, run: nothing };

    fn nothing(_: *mut State, _: *const Operands, _: u64) {}

    #[test]
    fn a_known_crc() {
        // CRC-32C of "123456789" (RFC 3720's check value), with the complements.
        assert_eq!(!b"123456789".iter().copied().fold(!0, crc32c), 0xe306_9283);
    }

    #[test]
    fn values_stay_of_their_class_and_divisors_do_not_vanish() {
        for reference in REFERENCES.iter().filter(|r| r.lanes == 1) {
            let state = reference.after(&LOOP, 4000);
            assert_eq!(reference.of_another_class(&state, MAX_CHAINS), 0, "{}", reference.name);
        }
    }

    #[test]
    fn a_value_of_another_class_is_seen() {
        for (name, at, other) in [("f64x4.add", 24, 1e-310), ("f64.mul_subnormal", 0, f64::MIN_POSITIVE)] {
            let reference = Reference::find(name).expect("is in the table");
            let mut state = reference.start();
            for bad in [f64::INFINITY, f64::NAN, 0.0, other] {
                state.0[3][at..at + 8].copy_from_slice(&bad.to_le_bytes());
                let seen = [4, 3].map(|chains| reference.of_another_class(&state, chains));
                assert_eq!(seen, [1, 0], "{name}: {bad}");
            }
        }
    }

    #[test]
    fn a_step_more_or_less_shows_after_odd_turns() {
        // Not for operations with a fixed point: shifts end at -1, population counts at 1, roots
        // below 1.
        for reference in REFERENCES.iter().filter(|r| !matches!(r.kind, Kind::Shift | Kind::Popcnt | Kind::Sqrt)) {
            let answer = |steps| reference.after(&OperationLoop { steps, ..LOOP }, 3);
            assert_ne!(answer(26), answer(25), "{}", reference.name);
        }
    }
}
