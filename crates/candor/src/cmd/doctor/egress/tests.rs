use candor_egress::netlink::QdiscStats;
use candor_egress::text;
use candor_egress::tree::Qdisc;

use super::super::test_machines as machines;
use super::*;
use crate::cmd::test_links as links;

const WMEM: (&str, &str) = ("/proc/sys/net/core/wmem_default", "212992\n");

fn link(tx_queue_len: u32) -> Link {
    Link { tx_queue_len, ..links::controller("can0") }
}

fn default_queue(discipline: Discipline) -> Observed {
    let qdisc = Qdisc { handle: Handle::NONE, parent: Handle::ROOT, stab: None, discipline };
    let stats = QdiscStats { drops: 7, backlog_frames: 3, ..QdiscStats::default() };
    Observed { defaults: vec![(qdisc, stats)], ..Observed::default() }
}

fn tree(text: &str) -> Observed {
    Observed { tree: text::parse(text).unwrap().tree, ..Observed::default() }
}

fn said(link: &Link, observed: &Observed, programs: u32) -> String {
    let (_root, machine) = machines::machine(&[WMEM]);
    let facts = facts::of(&machine, link);
    let checks = checks(&machine, link, observed, &facts, programs);
    report::table(&[Section { title: link.name.clone(), checks }])
}

#[test]
fn a_short_queue_fills_before_the_send_buffer() {
    insta::assert_snapshot!(said(&link(10), &default_queue(Discipline::PfifoFast), 1), @"
    can0
      ok       interface    up
      ok       txqueuelen   pfifo_fast (kernel default), 10 frames (txqueuelen 10); 3 frames queued, 7 dropped so far
      ok       send buffer  212992 bytes unless a program sets SO_SNDBUF: room for 278 of its frames
      ok       driver       can, no hardware
      weak     ENOBUFS      after 11 frames if a program writes faster than the bus: the queue fills before the send buffer (278 frames), so write() does not block, and poll() reports it as writable; the last frame of a full queue is sent after up to 4 ms
                            -> to make write() block: sudo ip link set can0 txqueuelen 278; or in each program setsockopt(SO_SNDBUF, 3840), 10 frames
    ");
}

#[test]
fn a_long_queue_lets_programs_block() {
    let said = |programs| said(&link(600), &default_queue(Discipline::PfifoFast), programs);
    assert!(said(2).contains("does not occur: if 2 programs write faster than the bus, write() blocks at 278 frames"));
    assert!(
        said(3).contains("sudo ip link set can0 txqueuelen 834; or in each program setsockopt(SO_SNDBUF, 76800), 200")
    );
    assert!(said(200).contains("SO_SNDBUF is never less than 6 frames, too many for a queue below 1200"));
}

#[test]
fn newer_kernels_have_larger_frames() {
    let (_root, machine) = machines::machine(&[WMEM, ("/proc/sys/kernel/osrelease", "6.12.9+bpo-amd64\n")]);
    let link = link(10);
    let facts = facts::of(&machine, &link);
    let check = enobufs(&machine, &link, &Queue::of(&link, &default_queue(Discipline::PfifoFast)), &facts, 1);
    assert!(check.found.contains("the send buffer (222 frames)"), "{check:?}");
    assert!(check.remedy.unwrap().ends_with("setsockopt(SO_SNDBUF, 4800), 10 frames"));
}

#[test]
fn bands_have_queues_of_their_own() {
    let bands = tree(
        "qdisc root handle 1: prio\nqdisc parent 1:1 handle 10: pfifo limit 20\n\
         qdisc parent 1:2 handle 20: pfifo limit 400\nqdisc parent 1:3 handle 30: pfifo limit 30",
    );
    let said = said(&link(10), &bands, 1);
    assert!(said.contains("tree with 3 queues, the shortest of 20 frames"), "{said}");
    assert!(said.contains("after 21 frames") && said.contains("give each band queue = 278"), "{said}");
}

#[test]
fn virtual_interfaces_deliver_at_once() {
    assert!(said(&link(10), &default_queue(Discipline::Noqueue), 1).contains("write() neither blocks nor fails"));
    let down = Link { up: false, ..link(10) };
    assert!(said(&down, &default_queue(Discipline::PfifoFast), 1).contains("write() fails with ENETDOWN"));
}
