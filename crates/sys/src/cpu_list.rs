//! Lists of CPUs, or of other numbers, as the kernel writes them: `0-3,8`.

/// Parses a CPU list as the kernel writes it, `0-3,8`: the numbers in the order given, repetitions
/// kept. White space alone is the empty list, which the kernel writes for an empty set.
pub fn parse_cpus(text: &str) -> Result<Vec<u32>, String> {
    /// Far above any kernel's NR_CPUS, far below what would exhaust memory.
    const MAX_CPUS: u32 = 1 << 16;
    let number = |digits: &str| {
        let cpu = digits.trim().parse().ok().filter(|&cpu: &u32| cpu < MAX_CPUS);
        cpu.ok_or_else(|| format!("{digits:?} is not a CPU number (in the CPU list {text:?})"))
    };
    let mut cpus = Vec::new();
    if text.trim().is_empty() {
        return Ok(cpus);
    }
    for part in text.split(',') {
        match part.split_once('-') {
            None => cpus.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last {
                    return Err(format!("the range {part:?} runs backwards (in the CPU list {text:?})"));
                }
                cpus.extend(first..=last);
            }
        }
        // Ranges may repeat ("0-65535,0-65535,..."): bound the whole as well.
        if cpus.len() > MAX_CPUS as usize {
            return Err(format!("more than {MAX_CPUS} CPUs in one list"));
        }
    }
    Ok(cpus)
}

/// Formats a CPU list as the kernel writes it: `0-3,8`. Runs of consecutive numbers become ranges;
/// the order is kept.
pub fn format_cpus(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let words: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            _ => run.iter().map(u32::to_string).collect(),
        })
        .collect();
    words.join(",")
}
