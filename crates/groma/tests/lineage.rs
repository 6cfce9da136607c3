//! Checks the coverage of five earlier suites and papers against `groma list --json`: every row
//! that concerns the operating system has a metric, and every lineage that a benchmark claims names
//! an existing row. Processor and memory rows that wait for the hardware survey are listed as open,
//! and leave that list when they have a metric.

mod common;
use common::Place;
use serde_json::Value;
use std::collections::BTreeSet;

/// A suite or paper: its rows, and those of them that are open.
struct Document {
    name: &'static str,
    rows: &'static [&'static str],
    /// Processor and memory rows without a metric until the hardware survey.
    open: &'static [&'static str],
    /// What may be claimed in addition: programs, tables and figures that are not rows to cover.
    besides: &'static [&'static str],
}

/// lmbench3: the rows of its Table II, latency, bandwidth and other; in addition, its programs
/// without a row there. lmbench 1996: Tables 2 to 17; Table 1 lists the machines. Ousterhout 1990:
/// Tables 2 to 10; Table 1 lists the machines and their MIPS. CSE 221: the sections of the report.
/// SLB: its one program.
const DOCUMENTS: [Document; 5] = [
    Document {
        name: "lmbench3",
        rows: &[
            "lat_connect",
            "lat_ctx",
            "lat_dram_page",
            "lat_fcntl",
            "lat_fifo",
            "lat_fs",
            "lat_http",
            "lat_mem_rd",
            "lat_mmap",
            "lat_ops",
            "lat_pagefault",
            "lat_pipe",
            "lat_pmake",
            "lat_proc",
            "lat_rand",
            "lat_rpc",
            "lat_select",
            "lat_sem",
            "lat_sig",
            "lat_syscall",
            "lat_tcp",
            "lat_udp",
            "lat_unix",
            "lat_unix_connect",
            "lat_usleep",
            "bw_file_rd",
            "bw_mem",
            "bw_mmap_rd",
            "bw_pipe",
            "bw_tcp",
            "bw_unix",
            "disk",
            "line",
            "lmdd",
            "mhz",
            "par_mem",
            "par_ops",
            "stream",
            "tlb",
        ],
        open: &[],
        besides: &["bw_udp", "cache", "enough", "lat_cmd", "loop_o", "memsize", "seek", "timing_o"],
    },
    Document {
        name: "lmbench1996",
        rows: &[
            "table2", "table3", "table4", "table5", "table6", "table7", "table8", "table9", "table10", "table11",
            "table12", "table13", "table14", "table15", "table16", "table17", "figure1", "figure2",
        ],
        open: &[],
        besides: &[],
    },
    Document {
        name: "ousterhout1990",
        rows: &["table2", "table3", "table4", "table5", "table6", "table7", "table8", "table9", "table10"],
        open: &[],
        besides: &[],
    },
    Document {
        name: "cse221",
        rows: &[
            "measurement_overhead",
            "procedure_call",
            "system_call",
            "task_creation",
            "context_switch",
            "memory_latency",
            "ram_bandwidth",
            "page_fault",
        ],
        open: &[],
        besides: &[],
    },
    Document { name: "slb", rows: &["memhammer"], open: &[], besides: &[] },
];

/// The lineage of every benchmark, with its id.
fn claims() -> Vec<(String, String)> {
    let place = Place::new();
    let listed = place.json(&["list", "--json"]);
    let text = |v: &Value| v.as_str().expect("a text").to_owned();
    let benches = listed.as_array().expect("one object for each benchmark").iter();
    benches
        .flat_map(|bench| {
            assert!(bench["summary"].as_str().is_some_and(|s| !s.is_empty()), "{bench}");
            let lineage = bench["lineage"].as_array().expect("a lineage, if empty");
            lineage.iter().map(|claim| (text(&bench["id"]), text(claim))).collect::<Vec<_>>()
        })
        .collect()
}

/// `lmbench3:lat_sig catch` claims the row `lat_sig`.
fn row_of(claim: &str) -> Option<(&str, &str)> {
    let (document, rest) = claim.split_once(':')?;
    Some((document, rest.split(' ').next().unwrap_or(rest)))
}

#[test]
fn every_row_of_the_documents_has_a_metric_or_is_open() {
    let claims = claims();
    let claimed: BTreeSet<(&str, &str)> = claims.iter().filter_map(|(_, claim)| row_of(claim)).collect();
    let mut missing = Vec::new();
    for document in &DOCUMENTS {
        for row in document.rows {
            let (has, open) = (claimed.contains(&(document.name, *row)), document.open.contains(row));
            match (has, open) {
                (false, false) => missing.push(format!("{}:{row} has no metric", document.name)),
                (true, true) => {
                    missing.push(format!("{}:{row} has a metric: take it off the open list", document.name))
                }
                _ => {}
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    println!("open until the hardware survey:");
    for document in &DOCUMENTS {
        document.open.iter().for_each(|row| println!("  {}:{row}", document.name));
    }
}

#[test]
fn every_claim_names_a_row_that_exists() {
    for (id, claim) in claims() {
        let (document, row) = row_of(&claim).unwrap_or_else(|| panic!("{id}: '{claim}' is not document:row"));
        // Other suites have no closed list.
        let Some(known) = DOCUMENTS.iter().find(|d| d.name == document) else { continue };
        assert!(known.rows.iter().chain(known.besides).any(|r| *r == row), "{id}: there is no {row} in {document}");
    }
    for document in &DOCUMENTS {
        for row in document.open {
            assert!(document.rows.contains(row), "{}: {row} is open and no row", document.name);
        }
    }
}
