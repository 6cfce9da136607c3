use super::super::read;
use super::*;

fn count_of(counts: &Counts, name: &str) -> Option<f64> {
    counts.counted.iter().find(|counted| counted.name == name).map(|counted| counted.count)
}

/// A report with these signs between thousands and before decimals.
fn localised(thousands: &str, decimal: &str) -> String {
    let report = "
 Performance counter stats for 'sleep 0.5 1,5':

              2D97 msec task-clock                       #    0D686 CPUs utilized            ( +-  1D31% )
            14T900      page-faults:u                    #   42D448 K/sec
         3T000T000      cycles:u                         #    3 GHz                      (49D98%)
               120      context-switches                                                   ( +- 29D97% )
   <not supported>      branches

       0D157680000 seconds time elapsed

       0D001000000 seconds user
       1D204077000 seconds sys
";
    report.replace('T', thousands).replace('D', decimal)
}

#[test]
fn a_report_of_any_locale_holds_the_same_counts() {
    let expected = read(&localised(",", ".")).expect("an English report");
    assert_eq!(count_of(&expected, "page-faults"), Some(14900.0));
    assert_eq!((count_of(&expected, "cycles:u"), count_of(&expected, "context-switches")), (Some(3e6), Some(120.0)));
    assert_eq!((expected.counted.len(), expected.wall_s), (3, Some(0.15768)));
    assert_eq!((expected.user_s, expected.system_s), (Some(0.001), Some(1.204077)));
    for (thousands, decimal) in
        [(".", ","), ("", "."), ("", ","), ("\u{202f}", ","), ("\u{a0}", ","), ("\u{2019}", ".")]
    {
        assert_eq!(read(&localised(thousands, decimal)).as_ref(), Ok(&expected), "{thousands:?} {decimal:?}");
    }
}

/// `perf stat --append`, and `cat a b`.
#[test]
fn two_reports_are_added_with_their_times() {
    let one = localised(",", ".");
    let two = read(&format!("{one}{one}")).expect("two reports");
    assert_eq!((count_of(&two, "page-faults"), two.system_s), (Some(29800.0), Some(2.0 * 1.204077)));
    assert_eq!((two.wall_s, two.user_s), (Some(2.0 * 0.15768), Some(0.002)));
    assert!(two.notes[0].contains("2 reports"), "{two:?}");
    // One of them has no such time.
    let cut = read(&format!("{one}{}", one.replace(" seconds sys", " seconds other"))).expect("two reports");
    assert_eq!((cut.user_s, cut.system_s), (Some(0.002), None));
}

#[test]
fn what_perf_did_not_count_is_told() {
    let report = report_of(" 7 faults\n 0 context-switches:u\n <not counted> cycles\n <not supported> branches\n");
    let csv = read("7;;faults;1;100.00;;\n0;;context-switches:u;1;100.00;;\n<not counted>;;cycles;0;0.00;;\n");
    let object = |value: &str, event: &str| {
        format!("{{\"counter-value\" : \"{value}\", \"unit\" : \"\", \"event\" : \"{event}\"}}\n")
    };
    let json = [object("7.0", "faults"), object("0.0", "context-switches:u"), object("<not counted>", "cycles")];
    for counts in [report, csv, read(&json.concat())] {
        let counts = counts.expect("counts");
        assert_eq!((counts.counted.len(), counts.notes.len()), (1, 2), "{counts:?}");
        let told = counts.notes.concat();
        assert!(
            told.contains("context-switches:u (perf was allowed") && told.contains("cycles (perf says <not counted>)"),
            "{told}"
        );
    }
    let trace = report_of(" 7 faults\n 0 syscalls:sys_enter_read:u\n").expect("a report");
    assert!(trace.notes[0].contains("sys_enter_read"), "{trace:?}");
}

fn report_of(lines: &str) -> Result<Counts, String> {
    read(&format!("Performance counter stats for 'x':\n{lines}"))
}

#[test]
fn what_may_be_read_in_two_ways_is_refused_with_its_line() {
    for (lines, error) in [
        (" 14.9 page-faults\n", "'14.9' in the line '14.9 page-faults': expected a whole number of events"),
        (" 14,900 faults\n 0,15 seconds user\n", "'14,900' in the line '14,900 faults': expected a whole number"),
        (" 1,50,000 faults\n 1.234 seconds user\n", "'1.234' in the line '1.234 seconds user': the sign may be"),
        (" 7 faults\n 0,15 seconds user\n 0.15 seconds sys\n", "'0.15' in the line '0.15 seconds sys': the decimal"),
        (" 0.010115541 75 page-faults\n", "'75' in the line '0.010115541 75 page-faults': expected a total"),
        ("CPU0 <not supported> cycles\n", "'<not' in the line 'CPU0 <not supported> cycles': expected a total"),
        (" 1e9 page-faults\n", "'1e9' in the line '1e9 page-faults': expected a whole number"),
        (" 1:126 page-faults\n", "'1:126' in the line"),
        (" 0.126 page-faults\n", "'0.126' in the line"),
        (" 7 faults\n x seconds user\n", "'x' in the line 'x seconds user': expected a number of seconds"),
    ] {
        let said = report_of(lines).expect_err(lines);
        assert!(said.starts_with(error), "{lines}: {said}");
    }
    let clear =
        report_of(" 1,50,000 faults\n 10.123 +- 0.045 seconds time elapsed\n").expect("a spread tells the sign");
    assert_eq!((count_of(&clear, "faults"), clear.wall_s), (Some(150_000.0), Some(10.123)));
}

#[test]
fn intervals_before_a_report_are_not_counted() {
    let intervals = "     0.010115541                 75      page-faults                      #   66.139 K/sec\n";
    let report = localised(",", ".");
    assert_eq!(read(&format!("{intervals}{report}")), read(&report));
}

#[test]
fn csv_with_any_separator() {
    let text = "# started on Fri Nov 27 06:34:13 2026\n
1,17;msec;task-clock;1171439;100,00;0,656;CPUs utilized
1126;;page-faults:u;1171439;100,00;41,829;K/sec
<not supported>;;cycles;0;100,00;;
";
    let counts = read(text).expect("CSV");
    assert_eq!((count_of(&counts, "page-faults"), counts.counted.len()), (Some(1126.0), 1));
    let english = text.replace(',', ".");
    for separator in [",", "\t", "|", ":", "~"] {
        assert_eq!(read(&english.replace(';', separator)).as_ref(), Ok(&counts), "{separator:?}");
    }
    let named = read("1::page-faults:u:937328:100.00::\n3::syscalls:sys_enter_read:937328:100.00::\n").expect("CSV");
    assert_eq!((count_of(&named, "page-faults"), count_of(&named, "syscalls:sys_enter_read")), (Some(1.0), Some(3.0)));
    // The decimal sign is the separator.
    let said = read(&text.replace(';', ",")).expect_err("ambiguous");
    assert!(said.starts_with("'1' in the line '1,17,msec,task-clock,"), "{said}");
    let said = read(&text.replace("1126;", "CPU0;1126;")).expect_err("parts");
    assert!(said.starts_with("'CPU0' in the line 'CPU0;1126;"), "{said}");
    let said = read(&text.replace("1126;", "1.126;")).expect_err("no whole number");
    assert!(said.starts_with("'1.126' in the line '1.126;;page-faults"), "{said}");
}

#[test]
fn json_of_any_locale() {
    let text = "# started on Fri Nov 27 06:34:13 2026\n
{\"counter-value\" : \"1.292382\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"pcnt-running\" : 100.00}
{\"counter-value\" : \"49.000000\", \"unit\" : \"\", \"event\" : \"page-faults\", \"event-runtime\" : 12, \"pcnt-running\" : 100.00}
{\"counter-value\" : \"<not supported>\", \"unit\" : \"\", \"event\" : \"cycles\", \"pcnt-running\" : 100.00}
";
    let counts = read(text).expect("JSON");
    assert_eq!((count_of(&counts, "page-faults"), counts.counted.len()), (Some(49.0), 1));
    assert_eq!(read(&text.replace('.', ",")), Ok(counts));
    for (from, to, error) in [
        ("49.000000", "49.500000", "'49.500000' in the line '{"),
        ("\"unit\"", "\"cpu\" : \"0\", \"unit\"", "'cpu' in the line '{"),
        ("\"event\" :", "\"what\" :", "'{' in the line '{"),
        ("100.00}", "100.00", "'{' in the line '{"),
    ] {
        let said = read(&text.replace(from, to)).expect_err(to);
        assert!(said.starts_with(error), "{to}: {said}");
    }
    assert_eq!(with_points(r#"{"a,1" : 1,5, "b\"1,2" : 2}"#), r#"{"a,1" : 1.5, "b\"1,2" : 2}"#);
}
