//! Values that no message can carry are rejected before anything is sent.

use crate::action::{Action, Mirred, Police, Verdict};
use crate::discipline::{ByteRate, Discipline, Netem, Tbf};
use crate::ematch::{CanRule, Ematch, Meta, MetaId, Relation};
use crate::filter::{Classifier, Flow, U32, U32Key, U32Link};
use crate::tree::{HtbClass, Share};

use super::*;

fn basic(expression: Ematch) -> Filter {
    of(Classifier::Basic(Some(expression)))
}

fn of(classifier: Classifier) -> Filter {
    let (parent, class) = (Handle::new(1, 0), None);
    Filter { parent, preference: 1, protocol: 3, handle: 1, classifier, class, actions: Vec::new() }
}

fn refusal(filter: &Filter) -> EncodeError {
    filter_message(interface(), filter, &names(), None, Mode::Make).unwrap_err()
}

#[test]
fn filters() {
    let rules = |count| basic(Ematch::Canid(vec![CanRule { id: 1, mask: 1 }; count]));
    assert!(filter_message(interface(), &rules(500), &names(), None, Mode::Make).is_ok());
    for count in [0, 501] {
        assert_eq!(refusal(&rules(count)), EncodeError::CanidRules { count });
    }
    let many = |count| Ematch::Or(vec![Ematch::Canid(vec![CanRule { id: 1, mask: 1 }; 500]); count]);
    assert!(filter_message(interface(), &basic(many(16)), &names(), None, Mode::Make).is_ok());
    assert!(matches!(refusal(&basic(many(17))), EncodeError::TooLong { .. }));
    let nbyte = |len| basic(Ematch::Nbyte { offset: 0, bytes: vec![0; len] });
    assert!(filter_message(interface(), &nbyte(4095), &names(), None, Mode::Make).is_ok());
    for len in [4096, 70_000] {
        assert_eq!(refusal(&nbyte(len)), EncodeError::NbyteLength { len });
    }
    let later = Meta { what: MetaId::Protocol, mask: 0, relation: Relation::Less, value: 12 };
    assert_eq!(refusal(&basic(Ematch::Meta(later))), EncodeError::ProtocolOrder);
    let container = Ematch::Other { kind: 0, data: vec![] };
    assert!(matches!(refusal(&basic(container)), EncodeError::Kind { .. }));

    assert_eq!(refusal(&Filter { preference: 0, ..of(Classifier::Matchall) }), EncodeError::Preference);
    let class = Some(Handle::new(1, 1));
    assert_eq!(refusal(&Filter { class, ..of(Classifier::Flow(Flow::default())) }), EncodeError::ClassOfFlow);
    let other = Classifier::Other { kind: "x".into(), options: vec![1] };
    assert_eq!(refusal(&Filter { class, ..of(other) }), EncodeError::OtherDecides);
}

#[test]
fn u32_filters() {
    let keys = vec![U32Key { mask: 0, value: 0, offset: 0 }; 256];
    let node = |node| refusal(&of(Classifier::U32(node)));
    assert_eq!(node(U32 { keys, ..U32::default() }), EncodeError::Keys { count: 256 });
    assert_eq!(node(U32 { divisor: Some(4), table: 0x10_0000, ..U32::default() }), EncodeError::TableDecides);
    assert_eq!(node(U32 { table: 1, ..U32::default() }), EncodeError::TableNumber { table: 1 });
    let link = Some(U32Link { table: 0x10_0000, mask: 0, offset: 0x8000 });
    assert_eq!(node(U32 { link, ..U32::default() }), EncodeError::LinkOffset { offset: 0x8000 });
}

#[test]
fn actions() {
    let with = |actions| refusal(&Filter { actions, ..of(Classifier::Matchall) });
    let verdict = Verdict::Pass;
    assert_eq!(with(vec![Action::Gact { verdict }; 33]), EncodeError::TooManyActions { count: 33 });
    let to = |interface: &str| Action::Mirred { interface: interface.into(), how: Mirred::EgressMirror, verdict };
    for name in ["nosuch", "if", "if0", "if4294967296"] {
        assert_eq!(with(vec![to(name)]), EncodeError::NoInterface { name: name.into() });
    }
    let nothing = Police { bytes: None, frames: None, exceed: verdict, conform: verdict };
    assert_eq!(with(vec![Action::Police(nothing)]), EncodeError::NoLimit);
}

#[test]
fn disciplines_and_classes() {
    let (handle, parent) = (Handle::new(1, 0), Handle::ROOT);
    let refusal = |discipline| {
        qdisc_message(interface(), &Qdisc { handle, parent, stab: None, discipline }, Mode::Make).unwrap_err()
    };
    assert_eq!(refusal(Discipline::Noqueue), EncodeError::Kind { kind: "noqueue".into() });
    for kind in ["", "a\0b", "sixteen-letters-"] {
        let other = Discipline::Other { kind: kind.into(), options: Vec::new() };
        assert_eq!(refusal(other), EncodeError::Kind { kind: kind.into() });
    }
    let other = Discipline::Other { kind: "x".into(), options: vec![0; 65_532] };
    assert_eq!(refusal(other), EncodeError::TooLong { len: 65_532 });
    let tbf = Tbf { rate: ByteRate(0), burst_bytes: 16, limit_bytes: 16, peak: None };
    assert_eq!(refusal(Discipline::Tbf(tbf)), EncodeError::ZeroRate);
    let netem = Netem { delay: std::time::Duration::MAX, ..Netem::default() };
    assert_eq!(refusal(Discipline::Netem(netem)), EncodeError::Delay);

    let (rate, quantum_bytes) = (ByteRate(1), None);
    let share = HtbClass { rate, ceil: rate, burst_bytes: 274, ceil_burst_bytes: 275, quantum_bytes, prio: 0 };
    let class = Class { handle, parent, share: Share::Htb(share) };
    assert_eq!(class_message(interface(), &class, Mode::Make).unwrap_err(), EncodeError::BurstTooLong);
}
