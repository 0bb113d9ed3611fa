//! Any object that a message can carry and return, for codecs. Objects that make sense are those of
//! [`tree`](super::tree()).

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::filters::{self, For, action, handle, slow_rate};
use super::kinds::on_the_wire;
use crate::control_group::{self, ControlGroup, GroupId, GroupName, MOST_GROUPS};
use crate::discipline::{ByteRate, Discipline, Peak, SizeTable, Tbf};
use crate::ematch::Ematch;
use crate::filter::{Classifier, Filter, U32};
use crate::kinds::KINDS;
use crate::tree::{Class, HtbClass, Qdisc, Share};

pub use super::filters::INTERFACE;

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
    (
        handle(),
        1..=u16::MAX,
        any::<u16>(),
        any::<u32>(),
        classifier(),
        option::of(handle()),
        vec(action(For::Message), 0..4),
    )
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

/// As they are decoded: with their names only if there is room for them.
fn readable(groups: Vec<ControlGroup>) -> Vec<ControlGroup> {
    control_group::labelled(&control_group::label(&groups)).unwrap_or(groups)
}

pub fn classifier() -> impl Strategy<Value = Classifier> {
    prop_oneof![
        option::of(ematch()).prop_map(Classifier::Basic),
        control_groups().prop_map(readable).prop_map(Classifier::ControlGroups),
        filters::flow(For::Message).prop_map(Classifier::Flow),
        option::of(any::<u32>()).prop_map(|mask| Classifier::Fw { mask }),
        Just(Classifier::Matchall),
        filters::u32_node(For::Message).prop_map(Classifier::U32),
        any::<u32>().prop_map(|slots| Classifier::U32(U32 { divisor: Some(slots), ..U32::default() })),
        ("[a-z]{1,8}x", vec(any::<u8>(), 1..32)).prop_map(|(kind, options)| Classifier::Other { kind, options }),
    ]
}

pub fn control_groups() -> impl Strategy<Value = Vec<ControlGroup>> {
    let unit = "[a-z@.]{1,100}[.]service".prop_map(|unit| GroupName::unit(&unit).ok());
    let path = "(/[a-z, ]{1,40}){1,3}".prop_map(|path| GroupName::path(&path).ok());
    let id = (any::<u16>(), any::<u64>()).prop_map(|(level, id)| GroupId { level, id });
    let group = (prop_oneof![unit, path], option::weighted(0.8, id));
    vec(group.prop_map(|(name, id)| ControlGroup { name, id }), 1..=MOST_GROUPS)
}

pub fn ematch() -> impl Strategy<Value = Ematch> {
    filters::ematch(For::Message)
}

/// At which a burst fits 32 bits of ticks.
fn any_rate() -> impl Strategy<Value = ByteRate> {
    prop_oneof![slow_rate(), (100..=u64::MAX).prop_map(ByteRate)]
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
