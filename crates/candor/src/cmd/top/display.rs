//! Compact numbers for the screen.

use super::model::Latency;
use super::sample::Signal;

pub(super) const UNKNOWN: &str = "-";
/// Longer numbers have three decimals.
const LONGEST: usize = 10;

/// `950`, `1 203`, `12.3k`, `4.56M`: at most six characters.
pub(super) fn rate(per_second: Option<f64>) -> String {
    match per_second {
        None => UNKNOWN.into(),
        Some(rate) if rate < 0.05 => "0".into(),
        Some(rate) if rate < 9.95 => format!("{rate:.1}"),
        Some(rate) if rate < 9_999.5 => thousands(&format!("{rate:.0}")),
        Some(rate) => short(rate),
    }
}

/// A count in at most six characters.
pub(super) fn count(count: u64) -> String {
    if count < 10_000 { thousands(&count.to_string()) } else { short(count as f64) }
}

fn short(number: f64) -> String {
    for (unit, name) in [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")] {
        let number = number / unit;
        for (limit, digits) in [(9.995, 2), (99.95, 1), (999.5, 0)] {
            if number < limit {
                return format!("{number:.digits$}{name}");
            }
        }
    }
    "huge".into()
}

fn thousands(digits: &str) -> String {
    match digits.len() {
        4 => format!("{} {}", &digits[..1], &digits[1..]),
        _ => digits.into(),
    }
}

/// `34–55%`.
pub(super) fn load(load: Option<(f64, f64)>) -> String {
    load.map_or_else(
        || UNKNOWN.into(),
        |(least, most)| {
            let (least, most) = (100.0 * least, 100.0 * most);
            let digits = usize::from(most < 9.95);
            let (least, most) = (format!("{least:.digits$}"), format!("{most:.digits$}"));
            if least == most { format!("{most}%") } else { format!("{least}–{most}%") }
        },
    )
}

/// `≤200µs`, `>1s`.
pub(super) fn latency(latency: Option<Latency>) -> String {
    let seconds = |seconds: f64| match seconds {
        _ if seconds < 0.000_999 => format!("{:.0}µs", seconds * 1e6),
        _ if seconds < 0.999 => format!("{:.0}ms", seconds * 1e3),
        _ => format!("{seconds:.0}s"),
    };
    match latency {
        None => UNKNOWN.into(),
        Some(Latency::AtMost { seconds: bound }) => format!("≤{}", seconds(bound)),
        Some(Latency::Above { seconds: bound }) => format!(">{}", seconds(bound)),
    }
}

/// `450ms`, `12.3s`, `200s`.
pub(super) fn age(seconds: Option<f64>) -> String {
    match seconds {
        None => UNKNOWN.into(),
        Some(seconds) if seconds < 0.9995 => format!("{:.0}ms", seconds * 1e3),
        Some(seconds) if seconds < 99.95 => format!("{seconds:.1}s"),
        Some(seconds) => format!("{seconds:.0}s"),
    }
}

/// `98.4 km/h`, `D (3)`: the value of a signal with its name or its unit.
pub(super) fn value(signal: &Signal) -> String {
    let Some(number) = signal.value else { return UNKNOWN.into() };
    let mut text = number.to_string();
    if text.len() > LONGEST {
        text = format!("{number:.3}");
    }
    match &signal.value_name {
        Some(name) => format!("{name} ({text})"),
        None => format!("{text} {}", signal.unit).trim_end().to_owned(),
    }
}

/// `1 Mbit/s`, `500 kbit/s`.
pub(super) fn bitrate(bits_per_s: Option<u64>) -> String {
    match bits_per_s {
        None => UNKNOWN.into(),
        Some(rate) if rate % 1_000_000 == 0 => format!("{} Mbit/s", rate / 1_000_000),
        Some(rate) if rate % 1000 == 0 => format!("{} kbit/s", rate / 1000),
        Some(rate) => format!("{rate} bit/s"),
    }
}

/// `1d 02:03:04`.
pub(super) fn uptime(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    let all = seconds as u64;
    let (days, hours, minutes, seconds) = (all / 86_400, all / 3600 % 24, all / 60 % 60, all % 60);
    let time = format!("{hours:02}:{minutes:02}:{seconds:02}");
    if days > 0 { format!("{days}d {time}") } else { time }
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for each of the last values, from 0 to 1; a space for an unknown one.
pub(super) fn sparkline(parts: impl DoubleEndedIterator<Item = Option<f64>>, width: usize) -> String {
    let bar = |part: Option<f64>| {
        part.map_or(' ', |part| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 7")]
            let at = (part.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round() as usize;
            BARS[at]
        })
    };
    let newest_first: Vec<_> = parts.rev().take(width).map(bar).collect();
    newest_first.into_iter().rev().collect()
}

/// The text, truncated to `width` characters.
pub(super) fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `from → to` in `width` characters; both names are truncated alike.
pub(super) fn path(from: &str, to: &str, width: usize) -> String {
    let whole = format!("{from} → {to}");
    if whole.chars().count() <= width {
        return whole;
    }
    let each = width.saturating_sub(1) / 2;
    let to_short = fit(to, each.max(width.saturating_sub(1 + from.chars().count())));
    let from_short = fit(from, width.saturating_sub(1 + to_short.chars().count()));
    format!("{from_short}→{to_short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short() {
        let rates = [0.0, 0.04, 0.25, 9.94, 9.96, 999.4, 1203.0, 9999.4, 9999.6, 99_960.0, 1e6, 4.556e6, 1e15, 1e18];
        let rates = rates.map(|each| rate(Some(each)));
        let expected =
            ["0", "0", "0.2", "9.9", "10", "999", "1 203", "9 999", "10.0k", "100k", "1.00M", "4.56M", "huge", "huge"];
        assert_eq!(rates, expected);
        assert_eq!([0, 9999, 10_000, 1_234_567, u64::MAX].map(count), ["0", "9 999", "10.0k", "1.23M", "huge"]);
        assert_eq!(rate(None), "-");
    }

    #[test]
    fn loads_have_both_bounds() {
        let texts = [None, Some((0.0, 0.0)), Some((0.02, 0.034)), Some((0.344, 0.551)), Some((0.9, 1.0))].map(load);
        assert_eq!(texts, ["-", "0.0%", "2.0–3.4%", "34–55%", "90–100%"]);
    }

    #[test]
    fn latencies_have_units() {
        let texts = [0.000_01, 0.000_5, 0.001, 0.2, 1.0].map(|seconds| latency(Some(Latency::AtMost { seconds })));
        assert_eq!(texts, ["≤10µs", "≤500µs", "≤1ms", "≤200ms", "≤1s"]);
        assert_eq!(latency(Some(Latency::Above { seconds: 1.0 })), ">1s");
    }

    #[test]
    fn signals_have_units_or_names() {
        let text = |number, value_name: &str, unit: &str| {
            let value_name = Some(value_name.to_owned()).filter(|name| !name.is_empty());
            value(&Signal { value: number, value_name, unit: unit.into(), ..Signal::default() })
        };
        let texts = [
            text(Some(98.4), "", "km/h"),
            text(Some(3.0), "D", ""),
            text(Some(f64::from(0.1_f32)), "", "V"),
            text(Some(-1.0), "", ""),
            text(None, "", "V"),
        ];
        assert_eq!(texts, ["98.4 km/h", "D (3)", "0.100 V", "-1", "-"]);
        let ages = [0.0, 0.4499, 0.9994, 0.9996, 12.34, 99.96].map(|seconds| age(Some(seconds)));
        assert_eq!(ages, ["0ms", "450ms", "999ms", "1.0s", "12.3s", "100s"]);
    }

    #[test]
    fn curves_show_the_last_values() {
        let parts = [Some(0.0), Some(0.5), None, Some(1.0), Some(7.0)];
        assert_eq!(sparkline(parts.into_iter(), 4), "▅ ██");
        assert_eq!(sparkline(parts.into_iter(), 9), "▁▅ ██");
    }

    #[test]
    fn uptimes_bit_rates_and_names() {
        assert_eq!([59.9, 3723.0, 93_784.0].map(uptime), ["00:00:59", "01:02:03", "1d 02:03:04"]);
        assert_eq!(
            [Some(500_000), Some(1_000_000), Some(83_333), None].map(bitrate),
            ["500 kbit/s", "1 Mbit/s", "83333 bit/s", "-"]
        );
        assert_eq!([fit("speed", 5), fit("speed", 4)], ["speed", "spe…"]);
        let paths = [17, 15, 14, 9].map(|width| path("powertrain", "body", width));
        assert_eq!(paths, ["powertrain → body", "powertrain→body", "powertra…→body", "pow…→body"]);
        assert_eq!(path("powertrain", "diagnosis", 13), "power…→diagn…");
    }
}
