//! `groma report`: which runs it takes, what it writes where, and what it refuses. What a browser
//! makes of it is tested in `report_browser.rs`.

use crate::common::{self, Ended, Place, children, send, wait_for, write_program};
use groma_harness::sys::process;
use groma_store::{Sink, Store};

/// Two short runs, the second with a tag, and one that was killed before it planned anything.
fn runs() -> Place {
    let place = Place::new();
    let run = ["run", "syscall.getppid", "syscall.read", "--profile", "quick", "--rounds", "2"];
    for more in [&[][..], &["--tag", "after"]] {
        let ended = place.groma(&[&run, more].concat());
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    }
    let store = Store::open(&place.store()).expect("a store");
    let mut head = store.load(&store.find("latest").expect("a run")).expect("it reads").header;
    (head.run, head.started) = ("20200101T000000Z-0000".to_owned(), "2020-01-01T00:00:00Z".to_owned());
    head.tags = ["nothing".parse().expect("a tag")].into();
    // Without an owner it came from elsewhere, and its clock says that it is the oldest.
    store.writer("").expect("a writer").begin(&head, &[]).expect("a head");
    place
}

fn refused(ended: &Ended, expected: &str) {
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.contains(expected) && ended.err.lines().count() == 1, "expected '{expected}': {ended:?}");
}

#[test]
fn runs_become_files() {
    let place = runs();
    let at = |name: &str| place.path(name).display().to_string();
    let (one, two, text) = (at("one.html"), at("two.html"), at("both.md"));
    let ended = place.groma(&["report", "-o", &one]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.starts_with(&format!("{one}: ")) && ended.out.ends_with(" kB, 1 run, 2 metrics\n"), "{ended:?}");
    let html = std::fs::read_to_string(&one).expect("a report");
    assert_eq!(html.matches("<tr id=\"m").count(), 2);
    assert!(html.contains("<details class=\"about\" id=\"about-syscall.read\">") && !html.contains("B beside A"));
    // What is printed is what is written.
    assert_eq!(place.groma(&["report"]).out, html);

    let ended = place.groma(&["report", "latest~1", "after", "-o", &two]);
    assert!(ended.out.ends_with(" kB, 2 runs, 4 metrics\n"), "{ended:?}");
    let html = std::fs::read_to_string(&two).expect("a report");
    assert!(html.contains("B beside A") && html.matches("<tr id=\"m").count() == 2);

    // The ending tells the format.
    let ended = place.groma(&["report", "latest~1", "after", "-o", &text]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let markdown = std::fs::read_to_string(&text).expect("a report");
    assert_eq!(markdown, place.groma(&["report", "latest~1", "after", "--format", "markdown"]).out);
    assert!(markdown.contains("syscall.getppid") && !markdown.contains("<html"), "{markdown}");
}

/// `--with` adds the tables of a document, each once, with a row or a column for each run that has
/// a value.
#[test]
fn published_tables_stand_beside_the_runs() {
    let place = Place::new();
    for tag in ["before", "after"] {
        let ended = place.groma(&["run", "syscall.stat", "--profile", "quick", "--rounds", "2", "--tag", tag]);
        assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    }
    place.calm();
    let with = ["--with", "cse221", "--with", "lmbench1996", "--with", "cse221"];
    let ended = place.groma(&[&["report", "before", "after"][..], &with].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.contains("<section id=\"papers\"") && ended.out.len() < 3_000_000);
    for name in ["A", "B"] {
        assert_eq!(ended.out.matches(&format!(">→ {name}: ")).count(), 2, "a head, and the run below the table");
    }
    assert_eq!(ended.out.matches("id=\"cse221-system_call\"").count(), 1);
    assert_eq!(ended.out.matches("id=\"lmbench1996-table7\"").count(), 1);
    let markdown = place.groma(&["report", "after", "--format", "markdown", "--with", "cse221"]);
    assert!(markdown.out.contains("### cse221 system\\_call: System call"), "{markdown:?}");
    refused(
        &place.groma(&["report", "--with", "lmbench"]),
        "--with lmbench: there is no document 'lmbench' (known: lmbench1996, lmbench3, ousterhout1990, cse221, slb)",
    );
}

#[test]
fn what_cannot_be_reported_is_refused_in_a_line() {
    let place = runs();
    refused(&place.groma(&["report", "-o", "/nonexistent/r.html"]), "/nonexistent/r.html: No such file or directory");
    refused(&place.groma(&["report", "no-such-run", "-o", "x.html"]), "no-such-run");
    refused(
        &place.groma(&["report", "nothing"]),
        "run 20200101T000000Z-0000 holds no metric: there is nothing to report",
    );
    refused(&place.groma(&["report", "after", "latest"]), " is named twice");
    let mut pdf = place.command(&["report", "-o", "x.pdf"]);
    let without = common::ended(pdf.env("PATH", "/nonexistent").output().expect("it starts"));
    refused(&without, "a PDF is printed by Chromium, and none of chromium, ");
    let mut pdf = place.command(&["report", "-o", "x.pdf"]);
    let without = common::ended(pdf.env("GROMA_CHROMIUM", "/nonexistent/c").output().expect("it starts"));
    refused(&without, "GROMA_CHROMIUM: /nonexistent/c: no such file");
    // A Chromium that does nothing.
    let mut pdf = place.command(&["report", "-o", "x.pdf"]);
    let idle = common::ended(pdf.env("GROMA_CHROMIUM", "/bin/true").output().expect("it starts"));
    refused(&idle, "/bin/true: it made no PDF");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn a_signal_ends_the_browser_and_is_the_exit_code() {
    let place = runs();
    // A browser that does not come to an end.
    let (browser, started) = (place.path("browser"), place.path("started"));
    write_program(&browser, &format!("#!/bin/sh\necho > {}\nexec sleep 1000\n", started.display()));
    let file = place.path("x.pdf");
    let mut report = place.command(&["report", "-o", &file.display().to_string()]);
    let child = report.env("GROMA_CHROMIUM", &browser).spawn().expect("it starts");
    wait_for("the browser", || started.exists().then_some(()));
    let [sleeping] = children(child.id() as i32)[..] else { panic!("it has one child") };
    send(child.id() as i32, 15);
    let ended = common::ended(child.wait_with_output().expect("it ends"));
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (Some(143), "", ""));
    assert!(!file.exists() && place.left_behind().is_empty(), "{:?}", place.left_behind());
    wait_for("its end", || (!process::exists(sleeping)).then_some(()));
}
