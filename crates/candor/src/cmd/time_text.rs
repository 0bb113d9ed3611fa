//! Dates and durations as text.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A Unix time: `2026-11-21 12:50:13 UTC`.
pub(crate) fn utc(unix_s: i64) -> String {
    let (days, of_day) = (unix_s.div_euclid(DAY), unix_s.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / HOUR, of_day % HOUR / MINUTE, of_day % MINUTE);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// A duration in its two largest units: `3 h 5 min`.
pub(crate) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        s if s < MINUTE => format!("{s} s"),
        s if s < HOUR => format!("{} min {} s", s / MINUTE, s % MINUTE),
        s if s < DAY => format!("{} h {} min", s / HOUR, s % HOUR / MINUTE),
        s => format!("{} d {} h", s / DAY, s % DAY / HOUR),
    }
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar. Years begin in March here, so that the odd
/// day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_dates() {
        for (unix_s, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_798_761_600, "2027-01-01 00:00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(unix_s), text);
        }
    }

    #[test]
    fn formats_durations() {
        for (seconds, text) in
            [(-5, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (3 * HOUR + 5 * MINUTE, "3 h 5 min"), (50 * HOUR, "2 d 2 h")]
        {
            assert_eq!(span(seconds), text);
        }
    }
}
