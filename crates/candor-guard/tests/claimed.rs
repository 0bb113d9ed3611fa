//! Claimed addresses, as numbers of parameter groups and lists of claims.

use candor_core::filter::Filter;
use candor_core::frame::{CAN_EFF_FLAG, CAN_ERR_FLAG, CAN_RTR_FLAG, RawId};
use candor_core::job::{Compute, RealtimeNs, Seen};
use candor_core::rule::Verdict;
use candor_guard::{Addresses, Claimed, Claims, OnViolation, Rule};
use proptest::prelude::*;
use proptest::sample::select;

/// The parameter group of an identifier, without the destination that some have.
fn group(id: u32) -> u32 {
    let number = id / 256 % 0x4_0000;
    if number / 256 % 256 < 240 { number / 256 * 256 } else { number }
}

/// True if a frame may not cross to a bus on which these addresses are claimed.
fn is_refused(id: RawId, payload: &[u8], protected: &[u8]) -> bool {
    if !id.is_eff() || id.is_err() {
        return false;
    }
    let announced = || match payload {
        [16 | 32, _, _, _, _, low, middle, high, ..] => {
            Some(u32::from(*low) + 256 * u32::from(*middle) + 65_536 * u32::from(*high))
        }
        _ => None,
    };
    let is_about_addresses = match group(id.bits()) {
        60_928 | 65_240 => true,
        60_416 => !id.is_rtr() && announced() == Some(65_240),
        _ => false,
    };
    is_about_addresses || protected.iter().any(|address| u32::from(*address) == id.bits() % 256)
}

fn id() -> impl Strategy<Value = RawId> {
    let formats = select(vec![0xEE_u32, 0xEC, 0xFE, 0xEB, 0xEA, 0xF0, 0x00]);
    let flags = select(vec![CAN_EFF_FLAG, CAN_EFF_FLAG, CAN_EFF_FLAG, CAN_EFF_FLAG | CAN_RTR_FLAG, CAN_ERR_FLAG, 0]);
    let pages = select(vec![0_u32, 0, 0, 1, 2, 3]);
    let specific = select(vec![0xD8_u32, 0xD9, 0xFF, 0x00]);
    let parts =
        (formats, flags, pages, specific, 0_u32..8, select(vec![0_u32, 11, 63, 64, 127, 128, 200, 253, 254, 255]));
    parts.prop_map(|(format, flags, page, specific, priority, source)| {
        let id = priority << 26 | page << 24 | format << 16 | specific << 8 | source;
        RawId(if flags & CAN_EFF_FLAG == 0 { id & 0x7FF | flags } else { id | flags })
    })
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let announced = (select(vec![16_u8, 17, 32, 33]), select(vec![0xD8_u8, 0xD9]), select(vec![0_u8, 1]), 0..=8_usize);
    let announced =
        announced.prop_map(|(control, low, high, len)| vec![control, 9, 0, 2, 0xFF, low, 0xFE, high][..len].to_vec());
    prop_oneof![announced, prop::collection::vec(any::<u8>(), 0..=8), Just(vec![32; 12])]
}

proptest! {
    #[test]
    fn frames_are_refused_by_source_and_group(
        fixed in prop::collection::vec(select(vec![0_u8, 63, 64, 253]), 0..3),
        learned in prop::collection::vec(select(vec![11_u8, 127, 128, 200]), 0..3),
        learns in any::<bool>(),
        frames in prop::collection::vec((id(), payload()), 1..40),
    ) {
        let claimed = [OnViolation::Drop, OnViolation::Count].map(|on_violation| {
            Claimed::new(fixed.iter().copied().collect(), learns, on_violation)
        });
        if learns {
            claimed.iter().for_each(|one| one.protect((0..=255).collect()));
            claimed.iter().for_each(|one| one.protect(learned.iter().copied().collect()));
        }
        let protected = if learns { [&fixed[..], &learned[..]].concat() } else { fixed };
        let mut refused = 0;
        for (id, mut payload) in frames {
            let is_refused = is_refused(id, &payload, &protected);
            refused += u64::from(is_refused);
            let seen = Seen { id, at: RealtimeNs::UNKNOWN };
            prop_assert_eq!(claimed[0].fault(id, &payload), is_refused.then_some("j1939"));
            let verdicts = [0, 1].map(|at| claimed[at].change(seen, &mut payload));
            prop_assert_eq!(verdicts, [if is_refused { Verdict::Delete } else { Verdict::Send }, Verdict::Send]);
        }
        prop_assert_eq!([0, 1].map(|at| claimed[at].tally().frames(Rule::J1939)), [refused; 2]);
    }

    /// By the list of all claims so far: an address is free if each node that has claimed it has claimed another one since,
    /// before a second node claimed it.
    #[test]
    fn addresses_are_claimed_until_their_node_has_another(
        heard in prop::collection::vec((select(vec![0_u8, 11, 12, 253, 254, 255]), 0_u8..3), 1..30),
    ) {
        let mut claims = Claims::default();
        let mut nodes: Vec<(u8, Vec<u8>)> = Vec::new();
        for (address, node) in heard {
            claims.hear(RawId(0x98EE_FF00 | u32::from(address)), &[node; 8]);
            if address < 254 {
                nodes.retain(|(of, by)| *of == address || *by != [node]);
                match nodes.iter_mut().find(|(of, _)| *of == address) {
                    Some((_, by)) if by.contains(&node) => {}
                    Some((_, by)) => by.push(node),
                    None => nodes.push((address, vec![node])),
                }
            }
            prop_assert_eq!(claims.addresses(), nodes.iter().map(|(address, _)| *address).collect::<Addresses>());
        }
    }

    #[test]
    fn only_claims_are_heard(id in id(), payload in payload()) {
        let mut claims = Claims::default();
        claims.hear(id, &payload);
        let source = id.bits() % 256;
        let is_claim = id.is_eff() && id.carries_data() && group(id.bits()) == 60_928;
        // The kernel hands over what the filter matches.
        let Filter { id: wanted, mask } = Claims::FILTER;
        prop_assert_eq!(id.0 & mask == wanted && !id.is_err(), is_claim);
        let is_heard = is_claim && source < 254 && payload.len() == 8;
        let all: Addresses = is_heard.then_some(id.0.to_le_bytes()[0]).into_iter().collect();
        prop_assert_eq!(claims.addresses(), all);
        prop_assert!((0..=255).all(|address| all.contains(address) == (is_heard && u32::from(address) == source)));
    }
}
