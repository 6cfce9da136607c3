//! `groma watch`: a line per second below a heading, a summary, OpenMetrics text.

use groma_model::{CpuShare, Second, Watched};

use crate::document::{Document, Table};
use crate::format::Format;
use crate::grid::{Align, Cell};
use crate::openmetrics::{OpenMetrics, labels};
use crate::style::{Ink, Style, columns};
use crate::units::{self, NONE};

/// Seconds between headings, as in `vmstat`: a terminal always shows one.
pub const WATCH_HEAD_EVERY: usize = 20;

/// A smaller share is what interrupts look like.
const HARDLY: f64 = 0.005;

/// The heading.
pub fn watch_head(second: &Second, style: &Style) -> String {
    let heads: String = fields(second, style.width).iter().map(|field| field.right(&field.head)).collect();
    style.paint(Ink::Strong, &style.text(&heads)) + "\n"
}

/// One second as a line: its time, the share of probes that found the core shared, over all CPUs
/// and for each (or the worst, if not all fit), stolen time, waiting tasks, the clock.
pub fn watch_line(second: &Second, style: &Style) -> String {
    let cells: String = fields(second, style.width).iter().map(|field| field.right(&field.cell)).collect();
    format!("{}\n", style.text(&cells))
}

/// A column's heading and its cell in one second; the width is the same in every second.
struct Field {
    head: String,
    cell: String,
    width: usize,
}

impl Field {
    fn new(head: impl Into<String>, cell: String, widest: &str) -> Field {
        let head = head.into();
        Field { width: columns(&head).max(columns(widest)) + 2, head, cell }
    }

    /// A text right-aligned in the column.
    fn right(&self, text: &str) -> String {
        " ".repeat(self.width.saturating_sub(columns(text))) + text
    }
}

fn fields(second: &Second, width: usize) -> Vec<Field> {
    let cpus = &second.cpus;
    let text = |share: Option<f64>| share.map_or_else(|| NONE.to_owned(), units::percent);
    let share = |head: &str, share, widest| Field::new(head, text(share), widest);
    let mut all = vec![
        Field::new("time", format!("{:.0} s", second.at_s), "9999 s"),
        share("core shared", second.shared(), "100 %"),
        share("stolen", mean(cpus.iter().filter_map(|cpu| cpu.stolen)), "< 0.01 %"),
        share("waiting", second.waiting, "< 0.01 %"),
        Field::new("clock", clock(cpus).unwrap_or_else(|| NONE.to_owned()), "3.80–3.96 GHz"),
    ];
    if cpus.len() > 1 {
        let each: Vec<Field> = cpus.iter().map(|cpu| share(&format!("CPU {}", cpu.cpu), cpu.shared, "100 %")).collect();
        let known = cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.shared?)));
        let worst = known.max_by(|a, b| a.1.total_cmp(&b.1));
        let worst =
            worst.map_or_else(|| NONE.to_owned(), |(cpu, share)| format!("CPU {cpu} {}", units::percent(share)));
        let worst = vec![Field::new("worst", worst, "CPU 1023 100 %")];
        let wide = |fields: &[Field]| fields.iter().map(|field| field.width).sum::<usize>();
        let fit = wide(&each) <= width.saturating_sub(wide(&all)).max(wide(&worst));
        all.splice(2..2, if fit { each } else { worst });
    }
    all
}

/// The summary of all seconds: the conclusion, and a line per CPU.
pub fn watched(watched: &Watched) -> Document<'_> {
    let mut out = Document::new("watch").written(Format::Openmetrics, move || watch_openmetrics(watched));
    out.heading(format!("{}: {}", units::wall(watched.wall_s), found(watched)));
    out.gap();
    let heads = ["CPU", "core shared", "longest", "stolen", "clock", "probes"];
    let mut table = Table::new(&heads.map(|head| (head, Align::Right)), Some(Ink::Strong));
    for cpu in &watched.cpus {
        let percent =
            |share: Option<f64>| Cell::new(share.map_or_else(|| NONE.to_owned(), units::percent)).exactly(share, "");
        let longest = cpu.shared.map(|_| cpu.longest_s);
        table.row(vec![
            Cell::count(cpu.cpu),
            percent(cpu.shared),
            Cell::new(longest.map_or_else(|| NONE.to_owned(), units::time)).exactly(longest, "s"),
            percent(cpu.stolen),
            Cell::new(clock(std::slice::from_ref(cpu)).unwrap_or_else(|| NONE.to_owned())),
            Cell::count(cpu.probes),
        ]);
    }
    out.table(table);
    let cost = format!(
        "The watch took {} of a CPU. What it sees: docs/methods/neighbour.md#watch",
        units::percent(watched.cost)
    );
    out.say(cost);
    out
}

/// What the watch found and what follows.
fn found(watched: &Watched) -> String {
    let Some(share) = watched.shared() else {
        return "whether others used the cores' other threads cannot be told: there were too few probes, or the \
                counter is too coarse. Watch for 10 s or longer."
            .to_owned();
    };
    if !watched.alone {
        return "no core was ever alone: others used their other threads all the time. What is measured now is of a \
                shared core, where most operations take 1.1 to 1.5 times as long. Watch at another hour, or move to \
                a host whose cores nobody shares."
            .to_owned();
    }
    let used = format!("others used the cores' other threads {} of the time.", units::percent(share));
    if share < HARDLY {
        return format!(
            "{used} One who is always there at the same pace looks like nobody: 'groma run syscall.getppid' beside an \
             earlier run tells which."
        );
    }
    format!("{used} Meanwhile most operations take 1.1 to 1.5 times as long.")
}

/// The summary as OpenMetrics text.
fn watch_openmetrics(watched: &Watched) -> String {
    let mut out = OpenMetrics::default();
    let mut gauge = |name: &str, unit: &str, help: &str, value: &dyn Fn(&CpuShare) -> Option<f64>| {
        let sample = |cpu: &CpuShare| Some((labels(&[("cpu", &cpu.cpu.to_string())]), value(cpu)?));
        out.gauge(name, unit, help, &watched.cpus.iter().filter_map(sample).collect::<Vec<_>>());
    };
    gauge("groma_core_shared_ratio", "ratio", "Share of probes that found a busy sibling thread.", &|cpu| cpu.shared);
    gauge("groma_core_stolen_ratio", "ratio", "Share of the time stolen by the host.", &|cpu| cpu.stolen);
    gauge("groma_core_clock_hertz", "hertz", "Clock of the core.", &|cpu| cpu.core_hz);
    gauge("groma_core_probes", "", "Probes behind the shares.", &|cpu| Some(cpu.probes as f64));
    out.end()
}

/// The clocks, as one number or a range.
fn clock(cpus: &[CpuShare]) -> Option<String> {
    let ghz = |hz: f64| format!("{:.2}", hz / 1e9);
    let clocks = || cpus.iter().filter_map(|cpu| cpu.core_hz);
    let (least, most) = (clocks().reduce(f64::min)?, clocks().reduce(f64::max)?);
    let range = if ghz(least) == ghz(most) { ghz(most) } else { format!("{}–{}", ghz(least), ghz(most)) };
    Some(format!("{range} GHz"))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(cpu: u32, shared: Option<f64>) -> CpuShare {
        CpuShare { cpu, probes: 98, shared, stolen: Some(0.003), core_hz: Some(2.871e9), longest_s: 0.052 }
    }

    fn line(cpus: Vec<CpuShare>) -> String {
        let second = Second { at_s: 3.001, cpus, waiting: Some(0.12) };
        watch_head(&second, &Style::plain(80)) + &watch_line(&second, &Style::plain(80))
    }

    #[test]
    fn a_second_is_a_line() {
        insta::assert_snapshot!(line(vec![cpu(0, Some(0.06)), cpu(1, Some(0.022))]));
        insta::assert_snapshot!(line((0..64).map(|n| cpu(n, Some(f64::from(n) / 100.0))).collect()));
        insta::assert_snapshot!(line(vec![cpu(0, None)]));
    }

    fn of(cpus: Vec<CpuShare>) -> Watched {
        Watched { wall_s: 600.4, cpus, alone: true, cost: 0.0061 }
    }

    #[test]
    fn a_summary_begins_with_what_to_remember() {
        let two = of(vec![cpu(0, Some(0.06)), cpu(1, Some(0.022))]);
        insta::assert_snapshot!(watched(&two).text(&Style::plain(80)));
        insta::assert_snapshot!(watched(&of(vec![cpu(0, None)])).text(&Style::plain(80)));
        insta::assert_snapshot!(watch_openmetrics(&two));
        let head = |watched: &Watched| found(watched);
        let never = Watched { alone: false, ..of(vec![cpu(0, Some(1.0))]) };
        assert!(head(&never).starts_with("no core was ever alone") && head(&never).contains("another hour"));
        assert!(head(&of(vec![cpu(0, Some(0.001))])).contains("looks like nobody"));
    }

    /// One of two CPUs was hardly probed.
    #[test]
    fn a_line_counts_each_probe_once() {
        let cpus = vec![CpuShare { probes: 90, ..cpu(0, Some(0.1)) }, CpuShare { probes: 10, ..cpu(1, Some(1.0)) }];
        assert!(line(cpus.clone()).contains("  19 %  "), "{}", line(cpus.clone()));
        assert!(found(&of(cpus)).contains(" 19 % of the time"));
    }
}
