//! Gateway files that differ in what stands before the bus, and the frames that are sent.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Identifiers of the largest policy.
const MOST: usize = 1000;
/// Every so many of them is sent.
const STEP: usize = 20;
/// Sizes of the policies; each divides [`MOST`].
const COUNTS: [usize; 4] = [1, 10, 100, MOST];
/// Rules of one `canid` that `tc` takes.
const RULES_OF_A_MATCH: usize = 400;
/// Identifiers below which a search ends.
const LEAF: usize = 8;
const EFF: u32 = 0x8000_0000;
/// Format, kind and all 29 bits.
const EXACT: u32 = 0xDFFF_FFFF;

/// Something that stands before a bus.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub(super) name: String,
    /// Number of identifiers that it selects; `None` if it does not match identifiers.
    pub(super) of: Option<usize>,
    egress: String,
}

impl Before {
    fn tree(name: &str, of: Option<usize>, lines: &str) -> Self {
        Self { name: name.to_owned(), of, egress: format!("[egress.bus]\ntree = '''\n{lines}'''\n") }
    }

    pub(super) fn gateway(&self, interface: &str) -> String {
        format!("[bus.bus]\ninterface = \"{interface}\"\n{}", self.egress)
    }
}

/// A set of identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// Identifiers of 11 bits.
    Sff,
    /// Of 29 bits, scattered.
    Eff,
    /// Parameter groups of J1939 that are for all nodes.
    Pgn,
}

impl Ids {
    /// All of them, in ascending order.
    fn all(self) -> Vec<u32> {
        let (first, bits) = match self {
            Self::Sff => (0, 11),
            Self::Eff => (0, 29),
            Self::Pgn => (0xF000, 12),
        };
        let mut all = BTreeSet::new();
        // The last one is left for a frame that nothing chooses.
        let last = (1 << bits) - 1;
        for id in (0..).map(|number| scattered(number) & last).filter(|id| *id < last) {
            all.insert(first + id);
            if all.len() == MOST {
                break;
            }
        }
        all.into_iter().collect()
    }

    /// The selection of these identifiers in a gateway file.
    fn choice(self, ids: &[u32]) -> String {
        let list = |of: &dyn Fn(&u32) -> String| ids.iter().map(of).collect::<Vec<_>>().join(",\n");
        match self {
            Self::Sff => format!("match = [{}]", list(&|id| format!("\"{id:03X}\""))),
            Self::Eff => format!("match = [{}]", list(&|id| format!("\"{id:08X}\""))),
            Self::Pgn => format!("j1939 = {{ pgn = [{}] }}", list(&|id| format!("\"{id:X}\""))),
        }
    }

    /// A frame that is chosen by one of them.
    fn frame(self, id: u32) -> String {
        match self {
            Self::Sff => format!("{id:03X}#0000"),
            Self::Eff => format!("{id:08X}#0000"),
            Self::Pgn => format!("{:08X}#0000", 6 << 26 | id << 8 | 0x42),
        }
    }

    /// A frame that is chosen by none.
    fn other(self) -> String {
        match self {
            Self::Sff => "7FF#0000".to_owned(),
            Self::Eff => "1FFFFFFF#0000".to_owned(),
            Self::Pgn => "18FFFF42#0000".to_owned(),
        }
    }
}

/// Numbers without an order that a hash could make use of (the end of MurmurHash3).
const fn scattered(number: u32) -> u32 {
    let number = (number ^ number >> 16).wrapping_mul(0x85EB_CA6B);
    let number = (number ^ number >> 13).wrapping_mul(0xC2B2_AE35);
    number ^ number >> 16
}

/// The frames that are sent.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    ids: Ids,
    /// Positions in the largest set.
    positions: Vec<usize>,
}

impl Sample {
    pub(super) fn of(ids: Ids) -> Self {
        Self { ids, positions: (0..MOST).step_by(STEP).chain([MOST - 1]).collect() }
    }

    /// Those of identifiers, then the one that nothing chooses.
    pub(super) fn frames(&self) -> Vec<String> {
        let all = self.ids.all();
        let chosen = self.positions.iter().map(|at| self.ids.frame(all[*at]));
        chosen.chain([self.ids.other()]).collect()
    }

    /// Frames that a policy of this size selects.
    pub(super) fn in_set(&self, count: usize) -> Vec<usize> {
        let is_in = |at: &usize| self.positions[*at].is_multiple_of(MOST / count);
        (0..self.positions.len()).filter(is_in).collect()
    }
}

/// A set of this size, spread over the largest one.
fn set(ids: Ids, count: usize) -> Vec<u32> {
    ids.all().into_iter().step_by(MOST / count).collect()
}

/// Queues that do not look at identifiers, then bands of candor for more and more of them.
pub(super) fn policies(ids: Ids) -> Vec<Before> {
    let mut rows =
        vec![Before::tree("pfifo_fast", None, "qdisc root pfifo_fast\n"), Before::tree("prio", None, &prio(2))];
    for count in COUNTS {
        let choice = ids.choice(&set(ids, count));
        let egress =
            format!("[[egress.bus.band]]\nname = \"urgent\"\n{choice}\n[[egress.bus.band]]\nname = \"rest\"\n");
        rows.push(Before { name: format!("policy-{count}"), of: Some(count), egress });
    }
    rows
}

/// Alternatives that select the 1000 identifiers of 29 bits.
pub(super) fn others() -> Vec<Before> {
    let ids = set(Ids::Eff, MOST);
    let filter =
        |expression: &str| format!("{}filter parent 1: prio 1 basic match '{expression}' flowid 1:1\n", prio(2));
    let lists: Vec<_> = ids.chunks(RULES_OF_A_MATCH).map(canid).collect();
    let nodes: String =
        ids.iter().map(|id| format!("filter parent 1: prio 1 u32 {} flowid 1:1\n", node(*id))).collect();
    vec![
        Before::tree("canid-1000", Some(MOST), &filter(&lists.join(" or "))),
        Before::tree("u32-1000", Some(MOST), &format!("{}{nodes}", prio(2))),
        Before::tree("search-1000", Some(MOST), &filter(&search(&ids))),
    ]
}

fn prio(bands: usize) -> String {
    let last = vec![(bands - 1).to_string(); 16].join(" ");
    let mut text = format!("qdisc root handle 1: prio bands {bands} priomap {last}\n");
    for band in 1..=bands {
        writeln!(text, "qdisc parent 1:{band:x} handle {band:x}0: pfifo limit 100").expect("a String takes everything");
    }
    text
}

fn canid(ids: &[u32]) -> String {
    let rules: Vec<_> = ids.iter().map(|id| format!("eff {id:08x}")).collect();
    format!("canid({})", rules.join("\n"))
}

/// The word of the identifier as `u32` sees it on a little-endian machine.
fn node(id: u32) -> String {
    format!("match u32 0x{:08x} 0x{:08x} at 0", (EFF | id).swap_bytes(), EXACT.swap_bytes())
}

/// A search tree: comparisons, and few identifiers at its leaves.
fn search(ids: &[u32]) -> String {
    if ids.len() <= LEAF {
        return canid(ids);
    }
    let (below, above) = ids.split_at(ids.len() / 2);
    let compare =
        |relation: &str, id: u32| format!("cmp(u32 at 0 layer link mask 0x9fffffff trans {relation} 0x{id:08x})");
    let side = |relation: &str, id: u32, side: &[u32]| format!("({} and ({}))", compare(relation, id), search(side));
    format!("{} or\n{}", side("lt", EFF | above[0], below), side("gt", (EFF | above[0]) - 1, above))
}

/// Queues in the order of arbitration with more and more to do, what stands in their place without them, and a frame of each
/// format. A policy with one identifier selects the first frame.
pub(super) fn arbitration() -> (Vec<Before>, Vec<String>) {
    let frames = [Ids::Sff, Ids::Eff].map(|ids| ids.frame(ids.all()[0])).into();
    // Queues that do not look at identifiers, and a policy with one.
    let mut rows = policies(Ids::Sff);
    rows.truncate(3);
    let [replace, age, socket] = ["replace = \"same-id\"\n", "max-age = \"50ms\"\n", "per-socket = 20\n"];
    for (name, keys) in [
        ("arbitration", String::new()),
        ("arbitration-replace", replace.to_owned()),
        ("arbitration-max-age", age.to_owned()),
        ("arbitration-per-socket", socket.to_owned()),
        ("arbitration-all", [replace, age, socket].concat()),
    ] {
        let egress = format!("[egress.bus]\nqueue = \"arbitration\"\n{keys}");
        rows.push(Before { name: name.to_owned(), of: None, egress });
    }
    (rows, frames)
}

/// Filters in ten classes, and the four frames of the measurement of 2012: for the first and for the last class, of both formats.
pub(super) fn report() -> (Vec<Before>, Vec<String>) {
    const CLASSES: usize = 10;
    let ids = |of: Ids, each: usize| set(of, MOST).into_iter().step_by(MOST / (CLASSES * each)).collect::<Vec<_>>();
    let eff: Vec<u32> = ids(Ids::Eff, CLASSES);
    let sff: Vec<u32> = ids(Ids::Sff, CLASSES);
    let frame = |of: Ids, all: &[u32], last: bool| of.frame(if last { all[all.len() - 1] } else { all[0] });
    let frames = [(Ids::Sff, &sff, false), (Ids::Sff, &sff, true), (Ids::Eff, &eff, false), (Ids::Eff, &eff, true)];
    let frames = frames.into_iter().map(|(of, all, last)| frame(of, all, last)).collect();
    let mut rows = vec![Before::tree("prio_0", None, &prio(CLASSES))];
    for (name, each) in [("1", 1), ("2", CLASSES)] {
        for kind in ["canid", "u32"] {
            let mut lines = prio(CLASSES);
            for class in 0..CLASSES {
                // With one identifier for each class it is the first of the first class and the last of the last one.
                let start = if each == 1 { class * (CLASSES + 1) } else { class * CLASSES };
                let range = start.min(CLASSES * CLASSES - each)..start.min(CLASSES * CLASSES - each) + each;
                lines += &filters(kind, class + 1, &sff[range.clone()], &eff[range]);
            }
            rows.push(Before::tree(&format!("prio_{name}-{kind}"), None, &lines));
        }
    }
    (rows, frames)
}

/// The filter of a class, or as many nodes of `u32`.
fn filters(kind: &str, class: usize, sff: &[u32], eff: &[u32]) -> String {
    if kind == "canid" {
        let rules: Vec<_> =
            sff.iter().map(|id| format!("sff {id:03x}")).chain(eff.iter().map(|id| format!("eff {id:08x}"))).collect();
        return format!("filter parent 1: prio {class} basic match 'canid({})' flowid 1:{class:x}\n", rules.join(" "));
    }
    let sff =
        sff.iter().map(|id| format!("match u32 0x{:08x} 0x{:08x} at 0", id.swap_bytes(), 0xC000_07FF_u32.swap_bytes()));
    let nodes = sff.chain(eff.iter().map(|id| node(*id)));
    nodes.map(|node| format!("filter parent 1: prio {class} u32 {node} flowid 1:{class:x}\n")).collect()
}
