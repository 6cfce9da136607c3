//! One page fault that brings a huge page which the administrator has set aside.
//!
//! **Measures:** The first write to each page of fresh memory of `MAP_HUGETLB`: the exception, a
//! page from the kernel's reserve, its zeroing, and the return. Databases and packet processing use
//! such pages because they never come late or in pieces.
//!
//! **Does not measure:** Transparent huge pages (`vm.fault_huge`), or setting pages aside.
//!
//! **Method:** That of `vm.fault_huge`: four pages (one, if they are large) that were present once
//! are given back to the reserve and written to, one after the other. Only the write is timed.
//!
//! **Proofs:** Those of `vm.fault_huge`: each touch is one fault and brings the whole page, and the
//! page was zero but for the byte written.
//!
//! **Pitfalls:**
//! - Machines have no such pages unless somebody asks for them:
//!   `echo 4 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages`. Members of a worker group
//!   need four each.
//! - Linux gives pages of a mapping back since 5.18; before, the result is `unsupported`.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#page-faults.

use super::fault_huge::{self, MAX_HUGE_PAGE};
use groma_harness::prelude::*;
use groma_harness::sys::pages::{MADV_POPULATE_WRITE, Map};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Page fault that brings a huge page of the kernel's reserve",
        about: about!("fault_hugetlb.rs"),
        iteration: "one touch of a huge page that is not mapped",
        params: &[Param::size("size", "bytes of a page: one of the sizes that the kernel sets aside")
            .quick(&["2M"])
            .full(&["1G"])],
        interference: Interference::Faults,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("vm.fault_hugetlb")
    },
    run: Run::Here(run),
};

/// Where the kernel has a directory for each size.
const SIZES: &str = "/sys/kernel/mm/hugepages";

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let of_size = format!("{SIZES}/hugepages-{}kB", size >> 10);
    if !size.is_power_of_two() || !std::path::Path::new(&of_size).is_dir() {
        return Err(BenchError::Unsupported(format!("no reserved pages of {} KiB here: see {SIZES}", size >> 10)));
    }
    let pages = if size > MAX_HUGE_PAGE { 1 } else { fault_huge::PAGES };
    let too_few = |why: std::io::Error| {
        let free = std::fs::read_to_string(format!("{of_size}/free_hugepages")).unwrap_or_default();
        BenchError::Unsupported(format!(
            "reserved pages: {pages} needed, {} free; {of_size}/nr_hugepages sets how many there are ({why})",
            free.trim()
        ))
    };
    let mut area = Map::reserved(pages * size, size).map_err(too_few)?;
    let before = ctx.now_ns();
    // A control group may allow fewer pages than there are: a touch would end the process.
    match area.advise(MADV_POPULATE_WRITE) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => area.populate(),
        Err(error) => return Err(too_few(error)),
    }
    ctx.fact("first_pass.ns_per_page", ctx.now_ns().saturating_sub(before) / pages as u64);
    area.drop_pages().map_err(|e| BenchError::Unsupported(format!("giving the pages back needs Linux 5.18: {e}")))?;
    fault_huge::touch_each(ctx, &mut area, size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::pages::page_size;
    use groma_harness::testing::try_out;

    #[test]
    fn a_page_comes_whole_or_the_reserve_is_named() {
        match try_out(&BENCH, &[("size", "2M")], None) {
            Ok(tried) => {
                assert!(tried.proven("minor faults per touch") > 0.98);
                let base_pages = (2 << 20) as f64 / page_size() as f64;
                assert_eq!(tried.proven("base pages that each fault brought"), base_pages);
            }
            Err(BenchError::Unsupported(why)) => {
                assert!(why.contains("nr_hugepages") || why.contains(SIZES), "{why}");
                println!("skipped: {why}");
            }
            Err(e) => panic!("{e}"),
        }
        let refused = try_out(&BENCH, &[("size", "3M")], None);
        assert!(matches!(refused, Err(BenchError::Unsupported(why)) if why.contains("no reserved pages of 3072 KiB")));
    }
}
