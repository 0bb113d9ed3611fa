//! Dates, for formats that have the start of the recording as one.

use crate::{Clock, Record};

const MS_NS: i64 = 1_000_000;
const DAY_MS: i64 = 86_400_000;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The same of programs in German.
const MONATE: [(&str, u8); 4] = [("M\u{e4}r", 3), ("Mai", 5), ("Okt", 10), ("Dez", 12)];
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// A date and time of day in UTC, with milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u16,
    /// From 1.
    pub(crate) month: u8,
    /// From 1.
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    pub(crate) ms: u16,
}

impl Date {
    /// Of a time since 1970, which is cut to milliseconds.
    ///
    /// # Source
    /// [`civil_from_days`](https://howardhinnant.github.io/date_algorithms.html#civil_from_days)
    pub(crate) fn of(unix_ns: i64) -> Self {
        let ms = unix_ns.div_euclid(MS_NS);
        let (days, ms) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        // Years begin in March, so that the day of a leap year is their last.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |value: i64| u8::try_from(value).unwrap_or(0);
        Self {
            year: u16::try_from(year).unwrap_or(1970),
            month: small(month),
            day: small(day_of_year - (153 * march_month + 2) / 5 + 1),
            hour: small(ms / 3_600_000),
            minute: small(ms / 60_000 % 60),
            second: small(ms / 1000 % 60),
            ms: u16::try_from(ms % 1000).unwrap_or(0),
        }
    }

    /// Since 1970 in ns. `None` for what is no date, and before 1678 or after 2261.
    pub(crate) fn unix_ns(self) -> Option<i64> {
        let Self { year, month, day, hour, minute, second, ms } = self;
        let is_date = (1678..=2261).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61
            && ms < 1000;
        if !is_date {
            return None;
        }
        let days = days_from_civil(i64::from(year), i64::from(month), i64::from(day));
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Some((days * DAY_MS + seconds * 1000 + i64::from(ms)) * MS_NS)
    }

    /// From 0, Sunday.
    pub(crate) fn weekday(self) -> usize {
        let days = days_from_civil(self.year.into(), self.month.into(), self.day.into());
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)
    }

    /// `Tue Nov 14 22:13:20.000 2023`.
    pub(crate) fn words(self) -> String {
        let Self { year, month, day, hour, minute, second, ms } = self;
        let (weekday, month) = (DAYS[self.weekday()], MONTHS[usize::from(month.max(1) - 1) % 12]);
        format!("{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02}.{ms:03} {year}")
    }

    /// `Tue Nov 14 10:13:20.000 pm 2023`, also with 24 hours, without fractions, or in German.
    pub(crate) fn parse(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace().skip(1);
        let (month, day, time) = (words.next()?, words.next()?, words.next()?);
        let german = MONATE.iter().find(|(name, _)| *name == month).map(|(_, number)| *number);
        let month = german.or_else(|| (1..).zip(MONTHS).find(|(_, name)| *name == month).map(|(number, _)| number))?;
        let (half, year) = match (words.next()?, words.next()) {
            (half, Some(year)) => (Some(half), year),
            (year, None) => (None, year),
        };
        let mut parts = time.split(':');
        let (hour, minute, second) = (parts.next()?.parse::<u8>().ok()?, parts.next()?, parts.next()?);
        let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
        let hour = match half {
            None => hour,
            Some(half) if half.eq_ignore_ascii_case("am") => hour % 12,
            Some(half) if half.eq_ignore_ascii_case("pm") => hour % 12 + 12,
            Some(_) => return None,
        };
        let ms: String = fraction.chars().chain("00".chars()).take(3).collect();
        Some(Self {
            year: year.parse().ok()?,
            month,
            day: day.parse().ok()?,
            hour,
            minute: minute.parse().ok()?,
            second: second.parse().ok()?,
            ms: ms.parse().ok()?,
        })
    }
}

/// # Source
/// [`days_from_civil`](https://howardhinnant.github.io/date_algorithms.html#days_from_civil)
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// What times of a file count from, which the first record decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    base_ns: Option<i64>,
    /// Times before it.
    early: u64,
}

impl Base {
    pub(crate) const fn new() -> Self {
        Self { base_ns: None, early: 0 }
    }

    /// The start of a file: that of its first record, cut to ms, or 0 for times that do not count from 1970.
    pub(crate) fn start_ns(&mut self, record: &Record) -> i64 {
        *self.base_ns.get_or_insert_with(|| match record.clock {
            Clock::Unix => record.at_ns.div_euclid(MS_NS) * MS_NS,
            Clock::Start => 0,
        })
    }

    /// The time since the start in ns.
    pub(crate) fn since_ns(&mut self, record: &Record) -> u64 {
        let since = record.at_ns.saturating_sub(self.start_ns(record));
        u64::try_from(since).unwrap_or_else(|_negative| {
            self.early += 1;
            0
        })
    }

    /// Adds how many times were cut to the start.
    pub(crate) fn count(&self, lost: &mut crate::Counts) {
        if self.early > 0 {
            lost.add_many("times before that of the first frame, written as its time", self.early);
        }
    }
}

/// Start and clock of a file that has this date.
pub(crate) fn start_of(date: Option<Date>) -> (i64, Clock) {
    match date.and_then(Date::unix_ns) {
        Some(start_ns) if Clock::of(start_ns) == Clock::Unix => (start_ns, Clock::Unix),
        _ => (0, Clock::Start),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_read_in_all_spellings() {
        let unix_ns = 1_700_000_000_123_000_000;
        for text in
            ["Tue Nov 14 22:13:20.123 2023", "Tue Nov 14 10:13:20.123 pm 2023", "Tue Nov 14 10:13:20.123456 PM 2023"]
        {
            assert_eq!(Date::parse(text).and_then(Date::unix_ns), Some(unix_ns), "{text}");
        }
        assert_eq!(Date::of(unix_ns).words(), "Tue Nov 14 22:13:20.123 2023");
        assert_eq!(
            Date::parse("Mit M\u{e4}r 1 00:00:00 2023").map(Date::words).unwrap(),
            "Wed Mar 01 00:00:00.000 2023"
        );
        for text in ["", "Tue Foo 14 22:13:20 2023", "Tue Nov 14 22:13 2023", "Tue Nov 14 22:13:20 xm 2023"] {
            assert_eq!(Date::parse(text), None, "{text}");
        }
        assert_eq!(Date { month: 13, ..Date::of(0) }.unix_ns(), None);
    }

    proptest! {
        #[test]
        fn every_date_is_read_as_written(ms in -9_000_000_000_000_i64..9_000_000_000_000) {
            let date = Date::of(ms * MS_NS);
            prop_assert_eq!(date.unix_ns(), Some(ms * MS_NS));
            prop_assert_eq!(Date::parse(&date.words()), Some(date));
        }
    }
}
