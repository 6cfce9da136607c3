//! The dates of a result file, as `date` prints them.

/// A moment as printed. Its parts are in their ranges; whether the month has that day is not
/// checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Date {
    /// The year.
    pub year: i16,
    /// The month, 1 to 12.
    pub month: i8,
    /// The day, 1 to 31.
    pub day: i8,
    /// Hour, minute and second.
    pub time: [i8; 3],
    /// The name of the time zone; empty for none.
    pub zone: String,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Date {
    /// Reads `Tue Apr 29 10:11:12 UTC 2025` and its variants (`29 Apr 2025`, `10:11:12 AM`): the
    /// parts are recognised by their form, wherever they stand.
    pub(super) fn of(text: &str) -> Option<Date> {
        let (mut year, mut month, mut day, mut time) = (None, None, None, None);
        let (mut zone, mut afternoon) = (String::new(), None);
        for word in text.split_whitespace().map(|word| word.trim_matches(',')) {
            let digits = word.bytes().all(|b| b.is_ascii_digit());
            if word.contains(':') {
                time = Some(time_of(word)?);
            } else if digits && word.len() == 4 {
                year = word.parse().ok();
            } else if digits && word.len() <= 2 {
                day = word.parse().ok().filter(|day| (1..=31).contains(day));
            } else if let ("AM" | "PM", Some(_)) = (word, time) {
                afternoon = Some(word == "PM");
            } else if let Some(at) = MONTHS.iter().position(|name| word.get(..3) == Some(name)) {
                month = i8::try_from(at + 1).ok();
            } else if time.is_some() && zone.is_empty() && word.len() <= 6 {
                word.clone_into(&mut zone);
            }
        }
        let (mut time, month) = (time?, month?);
        if let Some(afternoon) = afternoon {
            time[0] = time[0] % 12 + if afternoon { 12 } else { 0 };
        }
        Some(Date { year: year?, month, day: day?, time, zone })
    }
}

fn time_of(word: &str) -> Option<[i8; 3]> {
    let parts: Vec<i8> = word.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let time = <[i8; 3]>::try_from(parts).ok()?;
    let [hour, minute, second] = time;
    // 60: a leap second.
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    fits.then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_several_locales() {
        let date = |zone: &str, hour| {
            Some(Date { year: 2025, month: 4, day: 29, time: [hour, 11, 12], zone: zone.to_owned() })
        };
        assert_eq!(Date::of("Tue Apr 29 10:11:12 UTC 2025"), date("UTC", 10));
        assert_eq!(Date::of("Tue Apr 29 10:11:12 PM CEST 2025"), date("CEST", 22));
        assert_eq!(Date::of("Tue 29 Apr 2025 12:11:12 AM EDT"), date("EDT", 0));
        assert_eq!(Date::of("Tue Apr 29 10:11:12 2025"), date("", 10));
        for other in
            ["", "10:11:12 up 3 days", "Tue Apr 29 25:00:00 UTC 2025", "Di 29. Mai", "Apr 32 1:1:1 2025", "a:b"]
        {
            assert_eq!(Date::of(other), None, "{other}");
        }
    }
}
