use super::*;

const HEAD: &str = "[lmbench3.0 results for Linux box 6.1 #1 SMP x86_64 GNU/Linux]\n";

fn of(text: &str) -> Run {
    let mut file = read(format!("{HEAD}{text}").as_bytes());
    assert_eq!((file.runs.len(), file.stray.len()), (1, 0), "{file:?}");
    file.runs.remove(0)
}

/// The values as `name keys number`, with the doubts.
fn values(run: &Run) -> Vec<String> {
    let text = |value: &Value| format!("{} {:?} {:?}", value.kind.name, value.keys, value.number);
    run.values.iter().map(text).collect()
}

#[test]
fn sections_end_and_errors_stand_between_rows() {
    let run = of("\"size=4k ovr=1.50\n2 3.00\nchild: No such process\n8 4.00\n\nMemory load latency\n\"stride=128\n\
                  0.00098 1.10\n\n\"stride=256\n0.12500 4.000\n\n0.5 7\nPipe latency: 5.0000 microseconds\n");
    assert_eq!(
        values(&run),
        [
            "switch_overhead [4096] Ok(1.5)",
            "switch [4096, 2] Ok(3.0)",
            "switch [4096, 8] Ok(4.0)",
            "load [128, 1024] Ok(1.1)",
            "load [256, 131072] Ok(4.0)",
            "pipe [] Ok(5.0)",
        ]
    );
    // A row below no stride belongs to none.
    assert_eq!(run.unread.iter().map(|line| line.number).collect::<Vec<_>>(), [4, 14]);
}

/// What is cut off is not a smaller number.
#[test]
fn a_number_at_the_end_of_a_cut_file_is_doubtful() {
    for (text, doubt) in [
        ("Simple read: 0.4", "read [] Err(CutOff)"),
        ("Simple read: 0.4 micros", "read [] Err(CutOff)"),
        ("Simple read: 0.4182 microseconds", "read [] Ok(0.4182)"),
        ("Simple read:", "read [] Err(Missing)"),
        ("Simple read: 0.4\n", "read [] Err(CutOff)"),
        ("Simple read: -1\n", "read [] Err(Negative)"),
        ("Simple read: 0.0000 microseconds\n", "read [] Err(Zero)"),
        ("Simple read: 4 nanoseconds\n", "read [] Err(OtherUnit)"),
        ("Simple read: cannot open\n", "read [] Err(Unreadable)"),
        ("\"mappings\n1.048576 5", "mmap [1048576] Err(CutOff)"),
        ("\"mappings\n1.048576 55\n", "mmap [1048576] Ok(55.0)"),
        ("\"mappings\n1.048576\n", "mmap [1048576] Err(Missing)"),
        ("\"read bandwidth\n1.05 inf\n", "file_reread [1048576] Err(NotFinite)"),
    ] {
        assert_eq!(values(&of(text)), [doubt], "{text}");
    }
    assert_eq!(of("\"mappings\n\n").unread[0].text, "\"mappings has no rows");
}

/// Nothing of any prefix, and of no line out of place, is worse than unread.
#[test]
fn no_input_panics() {
    let text = format!(
        "{HEAD}[MHZ: 3697 MHz, 0.2705 nanosec clock]\n[SYNC_MAX: 4]\n\"size=18446744073709551615k ovr=1\n2 3\n\
         Socket bandwidth using\u{e9} a\n0.000001 1 MB/sec\n\"File system latency\n0k\t1\t2\t3\n1k 2\ntlb: 1 pages 2\n\
         Select on x fd's: 1\nAvg xfer: 20.5KB, 40.9KB in 0.8290 millisecs, 49.35 MB/sec\n\"stride=\n[lmbench9\n"
    );
    let bytes = text.as_bytes();
    for end in 0..=bytes.len() {
        let _ = read(&bytes[..end]);
        let _ = read(&bytes[end..]);
    }
    assert!(read(&[0xff, b'\n', 0, b'[']).runs.is_empty());
}
