//! A report in a real browser: it loads without a complaint and without a request, and what it
//! offers works. Skipped where there is no Chromium.

use crate::common::chromium::{self, Page};
use crate::common::{self, Place};

/// Two short runs with a curve, and a report of both, of one, and of one beside published tables.
fn reports(place: &Place) -> [std::path::PathBuf; 3] {
    let sizes = "size=4K,16K,64K,256K,1M,4M";
    for tag in ["before", "after"] {
        let run =
            ["run", "mem.latency", "syscall", "--param", sizes, "--profile", "quick", "--rounds", "2", "--tag", tag];
        let ended = place.groma(&run);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    }
    place.calm();
    let write = |name: &str, runs: &[&str]| {
        let file = place.path(name);
        let text = file.display().to_string();
        let ended = place.groma(&[&["report"], runs, &["-o", &text]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        file
    };
    let with = ["after", "--with", "lmbench1996"];
    [write("one.html", &["after"]), write("two.html", &["before", "after"]), write("papers.html", &with)]
}

#[test]
fn a_report_works_in_a_browser() {
    let Some(program) = chromium::program() else {
        eprintln!("skipped: no Chromium on PATH (GROMA_CHROMIUM names one)");
        return;
    };
    let place = Place::new();
    let mut page = Page::start(&program);
    for file in reports(&place) {
        page.open(&file, [1200, 900]);
        assert_eq!(page.value("document.documentElement.className"), "scripted");
        reads_curves(&mut page);
        sorts(&mut page);
        filters(&mut page);
        opens_rounds(&mut page);
        leads_to_explanations(&mut page);
        sorts_published(&mut page, file.ends_with("papers.html"));
        assert_eq!(page.complaints(), [&serde_json::Value::Null; 0], "{}", file.display());
        assert_eq!(page.requests(), [format!("file://{}", file.display())]);
    }
    // On a telephone nothing but tables and curves is wider than the window, and those scroll
    // alone.
    for file in ["two.html", "papers.html"] {
        page.open(&place.path(file), [390, 800]);
        assert_eq!(page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0);
    }
    prints(&place, &program);
}

/// The same report as PDF: whole, of several pages, and nothing of the browser is left.
fn prints(place: &Place, program: &std::path::Path) {
    let file = place.path("one.pdf");
    let mut report = place.command(&["report", "after", "-o", &file.display().to_string()]);
    let printed = common::ended(report.env("GROMA_CHROMIUM", program).output().expect("it starts"));
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{printed:?}");
    let pdf = std::fs::read(&file).expect("a file");
    let pages = String::from_utf8_lossy(&pdf).matches("/Type /Page\n").count();
    assert!(
        pdf.starts_with(b"%PDF-") && pdf.trim_ascii_end().ends_with(b"%%EOF") && pages > 1,
        "{} bytes, {pages} pages",
        pdf.len()
    );
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// A point says its value to the mouse and to the keyboard; a line can be hidden; dragging looks
/// closer.
fn reads_curves(page: &mut Page) {
    let first = "figure svg .line circle";
    page.hover(first);
    let said = "document.querySelector('figure .readout:not([hidden])')?.textContent ?? ''";
    let read = page.value(said);
    let read = read.as_str().expect("a text").to_owned();
    assert!(read.contains("KiB: ") && read.contains(" ns"), "{read}");
    page.value("document.querySelector('figure svg circle[tabindex=\"0\"]').focus()");
    let before = page.value(said);
    page.press("ArrowRight");
    let after = page.value(said);
    assert!(after.as_str().is_some_and(|text| text.contains(" ns")) && after != before, "{before} {after}");
    let name = page.value("document.activeElement.getAttribute('aria-label')");
    assert_eq!(name, after);

    page.drag("figure svg .line circle", [160.0, 40.0]);
    assert_eq!(page.value("document.querySelectorAll('svg.zoomed').length"), 1);
    assert!(page.value("document.querySelectorAll('svg.zoomed .line polyline:not(.gone)').length").as_u64() > Some(0));
    assert!(page.value("document.querySelectorAll('svg circle.gone').length").as_u64() > Some(0));
    page.press("Escape");
    assert_eq!(page.value("document.querySelectorAll('svg.zoomed, svg .gone').length"), 0);

    if page.value("document.querySelectorAll('figure .series input').length") != 0 {
        let lines = "document.querySelectorAll('figure svg g.line.off').length";
        assert_eq!(page.value(lines), 0);
        page.click("figure .series input");
        assert_eq!(page.value(lines), 1);
    }
}

const VALUES: &str = "[...document.querySelectorAll('#all tbody tr:not([hidden])')]";

/// The column of the first value sorts by number, either way.
fn sorts(page: &mut Page) {
    let head = "#all thead th.n";
    let column = format!("{VALUES}.map(row => row.querySelector('td.n').dataset.v).filter(v => v).map(Number)");
    let sort = |page: &mut Page| {
        page.click(&format!("{head} button"));
        let order = page.value(&format!("document.querySelector('{head}').getAttribute('aria-sort')"));
        let values: Vec<f64> = serde_json::from_value(page.value(&column)).expect("numbers");
        assert!(values.len() > 5, "{values:?}");
        (order, values)
    };
    let (order, up) = sort(page);
    assert_eq!(order, "ascending");
    assert!(up.is_sorted(), "{up:?}");
    let (order, down) = sort(page);
    assert_eq!(order, "descending");
    assert!(down.iter().rev().is_sorted(), "{down:?}");
}

/// A published table sorts by the number that a cell stands for.
fn sorts_published(page: &mut Page, is_there: bool) {
    assert_eq!(page.value("document.querySelectorAll('#papers').length"), u64::from(is_there));
    if !is_there {
        return;
    }
    // The second column of table 2.
    let table = "#papers #lmbench1996-table2 ~ .wide table";
    page.click(&format!("{table} thead th:nth-child(3) button"));
    let column =
        format!("[...document.querySelector('{table}').tBodies[0].rows].map(row => Number(row.cells[2].dataset.v))");
    let values: Vec<f64> = serde_json::from_value(page.value(&column)).expect("numbers");
    assert!(values.len() == 15 && values.is_sorted(), "{values:?}");
}

/// Rows without the words vanish, and come back.
fn filters(page: &mut Page) {
    let input = "#values .filter input[type=search]";
    let ids = format!("{VALUES}.map(row => row.cells[0].textContent)");
    let all: Vec<String> = serde_json::from_value(page.value(&ids)).expect("ids");
    page.click(input);
    page.insert("mem.latency 64");
    let left: Vec<String> = serde_json::from_value(page.value(&ids)).expect("ids");
    assert!(!left.is_empty() && left.len() < all.len(), "{left:?}");
    assert!(left.iter().all(|id| id.starts_with("mem.latency")), "{left:?}");
    let count = page.value("document.querySelector('#values .filter output').textContent");
    assert!(count.as_str().is_some_and(|text| text.starts_with(&format!("{} of ", left.len()))), "{count}");
    page.value(&format!(
        "(() => {{ const i = document.querySelector('{input}'); i.value = ''; \
         i.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ));
    assert_eq!(page.value(&format!("{ids}.length")), all.len());
}

/// The picture of the rounds opens as many dots as there are rounds.
fn opens_rounds(page: &mut Page) {
    let row = "#all tbody tr:not([hidden])";
    page.click(&format!("{row} .rounds button"));
    assert_eq!(page.value("document.querySelector('#all td.rounds button').getAttribute('aria-expanded')"), "true");
    let dots = page.value("document.querySelectorAll('tr.opened circle').length");
    assert!(dots.as_u64() >= Some(2), "{dots}");
    let again = page.value("document.querySelector('tr.opened code').textContent");
    assert!(again.as_str().is_some_and(|text| text.starts_with("groma run ")), "{again}");
    page.click(&format!("{row} .rounds button"));
    assert_eq!(page.value("document.querySelectorAll('tr.opened').length"), 0);
}

/// The name of a metric leads to its explanation, which is open then.
fn leads_to_explanations(page: &mut Page) {
    page.click("#all tbody th a");
    page.value("new Promise(done => setTimeout(done))");
    let hash = page.value("location.hash");
    let id = hash.as_str().and_then(|hash| hash.strip_prefix('#')).expect("a place").to_owned();
    assert!(id.starts_with("about-"), "{id}");
    assert_eq!(page.value(&format!("document.getElementById('{id}').open")), true);
}
