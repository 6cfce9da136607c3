//! A run as tables that GitHub and its like show: the columns of the wide table, a table a family.

use groma_model::{End, Record, RunHeader};

use crate::Style;
use crate::hardware::{self, Page, Part};
use crate::rows::{Body, HEADS, groups};
use crate::summary::{host, summary};

pub(crate) fn markdown(run: &RunHeader, records: &[Record], end: Option<&End>, style: &Style) -> String {
    let plain = Style { colour: false, width: usize::MAX, unicode: true, all: style.all };
    let mut out =
        format!("## {}\n\n", escape(&format!("run {}, {}, groma {}", run.run, run.profile.word(), run.groma)));
    let here = host(&run.environment);
    if !here.is_empty() {
        out += &format!("{}\n\n", escape(&here));
    }
    if let Some(page) = hardware::page(run, records) {
        push_hardware(&mut out, "", &page);
    }
    for group in groups(records, &plain) {
        out += &format!("### {}\n\n{}.\n\n", escape(group.family), escape(&group.says));
        line(&mut out, ["metric", "point"].into_iter().chain(HEADS).chain(["state"]));
        line(&mut out, ["---", "---", "--:", "--:", "--:", "--:", "--:", "---"]);
        let mut above = "";
        for row in &group.rows {
            let id = if row.id == above { "" } else { row.id };
            above = row.id;
            let (numbers, state) = match &row.body {
                Body::Values { numbers, ended } => (
                    numbers.clone(),
                    ended.as_ref().map(|(state, flags)| {
                        [state.word()]
                            .into_iter()
                            .chain(flags.iter().map(String::as_str))
                            .collect::<Vec<_>>()
                            .join(", ")
                    }),
                ),
                Body::Reason(state, reason) => (Default::default(), Some(format!("{}: {reason}", state.word()))),
                Body::Curve { line, text } => (Default::default(), Some(format!("{line} {text}"))),
            };
            let id = if id.is_empty() { String::new() } else { format!("`{id}`") };
            let cells = [id, row.point.clone()].into_iter().chain(numbers).chain([state.unwrap_or_default()]);
            line(&mut out, cells);
        }
        out.push('\n');
    }
    for text in summary(run, records, end, &plain).lines() {
        out += &format!("- {}\n", escape(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    out
}

/// A part of the page of the hardware.
fn push(out: &mut String, part: &Part) {
    match part {
        Part::List(lines) => {
            for text in lines {
                out.push_str(&format!("- {}\n", escape(text)));
            }
            if lines.is_empty() {
                return;
            }
        }
        Part::Table(heads, rows) => {
            line(out, heads);
            let sides = heads.iter().enumerate().map(|(i, head)| if i == 0 || head.is_empty() { "---" } else { "--:" });
            line(out, sides);
            for row in rows {
                line(out, row);
            }
        }
    }
    out.push('\n');
}

/// The hardware of a run on one page of Markdown; `None` where the run holds too little of it.
pub fn hardware_markdown(run: &RunHeader, records: &[Record]) -> Option<String> {
    let mut out = String::new();
    push_hardware(&mut out, &host(&run.environment), &hardware::page(run, records)?);
    Some(out)
}

/// The page of the hardware, of this machine where that is not said above.
fn push_hardware(out: &mut String, machine: &str, page: &Page) {
    out.push_str("### hardware\n\n");
    if !machine.is_empty() {
        out.push_str(&format!("{}\n\n", escape(machine)));
    }
    for part in hardware::markdown(page) {
        push(out, &part);
    }
}

fn line(out: &mut String, cells: impl IntoIterator<Item = impl AsRef<str>>) {
    out.push('|');
    for cell in cells {
        out.push_str(&format!(" {} |", escape(cell.as_ref())));
    }
    out.push('\n');
}

/// Text from outside must neither end a cell nor become markup. What stands in back quotes is ours.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' => out.push_str("\\|"),
            '*' | '_' | '<' | '[' if !text.starts_with('`') => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn a_run() {
        let records = fixtures::records();
        insta::assert_snapshot!(markdown(
            &fixtures::header(),
            &records,
            Some(&fixtures::end(&records)),
            &Style::plain(80)
        ));
    }

    #[test]
    fn hardware_on_a_page() {
        let (run, records) = fixtures::guest();
        insta::assert_snapshot!(hardware_markdown(&run, &records).expect("it holds a survey"));
    }

    #[test]
    fn a_reason_cannot_end_its_cell() {
        assert_eq!(escape("a|b\nc <script>"), "a\\|b c \\<script>");
        assert_eq!(escape("`ipc.pipe_rtt`"), "`ipc.pipe_rtt`");
    }
}
