//! A metric over runs as a chart: values with their intervals, levels, changes. The analysis
//! decides what a change is.

use groma_analysis::trend::{Change, Series};
use groma_model::RunHeader;

use super::axis::Axis;
use super::{Chart, Field, Mark, Plane, Point, Values};
use crate::compare::change;
use crate::machine::host;
use crate::point::name;
use crate::style::Style;
use crate::trend::{causes, day};
use crate::units::Scale;

/// The width of a change's label in columns, if there is room.
const LABEL: usize = 100;

/// Plots a metric over its runs, evenly spaced in time order.
///
/// # Errors
/// When fewer than two runs have a value; the message is one line.
pub fn trend_chart(series: &Series<'_>) -> Result<Chart, String> {
    let (Some((first, _)), Some((last, newest))) = (series.runs.first(), series.runs.last()) else {
        return Err("there are no runs of it".to_owned());
    };
    let runs = series.runs.len();
    if runs < 2 {
        return Err(format!("{} has a value in one run: there is nothing between runs to plot", newest.id));
    }
    let points = series
        .runs
        .iter()
        .enumerate()
        .filter_map(|(i, (_, record))| Some(Point { x: i as f64, y: record.value?, interval: record.ci_display }));
    let points: Vec<Point> = points.collect();
    // A single run with a wide interval must not compress all values.
    let ends: Vec<f64> =
        points.iter().flat_map(|p| [p.y].into_iter().chain(p.interval.into_iter().flatten())).collect();
    let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.y), high.max(p.y)));
    let reach = (high - low).max(high.abs() / 100.0);
    let shown: Vec<f64> = ends.iter().map(|end| end.clamp(low - reach, high + reach)).collect();

    // A level ends half-way between two runs.
    let starts = || series.changes.iter().map(|change| change.at as f64 - 0.5);
    let values: Vec<f64> = points.iter().map(|p| p.y).collect();
    let whole = groma_stats::median(&values).unwrap_or(f64::NAN);
    let first_level = series.changes.first().map_or(whole, |change| change.levels[0]);
    let levels = [first_level].into_iter().chain(series.changes.iter().map(|change| change.levels[1]));
    let froms = [0.0].into_iter().chain(starts());
    let tos = starts().chain([(runs - 1) as f64]);
    let levels = froms.zip(tos).zip(levels).map(|((from, to), level)| [from, to, level]).collect();
    let style = Style::plain(LABEL);
    let label = |step: &Change| {
        let since = format!("{} since {}", change(step.ratio()), day(series.runs[step.at].0));
        let causes = causes(step, &style);
        style.cut(&if causes.is_empty() { since } else { format!("{since}: {causes}") }, LABEL)
    };
    let changes = series.changes.iter().map(|step| Mark { x: step.at as f64 - 0.5, label: label(step) }).collect();

    let same_day = day(first) == day(last);
    let when = |head: &RunHeader| {
        if same_day { head.started.get(11..16).unwrap_or_default().to_owned() } else { day(head) }
    };
    let x = Axis::of_names(series.runs.iter().map(|(head, _)| when(head)).collect()).named("runs in the order of time");
    let y = Axis::narrow(&shown, Scale::of(newest));
    let y = y.named(&format!("{} (the axis does not begin at 0)", newest.quantity.word()));
    let span = if same_day { day(first) } else { format!("{} to {}", day(first), day(last)) };
    Ok(Chart {
        title: newest.summary.clone(),
        sources: vec![host(&last.environment)],
        about: format!("{} over {runs} runs, {span}", name(newest)),
        field: Field::Plane(Plane { series: Some(Values { points, levels, changes }), ..Plane::new(x, y) }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::columns;
    use crate::trend::tests::runs;
    use groma_analysis::trend::series;

    #[test]
    fn forty_runs_with_two_changes() {
        let runs = runs();
        let all = series(&runs);
        let one = all.iter().find(|one| one.changes.len() == 2).expect("a metric with two changes");
        let chart = trend_chart(one).expect("a chart");
        for width in [80, 120] {
            let text = chart.terminal_alone(&Style::plain(width));
            assert!(text.lines().all(|line| columns(line) <= width), "{text}");
            insta::assert_snapshot!(format!("series_{width}"), text);
        }
        let svg = chart.svg();
        // A dot for each run, a line for each level, a dashed one for each change.
        let (head, body) = svg.split_once("</style>").expect("a style");
        assert!(head.contains("<title>") && svg.ends_with("</svg>\n"));
        assert_eq!((body.matches("<circle").count(), body.matches("stroke-dasharray").count()), (40, 2));
        insta::assert_snapshot!("series_svg", body);
        #[cfg(feature = "png")]
        assert!(chart.png(1.0).expect("a PNG").starts_with(b"\x89PNG"));
    }

    #[test]
    fn runs_without_a_change_have_one_level_and_one_run_has_no_plot() {
        let runs = runs();
        let (few, one) = (series(&runs[..5]), series(&runs[..1]));
        let chart = trend_chart(&few[0]).expect("a chart");
        let Field::Plane(Plane { series: Some(values), .. }) = &chart.field else { panic!("it is no series") };
        assert_eq!((values.points.len(), values.levels.len(), values.changes.len()), (5, 1, 0));
        assert!(trend_chart(&one[0]).expect_err("one run").contains("in one run"));
    }
}
