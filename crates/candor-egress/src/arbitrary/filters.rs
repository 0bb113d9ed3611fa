//! Strategies for filters, expressions and actions, for text and for messages.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::kinds::rate;
use crate::action::{Action, Mirred, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::discipline::ByteRate;
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

/// The interface of every `mirred` action in messages; the other one has no name.
pub const INTERFACE: &str = "can0";

/// The range of generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum For {
    /// Those that a netlink message can carry and return.
    Message,
    /// Those that `tc` has words for.
    Text,
}

/// Filters of one parent, which is [`Handle::NONE`] here, that name these classes; in the order in which they are asked.
pub fn filters(classes: Vec<Handle>) -> BoxedStrategy<Vec<Filter>> {
    let class = if classes.is_empty() { Just(None).boxed() } else { option::weighted(0.8, select(classes)).boxed() };
    let protocol = select([ETH_P_ALL, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, 0x88B5].as_slice());
    let actions = prop_oneof![2 => Just(Vec::new()), 1 => vec(action(For::Text).boxed(), 1..3)];
    // In boxes: the strategies of a test live on its stack, all at once.
    let each = (numbered_classifier().boxed(), class, protocol, actions.boxed(), 1..2000_u16).boxed();
    vec(each, 0..4)
        .prop_map(|found| {
            let mut preference = 0;
            let numbered = (0_u32..).zip(found).map(|(at, ((handle, classifier), class, protocol, actions, step))| {
                preference += step;
                let is_table = classifier.is_table();
                let class = class.filter(|_| !is_table && !matches!(classifier, Classifier::Flow(_)));
                let actions = if is_table { Vec::new() } else { actions };
                // Tables have a number of their own each.
                let handle = if is_table { handle + (at << 20) } else { handle };
                Filter { parent: Handle::NONE, preference, protocol, handle, classifier, class, actions }
            });
            let mut filters: Vec<_> = numbered.collect();
            filters.sort_by_key(|filter| !filter.classifier.is_table());
            filters
        })
        .boxed()
}

fn numbered_classifier() -> impl Strategy<Value = (u32, Classifier)> {
    let number = || prop_oneof![2 => Just(0_u32), 1 => 1..1000_u32];
    let basic = option::weighted(0.9, ematch(For::Text)).prop_map(Classifier::Basic);
    let fw = option::of(1..=u32::MAX).prop_map(|mask| Classifier::Fw { mask });
    prop_oneof![
        4 => (number(), basic),
        1 => (1..1000_u32, flow(For::Text).prop_map(Classifier::Flow)),
        1 => (1..=u32::MAX, fw),
        1 => (number(), Just(Classifier::Matchall)),
        2 => (Just(0), u32_node(For::Text).prop_map(Classifier::U32)),
        1 => ((1..0x700_u32), 0..=8_u32).prop_map(|(table, power)| {
            (table << 20, Classifier::U32(U32 { divisor: Some(1 << power), ..U32::default() }))
        }),
    ]
}

pub(super) fn handle() -> impl Strategy<Value = Handle> {
    prop_oneof![any::<u32>().prop_map(Handle), select(vec![Handle::ROOT, Handle::INGRESS, Handle::NONE])]
}

pub(super) fn u32_node(of: For) -> impl Strategy<Value = U32> {
    let (counts, tables, least) = match of {
        For::Message => (0..=4, !0xFFF, 0),
        For::Text => (1..=3, 0x7FFF_F000, 1 << 20),
    };
    let keys = vec((any::<[u32; 2]>(), any::<i32>()), counts).prop_map(move |keys| {
        let key = |(at, ([mask, value], offset)): (i32, ([u32; 2], i32))| match of {
            For::Message => U32Key { mask, value, offset },
            For::Text => U32Key { mask, value: value & mask, offset: 4 * at },
        };
        (0..).zip(keys).map(key).collect()
    });
    let link =
        (any::<u32>(), prop_oneof![Just(0), any::<u32>()], 0..=0x7FFF_u16).prop_map(move |(table, mask, offset)| {
            match of {
                For::Message => U32Link { table, mask, offset },
                // Without a mask nothing is looked at, wherever it is.
                For::Text if mask == 0 => U32Link { table: table & 0xFFF0_0000 | 1 << 20, mask, offset: 0 },
                For::Text => U32Link { table: table & 0xFFF0_0000 | 1 << 20, mask, offset: offset & !3 },
            }
        });
    let table = prop_oneof![2 => Just(0_u32), 1 => any::<u32>().prop_map(move |table| (table & tables).max(least))];
    (table, keys, option::weighted(0.3, link)).prop_map(|(table, keys, link)| U32 { table, keys, divisor: None, link })
}

pub(super) fn flow(of: For) -> impl Strategy<Value = Flow> {
    let named = (1..100_u16, 1..100_u16).prop_map(|(major, minor)| Handle::new(major, minor));
    let (counts, base, divisors, seconds) = match of {
        For::Message => (0..=7, handle().boxed(), 0..=u32::MAX, 0..=u32::MAX),
        For::Text => (1..=3, named.boxed(), 1..=1024, 0..=99),
    };
    let keys = subsequence(FlowKey::values(), counts);
    (keys, any::<bool>(), option::of(base), option::of(divisors), seconds).prop_map(
        move |(mut keys, hashed, base, divisor, perturb_s)| {
            let is_map = of == For::Text && !hashed;
            if is_map {
                keys.truncate(1);
            }
            Flow { keys, hashed, base, divisor, perturb_s: if is_map { 0 } else { perturb_s } }
        },
    )
}

/// Expressions with nested groups, none of which is joined as its parent at the end.
pub(super) fn ematch(of: For) -> impl Strategy<Value = Ematch> {
    single(of).prop_recursive(4, if of == For::Message { 24 } else { 16 }, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..5).prop_map(Ematch::And),
            vec(inner.clone(), 2..5).prop_map(Ematch::Or),
            inner.prop_map(|inner| Ematch::Not(Box::new(inner))),
        ]
    })
}

fn single(of: For) -> impl Strategy<Value = Ematch> {
    let in_text = of == For::Text;
    let last = if in_text { 71 } else { u16::MAX };
    let relation = || select(Relation::values());
    let mask = || prop_oneof![Just(0_u32), any::<u32>()];
    let width = select(CmpWidth::values());
    let cmp = (width, 0..=last, mask(), any::<bool>(), relation(), any::<u32>()).prop_map(
        |(width, offset, mask, host_order, relation, value)| {
            Ematch::Cmp(Cmp { width, offset, mask, host_order, relation, value })
        },
    );
    let what = select(said(MetaId::values(), of));
    let meta = (what, mask(), relation(), any::<u32>()).prop_map(|(what, mask, relation, value)| {
        let relation = if what == MetaId::Protocol { Relation::Equal } else { relation };
        Ematch::Meta(Meta { what, mask, relation, value })
    });
    let word = (any::<[u32; 2]>(), any::<i32>()).prop_map(move |([mask, value], offset)| match of {
        For::Message => Ematch::U32 { mask, value, offset },
        For::Text => Ematch::U32 { mask, value: value & mask, offset: 4 * offset.rem_euclid(16) },
    });
    let bytes = (0..=last, vec(any::<u8>(), usize::from(in_text)..12));
    let bytes = bytes.prop_map(|(offset, bytes)| Ematch::Nbyte { offset, bytes });
    let other = (100..u16::MAX, vec(any::<u8>(), 0..12)).prop_map(|(kind, data)| Ematch::Other { kind, data });
    let rule = prop_oneof![can_rule(), any::<[u32; 2]>().prop_map(|[id, mask]| CanRule { id, mask })];
    let rule = if in_text { can_rule().boxed() } else { rule.boxed() };
    let canid = vec(rule, 1..6).prop_map(Ematch::Canid);
    prop_oneof![5 => canid, 1 => cmp, 1 => meta, 1 => bytes, 1 => word.clone(), 1 => if in_text { word.boxed() } else { other.boxed() }]
}

fn can_rule() -> impl Strategy<Value = CanRule> {
    let mask = |all: u32| prop_oneof![2 => Just(all), 1 => Just(0), 3 => 0..=all];
    prop_oneof![
        (0..=CAN_SFF_MASK, mask(CAN_SFF_MASK)).prop_map(|(id, mask)| CanRule { id, mask }),
        (0..=CAN_EFF_MASK, mask(CAN_EFF_MASK)).prop_map(|(id, mask)| CanRule { id: CAN_EFF_FLAG | id, mask }),
    ]
}

/// Those that `tc` has words for, if the value is for text.
fn said<T: Constant>(mut values: Vec<T>, of: For) -> Vec<T> {
    values.retain(|value| of == For::Message || value.word().is_some());
    values
}

pub(super) fn action(of: For) -> impl Strategy<Value = Action> {
    let verdict = move || select(said(Verdict::values(), of));
    let name = match of {
        For::Message => select(vec![INTERFACE, "if7"]).prop_map(str::to_owned).boxed(),
        For::Text => "[a-z]{1,8}[0-9]{1,3}".boxed(),
    };
    let mirred = (name, select(Mirred::values()), verdict()).prop_map(move |(interface, how, verdict)| {
        let is_redirect = matches!(how, Mirred::EgressRedirect | Mirred::IngressRedirect);
        let verdict = if of == For::Text && is_redirect { Verdict::Stolen } else { verdict };
        Action::Mirred { interface, how, verdict }
    });
    let mark = option::of((any::<u32>(), option::of(any::<u32>())));
    let marked = (option::of(any::<u32>().prop_map(Handle)), mark, verdict())
        .prop_filter("it changes nothing", move |(priority, mark, _)| {
            of == For::Message || priority.is_some() || mark.is_some()
        })
        .prop_map(|(priority, mark, verdict)| Action::Skbedit {
            priority,
            mark: mark.map(|(mark, _)| mark),
            mask: mark.and_then(|(_, mask)| mask),
            verdict,
        });
    let other = ("[a-z]{1,8}x", vec(any::<u8>(), 0..32)).prop_map(|(kind, options)| Action::Other { kind, options });
    let other = if of == For::Message { other.boxed() } else { marked.clone().boxed() };
    let gact = verdict().prop_map(|verdict| Action::Gact { verdict });
    let police = (police_limit(of), verdict(), verdict())
        .prop_map(|((bytes, frames), exceed, conform)| Action::Police(Police { bytes, frames, exceed, conform }));
    prop_oneof![gact, mirred, police, marked, other]
}

/// A limit of bytes or of frames: the kernel rejects both at once.
fn police_limit(of: For) -> impl Strategy<Value = (Option<PoliceBytes>, Option<PoliceFrames>)> {
    let bytes = match of {
        For::Message => (slow_rate(), 0..=20_000_u32, any::<u32>()).boxed(),
        For::Text => (rate(), 1..=u32::MAX, 1..=u32::MAX).boxed(),
    };
    let frames = match of {
        For::Message => (1..1_000_000_u64, 0..1_000_000_u64),
        For::Text => (1..10_000, 1..1000),
    };
    prop_oneof![
        bytes.prop_map(|(rate, burst_bytes, mtu_bytes)| (Some(PoliceBytes { rate, burst_bytes, mtu_bytes }), None)),
        frames.prop_map(|(per_second, burst_frames)| (None, Some(PoliceFrames { per_second, burst_frames }))),
    ]
}

/// Rates at which the time of a burst gives its bytes, and fits 32 bits of ticks.
pub(super) fn slow_rate() -> impl Strategy<Value = ByteRate> {
    (100..=7_812_500_u64).prop_map(ByteRate)
}
