//! Text for the frames that a route matches and for `to-id`, in few lines for any number of filters.

use candor_cli::gateway_file::plural;
use candor_config::plan::{Formats, IdChange, Selection, SendAs};
use candor_config::text::{self, Taken};
use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK, RawId};
use candor_core::ids::IdRange;
use candor_core::payload::PayloadPattern;

use super::{filter, number};

/// Ranges, filters or payloads that are listed one by one.
const MOST: usize = 8;

/// The frames that all selections match together, a line for each kind.
pub(crate) fn matches(selections: &[Selection], formats: Formats) -> Vec<String> {
    if let [one] = selections {
        return vec![filter::frames(one.filter, formats)];
    }
    let taken = text::taken(selections);
    let ranges = |is_extended| -> Vec<IdRange> {
        let range = |taken: &Taken| match taken {
            Taken::Range(range) if range.is_extended == is_extended => Some(*range),
            _ => None,
        };
        taken.iter().filter_map(range).collect()
    };
    let filters: Vec<Filter> =
        taken.iter().filter_map(|taken| if let Taken::Filter(filter) = taken { Some(*filter) } else { None }).collect();
    let mut lines = Vec::new();
    for (ranges, width) in [(ranges(false), "11-bit"), (ranges(true), "29-bit")] {
        if !ranges.is_empty() {
            let format = filter::format_word(formats);
            let noun = if let [range] = ranges.as_slice()
                && range.first == range.last
            {
                "identifier"
            } else {
                "identifiers"
            };
            let listed: Vec<_> = ranges.iter().map(identifiers).collect();
            lines.push(format!(
                "{format}data frames with the {width} {noun} {}",
                few(&listed, "and", |more| plural(more, "more range"))
            ));
        }
    }
    let (listed, others) = filters.split_at(filters.len().min(MOST));
    lines.extend(listed.iter().map(|listed| filter::frames(*listed, formats)));
    lines.extend((!others.is_empty()).then(|| format!("and the frames of {} more filters", others.len())));
    lines
}

/// The effect of `to-id`.
pub(crate) fn becomes(selections: &[Selection]) -> Vec<String> {
    let mut moves: Vec<Move> = Vec::new();
    for selection in selections {
        let Some(next) = Move::of(selection) else { continue };
        match moves.last_mut() {
            Some(last) if last.goes_on_with(&next) => last.from.last = next.from.last,
            Some(last) if last.is_one() && next.is_one() && last.to == next.to => {}
            _ => moves.push(next),
        }
    }
    if let [Move { to, .. }] = moves.as_slice()
        && selections.iter().all(|selection| selection.id == Some(IdChange::Set(*to)))
    {
        return vec![format!("the identifier becomes {}", target(*to))];
    }
    let (listed, others) = moves.split_at(moves.len().min(MOST));
    let mut lines: Vec<_> = listed.iter().map(Move::text).collect();
    lines.extend((!others.is_empty()).then(|| format!("and {} more ranges", others.len())));
    lines
}

pub(crate) fn payloads(patterns: &[PayloadPattern]) -> Option<String> {
    let listed: Vec<_> = patterns.iter().map(payload).collect();
    (!patterns.is_empty()).then(|| few(&listed, "or", |more| format!("one of {more} more")))
}

/// A range of identifiers that is mapped to another range of the same size.
#[derive(Clone, Copy)]
struct Move {
    from: IdRange,
    /// Target of the first one, with its format.
    to: u32,
}

impl Move {
    fn of(selection: &Selection) -> Option<Self> {
        let is_extended = selection.filter.id & CAN_EFF_FLAG != 0;
        let bits = if is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
        let first = RawId(selection.filter.id).bits();
        let free = bits & !selection.filter.mask;
        let (last, to) = match selection.id? {
            IdChange::Set(id) => (first, id),
            IdChange::Move { or, .. } => (first | free, or),
        };
        Some(Self { from: IdRange { is_extended, first, last }, to })
    }

    const fn is_one(&self) -> bool {
        self.from.first == self.from.last
    }

    fn goes_on_with(&self, next: &Self) -> bool {
        self.from.is_extended == next.from.is_extended
            && self.from.last + 1 == next.from.first
            && self.to + (self.from.last - self.from.first) + 1 == next.to
    }

    fn text(&self) -> String {
        let last = self.to + (self.from.last - self.from.first);
        if self.is_one() {
            return format!("{} becomes {}", identifiers(&self.from), target(self.to));
        }
        let to = IdRange {
            is_extended: self.to & CAN_EFF_FLAG != 0,
            first: RawId(self.to).bits(),
            last: RawId(last).bits(),
        };
        let width = if to.is_extended { "29 bits" } else { "11 bits" };
        format!("{} become {} ({width})", identifiers(&self.from), identifiers(&to))
    }
}

fn target(id: u32) -> String {
    if id & CAN_EFF_FLAG == 0 {
        format!("{} (11 bits)", number(id, CAN_SFF_MASK))
    } else {
        format!("{} (29 bits)", number(id & CAN_EFF_MASK, CAN_EFF_MASK))
    }
}

fn identifiers(range: &IdRange) -> String {
    let widest = if range.is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
    let (first, last) = (number(range.first, widest), number(range.last, widest));
    if range.first == range.last { first } else { format!("{first} to {last}") }
}

/// `a, b and c`; beyond [`MOST`], the text of `more` stands for the rest.
fn few(listed: &[String], conjunction: &str, more: impl Fn(usize) -> String) -> String {
    let (first, rest) = listed.split_at(listed.len().min(MOST));
    match (first, rest.len()) {
        ([others @ .., last], 0) if !others.is_empty() => format!("{} {conjunction} {last}", others.join(", ")),
        (all, 0) => all.join(", "),
        (first, others) => format!("{} {conjunction} {}", first.join(", "), more(others)),
    }
}

/// Digits, with `?` for those of any value; where only some bits of a digit are compared, byte by byte.
fn payload(pattern: &PayloadPattern) -> String {
    let bytes = pattern.mask.iter().zip(&pattern.value).take(pattern.bytes());
    let nibble = |mask: u8, value: u8| match mask {
        0 => Some("?".to_owned()),
        0xF => Some(format!("{value:X}")),
        _ => None,
    };
    let digits: Option<Vec<String>> = bytes
        .clone()
        .map(|(mask, value)| Some(nibble(mask >> 4, value >> 4)? + &nibble(mask & 0xF, value & 0xF)?))
        .collect();
    let compared = bytes.enumerate().filter(|(_, (mask, _))| **mask != 0).map(|(at, (mask, value))| match mask {
        0xFF => format!("byte {at} {value:02X}"),
        mask => format!("byte {at} {value:02X} in the bits {mask:02X}"),
    });
    digits.map_or_else(|| compared.collect::<Vec<_>>().join(" and "), |digits| digits.join(" "))
}

/// The effect on frames of the other format.
pub(crate) fn converted(send_as: SendAs) -> String {
    match send_as {
        SendAs::Classic => "CAN FD frames are sent as classic frames; those longer than 8 bytes are deleted".to_owned(),
        SendAs::Fd { bit_rate_switch } => {
            let switch = if bit_rate_switch { ", with bit-rate switch" } else { "" };
            format!("classic frames are sent as CAN FD frames{switch}; remote frames are deleted")
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_config::config;
    use candor_config::plan::Route;

    use super::*;

    fn route(lines: &str) -> Route {
        let file = format!(
            "engine = \"auto\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\n\
             from = \"a\"\nto = \"b\"\n{lines}\n"
        );
        config::load(file.as_bytes()).unwrap_or_else(|findings| panic!("{findings:#?}")).plan.routes()[0].clone()
    }

    #[test]
    fn summarizes_many_filters() {
        let takes = |lines: &str| {
            let route = route(lines);
            matches(&route.selections, route.formats)
        };
        assert_eq!(
            takes("match = [\"100..1BF\", \"300\", \"18DA0000..18DA00FE\"]"),
            [
                "data frames with the 11-bit identifiers 100 to 1BF and 300",
                "data frames with the 29-bit identifiers 18DA0000 to 18DA00FE"
            ]
        );
        let squares: Vec<_> = (0..40).map(|id| format!("\"{:03X}\"", id * id)).collect();
        assert_eq!(
            takes(&format!("match = [{}]", squares.join(", "))),
            [
                "data frames with the 11-bit identifiers 000 to 001, 004, 009, 010, 019, 024, 031, 040 and 31 more ranges"
            ]
        );
        assert_eq!(
            takes("match = [\"100..1FF\", \"40000200:C00007FF\"]\nframes = \"classic\""),
            [
                "classic data frames with the 11-bit identifiers 100 to 1FF",
                "classic remote frames with the 11-bit identifier 200"
            ]
        );
        assert_eq!(takes("errors = \"140\""), ["classic error message frames: bus off, controller restarted (140)"]);
        assert_eq!(takes("errors = \"1FFFFFFF\""), ["every classic error message frame"]);
    }

    #[test]
    fn describes_to_id() {
        let becomes = |lines: &str| becomes(&route(lines).selections);
        assert_eq!(becomes("match = \"100..1FF\"\nto-id = \"500..\""), ["100 to 1FF become 500 to 5FF (11 bits)"]);
        assert_eq!(
            becomes("match = \"100..1BE\"\nto-id = \"18DA0500..\""),
            ["100 to 1BE become 18DA0500 to 18DA05BE (29 bits)"]
        );
        assert_eq!(becomes("match = [\"100\", \"102\"]\nto-id = \"456\""), ["the identifier becomes 456 (11 bits)"]);
        assert_eq!(
            becomes("match = [\"100\", \"102..103\"]\nto-id = \"200..\""),
            ["100 becomes 200 (11 bits)", "102 to 103 become 202 to 203 (11 bits)"]
        );
    }

    #[test]
    fn describes_payloads() {
        let words = |lines: &str| payloads(&route(lines).payload).unwrap();
        assert_eq!(words("payload = \"01 ?? 3?\""), "01 ?? 3?");
        assert_eq!(words("payload = [\"01\", \"02\", \"03\"]"), "01, 02 or 03");
        assert_eq!(
            words("mux = { start-bit = 2, bits = 3, byte-order = \"little\", values = [1, 2] }"),
            "byte 0 04 in the bits 1C or byte 0 08 in the bits 1C"
        );
    }
}
