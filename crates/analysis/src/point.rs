//! The identity of a record's point, and whether the record was measured.

use groma_model::{AUTO, Flag, Params, Placement, Record, State, Value, WorkerKind};

/// The part of an id before the first dot.
pub fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// Facts about a point's storage that are part of its metrics' identity: the file system, the
/// device below it, and how the kernel drives that.
pub(crate) const STORAGE: [&str; 4] = ["work_dir.fs", "work_dir.model", "work_dir.scheduler", "work_dir.rotational"];

/// Whether two points used the same storage, as far as both recorded it.
pub(crate) fn same_storage<'a>(a: impl Fn(&str) -> Option<&'a str>, b: impl Fn(&str) -> Option<&'a str>) -> bool {
    STORAGE.iter().all(|key| a(key).zip(b(key)).is_none_or(|(a, b)| a == b))
}

/// The name of a worker group's size as a curve's number.
pub const WORKERS: &str = "workers";

/// Whether the placement of this record is omitted where the size of the group varies: one worker
/// is pinned by default, several are not, and over their number that is one curve.
pub fn is_unplaced(record: &Record) -> bool {
    [Placement::Pinned, Placement::Free].contains(&record.placement)
}

/// Drops the records of other classes of core than the first one named: where a hybrid machine gets
/// one number, it is that of the cores that a single task runs on.
pub fn of_first_class<'a>(records: impl Iterator<Item = &'a Record> + Clone) -> impl Iterator<Item = &'a Record> {
    fn class(record: &Record) -> Option<&str> {
        match &record.placement {
            Placement::On(one) => one.class.as_deref(),
            _ => None,
        }
    }
    let first = records.clone().find_map(class);
    records.filter(move |record| class(record).is_none_or(|class| Some(class) == first))
}

/// What distinguishes a record from others of its metric, except for these numbers.
type Rest<'a> = (Vec<(&'a str, &'a Value)>, Option<&'a Placement>, Option<(u32, WorkerKind)>);

fn rest<'a>(record: &'a Record, without: &[&str]) -> Rest<'a> {
    let params = record.params.0.iter().map(|(name, value)| (name.as_str(), value));
    let of_workers = without.contains(&WORKERS);
    let placed = record.placement != Placement::Pinned && !(is_unplaced(record) && of_workers);
    (
        params.filter(|(name, _)| !without.contains(name)).collect(),
        placed.then_some(&record.placement),
        (record.workers != 1 && !of_workers).then_some((record.workers, record.worker_kind)),
    )
}

/// Whether two records of one metric differ in these numbers only.
pub fn differ_only_in(a: &Record, b: &Record, numbers: &[&str]) -> bool {
    rest(a, numbers) == rest(b, numbers)
}

/// The text of one parameter: what is between `name=` and the next parameter in `params_text`. A
/// text may contain spaces (`size=64 KiB`), so it ends at the name of another parameter.
pub fn text_of<'a>(params: &Params, text: &'a str, name: &str) -> &'a str {
    let start_of = |name: &str| {
        let key = format!("{name}=");
        text.match_indices(&key)
            .find(|(at, _)| *at == 0 || text[..*at].ends_with(' '))
            .map(|(at, _)| (at, at + key.len()))
    };
    let Some((_, from)) = start_of(name) else { return "" };
    let next = params.0.iter().filter_map(|(n, _)| start_of(n)).map(|(at, _)| at).filter(|at| *at > from).min();
    text[from..next.unwrap_or(text.len())].trim_end()
}

/// The kind of a parameter's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Sizes in bytes.
    Sizes,
    /// Times in nanoseconds.
    Times,
    /// Counts.
    Counts,
}

impl Numbers {
    /// The kind of a numeric parameter, by the unit of its text: `64 KiB`, `100us`, `16`. `auto` is
    /// a size.
    pub fn of(record: &Record, name: &str) -> Numbers {
        if record.params.word(name) == Some(AUTO) {
            return Numbers::Sizes;
        }
        match (record.params.get(name), text_of(&record.params, &record.params_text, name)) {
            (Some(Value::Int(_)), text) if text.ends_with('B') => Numbers::Sizes,
            (Some(Value::Int(_)), text) if text.ends_with('s') => Numbers::Times,
            _ => Numbers::Counts,
        }
    }

    /// The number in bytes, seconds or as a count.
    pub fn in_units(self, number: u64) -> f64 {
        if self == Numbers::Times { number as f64 * 1e-9 } else { number as f64 }
    }
}

/// Whether two records of one benchmark belong to one point. Files on ext4 are another point than
/// files on tmpfs or on another disk; a record without storage facts, because it used none or has
/// no value, matches any.
pub fn same_point(a: &Record, b: &Record) -> bool {
    let one_storage = same_storage(|key| a.fact(key), |key| b.fact(key));
    a.params == b.params && a.placement == b.placement && a.workers == b.workers && one_storage
}

/// Whether a record's value is that of a shared core, because too few samples had the core to
/// themselves.
pub fn is_of_shared_core(record: &Record) -> bool {
    record.flags.iter().any(|flag| Flag::shared_core_of(flag).is_some())
}

/// Whether the two sides of a record's point ran on two CPUs.
pub fn is_between_cpus(record: &Record) -> bool {
    match &record.placement {
        Placement::Smt | Placement::SameLlc | Placement::CrossLlc | Placement::CrossNode => true,
        Placement::List(cpus) => record.workers == 1 && matches!(cpus[..], [one, other] if one != other),
        _ => false,
    }
}

/// The value of a measured record.
pub fn measured_value(record: &Record) -> Option<f64> {
    let usable = matches!(record.state, State::Ok | State::Noisy);
    record.value.filter(|v| usable && v.is_finite())
}
