//! Any discipline, class, filter, match and action, in its place or not, that a message can carry and say again: for
//! codecs. Values that make sense are those of [`tree`](super::tree()).

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use super::kinds::on_the_wire;
use crate::action::{Action, Mirred, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::control_group::{self, ControlGroup, GroupName, MOST_GROUPS, Place};
use crate::discipline::{ByteRate, Discipline, Peak, SizeTable, Tbf};
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::filter::{Classifier, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use crate::kinds::KINDS;
use crate::tree::{Class, HtbClass, Qdisc, Share};

/// The name that a `mirred` action has here, and [`OTHER_INTERFACE`].
pub const INTERFACE: &str = "can0";
pub const OTHER_INTERFACE: &str = "if7";

pub fn qdisc() -> impl Strategy<Value = Qdisc> {
    (handle(), handle(), option::of(size_table()), discipline()).prop_map(|(handle, parent, stab, discipline)| Qdisc {
        handle,
        parent,
        stab,
        discipline,
    })
}

pub fn class() -> impl Strategy<Value = Class> {
    (handle(), handle(), share()).prop_map(|(handle, parent, share)| Class { handle, parent, share })
}

pub fn filter() -> impl Strategy<Value = Filter> {
    (handle(), 1..=u16::MAX, any::<u16>(), any::<u32>(), classifier(), option::of(handle()), vec(action(), 0..4))
        .prop_map(|(parent, preference, protocol, number, classifier, class, actions)| {
            let class = class.filter(|_| !matches!(classifier, Classifier::Flow(_)));
            let filter = Filter { parent, preference, protocol, handle: number, classifier, class, actions };
            match filter.classifier {
                Classifier::Other { .. } | Classifier::U32(U32 { divisor: Some(_), .. }) => {
                    Filter { class: None, actions: Vec::new(), ..filter }
                }
                _ => filter,
            }
        })
}

pub fn discipline() -> impl Strategy<Value = Discipline> {
    let described = Union::new(KINDS.iter().map(|kind| on_the_wire(kind.name)));
    prop_oneof![
        12 => described,
        1 => Just(Discipline::Clsact),
        1 => (any_rate(), burst(), any::<u32>(), option::of((any_rate(), burst()))).prop_map(
            |(rate, burst_bytes, limit_bytes, peak)| {
                let peak = peak.map(|(rate, burst_bytes)| Peak { rate, burst_bytes });
                Discipline::Tbf(Tbf { rate, burst_bytes, limit_bytes, peak })
            }
        ),
        1 => ("[a-z]{1,8}x", vec(any::<u8>(), 0..32)).prop_map(|(kind, options)| Discipline::Other { kind, options }),
    ]
}

pub fn share() -> impl Strategy<Value = Share> {
    let htb = (slow_rate(), slow_rate(), burst(), burst(), option::of(1..=u32::MAX), any::<u32>()).prop_map(
        |(rate, ceil, burst_bytes, ceil_burst_bytes, quantum_bytes, prio)| {
            Share::Htb(HtbClass { rate, ceil, burst_bytes, ceil_burst_bytes, quantum_bytes, prio })
        },
    );
    prop_oneof![
        option::of(any::<u32>()).prop_map(|quantum_bytes| Share::Drr { quantum_bytes }),
        htb,
        ("[a-z]{1,8}x", vec(any::<u8>(), 0..32)).prop_map(|(kind, options)| Share::Other { kind, options }),
    ]
}

/// As they are read again: with their names only if there is room for them.
fn readable(groups: Vec<ControlGroup>) -> Vec<ControlGroup> {
    control_group::labelled(&control_group::label(&groups)).unwrap_or(groups)
}

pub fn classifier() -> impl Strategy<Value = Classifier> {
    prop_oneof![
        option::of(ematch()).prop_map(Classifier::Basic),
        control_groups().prop_map(readable).prop_map(Classifier::ControlGroups),
        flow().prop_map(Classifier::Flow),
        option::of(any::<u32>()).prop_map(|mask| Classifier::Fw { mask }),
        Just(Classifier::Matchall),
        u32_node().prop_map(Classifier::U32),
        any::<u32>().prop_map(|slots| Classifier::U32(U32 { divisor: Some(slots), ..U32::default() })),
        ("[a-z]{1,8}x", vec(any::<u8>(), 1..32)).prop_map(|(kind, options)| Classifier::Other { kind, options }),
    ]
}

pub fn control_groups() -> impl Strategy<Value = Vec<ControlGroup>> {
    let unit = "[a-z@.]{1,100}[.]service".prop_map(|unit| GroupName::unit(&unit).ok());
    let path = "(/[a-z, ]{1,40}){1,3}".prop_map(|path| GroupName::path(&path).ok());
    let place = (any::<u16>(), any::<u64>()).prop_map(|(level, id)| Place { level, id });
    let group = (prop_oneof![unit, path], option::weighted(0.8, place));
    vec(group.prop_map(|(name, place)| ControlGroup { name, place }), 1..=MOST_GROUPS)
}

/// Any expression that is not grouped needlessly: what is joined is not joined in the same way at its end.
pub fn ematch() -> impl Strategy<Value = Ematch> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..5).prop_map(Ematch::And),
            vec(inner.clone(), 2..5).prop_map(Ematch::Or),
            inner.prop_map(|inner| Ematch::Not(Box::new(inner))),
        ]
    })
}

pub fn action() -> impl Strategy<Value = Action> {
    let how = select(Mirred::values());
    let name = select(vec![INTERFACE, OTHER_INTERFACE]).prop_map(str::to_owned);
    let bytes = (slow_rate(), burst(), any::<u32>()).prop_map(|(rate, burst_bytes, mtu_bytes)| PoliceBytes {
        rate,
        burst_bytes,
        mtu_bytes,
    });
    let frames = (1..1_000_000_u64, 0..1_000_000_u64)
        .prop_map(|(per_second, burst_frames)| PoliceFrames { per_second, burst_frames });
    let limits =
        prop_oneof![bytes.prop_map(|bytes| (Some(bytes), None)), frames.prop_map(|frames| (None, Some(frames))),];
    prop_oneof![
        verdict().prop_map(|verdict| Action::Gact { verdict }),
        (name, how, verdict()).prop_map(|(interface, how, verdict)| Action::Mirred { interface, how, verdict }),
        ("[a-z]{1,8}x", vec(any::<u8>(), 0..32)).prop_map(|(kind, options)| Action::Other { kind, options }),
        (limits, verdict(), verdict()).prop_map(|((bytes, frames), exceed, conform)| {
            // Without a limit in bytes the length is that of any frame.
            Action::Police(Police { bytes, frames, exceed, conform })
        }),
        (option::of(handle()), option::of(any::<u32>()), verdict())
            .prop_map(|(priority, mark, verdict)| Action::Skbedit { priority, mark, verdict }),
    ]
}

fn handle() -> impl Strategy<Value = Handle> {
    prop_oneof![any::<u32>().prop_map(Handle), select(vec![Handle::ROOT, Handle::INGRESS, Handle::NONE])]
}

/// At which a burst fits 32 bits of ticks.
fn any_rate() -> impl Strategy<Value = ByteRate> {
    prop_oneof![slow_rate(), (100..=u64::MAX).prop_map(ByteRate)]
}

/// At which the time of a burst says how many bytes it has, and fits 32 bits of ticks.
fn slow_rate() -> impl Strategy<Value = ByteRate> {
    (100..=7_812_500_u64).prop_map(ByteRate)
}

fn burst() -> impl Strategy<Value = u32> {
    0..=20_000_u32
}

fn size_table() -> impl Strategy<Value = SizeTable> {
    (any::<i32>(), any::<[u32; 2]>(), any::<[u8; 2]>(), any::<i16>(), vec(any::<u16>(), 0..20)).prop_map(
        |(overhead_bytes, [mpu_bytes, mtu_bytes], [cell_log, size_log], cell_align, sizes)| SizeTable {
            overhead_bytes,
            mpu_bytes,
            cell_log,
            size_log,
            cell_align,
            mtu_bytes,
            sizes,
        },
    )
}

fn flow() -> impl Strategy<Value = Flow> {
    (subsequence(FlowKey::values(), 0..=7), any::<bool>(), option::of(handle()), option::of(any::<u32>()), any::<u32>())
        .prop_map(|(keys, hashed, base, divisor, perturb_s)| Flow { keys, hashed, base, divisor, perturb_s })
}

fn u32_node() -> impl Strategy<Value = U32> {
    let key = (any::<[u32; 2]>(), any::<i32>()).prop_map(|([mask, value], offset)| U32Key { mask, value, offset });
    let link =
        (any::<u32>(), any::<u32>(), 0..=0x7FFF_u16).prop_map(|(table, mask, offset)| U32Link { table, mask, offset });
    (any::<u32>(), vec(key, 0..5), option::of(link)).prop_map(|(table, keys, link)| U32 {
        table: table & !0xFFF,
        keys,
        divisor: None,
        link,
    })
}

fn leaf() -> impl Strategy<Value = Ematch> {
    let relation = || select(Relation::values());
    let rule = any::<[u32; 2]>().prop_map(|[id, mask]| CanRule { id, mask });
    let width = select(CmpWidth::values());
    let cmp = (width, any::<u16>(), any::<[u32; 2]>(), any::<bool>(), relation()).prop_map(
        |(width, offset, [mask, value], host_order, relation)| Cmp { width, offset, mask, host_order, relation, value },
    );
    let what = select(MetaId::values());
    let meta = (what, any::<[u32; 2]>(), relation()).prop_map(|(what, [mask, value], relation)| {
        let relation = if what == MetaId::Protocol { Relation::Equal } else { relation };
        Meta { what, mask, relation, value }
    });
    prop_oneof![
        4 => vec(rule, 1..6).prop_map(Ematch::Canid),
        1 => cmp.prop_map(Ematch::Cmp),
        1 => meta.prop_map(Ematch::Meta),
        1 => (any::<u16>(), vec(any::<u8>(), 0..12)).prop_map(|(offset, bytes)| Ematch::Nbyte { offset, bytes }),
        1 => (100..u16::MAX, vec(any::<u8>(), 0..12)).prop_map(|(kind, data)| Ematch::Other { kind, data }),
        1 => (any::<[u32; 2]>(), any::<i32>())
            .prop_map(|([mask, value], offset)| Ematch::U32 { mask, value, offset }),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    select(Verdict::values())
}
