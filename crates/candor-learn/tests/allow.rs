//! Allow-lists of traffic with known properties.
#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "support/traffic.rs"]
mod traffic;

use candor_learn::Recorded;
use candor_learn::allow::{Constant, Difference, Guard, Judge, Key, differences, observe, selector};
use candor_learn::detect::Car;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use traffic::traffic;

const MS: u64 = 1_000_000;

fn frame(at_ms: u64, id: u32, payload: &[u8]) -> Recorded {
    Recorded { at_ns: at_ms * MS, id, is_remote: false, payload: payload.to_vec() }
}

fn guards(logs: &[Vec<Recorded>]) -> Vec<Guard> {
    observe(logs).iter().map(Guard::of).collect()
}

/// The violations of all frames.
fn violations(guards: &[Guard], log: &[Recorded]) -> Vec<(u32, Key)> {
    let mut judge = Judge::new(guards);
    let mut found = Vec::new();
    for frame in log {
        found.extend(judge.silent(frame.at_ns).into_iter().map(|id| (id, Key::Silent)));
        found.extend(judge.frame(frame).into_iter().map(|key| (frame.id, key)));
    }
    found
}

/// 100 frames with a period of 10 ms: 8 bytes, of which the first counts.
fn cyclic() -> Vec<Recorded> {
    (0..100_u64).map(|at| frame(10 * at, 0x123, &[u8::try_from(at).unwrap(), 2, 3, 4, 5, 6, 7, 8])).collect()
}

#[test]
fn guard_has_what_was_seen() {
    let [guard] = &guards(&[cyclic()])[..] else { panic!() };
    let wanted = "guard.len = 8\n\
                  guard.constant = { mask = \"80FFFFFFFFFFFFFF\", value = \"0002030405060708\" }\n\
                  guard.rate = \"120 frames/s\"\nguard.burst = 2\nguard.min-gap = \"5ms\"\nguard.silent = \"50ms\"\n";
    assert_eq!(guard.written(), wanted);
}

#[test]
fn each_key_is_judged() {
    let guards = guards(&[cyclic()]);
    let good = [1, 2, 3, 4, 5, 6, 7, 8];
    let of = |log: &[Recorded]| violations(&guards, log).into_iter().map(|(_, key)| key).collect::<Vec<_>>();
    assert_eq!(of(&[frame(0, 0x124, &good)]), [Key::Unknown]);
    assert_eq!(of(&[frame(0, 0x123, &good[..7])]), [Key::Len, Key::Constant]);
    assert_eq!(of(&[frame(0, 0x123, &[1, 2, 3, 4, 5, 6, 7, 9])]), [Key::Constant]);
    assert_eq!(of(&[frame(0, 0x123, &good), frame(4, 0x123, &good)]), [Key::MinGap]);
    assert_eq!(of(&[frame(0, 0x123, &good), frame(51, 0x123, &good)]), [Key::Silent]);
    // 200 frames per second: two tokens, then 1.2 for each second.
    let fast: Vec<_> = (0..4).map(|at| frame(5 * at, 0x123, &good)).collect();
    assert_eq!(of(&fast), [Key::Rate]);
    // A bad frame does not make the next good one a violation.
    let between = [frame(0, 0x123, &good), frame(4, 0x123, &good), frame(8, 0x123, &good)];
    assert_eq!(of(&between), [Key::MinGap]);
    // Remote frames need a route of their own.
    let remote = Recorded { is_remote: true, payload: Vec::new(), ..frame(0, 0x123, &[]) };
    assert_eq!(of(std::slice::from_ref(&remote)), [Key::Unknown]);
    let seen = Guard { has_remote: true, ..guards[0].clone() };
    assert_eq!(violations(&[seen], &[remote.clone(), remote]), []);
    // Silence is reported once, and again after a frame.
    let pause = [frame(0, 0x123, &good), frame(60, 0x7, &[]), frame(70, 0x7, &[]), frame(80, 0x123, &good)];
    assert_eq!(of(&pause), [Key::Silent, Key::Unknown, Key::Unknown]);
}

#[test]
fn few_frames_give_few_keys() {
    let log: Vec<_> = cyclic().into_iter().take(9).collect();
    assert_eq!(guards(&[log])[0].written(), "guard.len = 8\n");
    let log: Vec<_> = cyclic().into_iter().take(50).collect();
    assert!(guards(&[log])[0].constant.is_none());
    // Events have no period, and no silence.
    let log: Vec<_> = (0..40_u64).map(|at| frame(at * at * 1000, 0x1234_5678 | 1 << 31, &[0])).collect();
    let [guard] = &guards(&[log])[..] else { panic!() };
    assert_eq!((guard.silent_ns, guard.min_gap_ns, guard.rate.is_some()), (None, None, true));
}

/// A list does not refuse its own log.
#[test]
fn who_ends_before_the_log_may_be_silent() {
    let ended = |after_ms: u64| {
        let mut log = cyclic();
        log.push(frame(990 + after_ms, 0x7, &[1]));
        let guards = guards(&[log.clone()]);
        assert_eq!(violations(&guards, &log), []);
        guards.into_iter().find(|guard| guard.id == 0x123).unwrap().silent_ns
    };
    assert_eq!((ended(50), ended(51)), (Some(50 * MS), None));
}

/// The pause between two logs is no gap.
#[test]
fn logs_are_apart() {
    let later = cyclic().into_iter().map(|one| Recorded { at_ns: one.at_ns + 3_600_000 * MS, ..one });
    let seen = observe(&[cyclic(), later.collect()]);
    assert_eq!((seen[0].frames, seen[0].gaps.unwrap().max_ns), (200, 10 * MS));
}

#[test]
fn selector_of_a_multiplexed_message_is_found() {
    let mut log = Vec::new();
    for at in 0..200_u64 {
        let page = u8::try_from(at % 4).unwrap();
        let level = u8::try_from(at).unwrap();
        // Each page has other bytes that vary.
        let mut payload = [0x20 | page, 0x10, 0x11 * page, 0x33 ^ page, 0x55, page.wrapping_mul(77), 0, 0];
        payload[4 + usize::from(page % 2)] = level.wrapping_mul(13);
        log.push(frame(100 * at, 0x300, &payload));
    }
    let found = selector(&log.iter().collect::<Vec<_>>());
    assert_eq!(found.map(|one| (one.start, one.values.len())), Some((0, 4)));
    let none = Car::new(3).drive(60);
    let ids: std::collections::BTreeSet<u32> = none.iter().map(|one| one.id).collect();
    for id in ids {
        let frames: Vec<_> = none.iter().filter(|one| one.id == id).collect();
        assert_eq!(selector(&frames), None, "{id:X}");
    }
}

#[test]
fn a_later_log_differs_where_it_was_changed() {
    let mut car = Car::new(9);
    let logs = [car.drive(120)];
    let later = car.drive(60);
    let seen = observe(&logs);
    let of = |later: Vec<Recorded>| differences(&seen, &observe(&[later]));
    let usual = of(later.clone());
    assert!(usual.iter().all(|(_, one)| matches!(one, Difference::Constant(_))), "{usual:?}");
    let mut changed: Vec<Recorded> = later.into_iter().filter(|one| one.id != 0x0B4).collect();
    let start = changed[0].at_ns;
    for one in &mut changed {
        match one.id {
            0x150 => one.payload.truncate(7),
            // Half as fast.
            0x2F1 => one.at_ns = start + 2 * (one.at_ns - start),
            _ => {}
        }
    }
    changed.push(Recorded { id: 0x700, ..changed[5].clone() });
    changed.sort_by_key(|one| one.at_ns);
    let found = of(changed);
    let has = |id: u32, is: &dyn Fn(&Difference) -> bool| found.iter().any(|(of, one)| *of == id && is(one));
    assert!(has(0x0B4, &|one| matches!(one, Difference::Gone(frames) if *frames > 10_000)), "{found:?}");
    assert!(has(0x700, &|one| *one == Difference::New(1)), "{found:?}");
    assert!(has(0x150, &|one| matches!(one, Difference::Lengths(lengths) if lengths[0].0 == 7)), "{found:?}");
    assert!(has(0x2F1, &|one| matches!(one, Difference::Period(before, now) if *now > *before)), "{found:?}");
}

#[test]
fn changed_constant_bits_are_named() {
    let later = cyclic().into_iter().map(|mut one| {
        one.payload[3] ^= 0x81;
        one
    });
    let found = differences(&observe(&[cyclic()]), &observe(&[later.collect()]));
    let bits = Constant { mask: vec![0, 0, 0, 0x81, 0, 0, 0, 0], value: vec![0; 8] };
    assert_eq!(found, [(0x123, Difference::Constant(bits))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(28), ..ProptestConfig::default() })]

    /// Logs satisfy the list that was made of them.
    #[test]
    fn logs_satisfy_their_own_list(one in traffic(400), other in traffic(400)) {
        let guards = guards(&[one.clone(), other.clone()]);
        prop_assert_eq!(violations(&guards, &one), []);
        prop_assert_eq!(violations(&guards, &other), []);
    }

    #[test]
    fn a_car_satisfies_its_own_list(seed: u64) {
        let log = Car::new(seed).drive(15);
        prop_assert_eq!(violations(&guards(std::slice::from_ref(&log)), &log), []);
    }
}
