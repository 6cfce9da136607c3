//! The parameters of a metric: their declaration, their values, and the only parser of sizes.
//!
//! Every size on a command line goes through [`parse_size`]: lmbench took `1g` for one byte
//! (docs/methods/pitfalls.md#options-and-sizes).

use std::fmt;

/// How the text of a parameter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Bytes: `4096`, `64K`, `1M`, `2GiB`. They count as memory, see [`Memory::UNDECLARED`].
    Size,
    /// Bytes, and the memory that they take.
    SizeOf(Memory),
    /// Bytes that take no memory of their own, or one of these words.
    SizeOr(&'static [&'static str]),
    /// A length of time, kept in nanoseconds: `100us`, `1.5ms`, `2s`.
    Time,
    /// A count of things that take no memory: `16`.
    Count,
    /// A count, and the memory that each of the things takes.
    CountOf(Memory),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text: a path, a command.
    Text,
}

/// The memory or disk space that a benchmark needs for the value of a parameter.
///
/// Before anything is set up, the harness adds this up over the parameters of a job and compares
/// the sum with the available memory and disk space. Factors are bytes for each byte of a size, or
/// for each thing counted. They are rounded up: the check keeps a host alive, it does not predict a
/// footprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// This number of bytes in each task of each member of the worker group.
    PerSide(u64),
    /// This number of bytes in each member, which has one task or whose tasks share them.
    PerMember(u64),
    /// As `PerMember`, multiplied by the value of the parameter of that name.
    Times(u64, &'static str),
    /// At most the available memory: the benchmark reduces a larger size and says so.
    Fitted,
    /// Files in the work directory.
    Files {
        /// Bytes of files that one member has at a time.
        copies: u64,
        /// Bytes of memory of one member: buffers, mappings of the file.
        buffers: u64,
        /// The parameter and those of its words that keep the files in memory instead.
        in_memory: Option<(&'static str, &'static [&'static str])>,
        /// The parameter and its word that make all members use the same files.
        shared: Option<(&'static str, &'static str)>,
    },
}

impl Memory {
    /// The bytes of a task that only sleeps or spins: the stack of 128 KiB and the kernel stack of
    /// a thread, the page tables and private pages of a forked process.
    pub const TASK: u64 = 256 << 10;

    /// The memory of a size without a declaration: one buffer to send from and one to receive into,
    /// on each side.
    pub const UNDECLARED: Memory = Memory::PerSide(2);
}

/// The smallest run that measures something: a benchmark, a value of a parameter, a combination of
/// values, a worker group.
///
/// A point belongs to a run when the highest tier of its parts is within the tier of the run
/// ([`crate::Profile::tier`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// A quick run of ten seconds, and every larger one.
    Quick,
    /// A standard or rigorous run.
    Standard,
    /// A run with `--full`.
    Full,
    /// No run, unless it is named on the command line.
    Named,
}

/// A parameter as a descriptor declares it, with the tier of each value.
///
/// The tier of a value is the lowest whose list contains it. A run measures the values of its own
/// tier and of those below: sizes and counts in ascending order, words in the order of their
/// declaration.
///
/// ```
/// use groma_model::{Param, Tier};
/// const SIZE: Param = Param::size("size", "bytes in the message").quick(&["1"]).full(&["64", "4K"]);
/// const KIND: Param = Param::word("kind", "what is done", &["read", "write", "sync"]).quick(&["write"]).standard(&["read"]);
/// assert_eq!(SIZE.values(Tier::Standard), ["1"]);
/// assert_eq!(KIND.values(Tier::Standard), ["read", "write"]);
/// assert_eq!(KIND.values(Tier::Full), ["read", "write", "sync"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name, as in `--param name=value`.
    pub name: &'static str,
    /// Its meaning, in half a line, for help and tables.
    pub help: &'static str,
    /// How its values are read.
    pub kind: ParamKind,
    quick: &'static [&'static str],
    standard: &'static [&'static str],
    full: &'static [&'static str],
    named: &'static [&'static str],
    auto: Option<Auto>,
    past_caches: bool,
}

/// The value that stands for a number computed for the machine ([`Param::or_auto`]).
pub const AUTO: &str = "auto";

/// The meaning of `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto {
    /// This many times [`crate::Host::beyond_caches`], in bytes.
    BeyondCaches(u64),
    /// The number of CPUs that this process may use.
    Cpus,
}

/// One value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum Value {
    /// A size in bytes, a time in nanoseconds, or a count.
    Int(u64),
    /// A word.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Word(w) => f.write_str(w),
        }
    }
}

/// The chosen values of a metric, in the order in which its descriptor declares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Params(pub Vec<(String, Value)>);

impl Params {
    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Changes the value of a parameter that exists.
    pub fn set(&mut self, name: &str, value: Value) {
        for (_, old) in self.0.iter_mut().filter(|(n, _)| n == name) {
            *old = value.clone();
        }
    }

    /// The value of a size, time or count parameter.
    pub fn int(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Int(n) => Some(*n),
            Value::Word(_) => None,
        }
    }

    /// The value of a word parameter.
    pub fn word(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Value::Word(w) => Some(w),
            Value::Int(_) => None,
        }
    }
}

impl Params {
    /// All combinations of one value of each parameter, in order.
    pub fn combinations(of: &[(&str, Vec<Value>)]) -> Vec<Params> {
        of.iter().fold(vec![Params::default()], |all, (name, values)| {
            let with = |params: &Params, value: &Value| {
                let mut params = params.clone();
                params.0.push(((*name).to_owned(), value.clone()));
                params
            };
            all.iter().flat_map(|params| values.iter().map(|value| with(params, value))).collect()
        })
    }
}

/// The exact values: `size=65536 kind=read`.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "serde")]
mod as_map {
    //! Parameters as a JSON object, in their declared order.
    use super::{Params, Value};
    use serde::de::{MapAccess, Visitor};
    use serde::ser::SerializeMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for Params {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(self.0.len()))?;
            for (name, value) in &self.0 {
                map.serialize_entry(name, value)?;
            }
            map.end()
        }
    }

    impl<'de> Deserialize<'de> for Params {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Entries;
            impl<'de> Visitor<'de> for Entries {
                type Value = Params;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object of parameters")
                }
                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
                    let mut params = Params::default();
                    while let Some((name, value)) = map.next_entry::<String, Value>()? {
                        params.0.push((name, value));
                    }
                    Ok(params)
                }
            }
            deserializer.deserialize_map(Entries)
        }
    }
}

impl ParamKind {
    /// Whether values are read as sizes in bytes.
    pub const fn is_size(self) -> bool {
        matches!(self, ParamKind::Size | ParamKind::SizeOf(_) | ParamKind::SizeOr(_))
    }

    /// The memory that a value takes; `None` if it takes none.
    pub const fn memory(self) -> Option<Memory> {
        match self {
            ParamKind::Size => Some(Memory::UNDECLARED),
            ParamKind::SizeOf(Memory::Fitted) | ParamKind::CountOf(Memory::Fitted) => None,
            ParamKind::SizeOf(memory) | ParamKind::CountOf(memory) => Some(memory),
            ParamKind::SizeOr(_) | ParamKind::Time | ParamKind::Count | ParamKind::Word(_) | ParamKind::Text => None,
        }
    }
}

impl Param {
    const fn new(name: &'static str, help: &'static str, kind: ParamKind) -> Param {
        Param { name, help, kind, quick: &[], standard: &[], full: &[], named: &[], auto: None, past_caches: false }
    }

    /// A size in bytes; see [`ParamKind::Size`] for the memory that it takes.
    pub const fn size(name: &'static str, help: &'static str) -> Param {
        Param::new(name, help, ParamKind::Size)
    }

    /// A size in bytes of memory that another parameter counts, or one of these words.
    pub const fn size_or(name: &'static str, help: &'static str, words: &'static [&'static str]) -> Param {
        Param::new(name, help, ParamKind::SizeOr(words))
    }

    /// A length of time.
    pub const fn time(name: &'static str, help: &'static str) -> Param {
        Param::new(name, help, ParamKind::Time)
    }

    /// A count of things that take no memory.
    pub const fn count(name: &'static str, help: &'static str) -> Param {
        Param::new(name, help, ParamKind::Count)
    }

    /// One of these words. A word that is in no tier's list belongs to [`Tier::Full`].
    pub const fn word(name: &'static str, help: &'static str, words: &'static [&'static str]) -> Param {
        Param::new(name, help, ParamKind::Word(words))
    }

    /// Any text: a path, a command.
    pub const fn text(name: &'static str, help: &'static str) -> Param {
        Param::new(name, help, ParamKind::Text)
    }

    /// The memory or disk space that each byte of the size, or each thing counted, takes.
    ///
    /// # Panics
    /// If the parameter is neither a size nor a count. In a descriptor this is a compile error.
    pub const fn takes(mut self, memory: Memory) -> Param {
        self.kind = match self.kind {
            ParamKind::Size | ParamKind::SizeOf(_) => ParamKind::SizeOf(memory),
            ParamKind::Count | ParamKind::CountOf(_) => ParamKind::CountOf(memory),
            ParamKind::SizeOr(_) | ParamKind::Time | ParamKind::Word(_) | ParamKind::Text => {
                panic!("only sizes and counts take memory")
            }
        };
        self
    }

    /// Accepts `auto` as well.
    pub const fn or_auto(mut self, auto: Auto) -> Param {
        self.auto = Some(auto);
        self
    }

    /// Sizes of a curve that a standard run continues, doubling, to four times the last cache.
    pub const fn past_caches(mut self) -> Param {
        self.past_caches = true;
        self
    }

    /// Whether a standard run continues the sizes to four times the last cache.
    pub const fn goes_past_caches(&self) -> bool {
        self.past_caches
    }

    /// The meaning of `auto`; `None` if it is not accepted.
    pub const fn auto(&self) -> Option<Auto> {
        self.auto
    }

    /// The values that every run measures.
    pub const fn quick(mut self, values: &'static [&'static str]) -> Param {
        self.quick = values;
        self
    }

    /// The values that standard, rigorous and full runs measure as well.
    pub const fn standard(mut self, values: &'static [&'static str]) -> Param {
        self.standard = values;
        self
    }

    /// The values that only `--full` adds.
    pub const fn full(mut self, values: &'static [&'static str]) -> Param {
        self.full = values;
        self
    }

    /// The words that no run measures unless `--param` names them.
    pub const fn named(mut self, words: &'static [&'static str]) -> Param {
        self.named = words;
        self
    }

    /// The values that a run of this tier measures, in order. For [`Tier::Named`], all declared
    /// values.
    pub fn values(&self, tier: Tier) -> Vec<&'static str> {
        let lists = [(Tier::Quick, self.quick), (Tier::Standard, self.standard), (Tier::Full, self.full)];
        if let ParamKind::Word(words) = self.kind {
            return words.iter().copied().filter(|word| self.tier_of_text(word) <= tier).collect();
        }
        let within = lists.iter().filter(|(of, _)| *of <= tier);
        let mut values: Vec<&str> = within.flat_map(|(_, values)| values.iter().copied()).collect();
        // Words after numbers. A text that is neither sorts first; `check` refuses it.
        values.sort_by_key(|text| match self.parse(text) {
            Ok(Value::Int(n)) => n,
            Ok(Value::Word(_)) => u64::MAX,
            Err(_) => 0,
        });
        values.dedup_by_key(|text| self.parse(text));
        values
    }

    /// Checks the declaration.
    ///
    /// # Errors
    /// A listed value cannot be read, or there is no value for a standard run.
    pub fn check(&self) -> Result<(), String> {
        for text in [self.quick, self.standard, self.full, self.named].iter().copied().flatten() {
            self.parse(text)?;
        }
        self.usual().map(|_| ()).ok_or_else(|| "a standard run has no value".to_owned())
    }

    /// The default value: the first that a standard run measures.
    pub fn usual(&self) -> Option<&'static str> {
        self.values(Tier::Standard).first().copied()
    }

    /// The smallest run that measures this value; [`Tier::Named`] if it is in no list.
    pub fn tier(&self, value: &Value) -> Tier {
        match (self.kind, value) {
            (ParamKind::Word(_) | ParamKind::Text, Value::Word(text)) => self.tier_of_text(text),
            _ => self.tier_where(|text| self.parse(text).as_ref() == Ok(value)).unwrap_or(Tier::Named),
        }
    }

    fn tier_of_text(&self, text: &str) -> Tier {
        let unlisted = match self.kind {
            ParamKind::Word(words) if words.contains(&text) => Tier::Full,
            _ => Tier::Named,
        };
        self.tier_where(|listed| listed == text).unwrap_or(unlisted)
    }

    /// The tier of the first list with a matching value.
    fn tier_where(&self, mut is: impl FnMut(&str) -> bool) -> Option<Tier> {
        let lists = [
            (Tier::Quick, self.quick),
            (Tier::Standard, self.standard),
            (Tier::Full, self.full),
            (Tier::Named, self.named),
        ];
        lists.iter().find(|(_, values)| values.iter().any(|text| is(text))).map(|(tier, _)| *tier)
    }

    /// Reads one value as the user typed it.
    ///
    /// Zero is accepted only if the declaration lists it: for most operations, a size or count of
    /// zero is an error or leaves nothing to measure.
    ///
    /// # Errors
    /// Says what was expected. The caller adds the name of the parameter.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        if self.auto.is_some() && text == AUTO {
            return Ok(Value::Word(AUTO.to_owned()));
        }
        let value = match self.parse_plain(text) {
            Err(why) if self.auto.is_some() => return Err(why + ", and not auto"),
            parsed => parsed?,
        };
        if value == Value::Int(0) && !self.lists_zero() {
            return Err(format!("'{text}' is too small: it must be more than 0"));
        }
        Ok(value)
    }

    fn lists_zero(&self) -> bool {
        let mut listed = [self.quick, self.standard, self.full, self.named].into_iter().flatten();
        listed.any(|text| self.parse_plain(text) == Ok(Value::Int(0)))
    }

    fn parse_plain(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            ParamKind::Size | ParamKind::SizeOf(_) => parse_size(text).map(Value::Int),
            ParamKind::SizeOr(words) if words.contains(&text) => Ok(Value::Word(text.to_owned())),
            ParamKind::SizeOr(words) => {
                parse_size(text).map(Value::Int).map_err(|why| format!("{why}, and not one of {}", words.join(", ")))
            }
            ParamKind::Time => parse_nanoseconds(text).map(Value::Int),
            ParamKind::Count | ParamKind::CountOf(_) => {
                text.parse().map(Value::Int).map_err(|_| format!("'{text}' is not a count (a whole number such as 16)"))
            }
            ParamKind::Word(words) => {
                if words.contains(&text) {
                    Ok(Value::Word(text.to_owned()))
                } else {
                    Err(format!("'{text}' is not one of {}", words.join(", ")))
                }
            }
            ParamKind::Text => Ok(Value::Word(text.to_owned())),
        }
    }

    /// The text of a value for people: sizes with a binary unit, times with theirs.
    pub fn show(&self, value: &Value) -> String {
        match (self.kind, value) {
            (kind, Value::Int(n)) if kind.is_size() => size_text(*n),
            (ParamKind::Time, Value::Int(n)) => time_text(*n),
            _ => value.to_string(),
        }
    }
}

impl Value {
    /// Whether it equals a typed value: a word, or a number as a size or a time.
    pub fn is_typed(&self, text: &str) -> bool {
        match self {
            Value::Word(word) => word == text,
            Value::Int(n) => parse_size(text).or_else(|_| parse_nanoseconds(text)) == Ok(*n),
        }
    }
}

/// Reads a size: a whole number with an optional binary suffix, as `4096`, `64K`, `64KiB`, `1.5M`,
/// `2G` or `1T`.
///
/// # Errors
/// The text is not a size, not a whole number of bytes, or does not fit in 64 bits.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is not a size (write 4096, 64K, 1.5M or 2GiB)");
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let suffix = suffix.to_ascii_lowercase();
    let shift = match suffix.strip_suffix("ib").or(suffix.strip_suffix('b')).unwrap_or(&suffix) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(bad()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(bad());
    }
    // As exact decimal digits: a float would round 1.00000000000000000001 to a whole number.
    let mut digits: Vec<u8> = fraction.trim_end_matches('0').bytes().map(|b| b - b'0').collect();
    let odd = || format!("'{text}' is not a whole number of bytes");
    // The last of the n digits is not 0, so fewer than n doublings cannot make the fraction whole.
    if digits.len() > shift {
        return Err(odd());
    }
    let too_large = || format!("'{text}' does not fit in 64 bits");
    let mut bytes: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    for _ in 0..shift {
        let carry = double(&mut digits);
        bytes = bytes.checked_mul(2).and_then(|b| b.checked_add(carry)).ok_or_else(too_large)?;
    }
    if digits.iter().any(|d| *d != 0) { Err(odd()) } else { Ok(bytes) }
}

/// The units of time, each with its nanoseconds as a power of ten.
const TIMES: [(&str, u32); 4] = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0)];

/// Reads a length of time such as `100us`, `1.5ms` or `2s`, in nanoseconds.
///
/// # Errors
/// The text is not a time with a unit, not a whole number of nanoseconds, or does not fit in 64
/// bits.
pub fn parse_nanoseconds(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is not a time (write 500ns, 100us, 1.5ms or 2s)");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?);
    let (_, zeros) = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    let Some(zeros) = zeros.checked_sub(fraction.len() as u32) else {
        return Err(format!("'{text}' is not a whole number of nanoseconds"));
    };
    let nanoseconds = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(10u64.pow(zeros)));
    nanoseconds.ok_or_else(|| format!("'{text}' does not fit in 64 bits"))
}

/// A time in the largest unit that divides it: `100us`, `1500us`, `2s`.
fn time_text(ns: u64) -> String {
    let (name, zeros) = TIMES.iter().find(|(_, zeros)| ns.is_multiple_of(10u64.pow(*zeros))).unwrap_or(&TIMES[3]);
    format!("{}{name}", ns / 10u64.pow(*zeros))
}

/// Doubles a decimal fraction, given by its digits, and returns the carry.
fn double(fraction: &mut [u8]) -> u64 {
    let mut carry = 0;
    for digit in fraction.iter_mut().rev() {
        let twice = *digit * 2 + carry;
        (*digit, carry) = (twice % 10, twice / 10);
    }
    carry.into()
}

/// A size for people: in the largest binary unit that divides it (`64 KiB`), else with two
/// decimals.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if bytes >= unit {
            return if bytes.is_multiple_of(unit) {
                format!("{} {name}", bytes / unit)
            } else {
                format!("{:.2} {name}", bytes as f64 / unit as f64)
            };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests;
