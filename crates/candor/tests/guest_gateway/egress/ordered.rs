//! The order in which frames leave: every discipline with every classifier, with a busy controller.

use candor_core::frame::CAN_EFF_FLAG;
use candor_egress::text;
use candor_netlink::client::Errno;

use super::counted::{Counts, Sent};
use super::departures::{self, Waiting};
use super::line::Line;
use super::*;
use crate::serial::SERIAL;

const TABLE: &str = include_str!("ordered.txt");

/// A tree, the frames sent to it while none leaves, and the sockets of those that leave then.
#[derive(Debug)]
struct Case {
    name: String,
    tree: String,
    sent: String,
    order: String,
}

/// The frames of a word of [`Case::sent`]. `X` before the identifier means 29 bits.
fn frames(word: &str, first: usize) -> Vec<Waiting> {
    let (word, count) = word.split_once('*').unwrap_or((word, "1"));
    let (word, mark) = word.split_once('#').unwrap_or((word, "0"));
    let (word, priority) = word.split_once('@').unwrap_or((word, "0"));
    let (word, length) = word.split_once('/').unwrap_or((word, "8"));
    let letter = word.as_bytes()[0];
    let (format, digits) = word[1..].strip_prefix('X').map_or((0, &word[1..]), |digits| (CAN_EFF_FLAG, digits));
    let id = u32::from_str_radix(digits, 16).unwrap() | format;
    let length: usize = length.parse().unwrap();
    let count: usize = count.parse().unwrap();
    let frame = |number: usize| {
        let payload = [u8::try_from(number).unwrap(), letter, 0, 0, 0, 0, 0, 0];
        let priority = u32::from_str_radix(priority, 16).unwrap();
        let sent = Sent { bytes: bytes_of(&classic(id, &payload[..length])), priority, mark: mark.parse().unwrap() };
        Waiting { sent, socket: usize::from(letter - b'a') }
    };
    (first..first + count).map(frame).collect()
}

fn waiting(sent: &str) -> Vec<Waiting> {
    sent.split(' ').fold(Vec::new(), |mut all, word| {
        let first = all.len();
        all.extend(frames(word, first));
        all
    })
}

fn letters(waiting: &[Waiting], order: &[usize]) -> String {
    order.iter().map(|number| char::from(b'a' + u8::try_from(waiting[*number].socket).unwrap())).collect()
}

/// The parts of the table of this kind: first line and tree.
fn parts(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let kind = format!("{kind} ");
    TABLE.split("\n\n").filter_map(move |part| part.strip_prefix(&kind)?.trim_end().split_once('\n'))
}

fn cases() -> Vec<Case> {
    let shared = parts("discipline").flat_map(|(line, tree)| {
        let (discipline, order) = line.split_once(": ").unwrap();
        parts("classifier").map(move |(classifier, filters)| Case {
            name: format!("{discipline} with {classifier}"),
            tree: format!("{tree}\n{filters}"),
            sent: "b200/8#1*4 a100/4*4".to_owned(),
            order: order.to_owned(),
        })
    });
    let alone = parts("alone").map(|(line, tree)| {
        let (name, frames) = line.split_once(": ").unwrap();
        let (sent, order) = frames.split_once(" -> ").unwrap();
        let [name, tree, sent, order] = [name, tree, sent, order].map(str::to_owned);
        Case { name, tree, sent, order }
    });
    shared.chain(alone).collect()
}

impl Line {
    /// Sends frames, and returns the numbers of those that leave.
    fn leaves(&mut self, tree: &Tree, waiting: &[Waiting], sockets: &[CanSocket], expected: usize) -> Vec<usize> {
        for frame in waiting {
            // A full queue refuses some.
            let _ = frame.sent.send(&sockets[frame.socket]);
        }
        assert_eq!(self.backlog(), expected, "{tree:#?}");
        self.read(expected).into_iter().map(usize::from).collect()
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_leave_in_the_order_of_the_discipline() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let sockets: Vec<_> = (0..4).map(|_| sender_on(line.index)).collect();
    let cases = cases();
    assert_eq!(cases.len(), 6 * 10 + 14);
    for case in cases {
        let tree = text::parse(&case.tree).unwrap_or_else(|findings| panic!("{case:#?}: {findings:#?}")).tree;
        let waiting = waiting(&case.sent);
        let order = departures::order(&tree, &waiting);
        assert_eq!(letters(&waiting, &order), case.order, "{case:#?}");
        if let Err(error) = line.block(&tree) {
            assert!(error.errno() == Some(Errno::ENOENT) && case.name.contains("ets"), "{error}: {case:#?}");
            skip(Feature::Ets, &format!("{}: {error}", case.name));
            line.read(0);
            line.clear();
            continue;
        }
        let left = line.leaves(&tree, &waiting, &sockets, order.len());
        let found = line.kernel.observe().unwrap();
        let courses: Vec<_> = waiting.iter().map(|frame| frame.sent.course(&tree)).collect();
        let counts = Counts::of(&courses);
        let mut differences = counts.at_filters(&tree, &found);
        if order.len() == waiting.len() {
            differences.extend(counts.at_queues(&tree, &found));
        }
        assert_eq!(left, order, "{} instead of {}: {case:#?}", letters(&waiting, &left), case.order);
        assert!(differences.is_empty(), "{differences:#?} {case:#?}");
        line.clear();
    }
}
