//! Points with their intervals: machines under each other, or values over years or runs.

use super::frame::link;
use super::prepare::SiteKind;
use super::{Machine, Whole, said};
use crate::markup::Markup;
use crate::units::{self, Scale};

/// The size of a plot over years or runs, in pixels.
const SIZE: [f64; 2] = [860.0, 260.0];
/// Left, right, top and bottom of its field.
const FIELD: [f64; 4] = [86.0, 844.0, 12.0, 222.0];
/// In a file, the height of a machine's row.
const ROW: f64 = 16.0;
/// A file has at most this many rows; of more machines every n-th.
const ROWS: usize = 120;

/// The style of a picture in a file of its own.
const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1c2126}.f{fill:#5b6570}\
    .e{text-anchor:end}.m{text-anchor:middle}line{stroke:#d8dee4}.i{stroke:#0072b2;stroke-width:2}\
    circle{fill:#0072b2}.o{fill:#d55e00}@media(prefers-color-scheme:dark){\
    text{fill:#e8ecf0}.f{fill:#9da7b1}line{stroke:#333b43}}";

/// A point.
pub(super) struct Dot {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) interval: Option<[f64; 2]>,
    /// The class of its colour.
    pub(super) class: &'static str,
    /// What it says where it is pointed at.
    pub(super) says: String,
    /// Where it leads.
    pub(super) href: String,
}

/// A logarithmic axis over these values, with a little room; `None` without a positive value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logarithmic {
    low: f64,
    high: f64,
}

impl Logarithmic {
    pub(super) fn over(values: impl Iterator<Item = f64>) -> Option<Logarithmic> {
        let (low, high) = values
            .filter(|value| value.is_finite() && *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (high > 0.0).then(|| Logarithmic { low: low / 1.12, high: high * 1.12 })
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn at(self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Round values within the axis, at most about six.
    fn ticks(self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 2.5 {
            &[1.0]
        } else if decades > 0.9 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0]
        };
        let from = self.low.log10().floor() as i32;
        let to = self.high.log10().ceil() as i32;
        let all = (from..=to).flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        let all: Vec<f64> = all.filter(|tick| (self.low..=self.high).contains(tick)).collect();
        let every = all.len().div_ceil(6).max(1);
        all.into_iter().step_by(every).collect()
    }
}

/// Points over years or runs, on a logarithmic axis. Nothing joins them: they are of different
/// machines, or of runs with whatever happened in between.
pub(super) fn scatter(dots: &[Dot], scale: Scale, name: &dyn Fn(f64) -> String, out: &mut Markup) {
    let ends = dots.iter().flat_map(|dot| dot.interval.into_iter().flatten().chain([dot.y]));
    let Some(axis) = Logarithmic::over(ends) else { return };
    let (first, last) =
        dots.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), dot| (a.min(dot.x), b.max(dot.x)));
    let [left, right, top, bottom] = FIELD;
    let x = |value: f64| {
        left + 12.0 + if last > first { (value - first) / (last - first) } else { 0.5 } * (right - left - 24.0)
    };
    let y = |value: f64| bottom - axis.at(value) * (bottom - top);
    let number = |value: f64| format!("{value:.1}");
    let view = format!("0 0 {} {}", SIZE[0], SIZE[1]);
    let field = FIELD.map(number).join(" ");
    let attributes = [("class", "plot"), ("viewBox", view.as_str()), ("role", "group"), ("data-field", &field)];
    out.tag("figure", |figure| {
        figure.with("div", &[("class", "wide")], |div| {
            div.with("svg", &attributes, |svg| {
                svg.with("g", &[("class", "yt")], |g| {
                    for tick in axis.ticks() {
                        let at = y(tick);
                        let points = format!("{left:.1},{at:.1} {right:.1},{at:.1}");
                        g.leaf("polyline", &[("class", "g"), ("points", &points)]);
                        let [tx, ty] = [left - 8.0, at + 4.0].map(number);
                        let text = units::value(tick, scale, None);
                        g.with("text", &[("class", "f right"), ("x", &tx), ("y", &ty)], |t| t.text(&text));
                    }
                });
                svg.with("g", &[("class", "xt")], |g| {
                    let names =
                        if last > first { vec![first, ((first + last) / 2.0).round(), last] } else { vec![first] };
                    for at in names {
                        let [tx, ty] = [x(at), bottom + 22.0].map(number);
                        g.with("text", &[("class", "f mid"), ("x", &tx), ("y", &ty)], |t| t.text(&name(at)));
                    }
                });
                for dot in dots {
                    svg.with("g", &[("class", "in")], |g| {
                        let [cx, cy] = [x(dot.x), y(dot.y)];
                        if let Some([low, high]) = dot.interval {
                            let points = format!("{cx:.1},{:.1} {cx:.1},{:.1}", y(low), y(high));
                            g.leaf("polyline", &[("class", dot.class), ("points", &points)]);
                        }
                        let [cx, cy] = [cx, cy].map(number);
                        let circle = |g: &mut Markup| {
                            let attributes = [("class", dot.class), ("cx", cx.as_str()), ("cy", &cy), ("r", "4")];
                            g.with("circle", &attributes, |circle| circle.say("title", &dot.says));
                        };
                        if dot.href.is_empty() { circle(g) } else { g.with("a", &[("href", &dot.href)], circle) }
                    });
                }
            })
        })
    });
}

/// The mark of a value in its row: a dot, and a bar for its interval.
pub(super) fn mark(axis: Logarithmic, value: f64, interval: Option<[f64; 2]>, kind: SiteKind, out: &mut Markup) {
    let percent = |at: f64| format!("{:.1}%", at * 100.0);
    let [low, high] = interval.unwrap_or([value, value]).map(|end| axis.at(end));
    let style = format!("--v:{};--l:{};--w:{}", percent(axis.at(value)), percent(low), percent(high - low));
    let class = if kind == SiteKind::Printed { "d printed" } else { "d" };
    out.with("td", &[("class", "p")], |td| td.with("i", &[("class", class), ("style", &style)], |_| {}));
}

/// The machines with a value of a line by its newest definition, best first.
pub(super) fn sorted<'s>(all: &Whole<'s>, line: usize) -> Vec<(&'s Machine, f64)> {
    let value = |machine: &'s Machine| Some((machine, all.current(machine, line)?.1));
    let mut found: Vec<(&Machine, f64)> = all.machines.iter().filter_map(value).collect();
    let higher = all.site.lines[line].better == groma_model::Better::Higher;
    found.sort_by(|a, b| if higher { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
    found
}

/// All machines of a line as a picture on its own; `None` for fewer than two.
pub(super) fn svg(all: &Whole<'_>, line: usize) -> Option<String> {
    let about = &all.site.lines[line];
    let found = sorted(all, line);
    let axis = Logarithmic::over(found.iter().map(|(_, value)| *value)).filter(|_| found.len() > 1)?;
    let every = found.len().div_ceil(ROWS);
    let rows: Vec<_> = found.iter().step_by(every).collect();
    let (left, right, top) = (330.0, 760.0, 54.0);
    let height = top + rows.len() as f64 * ROW + 12.0;
    let number = |value: f64| format!("{value:.1}");
    let mut out = Markup::default();
    let [width, tall] = [860.0, height].map(number);
    let view = format!("0 0 860 {height:.0}");
    let place = |value: f64| left + axis.at(value) * (right - left);
    let attributes =
        [("xmlns", "http://www.w3.org/2000/svg"), ("viewBox", &view), ("width", &width), ("height", &tall)];
    out.with("svg", &attributes, |svg| {
        svg.tag("style", |style| style.own(STYLE));
        let text = |svg: &mut Markup, class: &str, x: f64, y: f64, says: &str| {
            let [x, y] = [x, y].map(number);
            svg.with("text", &[("class", class), ("x", &x), ("y", &y)], |t| t.text(says));
        };
        let thinned = if every > 1 { format!(", every {every}th of {} machines", found.len()) } else { String::new() };
        text(svg, "", 12.0, 18.0, &format!("{} ({}){thinned}", about.said(), about.id));
        for tick in axis.ticks() {
            let x = place(tick);
            let [x1, y1, y2] = [x, top - 6.0, height - 6.0].map(number);
            svg.leaf("line", &[("x1", &x1), ("x2", &x1), ("y1", &y1), ("y2", &y2)]);
            text(svg, "f m", x, top - 12.0, &units::value(tick, about.scale, None));
        }
        for (row, (machine, value)) in rows.iter().enumerate() {
            let y = top + (row as f64 + 0.7) * ROW;
            let name: String = machine.name.chars().take(44).collect();
            text(svg, "e", left - 12.0, y, &name);
            let Some(found) = machine.newest(line) else { continue };
            if let Some([low, high]) = found.interval {
                let [x1, x2, y] = [place(low), place(high), y - 4.0].map(number);
                svg.leaf("line", &[("class", "i"), ("x1", &x1), ("x2", &x2), ("y1", &y), ("y2", &y)]);
            }
            let [cx, cy] = [place(*value), y - 4.0].map(number);
            let class = if machine.kind == SiteKind::Printed { "o" } else { "" };
            svg.leaf("circle", &[("class", class), ("cx", &cx), ("cy", &cy), ("r", "3.5")]);
            text(svg, "f", right + 12.0, y, &said(about, found));
        }
    });
    Some(out.into_string())
}

/// A link to a picture and to a table of data.
pub(super) fn files(out: &mut Markup, picture: &str, data: &str) {
    out.with("p", &[("class", "note")], |p| {
        p.text("As a file: ");
        if !picture.is_empty() {
            link(p, picture, "SVG");
            p.text(", ");
        }
        link(p, data, "CSV");
    });
}
