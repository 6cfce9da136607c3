//! A descriptor of C becomes that of a benchmark.
//!
//! Whatever can be wrong with it is said before anything runs, with the name of the field. The
//! result lives as long as the program, as Rust's descriptors do.
//!
//! # Safety
//! The caller of [`read_all`] vouches for the pointers of its descriptors.
#![expect(unsafe_code, reason = "descriptors that C has written")]

use crate::Address;
use crate::abi::{self, Bench, read_array};
use groma::harness::model::{
    About, Better, Derivation, Info, Interference, Memory, Need, Output, Param, Placement, Quantity, Scaling, Tier,
    Timing,
};
use std::ffi::{c_char, c_int};

/// A benchmark as C described it.
pub(crate) struct Described {
    pub(crate) info: Info,
    pub(crate) bench: Bench,
}

/// A text that lives as long as the program.
pub(crate) fn leak_text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn keep_all<T>(all: Vec<T>) -> &'static [T] {
    Box::leak(all.into_boxed_slice())
}

/// One of the constants of an enumeration, in the order of the header.
fn one_of<T: Copy>(all: &[T], number: c_int, field: &str) -> Result<T, String> {
    let at = usize::try_from(number).ok().and_then(|at| all.get(at));
    at.copied().ok_or_else(|| format!("{field} is {number}, which is none of the header's constants"))
}

/// # Safety
/// `at` is null or a string.
unsafe fn text_of(at: *const c_char, field: &str) -> Result<&'static str, String> {
    if at.is_null() {
        return Ok("");
    }
    if at.addr() == usize::MAX {
        return Err(format!("{field} points nowhere: all its bits are set, as in memory that was never written"));
    }
    // SAFETY: the caller's duty.
    let text = unsafe { std::ffi::CStr::from_ptr(at) }.to_str();
    text.map(|text| leak_text(text.to_owned())).map_err(|_| format!("{field} is not UTF-8"))
}

/// The words of a list, separated by blanks.
///
/// # Safety
/// As [`text_of`].
unsafe fn words_of(at: *const c_char, field: &str) -> Result<&'static [&'static str], String> {
    // SAFETY: the caller's duty.
    Ok(keep_all(unsafe { text_of(at, field) }?.split_whitespace().collect()))
}

/// Whether a text can be a name: small letters, digits and `_`, which need no quotes anywhere.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

const QUANTITIES: [Quantity; 6] =
    [Quantity::Latency, Quantity::Bandwidth, Quantity::Rate, Quantity::Count, Quantity::Size, Quantity::Ratio];
const DIRECTIONS: [Option<Better>; 4] = [None, Some(Better::Lower), Some(Better::Higher), Some(Better::Neither)];
const TIMINGS: [Timing; 5] = [Timing::Batched, Timing::Floor, Timing::Stream, Timing::Each, Timing::Stated];
const INTERFERENCES: [Interference; 4] =
    [Interference::Cpu, Interference::Faults, Interference::Blocking, Interference::Tasks];
const TIERS: [Tier; 4] = [Tier::Quick, Tier::Standard, Tier::Full, Tier::Named];
const PLACEMENTS: [&[Placement]; 2] = [&[Placement::Pinned], &Placement::TWO_SIDED];
/// The bits of `needs`, and what they mean.
const NEEDS: [(u32, Need); 3] = [(1, Need::WorkDir), (2, Need::Root), (4, Need::Loopback)];

/// A file of this size, and a buffer to write it from.
const FILE: Memory = Memory::Files { copies: 1, buffers: 1, in_memory: None, shared: None };

/// All descriptors.
///
/// # Errors
/// The first that is wrong, and its field.
///
/// # Safety
/// As `groma_main` requires.
pub(crate) unsafe fn read_all(
    benches: *const Bench,
    n: usize,
    registered: &[Address],
) -> Result<Vec<Described>, String> {
    // SAFETY: the caller's duty.
    let mut read = unsafe { read_array(benches, n, "benches") }?;
    for (i, one) in registered.iter().enumerate() {
        // SAFETY: the duty of who registered it.
        read.push(unsafe { abi::read(one.0) }.map_err(|why| format!("registered[{i}]: {why}"))?);
    }
    if read.is_empty() {
        return Err("groma_main was given no benchmark, and none is registered".to_owned());
    }
    let mut all: Vec<Described> = Vec::new();
    for (i, bench) in read.into_iter().enumerate() {
        // SAFETY: the caller's duty.
        let described = unsafe { describe(bench) }.map_err(|why| {
            // SAFETY: as above.
            match unsafe { text_of(bench.name, "name") } {
                Ok(name) if !name.is_empty() => format!("benches[{i}] ({name}): {why}"),
                _ => format!("benches[{i}]: {why}"),
            }
        })?;
        if let Some(other) = all.iter().position(|other| other.info.id == described.info.id) {
            return Err(format!("benches[{i}]: name is {}, as that of benches[{other}]", described.info.id));
        }
        all.push(described);
    }
    Ok(all)
}

/// # Safety
/// As [`read_all`].
unsafe fn describe(bench: Bench) -> Result<Described, String> {
    // SAFETY: the caller's duty, here and for all texts below.
    let text = |at, field| unsafe { text_of(at, field) };
    let id = text(bench.name, "name")?;
    match id.split_once('.') {
        _ if id.is_empty() => return Err("name is missing".to_owned()),
        Some((family, name)) if is_word(family) && is_word(name) => {}
        _ => return Err(format!("name is '{id}', not 'family.name' of small letters, digits and _")),
    }
    let timing = one_of(&TIMINGS, bench.timing, "timing")?;
    let ways = [bench.run.is_some(), bench.run_staged.is_some(), bench.measure.is_some()];
    match ways.iter().filter(|is_set| **is_set).count() {
        1 => {}
        0 => return Err("run is missing (or run_staged, or measure)".to_owned()),
        _ => return Err("more than one of run, run_staged and measure is set".to_owned()),
    }
    if timing == Timing::Stated && bench.measure.is_none() {
        return Err("timing is GROMA_STATED, which needs measure instead of run".to_owned());
    }
    let why_not = text(bench.why_not, "why_not")?;
    let why_not = or(why_not, "its descriptor says so");
    let groups = [Scaling::BOTH, Scaling::processes(why_not), Scaling::alone(why_not)];
    let scaling = one_of(&groups, bench.scaling, "scaling")?;
    let known: u32 = NEEDS.iter().map(|(bit, _)| bit).sum();
    if bench.needs & !known != 0 {
        return Err(format!("needs is {:#x}, and the header's constants are {known:#x} together", bench.needs));
    }
    let mut needs: Vec<Need> = NEEDS.iter().filter(|(bit, _)| bench.needs & bit != 0).map(|(_, need)| *need).collect();
    needs.extend((bench.needs_cpus > 0).then_some(Need::Cpus(bench.needs_cpus)));
    // SAFETY: the caller's duty.
    needs.extend(unsafe { words_of(bench.needs_paths, "needs_paths") }?.iter().map(|path| Need::File(path)));
    let placements: &[Placement] = one_of(&PLACEMENTS, bench.placements, "placements")?;
    let summary = text(bench.summary, "summary")?;
    let info = Info {
        version: bench.version.max(1),
        summary: or(summary, id),
        about: About { text: text(bench.about, "about")?, file: "" },
        quantity: one_of(&QUANTITIES, bench.quantity, "quantity")?,
        better: one_of(&DIRECTIONS, bench.better, "better")?,
        iteration: or(text(bench.iteration, "iteration")?, "one operation"),
        timing,
        // SAFETY: the caller's duty.
        outputs: unsafe { outputs(&bench) }?,
        // SAFETY: the caller's duty.
        params: unsafe { params(&bench) }?,
        scaling,
        tier: one_of(&TIERS, bench.tier, "tier")?,
        placements,
        needs: keep_all(needs),
        interference: one_of(&INTERFERENCES, bench.interference, "interference")?,
        ..Info::new(id)
    };
    Ok(Described { info, bench })
}

/// The text, or another one where it is empty.
fn or(text: &'static str, default: &'static str) -> &'static str {
    if text.is_empty() { default } else { text }
}

/// # Safety
/// As [`read_all`].
unsafe fn params(bench: &Bench) -> Result<&'static [Param], String> {
    let mut all: Vec<Param> = Vec::new();
    // SAFETY: the caller's duty, here and below.
    for (i, raw) in unsafe { read_array(bench.params, bench.n_params, "params") }?.iter().enumerate() {
        // SAFETY: as above.
        let param = unsafe { param(raw) }.map_err(|why| format!("params[{i}]: {why}"))?;
        if all.iter().any(|other| other.name == param.name) {
            return Err(format!("params[{i}]: name is {}, as that of another", param.name));
        }
        all.push(param);
    }
    Ok(keep_all(all))
}

/// # Safety
/// As [`read_all`].
unsafe fn param(raw: &abi::Param) -> Result<Param, String> {
    // SAFETY: the caller's duty, here and below.
    let text = |at, field| unsafe { text_of(at, field) };
    let name = text(raw.name, "name")?;
    if !is_word(name) {
        return Err(match name {
            "" => "name is missing".to_owned(),
            _ => format!("name is '{name}', not a word of small letters, digits and _"),
        });
    }
    let summary = text(raw.summary, "summary")?;
    // SAFETY: as above.
    let words = |at, field| unsafe { words_of(at, field) };
    let param = match raw.kind {
        0 => match raw.takes {
            0 => Param::size(name, summary),
            1 => Param::size(name, summary).takes(Memory::PerMember(1)),
            2 => Param::size_or(name, summary, &[]),
            3 => Param::size(name, summary).takes(FILE),
            other => return Err(format!("takes is {other}, which is none of the header's constants")),
        },
        1 => Param::count(name, summary),
        2 => Param::time(name, summary),
        3 => match words(raw.words, "words")? {
            [] => return Err("words is missing, which a GROMA_WORD needs".to_owned()),
            choices => Param::word(name, summary, choices),
        },
        4 => Param::text(name, summary),
        other => return Err(format!("kind is {other}, which is none of the header's constants")),
    };
    let param = param
        .quick(words(raw.quick, "quick")?)
        .standard(words(raw.standard, "standard")?)
        .full(words(raw.full, "full")?);
    if param.usual().is_none() {
        return Err(format!("{name} has no value: set quick or standard"));
    }
    param.check()?;
    Ok(param)
}

/// # Safety
/// As [`read_all`].
unsafe fn outputs(bench: &Bench) -> Result<&'static [Output], String> {
    if bench.n_outputs == 0 {
        return Ok(&[Output::MAIN]);
    }
    let mut all: Vec<Output> = Vec::new();
    // SAFETY: the caller's duty, here and below.
    for (i, raw) in unsafe { read_array(bench.outputs, bench.n_outputs, "outputs") }?.iter().enumerate() {
        // SAFETY: as above.
        let output = unsafe { output(raw) }.map_err(|why| format!("outputs[{i}]: {why}"))?;
        if all.iter().any(|other| other.suffix == output.suffix) {
            return Err(format!("outputs[{i}]: name is '{}', as that of another", output.suffix));
        }
        all.push(output);
    }
    Ok(keep_all(all))
}

/// `GROMA_QUOTIENT`.
const QUOTIENT: c_int = 2;

/// # Safety
/// As [`read_all`].
unsafe fn output(raw: &abi::Output) -> Result<Output, String> {
    // SAFETY: the caller's duty.
    let text = |at, field| unsafe { text_of(at, field) };
    let suffix = text(raw.name, "name")?;
    if !suffix.is_empty() && !is_word(suffix) {
        return Err(format!("name is '{suffix}', not a word of small letters, digits and _"));
    }
    let of = if raw.of.is_null() { suffix } else { text(raw.of, "of")? };
    let to = text(raw.to, "to")?;
    let per = if raw.per == 0.0 { 1.0 } else { raw.per };
    if raw.how != 0 && raw.to.is_null() {
        return Err("to is missing, which a difference or quotient needs".to_owned());
    }
    let quantity = one_of(&QUANTITIES, raw.quantity, "quantity")?;
    // A quotient has no unit unless it is told to have one, whatever the benchmark measures.
    let own_quantity = match raw.own_quantity {
        0 => (raw.how == QUOTIENT).then_some(Quantity::Ratio),
        _ => Some(quantity),
    };
    Ok(Output {
        suffix,
        summary: text(raw.summary, "summary")?,
        derivation: match raw.how {
            0 => Derivation::Series(of),
            1 => Derivation::Difference { of, minus: to, per },
            QUOTIENT => Derivation::Ratio { of, to },
            other => return Err(format!("how is {other}, which is none of the header's constants")),
        },
        quantity: own_quantity,
        detail: raw.detail != 0,
    })
}
