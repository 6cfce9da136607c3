//! Memory and NUMA settings of the kernel.

use super::{Book, binary, field};
use crate::cpu_list::{format_cpus, parse_cpus};
use std::collections::BTreeMap;

const MM: &str = "sys/kernel/mm";

pub(super) fn memory(book: &mut Book) {
    let meminfo = book.tree.text("proc/meminfo").unwrap_or_default();
    for (key, name) in [("total", "MemTotal"), ("available", "MemAvailable"), ("swap", "SwapTotal")] {
        book.say_if(format!("memory.{key}"), meminfo_bytes(&meminfo, name).map(binary));
    }
    book.say("memory.page", binary(rustix::param::page_size() as u64));
    book.copy_choice("memory.thp", &format!("{MM}/transparent_hugepage/enabled"));
    book.copy_choice("memory.thp_defrag", &format!("{MM}/transparent_hugepage/defrag"));
    book.copy_choice("memory.thp_shmem", &format!("{MM}/transparent_hugepage/shmem_enabled"));
    let mthp = per_size(book, &format!("{MM}/transparent_hugepage"), "enabled");
    book.say(
        "memory.mthp",
        mthp.iter().map(|(size, text)| format!("{size}={}", super::chosen_word(text))).collect::<Vec<_>>().join(" "),
    );
    let pools = per_size(book, &format!("{MM}/hugepages"), "nr_hugepages");
    book.say(
        "memory.hugetlb",
        pools.iter().map(|(size, count)| format!("{size}={count}")).collect::<Vec<_>>().join(" "),
    );
    book.copy("memory.numa_balancing", "proc/sys/kernel/numa_balancing");
    book.copy("memory.ksm", &format!("{MM}/ksm/run"));
    book.copy("memory.lru_gen", &format!("{MM}/lru_gen/enabled"));
    // Someone outside may reclaim what a benchmark holds.
    book.copy("memory.damon", &format!("{MM}/damon/admin/kdamonds/0/state"));
    book.copy("memory.zswap", "sys/module/zswap/parameters/enabled");
    book.copy("memory.overcommit", "proc/sys/vm/overcommit_memory");
    book.copy("memory.swappiness", "proc/sys/vm/swappiness");
    book.copy("memory.max_map_count", "proc/sys/vm/max_map_count");
    book.say("memory.dimms", dimms(book));
}

/// The modules that the memory controllers' drivers (EDAC) name: `8 of 32 GiB Registered-DDR5`.
fn dimms(book: &Book) -> String {
    const CONTROLLERS: &str = "sys/devices/system/edac/mc";
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for controller in book.tree.numbered(CONTROLLERS, "mc") {
        for dimm in book.tree.numbered(&format!("{CONTROLLERS}/mc{controller}"), "dimm") {
            let file = |name: &str| book.tree.text(&format!("{CONTROLLERS}/mc{controller}/dimm{dimm}/{name}"));
            let Some(mib) = file("size").and_then(|mib| mib.parse::<u64>().ok()).filter(|mib| *mib > 0) else {
                continue;
            };
            let kind = file("dimm_mem_type").unwrap_or_default();
            *kinds.entry(format!("{} {kind}", binary(mib << 20))).or_default() += 1;
        }
    }
    kinds.iter().map(|(kind, count)| format!("{count} of {kind}")).collect::<Vec<_>>().join(", ")
}

/// The bytes of a line such as `MemTotal:  24684084 kB`.
pub(super) fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let (number, unit) = field(meminfo, name)?.split_once(' ')?;
    (unit == "kB").then(|| number.parse::<u64>().ok()?.checked_mul(1024)).flatten()
}

/// The content of a file for each `hugepages-2048kB` in a directory, smallest first.
fn per_size(book: &Book, dir: &str, file: &str) -> Vec<(String, String)> {
    let sizes = book.tree.names(dir);
    let said = sizes.iter().filter_map(|name| {
        let kib: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        Some((binary(kib.checked_mul(1024)?).replace(' ', ""), book.tree.text(&format!("{dir}/{name}/{file}"))?))
    });
    said.collect()
}

pub(super) fn numa(book: &mut Book) {
    const NODES: &str = "sys/devices/system/node";
    book.copy("numa.nodes", &format!("{NODES}/online"));
    book.copy("numa.with_memory", &format!("{NODES}/has_memory"));
    let nodes = book.tree.text(&format!("{NODES}/online")).and_then(|list| parse_cpus(&list).ok()).unwrap_or_default();
    let online = book.tree.numbered(NODES, "node").into_iter().filter(|node| nodes.contains(node));
    let rows: Vec<String> = online.filter_map(|node| book.tree.text(&format!("{NODES}/node{node}/distance"))).collect();
    book.say("numa.distances", rows.join(" / "));
    let status = book.tree.text("proc/self/status").unwrap_or_default();
    let allowed = field(&status, "Mems_allowed_list").and_then(|list| parse_cpus(list).ok());
    let total = |node: &u32| {
        let text = book.tree.text(&format!("{NODES}/node{node}/meminfo"))?;
        let line = text.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        // A kernel reserves a few pages more or fewer from boot to boot.
        let gib = (kib + (1 << 19)) >> 20;
        Some(format!("node{node} {}", if gib > 3 { format!("{gib} GiB") } else { binary(kib >> 14 << 24) }))
    };
    book.say("numa.memory", nodes.iter().filter_map(total).collect::<Vec<_>>().join(", "));
    book.say_if("numa.allowed", allowed.map(|nodes| format_cpus(&nodes)));
}
