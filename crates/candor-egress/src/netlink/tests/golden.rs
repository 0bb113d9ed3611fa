//! What `tc` (iproute2 6.1) sends for a command, as captured, and what candor sends for the value that it means.
//!
//! `golden.hex` has the command, the bytes of tc, and those of candor where they are others: candor sends no rate tables
//! but the one that the kernel wants, no tables of sizes that nobody reads, and no `NLA_F_NESTED` except for ets.
#![cfg(target_endian = "little")]

use std::time::Duration;

use crate::action::{Action, Mirred, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::discipline::{ByteRate, Discipline, Etf, Ets, FqCodel, Htb, Netem, Peak, Prio, Sfq, SizeTable, Tbf};
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, Flow, FlowKey, U32, U32Key, U32Link};
use crate::tree::{HtbClass, Share};

use super::*;

const GOLDEN: &str = include_str!("golden.hex");

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Class(Class),
    Filter(Filter),
    Qdisc(Qdisc),
}

#[test]
fn what_tc_sends_is_read_and_what_candor_sends_is_the_same_or_written_down() {
    let names = InterfaceNames::from_iter([(InterfaceIndex::new(1).unwrap(), "lo".to_owned())]);
    let mut captured = GOLDEN.split("# ").skip(1);
    let expected = disciplines().into_iter().map(Value::Qdisc);
    let expected = expected.chain(classes().into_iter().map(Value::Class));
    for value in expected.chain(filters().into_iter().map(Value::Filter)) {
        let mut lines = captured.next().unwrap().lines();
        let command = lines.next().unwrap();
        let bytes = |line: &str| hex(line.split_once(' ').unwrap().1);
        let tc = bytes(lines.next().unwrap());
        assert_eq!(value_of(&tc, &value, &names), value, "{command}");
        let ours = payload(&value, &names);
        let written = lines.next().map_or_else(|| tc.clone(), bytes);
        assert_eq!(shown(&ours), shown(&written), "{command}");
        assert_eq!(value_of(&ours, &value, &names), value, "{command}");
    }
    assert_eq!(captured.next(), None);
}

fn payload(value: &Value, names: &InterfaceNames) -> Vec<u8> {
    let interface = InterfaceIndex::new(1).unwrap();
    let message = match value {
        Value::Class(class) => class_message(interface, class, Mode::Make),
        Value::Filter(filter) => filter_message(interface, filter, names, None, Mode::Make),
        Value::Qdisc(qdisc) => qdisc_message(interface, qdisc, Mode::Make),
    };
    message.unwrap().payload().to_vec()
}

/// What the bytes say, if they are of the same sort as a value.
fn value_of(payload: &[u8], like: &Value, names: &InterfaceNames) -> Value {
    let message = |kind| Message { kind, flags: 0, sequence: 0, payload };
    match like {
        Value::Class(_) => Value::Class(list::listed_class(&message(RTM_NEWTCLASS)).unwrap().unwrap().class),
        Value::Filter(like) => match list::filter(&message(RTM_NEWTFILTER), like.parent, names).unwrap() {
            FilterNote::Filter(listed) => Value::Filter(listed.filter),
            other => panic!("{other:?}"),
        },
        Value::Qdisc(_) => Value::Qdisc(list::qdisc(&message(RTM_NEWQDISC)).unwrap().unwrap().qdisc),
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn disciplines() -> Vec<Qdisc> {
    let at = |handle, parent, discipline| Qdisc { handle, parent, stab: None, discipline };
    let root = |discipline| at(Handle::NONE, Handle::ROOT, discipline);
    let one = Handle::new(1, 0);
    let band = Handle::new(1, 1);
    let stab = Some(SizeTable { overhead_bytes: -4, ..SizeTable::default() });
    let tbf = |peak| Tbf { rate: ByteRate(1600), burst_bytes: 160, limit_bytes: 1600, peak };
    let table = SizeTable {
        mpu_bytes: 20,
        mtu_bytes: 72,
        cell_log: 5,
        cell_align: -1,
        sizes: vec![32, 64, 96, 128],
        ..SizeTable::default()
    };
    let clsact = at(Handle::CLSACT_QDISC, Handle::CLSACT, Discipline::Clsact);
    vec![
        Qdisc { stab, ..at(one, Handle::ROOT, Discipline::Prio(Prio { bands: 3, priomap: Prio::PRIOMAP })) },
        at(Handle::NONE, band, Discipline::Bfifo { limit_bytes: Some(1600) }),
        at(Handle::new(0x10, 0), band, Discipline::Pfifo { limit_frames: Some(100) }),
        at(Handle::NONE, band, Discipline::PfifoHeadDrop { limit_frames: Some(20) }),
        clsact,
        at(one, Handle::ROOT, Discipline::Drr),
        root(Discipline::Etf(Etf {
            delta_ns: 200_000,
            clock_id: 11,
            deadline_mode: false,
            offload: false,
            skip_sock_check: true,
        })),
        at(
            one,
            Handle::ROOT,
            Discipline::Ets(Ets { bands: 4, strict: 2, quanta_bytes: vec![256, 512], priomap: vec![3, 2, 1, 0] }),
        ),
        root(Discipline::FqCodel(FqCodel {
            limit_frames: Some(100),
            flows: Some(8),
            quantum_bytes: Some(256),
            target_us: Some(5000),
            interval_us: Some(100_000),
            memory_limit_bytes: Some(65_536),
        })),
        at(one, Handle::ROOT, Discipline::Htb(Htb { default: 0x20, rate_to_quantum: 1, direct_frames: Some(5) })),
        root(Discipline::Netem(Netem {
            limit_frames: Some(100),
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(1),
            loss: 0x4CCC_CCCC,
            duplicate: 0x1999_999A,
        })),
        root(Discipline::PfifoFast),
        root(Discipline::Sfq(Sfq {
            limit_frames: Some(500),
            quantum_bytes: Some(256),
            perturb_s: Some(10),
            divisor: Some(512),
            flows: Some(64),
            depth_frames: Some(100),
            head_drop: true,
        })),
        root(Discipline::Skbprio { limit_frames: Some(10) }),
        at(Handle::new(3, 0), Handle::ROOT, Discipline::Tbf(Tbf { burst_bytes: 60, ..tbf(None) })),
        root(Discipline::Tbf(tbf(Some(Peak { rate: ByteRate(3200), burst_bytes: 72 })))),
        Qdisc { stab: Some(table), ..at(one, Handle::ROOT, Discipline::Pfifo { limit_frames: None }) },
    ]
}

fn classes() -> Vec<Class> {
    let below = |parent, minor, share| Class { handle: Handle::new(1, minor), parent, share };
    let root = Handle::new(1, 0);
    let wide = HtbClass {
        rate: ByteRate(1600),
        ceil: ByteRate(3200),
        burst_bytes: 16,
        ceil_burst_bytes: 32,
        quantum_bytes: Some(16),
        prio: 2,
    };
    let plain = HtbClass {
        ceil: ByteRate(1600),
        burst_bytes: 160,
        ceil_burst_bytes: 160,
        quantum_bytes: None,
        prio: 0,
        ..wide
    };
    vec![
        below(root, 1, Share::Drr { quantum_bytes: Some(512) }),
        below(root, 2, Share::Drr { quantum_bytes: None }),
        below(Handle::new(1, 1), 0x10, Share::Htb(wide)),
        below(root, 0x11, Share::Htb(plain)),
    ]
}

fn filters() -> Vec<Filter> {
    let one = Handle::new(1, 0);
    let at = |parent, preference, handle, classifier, class: Option<u16>| Filter {
        parent,
        preference,
        protocol: ETH_P_ALL,
        handle,
        classifier,
        class: class.map(|minor| Handle::new(1, minor)),
        actions: Vec::new(),
    };
    let basic = |preference, expression, minor| at(one, preference, 1, Classifier::Basic(expression), Some(minor));
    let flow =
        |preference: u16, flow| at(Handle::new(0x20, 0), preference, preference.into(), Classifier::Flow(flow), None);
    let doing =
        |parent, preference, actions| Filter { actions, ..at(parent, preference, 0, Classifier::Matchall, None) };
    let (remote, eight) = sorted_by_u32();
    let table = U32 { divisor: Some(16), ..U32::default() };
    let node = U32 { table: 0x0010_3000, keys: vec![remote, eight], ..U32::default() };
    let link = Some(U32Link { table: 0x0010_0000, mask: 0x000F_0000, offset: 0 });
    let leading = U32 { keys: vec![U32Key { mask: 0, value: 0, offset: 0 }], link, ..U32::default() };
    let u32 = |handle, node, minor| at(one, 7, handle, Classifier::U32(node), minor);
    let hashed = Flow {
        keys: vec![FlowKey::Source, FlowKey::Mark, FlowKey::SocketUser],
        hashed: true,
        base: Some(Handle::new(0x20, 5)),
        divisor: Some(1024),
        perturb_s: 10,
    };
    let [edited, by_bytes, by_frames] = actions();
    vec![
        basic(1, Some(identifiers()), 1),
        Filter { protocol: ETH_P_CAN, ..basic(2, Some(arithmetic()), 2) },
        basic(3, Some(properties()), 2),
        basic(4, None, 3),
        flow(1, hashed),
        flow(2, Flow { keys: vec![FlowKey::Priority], ..Flow::default() }),
        at(one, 5, 7, Classifier::Fw { mask: Some(0xFF) }, Some(1)),
        doing(Handle::INGRESS, 6, vec![Action::Gact { verdict: Verdict::Pass }]),
        u32(0x0010_0000, table, None),
        u32(0, node, Some(2)),
        u32(0, leading, None),
        doing(Handle::EGRESS, 8, edited),
        doing(Handle::EGRESS, 9, by_bytes),
        doing(Handle::EGRESS, 9, by_frames),
    ]
}

fn sorted_by_u32() -> (U32Key, U32Key) {
    let standard = U32Key { mask: 0xFF07_00C0, value: 0x2301_0000, offset: 0 };
    (standard, U32Key { mask: 0xFF00_0000, value: 0x0800_0000, offset: 4 })
}

fn identifiers() -> Ematch {
    // tc has the flag of 29 bits in every mask.
    let extended = CanRule { id: 0x98DB_33F1, mask: 0x9FFF_FF00 };
    Ematch::Canid(vec![CanRule { id: 0x123, mask: 0x8000_07FF }, extended])
}

fn arithmetic() -> Ematch {
    let relation = Relation::Equal;
    let len = Cmp { width: CmpWidth::U8, offset: 4, mask: 0, host_order: false, relation, value: 8 };
    let relation = Relation::Greater;
    let word = Cmp { width: CmpWidth::U16, offset: 8, mask: 0xFFF, host_order: true, relation, value: 7 };
    let (key, _) = sorted_by_u32();
    let bits = Ematch::U32 { mask: key.mask, value: key.value, offset: 0 };
    let bytes = Ematch::Nbyte { offset: 8, bytes: b"ab".to_vec() };
    let cmp = Ematch::And(vec![Ematch::Cmp(len), Ematch::Not(Box::new(Ematch::Cmp(word)))]);
    Ematch::Or(vec![cmp, Ematch::And(vec![bits, bytes])])
}

fn properties() -> Ematch {
    let meta = |what, mask, relation, value| Ematch::Meta(Meta { what, mask, relation, value });
    Ematch::And(vec![
        meta(MetaId::Priority, 0, Relation::Greater, 5),
        meta(MetaId::Mark, 0xFF, Relation::Equal, 7),
        meta(MetaId::PacketLength, 0, Relation::Less, 17),
    ])
}

fn actions() -> [Vec<Action>; 3] {
    let priority = Some(Handle::new(1, 2));
    let police =
        |bytes, frames, conform| vec![Action::Police(Police { bytes, frames, exceed: Verdict::Drop, conform })];
    let bytes = PoliceBytes { rate: ByteRate(1600), burst_bytes: 160, mtu_bytes: 72 };
    [
        vec![
            Action::Skbedit { priority, mark: Some(7), verdict: Verdict::Pipe },
            Action::Mirred { interface: "lo".into(), how: Mirred::EgressRedirect, verdict: Verdict::Stolen },
        ],
        police(Some(bytes), None, Verdict::Pipe),
        police(None, Some(PoliceFrames { per_second: 20, burst_frames: 3 }), Verdict::Pass),
    ]
}
