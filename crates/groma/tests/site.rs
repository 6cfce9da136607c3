//! `groma site`: what it is made of, that nothing else is touched, and that the pages work in a
//! browser.

use crate::common::chromium::{self, Page};
use crate::common::{Place, root};
use std::fs;
use std::path::Path;

/// A directory with everything that a site is made of: two machines by their streams (one of these
/// without samples), a baseline, and a result file of lmbench.
fn inputs(place: &Place) -> String {
    let dir = place.path("results");
    fs::create_dir_all(dir.join("older")).expect("a directory");
    let (with, without) = (dir.join("with.ndjson"), dir.join("older/without.ndjson"));
    let sizes = "size=4K,16K,64K,256K,1M";
    for (file, more) in [(&with, &["--samples"][..]), (&without, &[])] {
        let file = file.display().to_string();
        let run = [
            "run",
            "syscall.getppid",
            "mem.latency",
            "--param",
            sizes,
            "--profile",
            "quick",
            "--rounds",
            "6",
            "--no-store",
            "-o",
            &file,
        ];
        let ended = place.groma(&[&run[..], more].concat());
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    }
    // A second machine, slower than the first.
    let text = fs::read_to_string(&without)
        .expect("a stream")
        .replace("\"cpu.model\",\"value\":\"", "\"cpu.model\",\"value\":\"Other ");
    fs::write(&without, text).expect("it can be written");
    let own = root().join("crates/groma");
    fs::copy(own.join("reference/zen4-vm-2026.ndjson"), dir.join("base.ndjson")).expect("a baseline");
    fs::copy(own.join("tests/lmbench_results/four.3"), dir.join("four.3")).expect("a result file");
    fs::write(dir.join("notes.txt"), "not a result").expect("it can be written");
    dir.display().to_string()
}

/// All files below a directory, in order.
fn files(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => all.push(path.display().to_string()),
        }
    }
    all.sort();
    all
}

#[test]
fn a_site_is_made_of_whatever_has_values() {
    let place = Place::new();
    let from = inputs(&place);
    let public = place.path("public");
    let out = public.display().to_string();
    let ended = place.groma(&["site", &from, "-o", &out]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.contains("4 machines, 5 runs, 40 systems of documents"), "{}", ended.out);
    let front = fs::read_to_string(public.join("index.html")).expect("a page");
    for kind in ["measured", "reference", "lmbench", "printed"] {
        assert!(front.contains(&format!("<td>{kind}</td>")), "no machine is {kind}");
    }
    let years = fs::read_to_string(public.join("years.html")).expect("a page");
    // The system call of 1990, which a survey measures another way, is beside that of today.
    assert!(years.contains("null call (getppid)</a>") && years.contains("ousterhout1990 table2 ≠"), "{years}");
    let before = files(&public);

    // Nothing has changed, so nothing is written.
    let again = place.groma(&["site", &from, "-o", &out]);
    assert!(again.out.contains("0 written, 0 removed"), "{}", again.out);
    // A machine that is gone takes its pages with it, and a file of the user's stays.
    fs::write(public.join("CNAME"), "bench.example").expect("it can be written");
    let fewer = place.groma(&["site", &from, "--no-documents", "-o", &out]);
    assert_eq!(fewer.code, Some(0), "{fewer:?}");
    let left = files(&public);
    assert!(left.len() < before.len() - 40 && public.join("CNAME").exists(), "{} of {}", left.len(), before.len());

    // What was exported as Parquet is the same machine with the same values.
    if cfg!(feature = "parquet") {
        let (stream, table) = (place.path("results/with.ndjson"), place.path("run.parquet"));
        let [stream, table] = [stream, table].map(|path| path.display().to_string());
        let export = place.groma(&["export", &stream, "-o", &table]);
        assert_eq!(export.code, Some(0), "{export:?}");
        let row = |input: &str, name: &str| {
            let dir = place.path(name);
            let made = place.groma(&["site", input, "--no-documents", "-o", &dir.display().to_string()]);
            assert_eq!((made.code, made.err.as_str()), (Some(0), ""), "{made:?}");
            let csv = fs::read_to_string(dir.join("metrics/syscall.getppid.csv")).expect("a table");
            let line = csv.lines().find(|line| line.starts_with("null call")).expect("a row").to_owned();
            // From the end: the name of a machine may hold commas.
            line.rsplit(',').nth(5).expect("a value").to_owned()
        };
        assert_eq!(row(&table, "of-table"), row(&stream, "of-stream"));
    }

    // A run that cannot be read is named, and the others are shown.
    let damaged = place.path("damaged.ndjson");
    let text = fs::read_to_string(place.path("results/with.ndjson")).expect("a stream");
    fs::write(&damaged, &text[..text.len() / 2]).expect("it can be written");
    let damaged = damaged.display().to_string();
    let broken = place.groma(&["site", &from, &damaged, "-o", &out]);
    assert!(broken.code == Some(2) && broken.err.contains(&damaged) && broken.out.contains("4 machines"), "{broken:?}");
    for (args, says) in [
        (vec!["site", &from, "-o", &from], "it holds other files"),
        (vec!["site", "no-such-run", "-o", &out], "no store here yet"),
        (vec!["site", &from], "--output"),
    ] {
        let refused = place.groma(&args);
        assert!(refused.code == Some(2) && refused.err.contains(says), "{refused:?}");
    }
}

#[test]
fn a_site_works_in_a_browser() {
    let Some(program) = chromium::program() else {
        eprintln!("skipped: no Chromium on PATH (GROMA_CHROMIUM names one)");
        return;
    };
    let place = Place::new();
    let from = inputs(&place);
    let public = place.path("public");
    let ended = place.groma(&["site", &from, "-o", &public.display().to_string()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut machines = fs::read_dir(public.join("machines")).expect("pages").flatten().map(|entry| entry.path());
    let other = machines.find(|path| path.display().to_string().contains("other")).expect("the other machine");
    let pages =
        ["index.html", "metrics.html", "metrics/syscall.getppid.html", "years.html", "beside.html", "about.html"];
    let mut page = Page::start(&program);
    for file in pages.iter().map(|page| public.join(page)).chain([other]) {
        for width in [1280, 390] {
            page.open(&file, [width, 900]);
            assert_eq!(page.value("document.documentElement.className"), "scripted", "{}", file.display());
            let wider = page.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(wider, 0, "{} at {width}", file.display());
            assert_eq!(page.complaints(), [&serde_json::Value::Null; 0], "{}", file.display());
            let inside = format!("file://{}/", public.display());
            assert!(page.requests().iter().all(|request| request.starts_with(&inside)), "{:?}", page.requests());
        }
    }
    page.open(&public.join("index.html"), [1280, 900]);
    front(&mut page);
    page.open(&public.join("beside.html"), [1280, 900]);
    beside(&mut page);
}

/// The table of machines sorts and filters.
fn front(page: &mut Page) {
    let rows = "[...document.querySelectorAll('table.front tbody tr:not([hidden])')]";
    let all = page.value(&format!("{rows}.length")).as_u64().expect("a number");
    page.click("table.front thead th:nth-child(7) button");
    let values =
        page.value(&format!("{rows}.map(row => Number(row.cells[6].dataset.v)).filter(v => !Number.isNaN(v))"));
    let values: Vec<f64> = values.as_array().expect("a list").iter().filter_map(serde_json::Value::as_f64).collect();
    assert!(values.len() > 1 && values.is_sorted(), "{values:?}");
    page.value("document.querySelector('.filter input').focus()");
    page.insert("printed 1995");
    let left = page.value(&format!("{rows}.length")).as_u64().expect("a number");
    assert!(left > 3 && left < all, "{left} of {all}");
}

/// Two machines, two metrics, and curves of many, each by its address.
fn beside(page: &mut Page) {
    let shown = |page: &mut Page, what: &str| {
        page.value(&format!("document.querySelectorAll('#shown {what}').length")).as_u64().expect("a number")
    };
    let choose = |page: &mut Page, nth: usize, pick: &str| {
        page.value(&format!(
            "(() => {{ const box = document.querySelectorAll('#choose select')[{nth}];
               [...box.options].forEach(option => option.selected = {pick});
               box.onchange(); return new Promise(done => setTimeout(done, 300)); }})()"
        ));
    };
    choose(page, 1, "option.text.startsWith('Other')");
    assert!(shown(page, "tbody tr") > 2, "two machines have metrics in common");
    choose(page, 0, "option.value === 'curves'");
    assert!(shown(page, "polyline.l0") == 1 && shown(page, "circle") > 4, "no curve");
    choose(page, 0, "option.value === 'metrics'");
    assert!(shown(page, "a circle") > 0, "no machine has both metrics");
    let address = page.value("location.hash");
    assert!(address.as_str().is_some_and(|hash| hash.starts_with("#x=")), "{address}");
    // A point says what it is, to the keyboard as well.
    page.value("document.querySelector('#shown svg a').focus()");
    let said = page.value("document.querySelector('#shown .readout:not([hidden])')?.textContent ?? ''");
    assert!(said.as_str().is_some_and(|text| text.contains(": ")), "{said}");
}
