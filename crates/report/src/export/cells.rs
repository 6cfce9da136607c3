//! The columns of each table, and the cells of its rows.

use std::io;

use groma_model::{Better, Derivation, Labels, Metric, Point, Quantity, Record, Round, RunHeader, Series, WorkerKind};

use super::{Cell, Exported, Kind, Table, TableWriter};
use Kind::{Flag, Float, Int, Text};

type Columns = &'static [(&'static str, Kind)];

/// The run of a row, so that rows of several machines can be distinguished.
pub(super) const OF_RUN: Columns =
    &[("run", Text), ("started", Kind::Time), ("host", Text), ("tags", Text), ("kernel", Text), ("cpu_model", Text)];

const RECORDS: Columns = &[
    ("id", Text),
    ("version", Int),
    ("params", Text),
    ("placement", Text),
    ("workers", Int),
    ("crew", Text),
    ("state", Text),
    ("reason", Text),
    ("quantity", Text),
    ("unit", Text),
    ("better", Text),
    ("detail", Flag),
    ("value", Float),
    ("ci_low", Float),
    ("ci_high", Float),
    ("p10", Float),
    ("p50", Float),
    ("p90", Float),
    ("p99", Float),
    ("max", Float),
    ("interference", Float),
    ("cycles", Float),
    ("rounds", Int),
    ("samples", Int),
    ("clean", Int),
    ("labels", Text),
    ("flags", Text),
];

const ROUNDS: Columns = &[
    ("id", Text),
    ("params", Text),
    ("placement", Text),
    ("workers", Int),
    ("crew", Text),
    ("round", Int),
    ("state", Text),
    ("reason", Text),
    ("unit", Text),
    ("value", Float),
    ("samples", Int),
    ("clean", Int),
    ("pid", Int),
    ("core_hz", Float),
    ("wall_s", Float),
];

const SAMPLES: Columns = &[
    ("bench", Text),
    ("params", Text),
    ("placement", Text),
    ("workers", Int),
    ("crew", Text),
    ("round", Int),
    ("state", Text),
    ("series", Text),
    ("id", Text),
    ("sample", Int),
    ("worker", Int),
    ("cpu", Int),
    ("t0_ns", Int),
    ("elapsed_ns", Int),
    ("iters", Int),
    ("per_iter", Float),
    ("clock_ns", Float),
    ("cpu_ns", Int),
    ("labels", Text),
    ("clean", Flag),
    ("margin_ns", Int),
    ("unit", Text),
    ("value", Float),
];

/// The columns after those of the run.
pub(super) fn of(table: Table) -> Columns {
    match table {
        Table::Records => RECORDS,
        Table::Rounds => ROUNDS,
        Table::Samples => SAMPLES,
    }
}

/// Passes the rows of a run to a writer.
pub(super) fn rows(table: Table, run: &Exported<'_>, out: &mut dyn TableWriter) -> io::Result<()> {
    let tags: Vec<&str> = run.head.tags.iter().map(|tag| tag.as_str()).collect();
    let tags = tags.join(" ");
    let head = of_run(run.head, &tags);
    let mut write = |cells: &[&[Cell<'_>]]| out.row(&[&[&head[..]], cells].concat().concat());
    match table {
        Table::Records => run.records.iter().try_for_each(|record| record_row(record, &mut write)),
        Table::Rounds => points(run).try_for_each(|(point, rounds)| round_rows(point, rounds, &mut write)),
        Table::Samples => points(run).try_for_each(|(point, rounds)| sample_rows(point, rounds, &mut write)),
    }
}

/// Receives a row in parts.
type Write<'w> = dyn FnMut(&[&[Cell<'_>]]) -> io::Result<()> + 'w;

fn points<'a>(run: &Exported<'a>) -> impl Iterator<Item = (&'a Point, &'a [Round])> {
    run.points.iter().zip(run.rounds.iter().map(Vec::as_slice))
}

fn of_run<'a>(head: &'a RunHeader, tags: &'a str) -> [Cell<'a>; 6] {
    let fact = |key| head.environment.get(key).map_or(Cell::Nothing, Cell::Text);
    [
        Cell::Text(&head.run),
        Cell::Text(&head.started),
        fact("host.name"),
        Cell::Text(tags),
        fact("kernel.release"),
        fact("cpu.model"),
    ]
}

fn int(n: impl TryInto<i64>) -> Cell<'static> {
    Cell::Int(n.try_into().unwrap_or(i64::MAX))
}

fn float(value: Option<f64>) -> Cell<'static> {
    value.filter(|v| v.is_finite()).map_or(Cell::Nothing, Cell::Float)
}

fn record_row(r: &Record, write: &mut Write<'_>) -> io::Result<()> {
    let (params, placement, flags) = (r.params.to_string(), r.placement.to_string(), r.flags.join("; "));
    let labels: Vec<String> = r.labels.0.iter().map(|(letter, n)| format!("{letter}:{n}")).collect();
    let labels = labels.join(" ");
    write(&[&[
        Cell::Text(&r.id),
        int(r.version),
        Cell::Text(&params),
        Cell::Text(&placement),
        int(r.workers),
        Cell::Text(r.worker_kind.word()),
        Cell::Text(r.state.word()),
        Cell::Text(&r.reason),
        Cell::Text(r.quantity.word()),
        Cell::Text(r.unit.symbol()),
        Cell::Text(better(r)),
        Cell::Flag(r.detail),
        float(r.value),
        float(r.ci.map(|ci| ci[0])),
        float(r.ci.map(|ci| ci[1])),
        float(r.p10),
        float(r.p50),
        float(r.p90),
        float(r.p99),
        float(r.max),
        float(r.interference),
        float(r.cycles),
        int(r.rounds),
        int(r.samples),
        int(r.clean),
        Cell::Text(&labels),
        Cell::Text(&flags),
    ]])
}

pub(crate) fn better(record: &Record) -> &'static str {
    match record.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "neither",
    }
}

/// The texts of a point's columns, which its rows share.
struct PointTexts {
    params: String,
    placement: String,
    workers: u32,
    kind: WorkerKind,
}

impl PointTexts {
    fn of(point: &Point) -> PointTexts {
        PointTexts {
            params: point.params.to_string(),
            placement: point.placement.to_string(),
            workers: point.workers,
            kind: point.worker_kind,
        }
    }

    /// `params`, `placement`, `workers`, `crew`.
    fn cells(&self) -> [Cell<'_>; 4] {
        let (params, placement) = (Cell::Text(&self.params), Cell::Text(&self.placement));
        [params, placement, int(self.workers), Cell::Text(self.kind.word())]
    }
}

fn round_rows(point: &Point, rounds: &[Round], write: &mut Write<'_>) -> io::Result<()> {
    let texts = PointTexts::of(point);
    for metric in &point.metrics {
        let values = groma_analysis::values_by_round(point, metric, rounds);
        let drops = groma_analysis::drops(point, metric, rounds);
        for (round, value) in rounds.iter().zip(values) {
            let result = &round.result;
            let series = result.series(metric.derivation.source());
            let stated = series.map_or(0, |series| series.values.len());
            let clean = |series: &Series| series.samples.iter().filter(|s| !s.labels.meets(drops)).count();
            write(&[
                &[Cell::Text(&metric.id)],
                &texts.cells(),
                &[
                    int(round.round),
                    Cell::Text(result.state.word()),
                    Cell::Text(&result.reason),
                    Cell::Text(metric.quantity.unit().symbol()),
                    float(value),
                    int(stated + series.map_or(0, |series| series.samples.len())),
                    int(stated + series.map_or(0, clean)),
                    int(result.pid),
                    float(result.output.core_hz),
                    Cell::Float(result.wall_ns as f64 / 1e9),
                ],
            ])?;
        }
    }
    Ok(())
}

/// The metric made of the samples of this series alone, with its index; a control has none.
fn worth<'p>(point: &'p Point, series: &Series) -> Option<(usize, &'p Metric)> {
    let is_it = |metric: &Metric| matches!(&metric.derivation, Derivation::Series(name) if *name == series.name);
    point.metrics.iter().enumerate().find(|(_, metric)| is_it(metric))
}

fn sample_rows(point: &Point, rounds: &[Round], write: &mut Write<'_>) -> io::Result<()> {
    let texts = PointTexts::of(point);
    let drops: Vec<Labels> = point.metrics.iter().map(|m| groma_analysis::drops(point, m, rounds)).collect();
    for round in rounds {
        for series in &round.result.output.series {
            let (of, metric) = worth(point, series).unzip();
            let quantity = metric.map_or(Quantity::Latency, |metric| metric.quantity);
            let drops = of.map_or(point.drops, |metric| drops[metric]);
            let of_round = [int(round.round), Cell::Text(round.result.state.word())];
            let of_series = [Cell::Text(&series.name), metric.map_or(Cell::Nothing, |metric| Cell::Text(&metric.id))];
            let unit = Cell::Text(quantity.unit().symbol());
            for (i, s) in series.samples.iter().enumerate() {
                let labels = s.labels.letters();
                let timed = [
                    int(i),
                    int(s.worker),
                    int(s.cpu),
                    int(s.t0_ns),
                    int(s.elapsed_ns),
                    int(s.iters),
                    Cell::Float(series.per_iter),
                    Cell::Float(series.clock_ns),
                    int(s.cpu_ns),
                    Cell::Text(&labels),
                    Cell::Flag(!s.labels.meets(drops)),
                    s.margin_ns.map_or(Cell::Nothing, Cell::Int),
                    unit,
                    float(groma_analysis::sample_value(quantity, series, s)),
                ];
                write(&[&[Cell::Text(&point.bench)], &texts.cells(), &of_round, &of_series, &timed])?;
            }
            for (i, value) in series.values.iter().enumerate() {
                let mut stated = [Cell::Nothing; 14];
                (stated[0], stated[10], stated[12], stated[13]) = (int(i), Cell::Flag(true), unit, float(Some(*value)));
                write(&[&[Cell::Text(&point.bench)], &texts.cells(), &of_round, &of_series, &stated])?;
            }
        }
    }
    Ok(())
}
