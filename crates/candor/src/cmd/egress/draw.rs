//! Draws the tree of an interface as text and SVG: boxes with options and counters.

mod svg;
mod text;

pub(super) use svg::svg;
pub(super) use text::text;

use candor_egress::canonical::Part;
use candor_egress::control_group::ControlGroup;
use candor_egress::discipline::Discipline;
use candor_egress::filter::{Classifier, Filter};
use candor_egress::handle::Handle;
use candor_egress::netlink::arbitration::Statistics;
use candor_egress::netlink::{ClassStats, FilterStats, Observed, QdiscStats};
use candor_egress::outline::{Item, Node, outline};
use candor_egress::text as egress_text;
use serde::Serialize;

use super::Wanted;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct Drawing {
    pub(super) interface: String,
    /// The bus of the file, if there is a file.
    pub(super) bus: Option<String>,
    #[serde(skip)]
    pub(super) is_live: bool,
    #[serde(rename = "tree")]
    pub(super) boxes: Vec<TreeObject>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Object"))]
pub(super) struct TreeObject {
    pub(super) what: What,
    /// Its name: `1:`, `1:2`; the preference of a filter.
    pub(super) name: String,
    pub(super) band: Option<String>,
    /// Kind and options; empty for a class that its qdisc creates.
    pub(super) words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) counted: Option<Counted>,
    pub(super) below: Vec<Self>,
    /// Of a filter: filters with the same one are a single lookup.
    #[serde(skip)]
    preference: Option<u16>,
}

/// Maximum number of filters of one preference that are drawn separately; a lookup of identifiers may have a thousand.
const MOST_ALIKE: usize = 8;

/// The kind of a [`TreeObject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum What {
    Class,
    Filter,
    Qdisc,
}

/// Counters of the kernel, if it has them for this object.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Counted {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frames: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
    #[serde(rename = "dropped_frames", skip_serializing_if = "Option::is_none")]
    pub(super) dropped: Option<u64>,
    #[serde(rename = "waiting_frames", skip_serializing_if = "Option::is_none")]
    pub(super) waiting: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waiting_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) overlimits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requeues: Option<u32>,
    /// Reasons of drops in a queue in the order of arbitration.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) reasons: Option<Reasons>,
    #[serde(rename = "asked_frames", skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<u64>,
    /// Matches of each key of a `u32` filter.
    #[serde(rename = "hits_of_keys", skip_serializing_if = "Vec::is_empty")]
    pub(super) keys: Vec<u64>,
    /// Frames that a class of `htb` sent at its own rate, and with borrowed tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lends: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) borrows: Option<u32>,
}

/// Frames that a queue in the order of arbitration has dropped. Without its maps, the kernel knows only those of sockets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Reasons {
    /// The queue was full.
    #[serde(rename = "full_frames", skip_serializing_if = "Option::is_none")]
    pub(super) full: Option<u64>,
    /// Too many frames of their socket waited.
    #[serde(rename = "per_socket_frames")]
    pub(super) socket: u64,
    /// They had waited too long.
    #[serde(rename = "expired_frames", skip_serializing_if = "Option::is_none")]
    pub(super) expired: Option<u64>,
    /// A newer one took their place.
    #[serde(rename = "replaced_frames", skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<u64>,
    /// Dropped by an error in the programs of the queue.
    #[serde(rename = "failed_frames", skip_serializing_if = "Option::is_none")]
    pub(super) failed: Option<u64>,
}

impl Reasons {
    fn of(queue: Option<&Statistics>, kernel: &QdiscStats) -> Self {
        let Some(&Statistics { full, socket, expired, replaced, failed, .. }) = queue else {
            return Self { socket: kernel.overlimits.into(), ..Self::default() };
        };
        let [full, expired, replaced, failed] = [full, expired, replaced, failed].map(Some);
        Self { full, socket, expired, replaced, failed }
    }
}

impl Drawing {
    pub(super) fn wanted(wanted: &Wanted) -> Self {
        let observed = Observed { tree: wanted.tree.clone(), ..Observed::default() };
        Self { is_live: false, ..Self::found(&wanted.interface, Some(wanted), &observed) }
    }

    /// The tree in the kernel.
    pub(super) fn found(interface: &str, wanted: Option<&Wanted>, observed: &Observed) -> Self {
        let draw = Draw { observed, wanted };
        let mut boxes = draw.all(&outline(&observed.tree));
        let defaults = observed.defaults.iter().filter(|(qdisc, _)| qdisc.parent == Handle::ROOT);
        let defaults = defaults.map(|(qdisc, stats)| TreeObject {
            what: What::Qdisc,
            name: "default".to_owned(),
            band: None,
            words: qdisc.discipline.kind().to_owned(),
            counted: Some(of_qdisc(stats)),
            below: Vec::new(),
            preference: None,
        });
        boxes.splice(0..0, defaults);
        let bus = wanted.map(|wanted| wanted.bus.clone());
        Self { interface: interface.to_owned(), bus, is_live: true, boxes }
    }
}

impl Drawing {
    pub(super) fn in_short(self) -> Self {
        Self { boxes: in_short(&self.boxes), ..self }
    }
}

fn in_short(boxes: &[TreeObject]) -> Vec<TreeObject> {
    let runs = boxes.chunk_by(|one, next| one.preference.is_some() && one.preference == next.preference);
    let shortened = runs.flat_map(|run| if run.len() > MOST_ALIKE { vec![joined(run)] } else { run.to_vec() });
    shortened.map(|one| TreeObject { below: in_short(&one.below), ..one }).collect()
}

fn joined(run: &[TreeObject]) -> TreeObject {
    let last = run.last().cloned();
    // Tables, and nodes that link to them, have no class.
    let name = last.as_ref().map(|last| last.name.clone()).unwrap_or_default();
    let frames = run.iter().filter(|one| one.name == name).filter_map(|one| one.counted.as_ref()?.frames).sum();
    let kind = last.iter().flat_map(|last| last.words.split(' ')).next().unwrap_or_default().to_owned();
    let words = format!("{kind}, {} filters of one lookup; --json lists them", run.len());
    let is_live = last.as_ref().is_some_and(|last| last.counted.is_some());
    let counted = is_live.then(|| Counted { frames: Some(frames), ..Counted::default() });
    TreeObject { what: What::Filter, name, band: None, words, counted, below: Vec::new(), preference: None }
}

struct Draw<'a> {
    observed: &'a Observed,
    wanted: Option<&'a Wanted>,
}

impl Draw<'_> {
    fn all(&self, nodes: &[Node]) -> Vec<TreeObject> {
        nodes.iter().map(|node| self.one(node)).collect()
    }

    fn one(&self, node: &Node) -> TreeObject {
        let Observed { tree, qdiscs, classes, filters, bands, .. } = self.observed;
        let below = self.all(&node.below);
        let preference = match node.item {
            Item::Filter(at) => Some(tree.filters[at].preference),
            _ => None,
        };
        let (what, name, words, counted, handle) = match node.item {
            Item::Band(handle) => {
                let stats = bands.iter().find(|(band, _)| *band == handle).map(|(_, stats)| of_class(stats));
                (What::Class, handle.to_string(), String::new(), stats, Some(handle))
            }
            Item::Class(at) => {
                let class = &tree.classes[at];
                let words = part_words(&Part::Class(class.clone()));
                (What::Class, class.handle.to_string(), words, classes.get(at).map(of_class), Some(class.handle))
            }
            Item::Filter(at) => {
                let filter = &tree.filters[at];
                let words = part_words(&Part::Filter(filter.clone()));
                (What::Filter, name_of(filter), words, filters.get(at).map(of_filter), None)
            }
            Item::Qdisc(at) => {
                let qdisc = &tree.qdiscs[at];
                let words = part_words(&Part::Qdisc(qdisc.clone()));
                let name = if qdisc.handle == Handle::NONE { String::new() } else { qdisc.handle.to_string() };
                let counted = qdiscs.get(at).map(|stats| match qdisc.discipline {
                    // No rate limits it: its overlimits are the drops of sockets.
                    Discipline::Arbitration(_) => Counted {
                        reasons: Some(Reasons::of(self.observed.queue.as_ref(), stats)),
                        overlimits: None,
                        ..of_qdisc(stats)
                    },
                    _ => of_qdisc(stats),
                });
                (What::Qdisc, name, words, counted, Some(qdisc.handle))
            }
        };
        let names = self.wanted.map(|wanted| &wanted.names);
        let band = handle.and_then(|handle| names?.get(&handle)).cloned();
        TreeObject { what, name, band, words, counted, below, preference }
    }
}

/// Preference, side of `clsact`, and class of matching frames.
fn name_of(filter: &Filter) -> String {
    let to = filter.class.map_or_else(String::new, |class| format!(" -> {class}"));
    match filter.parent {
        side @ (Handle::INGRESS | Handle::EGRESS) => format!("{side} {}{to}", filter.preference),
        _ => format!("{}{to}", filter.preference),
    }
}

fn of_qdisc(stats: &QdiscStats) -> Counted {
    Counted {
        frames: Some(stats.frames),
        bytes: Some(stats.bytes),
        dropped: Some(stats.drops.into()),
        waiting: Some(stats.backlog_frames),
        waiting_bytes: Some(stats.backlog_bytes),
        overlimits: Some(stats.overlimits),
        requeues: Some(stats.requeues),
        ..Counted::default()
    }
}

fn of_class(stats: &ClassStats) -> Counted {
    let (lends, borrows) = (stats.htb.map(|htb| htb.lends), stats.htb.map(|htb| htb.borrows));
    Counted { lends, borrows, ..of_qdisc(&stats.queue) }
}

fn of_filter(stats: &FilterStats) -> Counted {
    let dropped = stats.actions.iter().map(|action| u64::from(action.drops)).sum();
    Counted {
        frames: stats.hits.as_ref().map(|hits| hits.hit),
        asked: stats.hits.as_ref().and_then(|hits| hits.tested),
        keys: stats.hits.as_ref().map(|hits| hits.keys.clone()).unwrap_or_default(),
        dropped: (!stats.actions.is_empty()).then_some(dropped),
        ..Counted::default()
    }
}

const MOST_CHARACTERS: usize = 150;

/// A part as a line of `tc`, as far as `tc` can express it.
pub(super) fn part_line(part: &Part) -> String {
    if let Some(program) = program(part) {
        return program;
    }
    egress_text::line(part).unwrap_or_else(|why| format!("{} {} ({why})", part.slot(), kind(part)))
}

pub(super) fn part_words(part: &Part) -> String {
    egress_text::words(part).unwrap_or_else(|why| format!("{} ({why})", kind(part)))
}

/// A filter with candor's BPF program, which `tc` cannot express, and its control groups: after a restart of a
/// service only their numbers differ.
fn program(part: &Part) -> Option<String> {
    let Part::Filter(Filter { classifier: Classifier::ControlGroups(groups), class, .. }) = part else { return None };
    let words = egress_text::words(part).ok()?;
    let class = class.map_or_else(String::new, |class| format!(" flowid {class}"));
    let number = |group: &ControlGroup| group.id.map_or_else(|| "none".to_owned(), |id| id.id.to_string());
    let numbers: Vec<_> = groups.iter().map(number).collect();
    Some(format!("{} {words}{class} (number {})", part.slot(), numbers.join(", ")))
}

fn kind(part: &Part) -> &str {
    match part {
        Part::Class(class) => class.share.kind(),
        Part::Filter(filter) => filter.classifier.kind(),
        Part::Qdisc(qdisc) => qdisc.discipline.kind(),
    }
}

/// A line of limited length: a match may have hundreds of identifiers. JSON has all of them.
pub(super) fn in_terminal(line: &str) -> String {
    short(line, MOST_CHARACTERS)
}

/// Truncates to a number of characters.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}
