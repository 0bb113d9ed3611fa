//! The rule set of gateways drops what the slow interpreter finds.
#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "support/traffic.rs"]
mod traffic;

use std::fmt::Write as _;

use candor_config::{config, lower};
use candor_core::frame::{CAN_RTR_FLAG, CANFD_MTU, Frame, RawId};
use candor_core::job::{BusIndex, RealtimeNs};
use candor_core::ruleset::{RuleSet, Visit};
use candor_learn::allow::{Constant, Guard, Judge, observe};
use candor_learn::detect::{Attack, Car};
use candor_learn::{Recorded, name};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use traffic::traffic;

/// What becomes of one frame.
#[derive(Default)]
struct Fate {
    at_ns: u64,
    is_sent: bool,
}

impl Visit for Fate {
    fn at(&self) -> RealtimeNs {
        RealtimeNs(1_700_000_000_000_000_000 + i64::try_from(self.at_ns).unwrap())
    }

    fn pass(&mut self, _job: usize, _to: BusIndex, _bytes: &[u8]) {
        self.is_sent = true;
    }

    fn send(&mut self, _job: usize, _to: BusIndex, _bytes: &[u8]) {
        self.is_sent = true;
    }

    fn delete(&mut self, _job: usize) {}
}

/// Which frames a gateway with these guards sends, and which of them the interpreter finds good.
fn both(guards: &[Guard], log: &[Recorded]) -> (Vec<bool>, Vec<bool>) {
    let mut text = String::from("engine = \"auto\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n");
    for guard in guards {
        let id = name(guard.id);
        let keys = guard.written();
        let drop = if keys.is_empty() { "" } else { "guard.on-violation = \"drop\"\n" };
        write!(text, "[[route]]\nname = \"{id}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{id}\"\n{keys}{drop}").unwrap();
        if guard.has_remote {
            let remote = guard.id | CAN_RTR_FLAG;
            let route = "[[route]]\nname = \"remote-";
            write!(text, "{route}{id}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{remote:08X}\"\n").unwrap();
        }
    }
    let plan = config::load(text.as_bytes()).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).plan;
    let rules = RuleSet::compile(&lower(&plan), plan.buses().len());
    let sent = |one: &Recorded| {
        let id = if one.is_remote { RawId(one.id | CAN_RTR_FLAG) } else { RawId(one.id) };
        let mut bytes = [0; CANFD_MTU];
        let len = Frame::classic(id, &one.payload).unwrap().to_kernel(&mut bytes);
        let mut fate = Fate { at_ns: one.at_ns, is_sent: false };
        rules.from_bus(plan.routes()[0].from).route(&bytes[..len], &mut fate);
        fate.is_sent
    };
    let mut judge = Judge::new(guards);
    (log.iter().map(sent).collect(), log.iter().map(|one| judge.frame(one).is_empty()).collect())
}

fn guard(id: u32) -> impl Strategy<Value = Guard> {
    let constant =
        prop::option::of((prop::collection::vec(1..=255_u8, 1..4), any::<u8>()).prop_map(|(mask, value)| {
            let value = mask.iter().map(|mask| mask & value & 3).collect();
            Constant { mask, value }
        }));
    // Periods of whole nanoseconds.
    let rate = prop::option::of((prop::sample::select(vec![1_u32, 5, 50, 100, 200, 1000]), 2..6_u32));
    let gap = prop::option::of(1..10_000_000_u64);
    let len = prop::collection::btree_set(0..=8_usize, 0..5);
    (any::<bool>(), len, constant, rate, gap).prop_map(move |(has_remote, mut len, constant, rate, min_gap_ns)| {
        // A length that ends before the constant bits is refused.
        len.retain(|len| constant.as_ref().is_none_or(|constant| *len >= constant.mask.len()));
        Guard { id, has_remote, len, constant, values: Vec::new(), rate, min_gap_ns, silent_ns: None }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(28), ..ProptestConfig::default() })]

    #[test]
    fn gateway_and_interpreter_agree(guards in (guard(0x100), guard(0x101), guard(0x102)), log in traffic(300)) {
        let guards: [Guard; 3] = guards.into();
        let (sent, good) = both(&guards, &log);
        prop_assert_eq!(sent, good);
    }
}

/// The rate of a list is not rounded as in the gateway, whose interval is in whole nanoseconds: only frames at the very edge differ.
#[test]
fn gateway_and_interpreter_agree_on_attacks() {
    let mut car = Car::new(5);
    let guards: Vec<Guard> = observe(&[car.drive(60)]).iter().map(Guard::of).collect();
    let piece = car.drive(10);
    let start = piece[0].at_ns;
    for attack in Attack::ALL {
        let capture = attack.on(&piece, Car::TARGET, (start + 5_000_000_000, start + 7_000_000_000), 3);
        let (sent, good) = both(&guards, &capture.frames);
        let differing = sent.iter().zip(&good).filter(|(sent, good)| sent != good).count();
        assert_eq!(differing, 0, "{attack:?}: {} frames", sent.len());
    }
}
