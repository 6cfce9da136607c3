//! A benchmark program: its benchmarks and its name. Its command line is in `verbs/command.rs`.

use crate::print::name;
use groma_harness::Benchmark;
use groma_harness::model::{Families, Family, Pages, Tier};
use groma_harness::remote::Service;
use groma_runner::UnknownBenchmark;

/// A benchmark program: its benchmarks and its name.
///
/// ```no_run
/// # use groma::harness::{Benchmark, Run, model::Info};
/// # static MINE: Benchmark = Benchmark { info: Info::new("my.benchmark"), run: Run::NotHere("an example") };
/// fn main() -> std::process::ExitCode {
///     groma::Program::new().with_groma().benchmarks(&[&MINE]).run()
/// }
/// ```
///
/// Each round of a benchmark is measured by a worker process, which is this program started again.
/// So [`run`](Program::run) comes first in `main`: every worker repeats whatever comes before it,
/// and becomes larger.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub(crate) name: Option<&'static str>,
    benchmarks: Vec<&'static Benchmark>,
    services: Vec<&'static Service>,
    families: Vec<&'static Family>,
    pages: Pages<'static>,
    pub(crate) with_groma: bool,
}

impl Program {
    /// A program without benchmarks.
    pub fn new() -> Program {
        Program::default()
    }

    /// Sets the name in help, messages and completions; otherwise it is that of the file.
    pub fn name(self, name: &'static str) -> Program {
        Program { name: Some(name), ..self }
    }

    /// Adds benchmarks. Lists and tables show them in this order.
    pub fn benchmarks(mut self, more: &[&'static Benchmark]) -> Program {
        self.benchmarks.extend(more);
        self
    }

    /// Adds services: the peers of network benchmarks that `serve` runs for another machine.
    pub fn services(mut self, more: &[&'static Service]) -> Program {
        self.services.extend(more);
        self
    }

    /// Adds families: the names, sentences and rows that views show for their benchmarks. A
    /// benchmark does not need one.
    pub fn families(mut self, more: &[&'static Family]) -> Program {
        self.families.extend(more);
        self
    }

    /// Adds the benchmarks, families and services that groma comes with.
    pub fn with_groma(mut self) -> Program {
        (self.with_groma, self.pages) = (true, groma_benches::pages());
        let program = self.benchmarks(&groma_benches::all()).families(&groma_benches::families());
        program.services(&groma_benches::services())
    }

    /// Its benchmarks, in the order of lists and tables.
    pub(crate) fn all(&self) -> &[&'static Benchmark] {
        &self.benchmarks
    }

    /// The benchmarks that these texts select; see [`groma_runner::select`].
    ///
    /// # Errors
    /// Names the first text that selects none.
    pub(crate) fn select(&self, texts: &[String], tier: Tier) -> anyhow::Result<Vec<&'static Benchmark>> {
        self.find(texts, tier).map_err(|unknown| anyhow::anyhow!("{unknown} ({} list shows all)", name()))
    }

    /// Like [`select`](Program::select), with an error that has the closest id.
    pub(crate) fn find(&self, texts: &[String], tier: Tier) -> Result<Vec<&'static Benchmark>, UnknownBenchmark> {
        groma_runner::select(&self.benchmarks, texts, tier, groma_published::repeating)
    }

    /// Its families and pages, for the views.
    pub(crate) fn known_families(&self) -> Families<'_> {
        Families { all: &self.families, pages: self.pages }
    }

    /// Its services.
    pub(crate) fn peers(&self) -> &[&'static Service] {
        &self.services
    }

    /// An id that two of its benchmarks have.
    pub(crate) fn duplicate(&self) -> Option<&'static str> {
        let ids: Vec<&str> = self.benchmarks.iter().map(|b| b.info.id).collect();
        ids.iter().enumerate().find(|(i, id)| ids[..*i].contains(id)).map(|(_, id)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::Run;
    use groma_harness::model::Info;

    static ONE: Benchmark = Benchmark { info: Info::new("a.one"), run: Run::NotHere("a test") };
    static TWO: Benchmark = Benchmark { info: Info::new("a.two"), run: Run::NotHere("a test") };

    #[test]
    fn a_duplicate_id_is_found() {
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).duplicate(), None);
        assert_eq!(Program::new().benchmarks(&[&ONE, &TWO]).benchmarks(&[&ONE]).duplicate(), Some("a.one"));
        assert_eq!(Program::new().with_groma().duplicate(), None);
    }

    fn ids(texts: &[&str]) -> Result<Vec<&'static str>, String> {
        let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
        Program::new()
            .with_groma()
            .select(&texts, Tier::Standard)
            .map(|list| list.iter().map(|b| b.info.id).collect())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn ids_groups_and_patterns() {
        assert_eq!(ids(&["syscall.getppid"]), Ok(vec!["syscall.getppid"]));
        assert!(ids(&["ipc"]).expect("a group").contains(&"ipc.pipe_rtt"));
        // perf bench has a test 'syscall fork', which proc.fork_exit repeats.
        assert!(ids(&["syscall"]).expect("a group").iter().all(|id| id.starts_with("syscall.")));
        assert!(ids(&["*.latency"]).expect("a pattern").contains(&"mem.latency"));
        let all = ids(&[]).expect("the default set");
        assert!(all.contains(&"mem.latency") && !all.iter().any(|id| id.starts_with("selftest.")));
        let of = |texts: &[String]| -> Vec<&str> {
            let chosen = Program::new().with_groma().select(texts, Tier::Quick).expect("both are there");
            chosen.iter().map(|b| b.info.id).collect()
        };
        let quick = of(&[]);
        assert!(quick.contains(&"mem.latency") && !quick.contains(&"vm.brk") && all.contains(&"vm.brk"));
        assert_eq!(of(&["vm.brk".to_owned()]), ["vm.brk"]);
    }

    #[test]
    fn names_of_other_tools_and_words_of_ids_are_known() {
        assert_eq!(ids(&["lat_pipe"]), Ok(vec!["ipc.pipe_rtt"]));
        assert!(ids(&["lat_syscall"]).expect("calls").contains(&"syscall.read"));
        assert_eq!(ids(&["pipe"]), Ok(vec!["ipc.pipe_rtt", "ipc.pipe_bandwidth"]));
        assert!(ids(&["latency"]).expect("a word").contains(&"mem.loaded_latency"));
    }
}
