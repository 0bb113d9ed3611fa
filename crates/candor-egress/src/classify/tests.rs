//! Each qdisc and filter, one by one: most results were observed on kernels, the others follow from their source.

use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::text::parse;
use candor_core::arbitrary::wire_frame;
use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_MTU, Frame, RawId};

const CAN: u16 = 0x000C;
const CAN_FD: u16 = 0x000D;

fn tree(text: &str) -> Tree {
    parse(text).unwrap_or_else(|findings| panic!("{text}: {findings:#?}")).tree
}

/// A classic frame of 2 bytes, 0x11 and 0x22.
fn frame(id: u32) -> [u8; 16] {
    let mut frame = Frame { id: RawId(id), len: 2, ..Frame::EMPTY };
    frame.data[..2].copy_from_slice(&[0x11, 0x22]);
    let mut bytes = [0; CANFD_MTU];
    assert_eq!(frame.to_kernel(&mut bytes), 16);
    *bytes.first_chunk().expect("a frame has 16 bytes")
}

fn packet(bytes: &[u8]) -> Packet<'_> {
    let socket = Some(Socket { user: 1000, group: 100, control_groups: &[1, 20, 300] });
    Packet { bytes, protocol: CAN, priority: 0, mark: 0, socket, incoming_interface: 0 }
}

fn end(text: &str, packet: &Packet<'_>) -> End {
    egress(&tree(text), packet).end
}

fn end_of(text: &str, id: u32) -> End {
    end(text, &packet(&frame(id)))
}

const fn h(major: u16, minor: u16) -> Handle {
    Handle::new(major, minor)
}

/// It waits in a class that has the kernel's own queue.
const fn class(major: u16, minor: u16) -> End {
    End::Queue { class: h(major, minor), qdisc: Handle::NONE }
}

const fn lost(major: u16) -> End {
    End::Dropped { at: h(major, 0), result: SenderResult::Success }
}

/// True if a frame matches an expression, by the class to which it goes.
fn fits(expression: &str, packet: &Packet<'_>) -> bool {
    let text = format!("qdisc root handle 1: prio\nfilter parent 1: prio 1 basic match '{expression}' flowid 1:1\n");
    match end(&text, packet) {
        End::Queue { class, .. } => class == h(1, 1),
        other => panic!("{expression}: {other:?}"),
    }
}

fn fits_id(expression: &str, id: u32) -> bool {
    fits(expression, &packet(&frame(id)))
}

#[test]
fn rules_for_11_bits_ignore_the_remote_flag() {
    assert!(fits_id("canid(sff 0x123)", 0x123) && fits_id("canid(sff 0x123)", 0x123 | CAN_RTR_FLAG));
    assert!(!fits_id("canid(sff 0x123)", 0x124) && !fits_id("canid(sff 0x123)", CAN_EFF_FLAG | 0x123));
    assert!(fits_id("canid(sff 0x100:0x700)", 0x1AB) && !fits_id("canid(sff 0x100:0x700)", 0x2AB));
    // Bits beyond the 11 are dropped when the rule is loaded.
    assert!(fits_id("canid(sff 0xaabb:0xff)", 0x0BB));
}

#[test]
fn rules_for_29_bits_compare_their_mask() {
    assert!(
        fits_id("canid(eff 0x123)", CAN_EFF_FLAG | 0x123)
            && fits_id("canid(eff 0x123)", CAN_EFF_FLAG | CAN_RTR_FLAG | 0x123)
    );
    assert!(!fits_id("canid(eff 0x123)", 0x123));
    assert!(fits_id("canid(eff 0x0:0x1C000000)", CAN_EFF_FLAG | 0x03FF_FFFF));
    assert!(!fits_id("canid(eff 0x0:0x1C000000)", CAN_EFF_FLAG | 0x0400_0000));
    // Not sayable in tc: only data frames.
    let mut tree = tree("qdisc root handle 1: prio\nfilter prio 1 basic match 'canid(eff 0x1)' flowid 1:1\n");
    let rule = crate::ematch::CanRule { id: CAN_EFF_FLAG | 1, mask: 0x5FFF_FFFF };
    tree.filters[0].classifier = crate::filter::Classifier::Basic(Some(crate::ematch::Ematch::Canid(vec![rule])));
    assert_eq!(egress(&tree, &packet(&frame(CAN_EFF_FLAG | 1))).end, class(1, 1));
    assert_eq!(egress(&tree, &packet(&frame(CAN_EFF_FLAG | CAN_RTR_FLAG | 1))).end, class(1, 2));
}

#[test]
fn each_identifier_format_needs_its_own_catch_all() {
    assert!(!fits_id("canid(sff 0:0)", CAN_EFF_FLAG | 5) && !fits_id("canid(eff 0:0)", 5));
    assert!(fits_id("canid(sff 0:0 eff 0:0)", 5) && fits_id("canid(sff 0:0 eff 0:0)", CAN_EFF_FLAG | 5));
    // The opposite of a rule for 11 bits is every frame of 29.
    assert!(fits_id("not canid(sff 0:0)", CAN_EFF_FLAG | 5));
}

#[test]
fn evaluates_joints_and_other_matches() {
    let text = "canid(sff 1) and canid(sff 2) or canid(sff 3)";
    // a and (b or c): identifier 3 alone is not enough.
    assert!(!fits_id(text, 3) && !fits_id(text, 1));
    assert!(fits_id("(canid(sff 1) and canid(sff 2)) or canid(sff 3)", 3));
    assert!(fits_id("cmp(u8 at 4 layer link eq 2)", 1) && !fits_id("cmp(u8 at 4 layer link gt 2)", 1));
    assert!(
        fits_id("cmp(u16 at 8 layer link eq 0x1122)", 1) && fits_id("cmp(u16 at 8 layer link mask 0xff lt 0x23)", 1)
    );
    let native = u16::from_ne_bytes([0x11, 0x22]);
    assert!(fits_id(&format!("cmp(u16 at 8 layer link trans eq {native})"), 1));
    assert!(fits_id("nbyte(\"\\021\\042\" at 8 layer link)", 1) && !fits_id("nbyte(\"\\021\" at 16 layer link)", 1));
    assert!(fits_id("u32(u16 0x1122 0xffff at 8)", 1) && !fits_id("u32(u32 0 0 at 16)", 1));
    let marked = Packet { mark: 0x107, priority: 3, ..packet(&[0; 16]) };
    assert!(fits("meta(fwmark mask 0xff eq 7)", &marked) && fits("meta(priority gt 2)", &marked));
    assert!(fits("meta(pkt_len eq 16)", &marked));
}

#[test]
fn filters_match_only_their_protocol() {
    let text = "qdisc root handle 1: prio\nfilter prio 1 protocol can basic flowid 1:1\nfilter prio 2 protocol canfd basic flowid 1:3\n";
    let bytes = [0; 72];
    assert_eq!(end_of(text, 1), class(1, 1));
    assert_eq!(end(text, &Packet { protocol: CAN_FD, ..packet(&bytes) }), class(1, 3));
    assert_eq!(end(text, &Packet { protocol: 0x000E, ..packet(&bytes) }), class(1, 2));
}

#[test]
fn prio_and_ets_fall_back_to_their_priomap() {
    let bytes = frame(1);
    let with = |priority| Packet { priority, ..packet(&bytes) };
    for discipline in ["prio", "ets strict 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"] {
        let text = format!("qdisc root handle 1: {discipline}\nfilter prio 1 basic match 'canid(sff 2)' flowid 1:9\n");
        assert_eq!(end(&text, &with(0)), class(1, 2));
        assert_eq!(end(&text, &with(6)), class(1, 1));
        assert_eq!(end(&text, &with(0x16)), class(1, 1), "only four bits count");
        // The upper half names a discipline: this one, or another.
        assert_eq!(end(&text, &with(0x0001_0003)), class(1, 3));
        assert_eq!(end(&text, &with(0x0002_0003)), class(1, 2));
        // A class that is not there is that of priority 0.
        assert_eq!(end(&text, &with(0x0001_0009)), class(1, 2));
        assert_eq!(end_of(&text, 2), class(1, 2));
    }
    // Fewer numbers than priorities leave the rest to the last band.
    assert_eq!(end("qdisc root handle 1: ets strict 4 priomap 2", &with(1)), class(1, 4));
}

#[test]
fn drr_silently_drops_unfiltered_frames() {
    let text = "qdisc root handle 1: drr\nclass parent 1: classid 1:1 drr quantum 16\n\
                filter prio 1 basic match 'canid(sff 1)' flowid 1:1\nfilter prio 2 basic match 'canid(sff 2)' flowid 1:2\n";
    assert_eq!((end_of(text, 1), end_of(text, 2), end_of(text, 3)), (class(1, 1), lost(1), lost(1)));
    assert_eq!(end(text, &Packet { priority: 0x0001_0001, ..packet(&frame(3)) }), class(1, 1));
}

#[test]
fn sfq_with_a_filter_drops_unmatched_frames() {
    let sfq = End::Queue { class: Handle::NONE, qdisc: h(1, 0) };
    assert_eq!(end_of("qdisc root handle 1: sfq", 1), sfq);
    let text = "qdisc root handle 1: sfq\nfilter prio 1 basic match 'canid(sff 1)' flowid 1:1\n";
    assert_eq!((end_of(text, 1), end_of(text, 2)), (sfq.clone(), lost(1)));
    let text = "qdisc root handle 1: sfq divisor 1024\nfilter prio 1 handle 1 flow hash keys src divisor 1024\n";
    assert_eq!(end_of(text, 1), sfq);
    // More flows than slots: this one may have none.
    assert_eq!(end_of(&text.replace("src divisor 1024", "src divisor 2048"), 1), End::Unknown(Unknown::Flow));
}

#[test]
fn htb_sends_unclassified_frames_directly() {
    let classes = "class parent 1: classid 1:1 htb rate 1mbit\nclass parent 1:1 classid 1:10 htb rate 1kbit\n\
                   class parent 1:1 classid 1:11 htb rate 1kbit\nfilter prio 1 basic match 'canid(sff 1)' flowid 1:10\n\
                   filter prio 2 basic match 'canid(sff 2)' flowid 1:1\nfilter prio 3 basic match 'canid(sff 3)' flowid 1:0\n\
                   filter parent 1:1 prio 1 basic match 'canid(sff 2)' flowid 1:11\n";
    let direct = End::Direct { qdisc: h(1, 0) };
    let without = format!("qdisc root handle 1: htb\n{classes}");
    let with = format!("qdisc root handle 1: htb default 11\n{classes}");
    assert_eq!((end_of(&without, 1), end_of(&without, 4)), (class(1, 0x10), direct.clone()));
    // An inner class has filters of its own.
    assert_eq!(end_of(&without, 2), class(1, 0x11));
    assert_eq!((end_of(&with, 4), end_of(&with, 3)), (class(1, 0x11), direct.clone()));
    // A default with classes below it is none.
    assert_eq!(end_of(&without.replace("htb\n", "htb default 1\n"), 4), direct);
    let named = |priority| end(&with, &Packet { priority, ..packet(&frame(9)) });
    assert_eq!((named(0x0001_0010), named(0x0001_0000)), (class(1, 0x10), direct));
    let circle = format!("{without}filter parent 1:1 prio 2 basic flowid 1:1\n");
    assert_eq!(
        end_of(&circle.replace("'canid(sff 2)' flowid 1:11", "'canid(sff 5)' flowid 1:11"), 2),
        End::Unknown(Unknown::Circle)
    );
}

#[test]
fn fw_and_flow_classify_by_mark() {
    let text = "qdisc root handle 1: prio\nfilter prio 1 handle 0x7/0xff fw flowid 1:1\nfilter prio 2 fw\n";
    let with = |mark| end(text, &Packet { mark, ..packet(&[0; 16]) });
    assert_eq!((with(0x107), with(0), with(0x108)), (class(1, 1), class(1, 2), class(1, 2)));
    // Without a number the mark is the class.
    assert_eq!(with(3), class(1, 3));
    let map = "qdisc root handle 1: prio\nfilter prio 1 handle 1 flow map key mark divisor 2 baseclass 1:2\n";
    let with = |mark| end(map, &Packet { mark, ..packet(&[0; 16]) });
    assert_eq!((with(4), with(5)), (class(1, 2), class(1, 3)));
    // Frames of a gateway have no socket, and all the same key.
    let source = map.replace("key mark", "key src");
    assert_eq!(end(&source, &packet(&[0; 16])), End::Unknown(Unknown::Flow));
    assert_eq!(end(&source, &Packet { socket: None, ..packet(&[0; 16]) }), class(1, 2));
}

#[test]
fn u32_distinguishes_data_and_remote_frames() {
    let text = "qdisc root handle 1: prio\nfilter prio 1 u32 match u32 0x23010000 0xff0700c0 at 0 flowid 1:1\n";
    if cfg!(target_endian = "little") {
        assert_eq!((end_of(text, 0x123), end_of(text, 0x123 | CAN_RTR_FLAG)), (class(1, 1), class(1, 2)));
        assert_eq!(end_of(text, CAN_EFF_FLAG | 0x123), class(1, 2));
    }
    let length = "qdisc root handle 1: prio\nfilter prio 1 u32 match u8 2 ff at 4 flowid 1:1\nfilter prio 1 u32 match u8 3 ff at 4 flowid 1:3\n";
    assert_eq!(end_of(length, 1), class(1, 1));
    // A word beyond the end ends all of this preference, not only the node.
    let beyond = "qdisc root handle 1: prio\nfilter prio 1 u32 match u32 0 0 at 16 flowid 1:1\nfilter prio 1 u32 match u32 0 0 flowid 1:3\n";
    assert_eq!(end_of(beyond, 1), class(1, 2));
    assert_eq!(egress(&tree(beyond), &packet(&frame(1))).tested, [Tested { filter: 0, fits: false }]);
}

#[test]
fn u32_follows_links_to_hashed_slots() {
    let text = "qdisc root handle 1: prio bands 5\nfilter prio 9 handle 1: u32 divisor 256\n\
                filter prio 9 u32 ht 1:22: match u32 0 0 flowid 1:4\nfilter prio 9 u32 ht 1:11: match u8 3 ff at 4 flowid 1:5\n\
                filter prio 1 u32 match u32 0 0 link 1: hashkey mask 0x00ff0000 at 8\nfilter prio 2 basic flowid 1:1\n";
    // The second byte of the payload is 0x22.
    let course = egress(&tree(text), &packet(&frame(1)));
    assert_eq!(course.end, class(1, 4));
    assert_eq!(course.tested.len(), 2);
    // In the other slot nothing fits, so that the next filter is asked.
    assert_eq!(end_of(&text.replace("0x00ff0000", "0xff000000"), 1), class(1, 1));
    assert_eq!(end_of(&text.replace("filter prio 9 handle 1: u32 divisor 256\n", ""), 1), End::Unknown(Unknown::Table));
}

#[test]
fn actions_change_the_path() {
    let text = "qdisc root handle 1: prio\nqdisc clsact\nfilter egress prio 1 basic match 'canid(sff 1)' action skbedit priority 1:3 mark 7 pass\n\
                filter egress prio 2 basic match 'canid(sff 2)' action drop\n\
                filter egress prio 3 basic match 'canid(sff 3)' action mirred egress redirect dev can1\n\
                filter egress prio 4 basic match 'canid(sff 4)' action police pkts_rate 20 pkts_burst 3 conform-exceed drop\n\
                filter parent 1: prio 1 basic match 'canid(sff 5)' flowid 1:1 action drop\n\
                filter parent 1: prio 2 basic match 'canid(sff 6)' flowid 1:1 action continue\n\
                filter parent 1: prio 3 basic match 'canid(sff 7)' flowid 1:1 action reclassify\n";
    assert_eq!(end_of(text, 1), class(1, 3));
    assert_eq!(end_of(text, 2), End::Dropped { at: Handle::EGRESS, result: SenderResult::Enobufs });
    assert_eq!((end_of(text, 3), end_of(text, 4)), (End::Taken, End::Unknown(Unknown::Traffic)));
    // A discipline drops silently, `continue` ends at the map, and endless reclassification ends in a drop.
    assert_eq!((end_of(text, 5), end_of(text, 6), end_of(text, 7)), (lost(1), class(1, 2), lost(1)));
    let fitted = egress(&tree(text), &packet(&frame(7))).tested.iter().filter(|tested| tested.fits).count();
    assert_eq!(fitted, 17, "once, and 16 times more");
}

#[test]
fn follows_nested_disciplines() {
    let text = include_str!("../../../../fuzz/corpus/egress_text/recipe-ideal");
    let in_queue = |minor, qdisc| End::Queue { class: minor, qdisc: h(qdisc, 0) };
    assert_eq!(end_of(text, 0x80), class(1, 1));
    assert_eq!(end_of(text, 0x181), in_queue(h(1, 2), 0x20));
    assert_eq!(end_of(text, CAN_EFF_FLAG | 1), in_queue(h(0x30, 1), 0x31));
    let course = egress(&tree(text), &packet(&frame(0x700)));
    let tested: Vec<_> = course.tested.iter().map(|tested| (tested.filter, tested.fits)).collect();
    assert_eq!(tested, [(0, false), (1, false), (2, true), (4, true)]);
    let none = End::Queue { class: Handle::NONE, qdisc: Handle::NONE };
    assert_eq!(egress(&Tree::default(), &packet(&frame(1))).end, none);
}

proptest! {
    #[test]
    fn every_frame_has_an_end(tree in arbitrary::tree(), frame in wire_frame(), priority: u32, mark: u32) {
        let mut bytes = [0; CANFD_MTU];
        let length = frame.to_kernel(&mut bytes);
        let protocol = if length == CANFD_MTU { CAN_FD } else { CAN };
        let course = egress(&tree, &Packet { protocol, priority, mark, ..packet(&bytes[..length]) });
        prop_assert!(course.tested.iter().all(|tested| tested.filter < tree.filters.len()));
        if let End::Queue { qdisc, class } = course.end {
            prop_assert!(qdisc == Handle::NONE || tree.qdiscs.iter().any(|known| known.handle == qdisc && (known.parent == class || known.parent == Handle::ROOT)));
        }
    }
}
