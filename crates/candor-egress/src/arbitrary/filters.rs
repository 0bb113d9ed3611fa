//! Strategies for filters, expressions and actions.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::kinds::rate;
use crate::action::{Action, Mirred, Police, PoliceBytes, PoliceFrames, Verdict};
use crate::constants::Constant;
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, Filter, Flow, FlowKey, U32, U32Key, U32Link};
use crate::handle::Handle;
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

/// Filters of one parent, which is [`Handle::NONE`] here, that name these classes; in the order in which they are asked.
pub fn filters(classes: Vec<Handle>) -> BoxedStrategy<Vec<Filter>> {
    let class = if classes.is_empty() { Just(None).boxed() } else { option::weighted(0.8, select(classes)).boxed() };
    let protocol = select([ETH_P_ALL, ETH_P_ALL, ETH_P_CAN, ETH_P_CANFD, 0x88B5].as_slice());
    let actions = prop_oneof![2 => Just(Vec::new()), 1 => vec(action().boxed(), 1..3)];
    // In boxes: the strategies of a test live on its stack, all at once.
    let each = (classifier().boxed(), class, protocol, actions.boxed(), 1..2000_u16).boxed();
    vec(each, 0..4)
        .prop_map(|found| {
            let mut preference = 0;
            let numbered = (0_u32..).zip(found).map(|(at, ((handle, classifier), class, protocol, actions, step))| {
                preference += step;
                let is_table = makes_a_table(&classifier);
                let class = class.filter(|_| !is_table && !matches!(classifier, Classifier::Flow(_)));
                let actions = if is_table { Vec::new() } else { actions };
                // Tables have a number of their own each.
                let handle = if is_table { handle + (at << 20) } else { handle };
                Filter { parent: Handle::NONE, preference, protocol, handle, classifier, class, actions }
            });
            let mut filters: Vec<_> = numbered.collect();
            filters.sort_by_key(|filter| !makes_a_table(&filter.classifier));
            filters
        })
        .boxed()
}

fn makes_a_table(classifier: &Classifier) -> bool {
    matches!(classifier, Classifier::U32(U32 { divisor: Some(_), .. }))
}

fn classifier() -> impl Strategy<Value = (u32, Classifier)> {
    let number = || prop_oneof![2 => Just(0_u32), 1 => 1..1000_u32];
    let fw = (1..=u32::MAX, option::of(1..=u32::MAX)).prop_map(|(mark, mask)| (mark, Classifier::Fw { mask }));
    prop_oneof![
        4 => (number(), option::weighted(0.9, ematch())).prop_map(|(number, ematch)| (number, Classifier::Basic(ematch))),
        1 => (1..1000_u32, flow()).prop_map(|(number, flow)| (number, Classifier::Flow(flow))),
        1 => fw,
        1 => number().prop_map(|number| (number, Classifier::Matchall)),
        2 => u32_node().prop_map(|node| (0, Classifier::U32(node))),
        1 => ((1..0x700_u32), 0..=8_u32).prop_map(|(table, power)| {
            (table << 20, Classifier::U32(U32 { divisor: Some(1 << power), ..U32::default() }))
        }),
    ]
}

fn u32_node() -> impl Strategy<Value = U32> {
    let key = (any::<u32>(), any::<u32>()).prop_map(|(mask, value)| (mask, value & mask));
    let keys = vec(key, 1..4).prop_map(|keys| {
        let key = |(at, (mask, value)): (i32, (u32, u32))| U32Key { mask, value, offset: 4 * at };
        (0..).zip(keys).map(key).collect()
    });
    let table =
        prop_oneof![2 => Just(0_u32), 1 => (1..0x800_u32, 0..256_u32).prop_map(|(id, slot)| id << 20 | slot << 12)];
    let offset = (0..4_u16).prop_map(|word| 4 * word);
    let link = option::weighted(0.3, (1..0x800_u32, any::<u32>(), offset)).prop_map(|link| {
        // Without a mask nothing is looked at, wherever it is.
        link.map(|(id, mask, offset)| U32Link { table: id << 20, mask, offset: if mask == 0 { 0 } else { offset } })
    });
    (table, keys, link).prop_map(|(table, keys, link)| U32 { table, keys, divisor: None, link })
}

fn flow() -> impl Strategy<Value = Flow> {
    let keys = prop_oneof![
        proptest::sample::subsequence(FlowKey::values(), 1..4).prop_map(|keys| (true, keys)),
        select(FlowKey::values()).prop_map(|key| (false, vec![key])),
    ];
    let base = option::of((1..100_u16, 1..100_u16).prop_map(|(major, minor)| Handle::new(major, minor)));
    (keys, base, option::of(1..=1024_u32), 0..100_u32).prop_map(|((hashed, keys), base, divisor, perturb_s)| Flow {
        keys,
        hashed,
        base,
        divisor,
        perturb_s: if hashed { perturb_s } else { 0 },
    })
}

pub fn ematch() -> impl Strategy<Value = Ematch> {
    single().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Ematch::And),
            vec(inner.clone(), 2..4).prop_map(Ematch::Or),
            inner.prop_map(|inner| Ematch::Not(Box::new(inner))),
        ]
    })
}

fn single() -> impl Strategy<Value = Ematch> {
    let relation = || select([Relation::Equal, Relation::Greater, Relation::Less].as_slice());
    let mask = || prop_oneof![Just(0_u32), any::<u32>()];
    let width = select([CmpWidth::U8, CmpWidth::U16, CmpWidth::U32].as_slice());
    let cmp = (width, 0..72_u16, mask(), any::<bool>(), relation(), any::<u32>()).prop_map(
        |(width, offset, mask, host_order, relation, value)| {
            Ematch::Cmp(Cmp { width, offset, mask, host_order, relation, value })
        },
    );
    let what = select([MetaId::Mark, MetaId::PacketLength, MetaId::Priority].as_slice());
    let meta = (what, mask(), relation(), any::<u32>())
        .prop_map(|(what, mask, relation, value)| Ematch::Meta(Meta { what, mask, relation, value }));
    let word = (any::<u32>(), any::<u32>(), 0..16_i32).prop_map(|(mask, value, word)| Ematch::U32 {
        mask,
        value: value & mask,
        offset: 4 * word,
    });
    let bytes = (0..72_u16, vec(any::<u8>(), 1..9)).prop_map(|(offset, bytes)| Ematch::Nbyte { offset, bytes });
    prop_oneof![6 => vec(can_rule(), 1..5).prop_map(Ematch::Canid), 1 => cmp, 1 => meta, 1 => bytes, 1 => word]
}

fn can_rule() -> impl Strategy<Value = CanRule> {
    let mask = |all: u32| prop_oneof![2 => Just(all), 1 => Just(0), 3 => 0..=all];
    prop_oneof![
        (0..=CAN_SFF_MASK, mask(CAN_SFF_MASK)).prop_map(|(id, mask)| CanRule { id, mask }),
        (0..=CAN_EFF_MASK, mask(CAN_EFF_MASK)).prop_map(|(id, mask)| CanRule { id: CAN_EFF_FLAG | id, mask }),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let verdict =
        || select([Verdict::Continue, Verdict::Drop, Verdict::Pass, Verdict::Pipe, Verdict::Reclassify].as_slice());
    let mirred = prop_oneof![
        (select([Mirred::EgressMirror, Mirred::IngressMirror].as_slice()), verdict()),
        (select([Mirred::EgressRedirect, Mirred::IngressRedirect].as_slice()), Just(Verdict::Stolen)),
    ];
    let mirred = ("[a-z]{1,8}[0-9]{1,3}", mirred).prop_map(|(interface, (how, verdict))| Action::Mirred {
        interface,
        how,
        verdict,
    });
    let marked = (option::of(any::<u32>().prop_map(Handle)), option::of(any::<u32>()), verdict())
        .prop_filter("it changes nothing", |(priority, mark, _)| priority.is_some() || mark.is_some());
    prop_oneof![
        verdict().prop_map(|verdict| Action::Gact { verdict }),
        mirred,
        police(verdict().boxed()).prop_map(Action::Police),
        marked.prop_map(|(priority, mark, verdict)| Action::Skbedit { priority, mark, verdict }),
    ]
}

fn police(verdict: BoxedStrategy<Verdict>) -> impl Strategy<Value = Police> {
    let bytes = || {
        (rate(), 1..=u32::MAX, 1..=u32::MAX).prop_map(|(rate, burst_bytes, mtu_bytes)| PoliceBytes {
            rate,
            burst_bytes,
            mtu_bytes,
        })
    };
    let frames = || {
        (1..10_000_u64, 1..1000_u64).prop_map(|(per_second, burst_frames)| PoliceFrames { per_second, burst_frames })
    };
    // The kernel refuses both at once.
    let limit =
        prop_oneof![bytes().prop_map(|bytes| (Some(bytes), None)), frames().prop_map(|frames| (None, Some(frames))),];
    (limit, verdict.clone(), verdict).prop_map(|((bytes, frames), exceed, conform)| Police {
        bytes,
        frames,
        exceed,
        conform,
    })
}
