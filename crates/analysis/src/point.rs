//! Which point of a metric a record is, and whether it was measured.

use groma_model::{AUTO, Flag, Params, Placement, Record, State, Value, WorkerKind};

/// The part of an id before the first dot.
pub fn family(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

/// The facts about the storage that a point used, which are part of what identifies its metrics:
/// its file system, the device below it, and how the kernel drives that.
const STORAGE: [&str; 4] = ["work_dir.fs", "work_dir.model", "work_dir.scheduler", "work_dir.rotational"];

/// Whether two points used the same storage, as far as both say what they used.
pub(crate) fn same_storage<'a>(a: impl Fn(&str) -> Option<&'a str>, b: impl Fn(&str) -> Option<&'a str>) -> bool {
    STORAGE.iter().all(|key| a(key).zip(b(key)).is_none_or(|(a, b)| a == b))
}

/// The name by which curves know the number of members of a worker group.
pub const WORKERS: &str = "workers";

/// Whether people leave the placement of this record unsaid where the members of a worker group
/// vary: one worker is pinned unless asked otherwise, several are not, and over their number that
/// is one curve.
pub fn is_unplaced(record: &Record) -> bool {
    [Placement::Pinned, Placement::Free].contains(&record.placement)
}

/// The records without those of other classes of core than the first that one of them names: what
/// is said of a hybrid machine in one number is said of the cores that a single task runs on.
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

/// Everything but the id and these numbers that tells a record from others of its metric.
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

/// The text of one parameter: what stands in `params_text` between `name=` and the next parameter.
/// A text may have spaces (`size=64 KiB`), so the names of the others are what ends it.
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

/// What the numbers of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Sizes in bytes.
    Sizes,
    /// Times, kept in nanoseconds.
    Times,
    /// Counts of things.
    Counts,
}

impl Numbers {
    /// What a numeric parameter is, by the unit of its text: `64 KiB`, `100us`, `16`. `auto` is a
    /// size.
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

    /// A number in bytes, seconds, or things.
    pub fn in_units(self, number: u64) -> f64 {
        if self == Numbers::Times { number as f64 * 1e-9 } else { number as f64 }
    }
}

/// Whether two records of one benchmark are of one point. What was measured in files on ext4 is
/// another thing than the same on tmpfs or on another disk; a record that says nothing of its
/// storage, because it used none or has no value, differs from none in this.
pub fn same_point(a: &Record, b: &Record) -> bool {
    let one_storage = same_storage(|key| a.fact(key), |key| b.fact(key));
    a.params == b.params && a.placement == b.placement && a.workers == b.workers && one_storage
}

/// Whether the value of a record is that of a shared core, because too few of its samples were not.
pub fn is_of_shared_core(record: &Record) -> bool {
    record.flags.iter().any(|flag| Flag::shared_core_of(flag).is_some())
}

/// The value of a record that was measured.
pub fn measured(record: &Record) -> Option<f64> {
    let usable = matches!(record.state, State::Ok | State::Noisy);
    record.value.filter(|v| usable && v.is_finite())
}
