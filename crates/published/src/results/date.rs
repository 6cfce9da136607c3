//! The dates of a result file, as `date` prints them, in the locales of many languages and in ISO
//! 8601. What may be read in two ways is no date.

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

/// What the names of each month begin with: in English, German, Dutch, the Nordic languages,
/// French, Spanish, Portuguese, Italian, Catalan, Polish, Czech, Hungarian, Finnish, Turkish,
/// Greek, Russian and Ukrainian. Source: the locales of glibc 2.36. The longest beginning counts.
/// Not here: `lip`, `lis` and `srp`, which are other months in Polish, Czech and Croatian.
const MONTHS: [&str; 12] = [
    "jan jän jänner gen ene tammi oca sty led янв січ ιαν",
    "feb fev fév helmi şub lut úno фев лют φεβ",
    "mar mär maa maalis mrt már bře мар бер μαρ",
    "apr abr avr ápr huhti nis kwi dub апр кві απρ",
    "may mai mei maj mag máj touko kvě май мая тра μαΐ μαι",
    "jun juin giu jún kesä haz cze čer čen июн чер ιουν",
    "jul juil lug júl heinä tem čec июл лип ιουλ",
    "aug ago aoû aoú elo ağu sie авг сер αυγ",
    "sep sept set szept syys eyl wrz zář сен вер σεπ",
    "oct okt ott out loka eki paź říj окт жов οκτ",
    "nov marras kas ноя лис νοε",
    "dec dez dic déc des joulu ara gru pro дек гру δεκ",
];

/// The month that begins like this word, and whether the word may be a weekday as well: in the
/// languages of Latin `mar` is Tuesday and March.
fn month_of(word: &str) -> Option<(i8, bool)> {
    // Names of time zones are in capitals; some begin like a month (`MAGT`).
    let is_zone = word.len() >= 3 && word.bytes().all(|b| b.is_ascii_uppercase());
    if is_zone || !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let word = word.to_lowercase();
    let all = (1..).zip(MONTHS).flat_map(|(month, names)| names.split(' ').map(move |name| (month, name)));
    let (month, name) = all.filter(|(_, name)| word.starts_with(name)).max_by_key(|(_, name)| name.len())?;
    Some((month, name == "mar" && ["mar", "mardi", "martes", "martedì", "marți"].contains(&word.as_str())))
}

/// Year, month and day, written with numbers alone; `None` where it may be read in two ways.
fn numeric(word: &str) -> Option<[i16; 3]> {
    let sign = word.chars().find(|c| !c.is_ascii_digit()).filter(|c| "-/.".contains(*c))?;
    let parts: Vec<&str> = word.trim_end_matches('.').split(sign).collect();
    let [a, b, c] = <[&str; 3]>::try_from(parts).ok()?;
    let number = |text: &str| text.parse::<i16>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let [first, middle, last] = [number(a)?, number(b)?, number(c)?];
    match (a.len(), c.len(), sign) {
        (4, 1..=2, _) => Some([first, middle, last]),
        (1..=2, 4, '.') => Some([last, middle, first]),
        // The day is first in Europe, the month in America.
        (1..=2, 4, _) if first > 12 || first == middle => Some([last, middle, first]),
        (1..=2, 4, _) if middle > 12 => Some([last, first, middle]),
        _ => None,
    }
}

/// A text in which the signs of dates in Chinese, Japanese and Korean are those of ISO 8601.
fn with_usual_signs(text: &str) -> String {
    let mut text = text.to_owned();
    for (signs, usual) in [
        (&["年", "년", "月", "월"][..], "-"),
        (&["日", "일"], " "),
        (&["时", "時", "시", "分", "분"], ":"),
        (&["秒", "초"], " "),
        (&["上午", "午前", "오전"], " am "),
        (&["下午", "午後", "오후"], " pm "),
    ] {
        signs.iter().for_each(|sign| text = text.replace(sign, usual));
    }
    // `2025- 04- 29` and `10: 11: 12`.
    text.replace("- ", "-").replace("- ", "-").replace(": ", ":")
}

impl Date {
    /// Reads `Tue Apr 29 10:11:12 UTC 2025` and what other locales write: the parts are recognised
    /// by their form, wherever they stand.
    pub(super) fn of(text: &str) -> Option<Date> {
        let is_of_east = text.contains(['年', '년']);
        let text = if is_of_east { with_usual_signs(text) } else { text.to_owned() };
        let (mut year, mut day, mut time) = (None, None, None);
        let mut months: Vec<(i8, bool)> = Vec::new();
        let mut numbers: Vec<i8> = Vec::new();
        let (mut zone, mut afternoon) = (String::new(), None);
        let separates = |c: char| c.is_whitespace() || "(),[]".contains(c);
        for word in text.split(separates).filter(|word| !word.is_empty()) {
            // `2025-04-29T10:11:12+02:00`.
            let (word, rest) = match word.split_once('T') {
                Some((date, rest)) if numeric(date).is_some() => (date, Some(rest)),
                _ => (word, None),
            };
            let bare = word.trim_end_matches('.');
            let digits = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
            if let Some([of_year, month, of_day]) = numeric(word) {
                year = Some(of_year);
                months.push((i8::try_from(month).ok().filter(|month| (1..=12).contains(month))?, false));
                day = i8::try_from(of_day).ok();
            } else if digits && bare.len() == 4 {
                year = bare.parse().ok();
            } else if digits && bare.len() <= 2 {
                numbers.extend(bare.parse::<i8>().ok());
            } else if let Some((found, behind)) = timed(word) {
                time = Some(found);
                behind.clone_into(&mut zone);
            } else if let Some(half) = half_of_day(word) {
                afternoon = Some(half);
            } else if time.is_some() && zone.is_empty() && is_zone(word) {
                word.clone_into(&mut zone);
            } else if let Some(month) = month_of(bare) {
                months.push(month);
            } else if word.contains(':') {
                return None;
            }
            if let Some((found, behind)) = rest.and_then(timed) {
                time = Some(found);
                behind.clone_into(&mut zone);
            }
        }
        // Beside another month it is the weekday.
        if months.iter().any(|(_, may_be_weekday)| !may_be_weekday) {
            months.retain(|(_, may_be_weekday)| !may_be_weekday);
        }
        months.dedup();
        let month = match (&months[..], &numbers[..]) {
            ([(month, _)], _) => *month,
            // `2025. 04. 29.`, as in Korea: the year is first, so the month is next.
            ([], [month, _]) if text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => *month,
            _ => return None,
        };
        let day = day.or(numbers.last().copied()).filter(|day| (1..=31).contains(day))?;
        let mut time = time?;
        if let Some(afternoon) = afternoon {
            time[0] = time[0] % 12 + if afternoon { 12 } else { 0 };
        }
        (1..=12).contains(&month).then_some(Date { year: year?, month, day, time, zone })
    }
}

impl Date {
    /// Whether a text that is no [`Date::of`] looks like one: it has a year and a time, or the
    /// signs of both in the east, and no key in front.
    pub(super) fn is_like(text: &str) -> bool {
        let mut words = text.split(|c: char| !c.is_ascii_digit());
        let has_year = text.contains(['年', '년'])
            || words.any(|word| word.len() == 4 && (word.starts_with("19") || word.starts_with("2")));
        let bytes = text.as_bytes();
        let is_time = |at: &[u8]| at[0].is_ascii_digit() && b":.h".contains(&at[1]) && at[2].is_ascii_digit();
        let has_time = text.contains(['时', '時', '시']) || bytes.windows(3).any(is_time);
        let key = text.split(':').next().unwrap_or_default();
        has_year && has_time && key.contains(|c: char| c.is_ascii_digit())
    }
}

/// Whether a word is the second half of the day; `None` if it is neither.
fn half_of_day(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "am" | "a.m." | "πμ" => Some(false),
        "pm" | "p.m." | "μμ" => Some(true),
        _ => None,
    }
}

/// `CEST`, `Z`, `+02`, `-03:30`, `UTC+0200`.
fn is_zone(word: &str) -> bool {
    let name = word.find(['+', '-']).map_or(word, |at| &word[..at]);
    word.len() <= 9 && name.bytes().all(|b| b.is_ascii_uppercase()) && !["AM", "PM"].contains(&word)
}

/// A time of day, and the zone that may stand right behind it: `10:11:12.5+02:00`.
fn timed(word: &str) -> Option<([i8; 3], &str)> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(word.len());
    let (time, zone) = word.split_at(end);
    // Finland writes `10.11.12`.
    let sign = if time.contains(':') { ':' } else { '.' };
    let parts: Vec<i8> = time.split(sign).map(|part| part.split('.').next()?.parse().ok()).collect::<Option<_>>()?;
    let time = <[i8; 3]>::try_from(parts).ok()?;
    let [hour, minute, second] = time;
    // 60: a leap second.
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    (fits && is_zone(zone)).then_some((time, zone))
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
        for (zone, texts) in [
            (
                "CEST",
                &[
                    "Di 29. Apr 10:11:12 CEST 2025",
                    "mar. 29 avril 2025 10:11:12 CEST",
                    "mar 29 abr 2025 10:11:12 CEST",
                    "mar 29 apr 2025, 10:11:12, CEST",
                    "wto, 29 kwi 2025, 10:11:12 CEST",
                    "Út 29. dubna 2025, 10:11:12 CEST",
                    "2025. ápr. 29., kedd, 10:11:12 CEST",
                    "di 29 apr 2025 10:11:12 CEST",
                    "29/04/2025 10:11:12 CEST",
                ][..],
            ),
            ("CST", &["2025年 04月 29日 星期二 10:11:12 CST", "2025年04月29日 星期二 10时11分12秒 CST"]),
            ("JST", &["2025年  4月 29日 火曜日 10:11:12 JST"]),
            ("KST", &["2025. 04. 29. (화) 10:11:12 KST", "2025년 04월 29일 화요일 오전 10시 11분 12초 KST"]),
            ("MSK", &["Вт 29 апр 2025 10:11:12 MSK", "вторник, 29 апреля 2025 г. 10:11:12 (MSK)"]),
            ("+03", &["Sal 29 Nis 2025 10:11:12 +03"]),
            ("-03", &["ter 29 abr 2025 10:11:12 -03"]),
            ("+0300", &["ti 29.4.2025 10.11.12 +0300"]),
            ("UTC+0200", &["mardi 29 avril 2025, 10:11:12 (UTC+0200)"]),
            ("EEST", &["Τρι 29 Απρ 2025 10:11:12 πμ EEST"]),
            ("MAGT", &["Tue Apr 29 10:11:12 MAGT 2025"]),
            ("+02:00", &["2025-04-29T10:11:12+02:00", "2025-04-29 10:11:12.123 +02:00"]),
            ("Z", &["2025-04-29T10:11:12Z"]),
            ("", &["2025-04-29 10:11:12", "2025/04/29 10:11:12"]),
        ] {
            for text in texts {
                assert_eq!(Date::of(text), date(zone, 10), "{text}");
            }
        }
        let march = |text: &str| Date::of(text).map(|date| (date.month, date.day));
        assert_eq!(march("mar. 4 mars 2025 10:11:12 CET"), Some((3, 4)));
        assert_eq!(march("mar 4 mar 2025 10:11:12 CET"), Some((3, 4)));
        assert_eq!(march("ke 5. marraskuuta 2025 10.11.12 EET"), Some((11, 5)));
        // In two ways, or in none.
        for other in [
            "",
            "10:11:12 up 3 days",
            "Tue Apr 29 25:00:00 UTC 2025",
            "Di 29. Mai",
            "Apr 32 1:1:1 2025",
            "a:b",
            "04/05/2025 10:11:12",
            "wto, 29 lip 2025, 10:11:12 CEST",
            "2025-13-29T10:11:12Z",
            "29 10:11:12 2025",
        ] {
            assert_eq!(Date::of(other), None, "{other}");
        }
        for like in ["04/05/2025 10:11:12", "wto, 29 lip 2025, 10:11:12 CEST", "วัน 29 เม.ย. 2568 10:11:12"]
        {
            assert!(Date::is_like(like), "{like}");
        }
        for other in ["mhz: 2994 MHz, 0.3340 nanosec clock", "10:11:12 up 3 days", "FSTYPE: ext4"] {
            assert!(!Date::is_like(other), "{other}");
        }
    }
}
