//! Parsers of values: times, dates, addresses, tokens, settings.

use groma_harness::worker_group::MAX_MEMBERS;
use groma_runner::{Setting, identity};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, civil};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// The value with this word.
pub(crate) fn one_of<T: Copy>(text: &str, all: &[T], word: impl Fn(T) -> &'static str) -> Result<T, String> {
    let known = || format!("expected one of {}", all.iter().map(|one| word(*one)).collect::<Vec<_>>().join(", "));
    all.iter().copied().find(|one| word(*one) == text).ok_or_else(known)
}

/// Parses a percentage such as `5`, `0.5` or `5%`.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse().ok().filter(|n: &f64| (0.0..=1e6).contains(n));
    number.ok_or_else(|| "expected percent, such as 5 or 0.5".to_owned())
}

/// The default port of `groma serve`: not assigned by IANA, and below the ephemeral ports of Linux.
/// lmbench's 31234 to 31240 are not registered, and its 34298 is ephemeral.
const PORT: u16 = 24766;

/// Parses `10.0.0.2`, `10.0.0.2:24766`, `fd00::2` or `[fd00::2]:24766`.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT)).or_else(|_| text.parse()).map_err(|_| {
        "expected an address such as 10.0.0.2, 10.0.0.2:24766 or [fd00::2]:24766 (names are not looked up)".to_owned()
    })
}

/// Checks a token: one word, so that it can be copied from one terminal to another.
pub(crate) fn parse_token(text: &str) -> Result<String, String> {
    if text.len() > 256 || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("expected at most 256 characters without spaces".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a time such as `500ms`, `30s`, `2m`, `1h` or `1h 30m`; a bare number is seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let bad = || "expected a time such as 30s, 500ms, 2m or 1h".to_owned();
    // jiff requires a digit before the point and a unit after the number.
    let padded = if text.starts_with('.') { format!("0{text}") } else { text.to_owned() };
    let is_bare = padded.ends_with(|c: char| c.is_ascii_digit());
    let time: SignedDuration = if is_bare { padded + "s" } else { padded }.parse().map_err(|_| bad())?;
    // No signs and no ISO 8601, which jiff accepts.
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(bad());
    }
    if time.is_zero() {
        Err("expected a time above zero, such as 30s".to_owned())
    } else {
        Duration::try_from(time).map_err(|_| bad())
    }
}

/// Parses the deadline of a session.
pub(crate) fn parse_session_time(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    // Bounded so that the kernel's timers do not overflow.
    if time > Duration::from_secs(24 * 3600) { Err("expected at most 24h".to_owned()) } else { Ok(time) }
}

/// Parses `--since`: the earliest start of runs, as a prefix of RFC 3339.
pub(crate) fn parse_since(text: &str) -> Result<String, String> {
    parse_date(text).map(|date| match date {
        Date::Day(day) => day.to_string(),
        Date::Moment(moment) => moment,
    })
}

/// Parses `--until`: the first start of a run that is too late, as a prefix of RFC 3339.
pub(crate) fn parse_until(text: &str) -> Result<String, String> {
    parse_date(text).and_then(|date| match date {
        Date::Day(day) => day.tomorrow().map(|next| next.to_string()).map_err(|e| e.to_string()),
        Date::Moment(moment) => Ok(moment),
    })
}

enum Date {
    Day(civil::Date),
    /// A prefix of RFC 3339.
    Moment(String),
}

/// Parses `2026-11-22`, `2026-11-22T10:00`, or an age such as `3d` or `12h`, in UTC.
fn parse_date(text: &str) -> Result<Date, String> {
    const DAY: usize = "2026-11-22".len();
    let text = text.trim_end_matches('Z');
    let bad = || "expected a date such as 2026-11-22 or 2026-11-22T10:00 (UTC), or an age such as 3d or 12h".to_owned();
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(bad());
    }
    if text.len() == DAY
        && let Ok(day) = text.parse()
    {
        return Ok(Date::Day(day));
    }
    if let Ok(moment) = text.parse::<civil::DateTime>() {
        return Ok(Date::Moment(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string()));
    }
    let age: Span = text.parse().map_err(|_| bad())?;
    let then = identity::now().to_zoned(TimeZone::UTC).checked_sub(age).map_err(|_| bad())?;
    Ok(Date::Moment(then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()))
}

/// Parses `size=1,64K`.
pub(crate) fn parse_param(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) = text.split_once('=').ok_or("expected name=value, such as size=64K")?;
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    if name.is_empty() || values.iter().any(String::is_empty) {
        return Err("expected name=value, such as size=64K".to_owned());
    }
    Ok((name.to_owned(), values))
}

/// Parses the size of a worker group.
pub(crate) fn parse_workers(text: &str) -> Result<u32, String> {
    let expected = || format!("expected workers from 1 to {MAX_MEMBERS}, such as 4 or 1,2,4");
    text.parse().ok().filter(|n| (1..=MAX_MEMBERS).contains(n)).ok_or_else(expected)
}

/// Parses `size=1,64K` or `mem.*:size=1,64K`. A value may contain colons.
pub(crate) fn parse_setting(text: &str) -> Result<Setting, String> {
    let (name, values) = parse_param(text)?;
    let (of, name) = match name.rsplit_once(':') {
        Some((of, name)) => (Some(of.to_owned()), name.to_owned()),
        None => (None, name),
    };
    if name.is_empty() || of.as_ref().is_some_and(String::is_empty) {
        return Err("expected ID:name=value, such as mem.latency:size=64K".to_owned());
    }
    Ok(Setting { of, name, values })
}

/// Parses `/sys/kernel/mm/ksm/run=1`, or a sysctl: `vm.swappiness=10`.
pub(crate) fn parse_state(text: &str) -> Result<(PathBuf, String), String> {
    let bad =
        || "expected FILE=VALUE with an absolute path or the name of a sysctl, such as vm.swappiness=10".to_owned();
    let (file, value) = text.split_once('=').ok_or_else(bad)?;
    let is_sysctl = |name: &str| !name.contains('/') && name.split('.').all(|part| !part.is_empty());
    let path = match file {
        absolute if absolute.starts_with('/') => PathBuf::from(absolute),
        name if is_sysctl(name) => PathBuf::from("/proc/sys").join(name.replace('.', "/")),
        _ => return Err(bad()),
    };
    if value.trim().is_empty() { Err(bad()) } else { Ok((path, value.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, ms) in [
            ("90", 90_000),
            ("1.5s", 1500),
            ("1.5", 1500),
            (".5s", 500),
            ("250ms", 250),
            ("2m", 120_000),
            ("2min", 120_000),
            ("0.5h", 1_800_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in
            ["", "s", "-1s", "+1s", "0", "0ms", "0.0000000001", "0.0000001ms", "1d", "1y", "PT5S", "1s ago", "1e9999"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dates() {
        let since = |text: &str| parse_since(text).expect("a date");
        let until = |text: &str| parse_until(text).expect("a date");
        assert_eq!((since("2026-11-22").as_str(), until("2026-12-31").as_str()), ("2026-11-22", "2027-01-01"));
        for text in ["2026-11-22T10:00", "2026-11-22 10:00:00", "2026-11-22T10:00:00Z"] {
            assert_eq!((since(text), until(text)), ("2026-11-22T10:00:00".to_owned(), since(text)));
        }
        // A run that began in the named second is not before it.
        assert!("2026-11-22T10:00:00Z" >= since("2026-11-22T10:00").as_str());
        let ages = ["3w", "2d 1h", "2d", "30h", "12h", "30m", "0s"].map(since);
        assert!(ages.is_sorted() && ages[0] < ages[6], "{ages:?}");
        for text in
            ["", "x", "-3d", "+3d", "2026", "2026-11", "2026-13-01", "22.11.2026", "3", "3 moons", "P3D", "99999y"]
        {
            assert!(parse_since(text).is_err() && parse_until(text).is_err(), "{text}");
        }
    }

    #[test]
    fn params() {
        assert_eq!(parse_param("size=1,64K"), Ok(("size".into(), vec!["1".into(), "64K".into()])));
        for text in ["size", "=1", "size=", "size=1,"] {
            assert!(parse_param(text).is_err(), "{text}");
        }
        let setting = |of: Option<&str>, name: &str, value: &str| {
            Ok(Setting { of: of.map(str::to_owned), name: name.to_owned(), values: vec![value.to_owned()] })
        };
        assert_eq!(parse_setting("size=1"), setting(None, "size", "1"));
        assert_eq!(parse_setting("mem.*:size=1"), setting(Some("mem.*"), "size", "1"));
        assert_eq!(parse_setting("mix=1:2"), setting(None, "mix", "1:2"));
        assert_eq!(parse_setting("mem.mix:mix=1:2"), setting(Some("mem.mix"), "mix", "1:2"));
        for text in [":size=1", "mem.latency:=1", "mem.latency:size", "mem.latency:size="] {
            assert!(parse_setting(text).is_err(), "{text}");
        }
    }

    #[test]
    fn states() {
        let is = |path: &str, value: &str| Ok((PathBuf::from(path), value.to_owned()));
        assert_eq!(parse_state("vm.swappiness=10"), is("/proc/sys/vm/swappiness", "10"));
        assert_eq!(parse_state("/sys/a/b.c=x=y z"), is("/sys/a/b.c", "x=y z"));
        for text in ["", "=", "vm.swappiness", "vm.swappiness=", "/sys/a= ", "a/b=1", "..=1", ".a=1", "../a=1", "=1"] {
            assert!(parse_state(text).is_err(), "{text}");
        }
    }

    #[test]
    fn addresses() {
        assert_eq!(parse_address("10.0.0.2"), Ok(SocketAddr::new([10, 0, 0, 2].into(), PORT)));
        assert_eq!(parse_address("10.0.0.2:7"), Ok(SocketAddr::new([10, 0, 0, 2].into(), 7)));
        for text in ["::1", "[::1]", "[::1]:24766"] {
            assert_eq!(parse_address(text), Ok("[::1]:24766".parse().expect("an address")), "{text}");
        }
        for text in ["", "localhost", "10.0.0", "10.0.0.2:", "10.0.0.2:70000"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
        assert!(parse_token("a b").is_err() && parse_token("a\tb").is_err() && parse_token("ab").is_ok());
    }
}
