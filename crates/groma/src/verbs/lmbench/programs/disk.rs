//! disk: seeks and zones.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::measure::{Want, points};
use groma_harness::sys::disk;
use std::os::fd::AsFd;

pub(in super::super) static PROGRAMS: &[Program] = &[Program {
    name: "disk",
    usage: "device",
    letters: "",
    prints: "\"Seek times for DEVICE and rows of megabytes and milliseconds, \"Zone bandwidth for \
             DEVICE and MB/s",
    differs: "reads past the page cache, so no seek is too short to be counted; 12 distances and \
              11 zones, which do not depend on the size; 4 KiB after each seek instead of 512 \
              bytes; only reads, as there",
    native: "groma run disk.seek disk.read --param on=DEVICE --param distance=1,2,5 --param position=0,10,20",
    run,
}];

/// Distances and positions in percent of the disk.
const DISTANCES: [u64; 12] = [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 95];
const POSITIONS: [u64; 11] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

fn run(call: &mut Call<'_>) -> Outcome {
    let device = call.needed(0, "the device")?;
    call.at_most(1)?;
    let missing = |e: std::io::Error| Stop::Missing(format!("{device}: {e}"));
    let size = std::fs::File::open(device).and_then(|file| disk::size(file.as_fd())).map_err(missing)?;
    let on = std::path::absolute(device).map_err(missing)?;
    let of = |bench, name: &str, at: &u64| Want::of(bench).with("on", on.display()).with(name, at);
    let seeks = DISTANCES.iter().map(|at| of("disk.seek", "distance", at));
    let wants: Vec<Want> = seeks.chain(POSITIONS.iter().map(|at| of("disk.read", "position", at))).collect();
    let found = points(call, &wants)?.found;
    let (seeks, zones) = found.split_at(DISTANCES.len());
    let megabytes = |percent: u64| size as f64 / 1e6 * percent as f64 / 100.0;
    call.line(Some(format!("\"Seek times for {device}")));
    for (at, found) in DISTANCES.iter().zip(seeks) {
        if let Some(seconds) = found.value(call, "") {
            call.line(Some(format!("{:.1} {:.2}", megabytes(*at), seconds * 1e3)));
        }
    }
    call.line(Some(String::new()));
    call.line(Some(format!("\"Zone bandwidth for {device}")));
    for (at, found) in POSITIONS.iter().zip(zones) {
        if let Some(rate) = found.value(call, "") {
            call.line(Some(format!("{:.1} {:.2}", megabytes(*at), rate / 1e6)));
        }
    }
    Ok(())
}
