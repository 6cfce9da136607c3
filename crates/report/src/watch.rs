//! A watch of the CPUs: a line a second, a summary, OpenMetrics text.

use groma_model::{CpuShare, Second, Watched};

use crate::grid::{Align, Cell, Grid};
use crate::openmetrics::{OpenMetrics, labels};
use crate::style::{Ink, Style, wrap_behind};
use crate::units;

/// More CPUs than this are not listed in a line: their mean and the worst of them are.
const LISTED: usize = 8;

/// One second as a line: `3.0 s  core shared 4.1 % (CPU 0 6.0 %, CPU 1 2.2 %); stolen 0.3 %; …`.
pub fn watch_line(second: &Second, style: &Style) -> String {
    let cpus = &second.cpus;
    let known: Vec<(u32, f64)> = cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.shared?))).collect();
    let shared = match mean(known.iter().map(|(_, shared)| *shared)) {
        None => "not seen so far".to_owned(),
        Some(all) => {
            let one = |(cpu, shared): &(u32, f64)| format!("CPU {cpu} {}", units::percent(*shared));
            let worst = known.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(one).unwrap_or_default();
            let each: Vec<String> = known.iter().map(one).collect();
            let each = if known.len() > LISTED { format!("most: {worst}") } else { each.join(", ") };
            if known.len() > 1 { format!("{} ({each})", units::percent(all)) } else { units::percent(all) }
        }
    };
    let mut parts = vec![format!("core shared {shared}")];
    parts.extend(
        mean(cpus.iter().filter_map(|cpu| cpu.stolen)).map(|share| format!("stolen {}", units::percent(share))),
    );
    parts.extend(second.waiting.map(|share| format!("tasks waiting {}", units::percent(share))));
    parts.extend(clock(cpus));
    let first = format!("{:>6}  ", units::wall(second.at_s.round()));
    wrap_behind(&first, &style.text(&parts.join("; ")), style.width)
}

/// All seconds: what to remember, and a line a CPU.
pub fn watched(watched: &Watched, style: &Style) -> String {
    use Align::Right;
    let time = units::wall(watched.wall_s);
    let head = match watched.shared() {
        None => {
            format!("{time}: no sign of others on the cores: all probes were about as fast as the best.")
        }
        Some(share) => format!(
            "{time}: others used the cores' other threads {} of the time. \
             Meanwhile most operations take 1.1 to 1.5 times as long.",
            units::percent(share)
        ),
    };
    let mut out = wrap_behind("", &style.paint(Ink::Strong, &style.text(&head)), style.width);
    out.push('\n');
    let mut grid = Grid::new(&[Right; 6], style);
    let heads = ["CPU", "core shared", "longest", "stolen", "clock", "probes"];
    grid.row(heads.map(|head| Cell::ink(head, Ink::Strong)).into());
    for cpu in &watched.cpus {
        let percent = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), units::percent);
        grid.row(vec![
            Cell::new(cpu.cpu.to_string()),
            Cell::new(percent(cpu.shared)),
            Cell::new(if cpu.shared.is_some() { units::time(cpu.longest_s) } else { "–".to_owned() }),
            Cell::new(percent(cpu.stolen)),
            Cell::new(clock(std::slice::from_ref(cpu)).unwrap_or_else(|| "–".to_owned())),
            Cell::new(cpu.probes.to_string()),
        ]);
    }
    out += &grid.render();
    let cost = format!(
        "The watch took {} of a CPU. What it sees: docs/methods/neighbour.md#watch",
        units::percent(watched.cost)
    );
    out += &wrap_behind("", &style.text(&cost), style.width);
    out
}

/// The summary as OpenMetrics text.
pub fn watch_openmetrics(watched: &Watched) -> String {
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
    let range = if ghz(least) == ghz(most) { ghz(most) } else { format!("{} to {}", ghz(least), ghz(most)) };
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
        watch_line(&Second { at_s: 3.001, cpus, waiting: Some(0.12) }, &Style::plain(100))
    }

    #[test]
    fn a_second_is_a_line() {
        insta::assert_snapshot!(line(vec![cpu(0, Some(0.06)), cpu(1, Some(0.022))]));
        insta::assert_snapshot!(line((0..64).map(|n| cpu(n, Some(f64::from(n) / 100.0))).collect()));
        insta::assert_snapshot!(line(vec![cpu(0, None)]));
    }

    fn of(cpus: Vec<CpuShare>) -> Watched {
        Watched { wall_s: 600.4, cpus, cost: 0.0061 }
    }

    #[test]
    fn a_summary_begins_with_what_to_remember() {
        let two = of(vec![cpu(0, Some(0.06)), cpu(1, Some(0.022))]);
        insta::assert_snapshot!(watched(&two, &Style::plain(80)));
        insta::assert_snapshot!(watched(&of(vec![cpu(0, None)]), &Style::plain(80)));
        insta::assert_snapshot!(watch_openmetrics(&two));
    }
}
