//! The queueing disciplines of the papers, as far as current kernels support them.
//!
//! The filter `can` of the report (`cls_can`) was not merged into the kernel, unlike `em_canid` for the filter `basic`. It keeps
//! 11-bit rules in a bitmap and 29-bit rules in an array, so both implementations of the report can be measured: the array with
//! 29-bit frames.
//!
//! # Source
//! [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011),
//! Table 4.1 and figures 4.2 to 4.6; em_canid ematch benchmark (2012).

use std::ops::Range;

use super::sending::Identifiers;
use crate::cli::PaperSetUps;

/// A configuration and its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetUp {
    pub(super) name: String,
    /// Number of rules in figure 4.6.
    pub(super) rules: Option<u32>,
    /// Queueing disciplines in tc syntax.
    pub(super) tree: String,
    pub(super) sent: Identifiers,
    /// `SO_SNDBUF` of the sender, for queues that are shorter than the default.
    pub(super) send_buffer: Option<u32>,
}

impl SetUp {
    fn new(name: &str, tree: String, sent: Identifiers) -> Self {
        Self { name: name.to_owned(), rules: None, tree, sent, send_buffer: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Sff,
    Eff,
}

const FORMATS: [Format; 2] = [Format::Sff, Format::Eff];
/// Maximum of rules per filter in the report.
const RULES_OF_A_FILTER: u32 = 128;
/// Numbers of rules in figure 4.6, in up to four filters.
const RULES: [u32; 9] = [1, 16, 32, 64, 128, 192, 256, 384, 512];
/// `sfq` holds 127 frames. The program of the report was limited, too.
const ROOM_OF_SFQ: u32 = 40_000;
/// Matches all frames of both formats.
const ALL: &str = "sff 0:0 eff 0:0";

pub(super) fn of(which: PaperSetUps) -> Vec<SetUp> {
    match which {
        PaperSetUps::EmCanid => em_canid(),
        PaperSetUps::Figure46 => {
            FORMATS.into_iter().flat_map(|format| RULES.map(|count| last_of(count, format))).collect()
        }
        PaperSetUps::Table41 => table_4_1(),
    }
}

impl Format {
    fn rules(self, ids: Range<u32>) -> String {
        ids.map(|id| self.rule(id)).collect::<Vec<_>>().join(" ")
    }

    fn rule(self, id: u32) -> String {
        match self {
            Self::Sff => format!("sff {id:03x}"),
            Self::Eff => format!("eff {id:08x}"),
        }
    }

    fn frame(self, id: u32) -> Identifiers {
        Identifiers::fixed(id, self == Self::Eff)
    }

    const fn all_frames(self) -> Identifiers {
        Identifiers::Counted { is_extended: matches!(self, Self::Eff) }
    }
}

/// A filter; filters are evaluated in ascending `order`.
fn filter(order: u32, expression: &str, class: u32) -> String {
    format!("filter parent 1: prio {order} basic match '{expression}' flowid 1:{class:x}\n")
}

fn table_4_1() -> Vec<SetUp> {
    let prio1 = prio("sff 123 sff 124", "sff 125 eff 00000125:7ff", "sff 223", ALL);
    let (fixed, counted) = (Format::Sff.frame(0x123), Format::Sff.all_frames());
    let set_up = |name: &str, tree: &str, sent: &Identifiers| SetUp {
        send_buffer: name.starts_with("prio_sfq").then_some(ROOM_OF_SFQ),
        ..SetUp::new(name, tree.to_owned(), sent.clone())
    };
    vec![
        set_up("pfifo_fast", "qdisc root pfifo_fast\n", &fixed),
        set_up("pfifo_fast_inc", "qdisc root pfifo_fast\n", &counted),
        set_up("prio1", &prio1, &fixed),
        set_up("prio1_inc", &prio1, &counted),
        set_up("prio128", &prio128(Format::Sff), &counted),
        set_up("prio128_array", &prio128(Format::Eff), &Format::Eff.all_frames()),
        set_up("htb", HTB, &fixed),
        set_up("htb_inc", HTB, &counted),
        set_up("prio_sfq", PRIO_SFQ, &fixed),
        set_up("prio_sfq_inc", PRIO_SFQ, &counted),
    ]
}

/// Figures 4.3 and 4.4.
const HTB: &str = include_str!("files/htb.tc");
const PRIO_SFQ: &str = include_str!("files/prio-sfq.tc");

/// Figure 4.2: four filters for three classes.
fn prio(first: &str, second: &str, third: &str, rest: &str) -> String {
    let mut text = "qdisc root handle 1: prio\n".to_owned();
    for ((order, rules), class) in (1..).zip([first, second, third, rest]).zip([1, 2, 2, 3]) {
        text += &filter(order, &format!("canid({rules})"), class);
    }
    text
}

/// The report only says "using 128 rules for each filter"; here, 128 identifiers each, and the last filter matches all.
fn prio128(format: Format) -> String {
    let part = |number: u32| format.rules((number + 1) * RULES_OF_A_FILTER..(number + 2) * RULES_OF_A_FILTER);
    let last = format.rules(4 * RULES_OF_A_FILTER..5 * RULES_OF_A_FILTER - 1);
    prio(&part(0), &part(1), &part(2), &format!("{last} {ALL}"))
}

/// `count` rules in filters of 128, of which only the last matches.
fn last_of(count: u32, format: Format) -> SetUp {
    let mut tree = "qdisc root handle 1: prio\n".to_owned();
    for (order, start) in (1..).zip((0..count).step_by(RULES_OF_A_FILTER as usize)) {
        let rules = format.rules(start..count.min(start + RULES_OF_A_FILTER));
        tree += &filter(order, &format!("canid({rules})"), 1);
    }
    SetUp { rules: Some(count), ..SetUp::new(&format!("rules-{count}"), tree, format.frame(count - 1)) }
}

/// The rules have the format of the sent frames. The filter `cls_can` of the note is omitted.
fn em_canid() -> Vec<SetUp> {
    const CLASSES: u32 = 10;
    // Ten classes with `each` rules, joined by `or`.
    let classes = |format: Format, each: u32| {
        let mut text = format!("qdisc root handle 1: prio bands {CLASSES}\n");
        for class in 0..CLASSES {
            let rules: Vec<_> =
                (class * each..(class + 1) * each).map(|id| format!("canid({})", format.rule(id))).collect();
            text += &filter(class + 1, &rules.join(" or "), class + 1);
        }
        text
    };
    let mut all = Vec::new();
    for format in FORMATS {
        let (first, last) = (format.frame(0), |each: u32| format.frame(CLASSES * each - 1));
        all.push(SetUp::new("default_qdisc", "qdisc root pfifo_fast\n".to_owned(), first.clone()));
        // "2 bands one for classification, one set as default": no filter selects the first.
        let prio_0 = format!("qdisc root handle 1: prio bands 2 priomap{}\n", " 1".repeat(16));
        all.push(SetUp::new("prio_0", prio_0, first.clone()));
        for each in [1, CLASSES] {
            let number = if each == 1 { 1 } else { 2 };
            all.push(SetUp::new(&format!("prio_{number}first"), classes(format, each), first.clone()));
            all.push(SetUp::new(&format!("prio_{number}last"), classes(format, each), last(each)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use candor_egress::text;

    use super::*;

    #[test]
    fn all_set_ups_are_valid_trees() {
        for which in [PaperSetUps::EmCanid, PaperSetUps::Figure46, PaperSetUps::Table41] {
            for set_up in of(which) {
                let tree = text::parse(&set_up.tree).unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", set_up.tree)).tree;
                assert!(!tree.qdiscs.is_empty(), "{}", set_up.name);
            }
        }
    }

    #[test]
    fn names_are_those_of_the_papers() {
        let names = |which| of(which).into_iter().map(|set_up| set_up.name).collect::<Vec<_>>();
        let table = names(PaperSetUps::Table41);
        assert_eq!(table.len(), 10);
        assert_eq!(table[5], "prio128_array");
        let note = names(PaperSetUps::EmCanid);
        let of_a_format = ["default_qdisc", "prio_0", "prio_1first", "prio_1last", "prio_2first", "prio_2last"];
        assert_eq!(note, [of_a_format, of_a_format].concat());
        assert_eq!(names(PaperSetUps::Figure46).len(), 2 * RULES.len());
    }

    #[test]
    fn only_the_last_rule_matches() {
        let many = last_of(512, Format::Sff);
        assert_eq!(many.tree.matches("sff ").count(), 512);
        assert_eq!(many.tree.matches("filter ").count(), 4);
        assert!(many.tree.ends_with("sff 1ff)' flowid 1:1\n"), "{}", many.tree);
        assert_eq!(many.sent.frame(0).to_string(), "1FF#0011223344556677");
        let note = em_canid();
        let last = note.last().unwrap();
        assert_eq!(last.tree.matches("canid(").count(), 100);
        assert_eq!(last.sent.frame(7).to_string(), "00000063#0011223344556677");
    }
}
