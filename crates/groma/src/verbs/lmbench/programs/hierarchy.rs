//! lat_mem_rd, par_mem, line, tlb, cache, lat_dram_page, memsize: caches and memory.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::format_pair_number;
use super::super::measure::{Found, Want, point, points};
use super::bandwidth::fits;
use groma_analysis::curve::{Rank, curves, levels};
use groma_harness::model::Record;
use groma_harness::sys::pages::page_size;

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_mem_rd",
        usage: "[-t] [-P copies] [-W microseconds] [-N repetitions] megabytes [stride...]",
        letters: "tP:W:N:",
        prints: "for each stride \"stride=64, then rows of binary megabytes and nanoseconds: 0.00049 0.950",
        differs: "as there a fixed stride is one that prefetchers follow, so it is no latency of \
                  memory; the fastest tenth of the samples; with -t each load is from another page, \
                  as there, so address translation is in it, and from another line, whatever the \
                  stride",
        native: "groma run mem.stride --param stride=64, and with -t mem.latency --param chain=included",
        run: lat_mem_rd,
    },
    Program {
        name: "par_mem",
        usage: "[-c] [-L line] [-M bytes] [-W microseconds] [-N repetitions]",
        letters: "cL:M:W:N:",
        prints: "rows of decimal megabytes and loads that overlap: 0.004096 9.86",
        differs: "bounded by the number of chains, and the best of what all rounds show instead of \
                  one ratio; -c has no effect, as there",
        native: "groma run mem.parallelism",
        run: par_mem,
    },
    Program {
        name: "line",
        usage: "[-a] [-v] [-M bytes] [-W microseconds] [-N repetitions]",
        letters: "avM:W:N:",
        prints: "on standard output 64, or with -v cache line size: 64 bytes",
        differs: "a buffer of groma's choice, so that -M changes nothing; -a has no effect, as there",
        native: "groma run mem.line",
        run: line,
    },
    Program {
        name: "tlb",
        usage: "[-c] [-L line] [-M bytes] [-W microseconds] [-N repetitions]",
        letters: "cL:M:W:N:",
        prints: "tlb: 96 pages, with -c and what a miss adds: 2.00000 nanoseconds",
        differs: "the first level, as there; pages that groma chooses, so that -L and -M change nothing",
        native: "groma run mem.tlb --param pages=base --param layout=contiguous: the second level \
                 and page walks as well",
        run: tlb,
    },
    Program {
        name: "cache",
        usage: "[-c] [-L line] [-M bytes] [-W microseconds] [-N repetitions]",
        letters: "cL:M:W:N:",
        prints: "L1 cache: 49152 bytes 1.43 nanoseconds 64 linesize 11.90 parallelism, and Memory \
                 latency: 122.00 ...",
        differs: "levels are found on a curve of latency over size up to -M (128m; there 32m, \
                  which is in the cache of many machines); no line for memory where the curve does \
                  not reach it; -c has no effect, as there",
        native: "groma run mem.latency mem.line mem.parallelism",
        run: cache,
    },
    Program {
        name: "lat_dram_page",
        usage: "[-a] [-v] [-L line] [-T pages] [-M bytes] [-W microseconds] [-N repetitions]",
        letters: "avL:T:M:W:N:",
        prints: "nanoseconds: 7.124261",
        differs: "pairs of loads that fall into one bank are searched for; -L and -T change \
                  nothing, nor do -a and -v",
        native: "groma run mem.dram_page",
        run: lat_dram_page,
    },
    Program {
        name: "memsize",
        usage: "[megabytes]",
        letters: "",
        prints: "on standard output binary megabytes: 21708",
        differs: "the limits are read and a part is touched, where there all memory is filled; \
                  without an operand there is no upper bound, with --strict it is 1024 as there; \
                  no progress is shown",
        native: "groma run mem.available",
        run: memsize,
    },
];

fn lat_mem_rd(call: &mut Call<'_>) -> Outcome {
    /// As many binary megabytes as any machine has.
    const MAX_MEGABYTES: u64 = 1 << 24;
    let text = call.needed(0, "the megabytes")?;
    // As there 64M is 64. 1G would be 1 there, which nobody means.
    let number = text.strip_suffix(['m', 'M']).unwrap_or(text);
    let megabytes = call.number(&format!("'{text}'"), number, [1, MAX_MEGABYTES])?;
    fits(text, (megabytes << 20).saturating_mul(u64::from(call.copies()?)))?;
    let given: Vec<u64> = call.words.operands[1..].iter().map(|text| call.size(text)).collect::<Result<_, Stop>>()?;
    let pointer = size_of::<usize>() as u64;
    if let Some(bad) = given.iter().find(|stride| **stride == 0 || *stride % pointer != 0) {
        return Err(Stop::Usage(format!("stride {bad}: expected a multiple of {pointer}")));
    }
    let is_random = call.has('t');
    let strides = if given.is_empty() { vec![512 / pointer] } else { given.clone() };
    let sizes = sizes(megabytes << 20);
    let fitting = |stride: u64| sizes.iter().copied().filter(move |size| *size >= stride);
    let want = |stride: u64, size: u64| match is_random {
        true => Want::of("mem.latency").with("size", size).with("chain", "included").with("pages", "base"),
        false => Want::of("mem.stride").with("size", size).with("stride", stride).with("pages", "base"),
    };
    let wants: Vec<Want> = strides.iter().flat_map(|stride| fitting(*stride).map(|size| want(*stride, size))).collect();
    let mut found = points(call, &wants)?.found.into_iter();
    for stride in &strides {
        call.line(Some(format!("\"stride={stride}")));
        for (size, found) in fitting(*stride).zip(found.by_ref()) {
            if let Some(seconds) = found.value(call, "") {
                call.line(Some(format!("{:.5} {:.3}", size as f64 / f64::from(1 << 20), seconds * 1e9)));
            }
        }
        if !given.is_empty() {
            call.line(Some(String::new()));
        }
    }
    Ok(())
}

/// The sizes of a curve, as there: single steps up to 4 KiB, every 2 KiB up to 32 KiB, then eight
/// for each doubling.
fn sizes(most: u64) -> Vec<u64> {
    const KIB: u64 = 1 << 10;
    let mut all = vec![KIB / 2, KIB, 2 * KIB, 3 * KIB];
    all.extend((2..=16).map(|n| n * 2 * KIB));
    let mut base = 32 * KIB;
    while base < most {
        all.extend((1..=8).map(|eighth| base + base / 8 * eighth));
        base *= 2;
    }
    all.retain(|size| *size <= most);
    all
}

fn par_mem(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let line = call.size_of('L', page_size() as u64 / 16)?;
    let most = call.size_of('M', 64 << 20)?;
    fits("-M", most)?;
    if line == 0 || most < line.saturating_mul(16) {
        return Err(Stop::Usage(format!(
            "-M: expected {} bytes or more, sixteen times -L",
            line.max(1).saturating_mul(16)
        )));
    }
    let sizes: Vec<u64> =
        std::iter::successors(Some(line * 16), |size| Some(size * 2)).take_while(|size| *size <= most).collect();
    let wants: Vec<Want> =
        sizes.iter().map(|size| Want::of("mem.parallelism").with("size", size).with("pages", "base")).collect();
    for (size, found) in sizes.iter().zip(points(call, &wants)?.found) {
        if let Some(ratio) = found.value(call, "") {
            call.line(Some(format!("{} {}", format_pair_number(*size as f64 / 1e6), format_pair_number(ratio))));
        }
    }
    Ok(())
}

fn line(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let _ = call.size_of('M', 64 << 20)?;
    let bytes = point(call, Want::of("mem.line"))?.value(call, "");
    call.out(
        bytes.map(
            |bytes| if call.has('v') { format!("cache line size: {bytes:.0} bytes") } else { format!("{bytes:.0}") },
        ),
    );
    Ok(())
}

fn tlb(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let found = point(call, Want::of("mem.tlb").with("pages", "base").with("layout", "contiguous"))?;
    let Some(pages) = found.value(call, "") else { return Ok(()) };
    let miss = if call.has('c') { found.value(call, "l2_hit") } else { None };
    let miss = miss.map_or_else(String::new, |seconds| format!(" {:.5} nanoseconds", seconds * 1e9));
    call.line(Some(format!("tlb: {pages:.0} pages{miss}")));
    Ok(())
}

fn cache(call: &mut Call<'_>) -> Outcome {
    /// The first size is 2 to the power of 12, and four make an octave.
    const FIRST: u32 = 12 * 4;
    call.at_most(0)?;
    let default = if call.strict() { 32 << 20 } else { 128 << 20 };
    let most = call.size_of('M', default)?;
    if most < 64 << 10 {
        return Err(Stop::Usage("-M: expected 65536 bytes or more".to_owned()));
    }
    fits("-M", most)?;
    let size = |quarter: u32| ((f64::from(quarter) / 4.0).exp2() as u64).next_multiple_of(64);
    let sizes: Vec<u64> = (FIRST..).map(size).take_while(|size| *size <= most).collect();
    let chain =
        |size: &u64| Want::of("mem.latency").with("size", size).with("chain", "amortised").with("pages", "base");
    let found = points(call, &sizes.iter().map(chain).collect::<Vec<_>>())?.found;
    // What is missing on the curve is told, and the levels are found without it.
    let is_there = |found: &&Found| found.value(call, "").is_some();
    let records: Vec<&Record> = found.iter().filter(is_there).filter_map(|found| found.record("")).collect();
    let all = curves(&records, "size");
    let levels = all.first().map(levels).unwrap_or_default();
    if levels.is_empty() {
        return Err(Stop::Unmeasured(format!("no level of cache shows up to {most} bytes")));
    }
    // What overlaps is measured within each level.
    let within = |span: [f64; 2]| ((span[0] * span[1]).sqrt() as u64 / 4096).max(1) * 4096;
    let mut wants = vec![Want::of("mem.line")];
    wants.extend(
        levels.iter().map(|level| Want::of("mem.parallelism").with("size", within(level.span)).with("pages", "base")),
    );
    let more = points(call, &wants)?.found;
    let line = more[0].value(call, "");
    for (level, overlap) in levels.iter().zip(&more[1..]) {
        let (Some(line), Some(overlap)) = (line, overlap.value(call, "")) else { continue };
        let ns = level.latency * 1e9;
        match (level.rank, level.capacity) {
            (Rank::Cache(n), Some(bytes)) => call.line(Some(format!(
                "L{n} cache: {bytes:.0} bytes {ns:.2} nanoseconds {line:.0} linesize {overlap:.2} parallelism"
            ))),
            (Rank::Memory, _) => {
                call.line(Some(format!("Memory latency: {ns:.2} nanoseconds {overlap:.2} parallelism")))
            }
            _ => call.absent(&format!("the last level, of {ns:.2} ns, is not memory: -M would have to be larger")),
        }
    }
    Ok(())
}

fn lat_dram_page(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    let size = call.size_of('M', 64 << 20)?;
    fits("-M", size)?;
    let found: Found = point(call, Want::of("mem.dram_page").with("size", size))?;
    call.line(found.value(call, "").map(|seconds| format!("{:.6}", seconds * 1e9)));
    Ok(())
}

fn memsize(call: &mut Call<'_>) -> Outcome {
    call.at_most(1)?;
    let bound = match call.operand(0) {
        Some(text) => call.number(&format!("'{text}'"), text, [1, u64::from(u32::MAX)])?,
        None if call.strict() => 1024,
        None => u64::MAX,
    };
    let bytes = point(call, Want::of("mem.available"))?.value(call, "");
    call.out(bytes.map(|bytes| (bytes as u64 >> 20).min(bound).to_string()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many points as lmbench has.
    #[test]
    fn a_curve_has_the_sizes_of_lmbench() {
        let points = |megabytes: u64| sizes(megabytes << 20).len();
        assert_eq!((points(8), points(64), points(1024)), (83, 107, 139));
        assert_eq!(sizes(1 << 20)[..5], [512, 1024, 2048, 3072, 4096]);
        assert_eq!(sizes(64 << 10)[19..], [36, 40, 44, 48, 52, 56, 60, 64].map(|kib| kib << 10));
    }
}
