use super::*;

/// Four CPUs with these caches: whose they are, their level and kind, and how large they are. Each
/// is shared by those whose it is.
fn machine(caches: &[(&str, u32, &str, &str)]) -> Topology {
    let mut text = "proc/self/status\tCpus_allowed_list:\t0-3\nsys/devices/system/cpu/online\t0-3\n".to_owned();
    for (index, (cpus, level, kind, size)) in caches.iter().enumerate() {
        // The index is that of the CPU's own list: half of all are those of the other two.
        let dir = format!("{CPUS}/cpu{{{cpus}}}/cache/index{}", index / 2);
        let line = if *kind == "Data" { 128 } else { 64 };
        text += &format!("{dir}/level\t{level}\n{dir}/type\t{kind}\n{dir}/size\t{size}\n");
        text += &format!("{dir}/coherency_line_size\t{line}\n{dir}/shared_cpu_list\t{cpus}\n");
    }
    Topology::recorded(&text.parse().expect("a recording"))
}

#[test]
fn caches_of_instructions_and_of_all_cores_are_told_from_those_of_a_core() {
    let first = [("0-1", 1, "Data", "48K"), ("2-3", 1, "Data", "32K")];
    let code = [("0-1", 1, "Instruction", "64K"), ("2-3", 1, "Instruction", "64K")];
    let second = [("0-1", 2, "Unified", "2048K"), ("2-3", 2, "Unified", "4096K")];
    let third = [("0-1", 3, "Unified", "32M"), ("2-3", 3, "Unified", "96M")];
    let last = |machine: &Topology| machine.last_caches().iter().map(|c| c.size.unwrap_or(0) >> 10).collect::<Vec<_>>();
    let all = machine(&[first, code, second, third].concat());
    assert_eq!((all.line(), all.first_cache(), all.private_cache()), (Some(128), Some(48 << 10), Some(4 << 20)));
    assert_eq!(last(&all), [32 << 10, 96 << 10]);
    assert_eq!(last(&machine(&[first, code, second].concat())), [2048, 4096]);
    let small = machine(&[code, first].concat());
    assert_eq!((small.first_cache(), small.private_cache()), (Some(48 << 10), Some(48 << 10)));
    assert_eq!(last(&small), [48, 32]);
}
