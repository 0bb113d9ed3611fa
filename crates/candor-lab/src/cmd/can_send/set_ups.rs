//! What the papers had stand before their buses, as far as kernels have it today.
//!
//! The filter `can` of the report (`cls_can`) never came into the kernel: `em_canid` did, behind the filter `basic`. It keeps rules
//! of 11 bits in a bitmap and those of 29 bits in an array, so both of the report's implementations can be measured: the array
//! with frames of 29 bits.
//!
//! # Source
//! SocketCAN and queueing disciplines (Sojka, Lisový, Píša, 2011), Table 4.1 and figures 4.2 to 4.6; em_canid ematch benchmark (2012).

use std::fmt::Write as _;
use std::ops::Range;

use super::sending::Identifiers;
use crate::cli::PaperSetUps;

/// One configuration and what is sent in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetUp {
    pub(super) name: String,
    /// Rules that a frame is held against, in figure 4.6.
    pub(super) rules: Option<u32>,
    /// In the language of tc.
    pub(super) tree: String,
    pub(super) sent: Identifiers,
    /// `SO_SNDBUF` of the sender: some queues are shorter than what a socket may have in them.
    pub(super) send_buffer: Option<u32>,
}

/// Formats of identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Sff,
    Eff,
}

const FORMATS: [Format; 2] = [Format::Sff, Format::Eff];
/// Rules that one filter of the report took.
const RULES_OF_A_FILTER: u32 = 128;
/// Numbers of rules in figure 4.6, which goes to four filters.
const RULES: [u32; 9] = [1, 16, 32, 64, 128, 192, 256, 384, 512];
/// `sfq` has room for 127 frames. The program of the report was made to stay below, too.
const ROOM_OF_SFQ: u32 = 40_000;
/// Everything, of both formats.
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
    /// Identifiers from here on, one by one.
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

/// The filter of a class, asked in the order of these numbers.
fn filter(order: u32, expression: &str, class: u32) -> String {
    format!("filter parent 1: prio {order} basic match '{expression}' flowid 1:{class:x}\n")
}

fn table_4_1() -> Vec<SetUp> {
    let prio1 = prio("sff 123 sff 124", "sff 125 eff 00000125:7ff", "sff 223", ALL);
    let (fixed, counted) = (Format::Sff.frame(0x123), Format::Sff.all_frames());
    let set_up = |name: &str, tree: &str, sent: &Identifiers| SetUp {
        name: name.to_owned(),
        rules: None,
        tree: tree.to_owned(),
        sent: sent.clone(),
        send_buffer: name.starts_with("prio_sfq").then_some(ROOM_OF_SFQ),
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
        set_up("prio_sfq", &prio_sfq(), &fixed),
        set_up("prio_sfq_inc", &prio_sfq(), &counted),
    ]
}

/// Figure 4.3.
const HTB: &str = "\
    qdisc root handle 1: htb\n\
    class parent 1: classid 1:1 htb rate 100kbps ceil 100kbps\n\
    class parent 1:1 classid 1:10 htb rate 30kbps ceil 100kbps\n\
    class parent 1:1 classid 1:11 htb rate 10kbps ceil 100kbps\n\
    class parent 1:1 classid 1:12 htb rate 60kbps ceil 100kbps\n\
    qdisc parent 1:12 handle 40: sfq perturb 10\n\
    filter parent 1: prio 1 basic match 'canid(sff 123 eff 00000123:7ff)' flowid 1:10\n\
    filter parent 1: prio 2 basic match 'canid(sff 124 eff 00000124:7ff)' flowid 1:11\n\
    filter parent 1: prio 3 basic match 'canid(sff 125 eff 00000125:7ff)' flowid 1:12\n";

/// Figure 4.2: four filters for three classes.
fn prio(first: &str, second: &str, third: &str, rest: &str) -> String {
    let mut text = "qdisc root handle 1: prio\n".to_owned();
    for ((order, rules), class) in (1..).zip([first, second, third, rest]).zip([1, 2, 2, 3]) {
        text += &filter(order, &format!("canid({rules})"), class);
    }
    text
}

/// The report has only "using 128 rules for each filter" of it; these are 128 identifiers each, and the last takes everything.
fn prio128(format: Format) -> String {
    let part = |number: u32| format.rules((number + 1) * RULES_OF_A_FILTER..(number + 2) * RULES_OF_A_FILTER);
    let last = format.rules(4 * RULES_OF_A_FILTER..5 * RULES_OF_A_FILTER - 1);
    prio(&part(0), &part(1), &part(2), &format!("{last} {ALL}"))
}

/// Figure 4.4.
fn prio_sfq() -> String {
    let mut text = "qdisc root handle 1: prio\n\
                    qdisc parent 1:2 handle 10: sfq perturb 10\nqdisc parent 1:3 handle 11: sfq perturb 10\n"
        .to_owned();
    text += &filter(1, "canid(sff 111 eff 00000111)", 1);
    text += &filter(2, "canid(sff 123 eff 00000123 sff 123 eff 00000124 sff 125 eff 00000125)", 2);
    text + &filter(3, &format!("canid({ALL})"), 3)
}

/// So many rules, of which only the last one matches, in filters of 128.
fn last_of(count: u32, format: Format) -> SetUp {
    let mut tree = "qdisc root handle 1: prio\n".to_owned();
    for (order, start) in (1..).zip((0..count).step_by(RULES_OF_A_FILTER as usize)) {
        let rules = format.rules(start..count.min(start + RULES_OF_A_FILTER));
        tree += &filter(order, &format!("canid({rules})"), 1);
    }
    SetUp { name: format!("rules-{count}"), rules: Some(count), tree, sent: format.frame(count - 1), send_buffer: None }
}

/// The note has rules in the format of what is sent; those of its own filter `cls_can` are left out.
fn em_canid() -> Vec<SetUp> {
    const CLASSES: u32 = 10;
    let set_up = |name: &str, tree: String, sent: Identifiers| SetUp {
        name: name.to_owned(),
        rules: None,
        tree,
        sent,
        send_buffer: None,
    };
    // Ten classes, and what each of them takes: `each` rules joined by `or`.
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
        all.push(set_up("default_qdisc", "qdisc root pfifo_fast\n".to_owned(), first.clone()));
        // "2 bands one for classification, one set as default": no filter chooses the first.
        all.push(set_up("prio_0", prio_0(), first.clone()));
        for each in [1, CLASSES] {
            let number = if each == 1 { 1 } else { 2 };
            all.push(set_up(&format!("prio_{number}first"), classes(format, each), first.clone()));
            all.push(set_up(&format!("prio_{number}last"), classes(format, each), last(each)));
        }
    }
    all
}

fn prio_0() -> String {
    let mut text = "qdisc root handle 1: prio bands 2 priomap".to_owned();
    (0..16).for_each(|_| write!(text, " 1").expect("a String takes everything"));
    text + "\n"
}

#[cfg(test)]
mod tests {
    use candor_egress::text;

    use super::*;

    #[test]
    fn all_of_them_are_trees() {
        for which in [PaperSetUps::EmCanid, PaperSetUps::Figure46, PaperSetUps::Table41] {
            for set_up in of(which) {
                let tree = text::parse(&set_up.tree).unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", set_up.tree)).tree;
                assert!(!tree.qdiscs.is_empty(), "{}", set_up.name);
            }
        }
    }

    #[test]
    fn the_configurations_of_the_papers_are_there() {
        let names = |which| of(which).into_iter().map(|set_up| set_up.name).collect::<Vec<_>>();
        let table = names(PaperSetUps::Table41);
        assert_eq!(table.len(), 10);
        assert_eq!(table[5], "prio128_array");
        let note = names(PaperSetUps::EmCanid);
        let of_a_format = ["default_qdisc", "prio_0", "prio_1first", "prio_1last", "prio_2first", "prio_2last"];
        assert_eq!(note, [of_a_format, of_a_format].concat());
        assert_eq!(names(PaperSetUps::Figure46).len(), 2 * RULES.len());
    }

    /// The frame that is sent is taken by the last rule and by no other.
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
