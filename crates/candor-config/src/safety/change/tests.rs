use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::plan::Formats;
use crate::testing::{plan, route};
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::RawId;
use candor_core::rule::Verdict;

/// Changes within 8 bits, made of the four operations.
fn small() -> impl Strategy<Value = Change> {
    let operation = select([Operation::And, Operation::Or, Operation::Xor, Operation::Set].as_slice());
    prop::collection::vec((operation, any::<u8>()), 0..5).prop_map(|operations| {
        operations
            .into_iter()
            .fold(Change::NONE, |change, (operation, operand)| change.then(Change::one(operation, u64::from(operand))))
    })
}

fn small_cube() -> impl Strategy<Value = Cube> {
    (any::<u8>(), any::<u8>()).prop_map(|(mask, value)| Cube::new(u64::from(mask) | BITS & !0xFF, u64::from(value)))
}

fn holds(cube: Cube, kind: u64) -> bool {
    Cube::one(kind).is_within(cube)
}

fn selection_change() -> impl Strategy<Value = Option<IdChange>> {
    let move_or_set = prop_oneof![
        any::<u32>().prop_map(IdChange::Set),
        (any::<u32>(), any::<u32>()).prop_map(|(and, or)| IdChange::Move { and, or }),
    ];
    option::of(move_or_set)
}

proptest! {
    #[test]
    fn image_equals_the_changes_of_all_members(change in small(), cube in small_cube(), other in small()) {
        for kind in 0..=0xFF {
            let made: Vec<_> = (0..=0xFF).filter(|&from| holds(cube, from) && change.on(from) == kind).collect();
            prop_assert_eq!(holds(change.image(cube), kind), !made.is_empty());
            let leads = change.preimage(cube).is_some_and(|cube| holds(cube, kind));
            prop_assert_eq!(leads, holds(cube, change.on(kind)));
            let agrees = change.agrees(other).is_some_and(|cube| holds(cube, kind));
            prop_assert_eq!(agrees, change.on(kind) == other.on(kind));
            prop_assert_eq!(change.then(other).on(kind), other.on(change.on(kind)));
        }
    }

    #[test]
    fn change_equals_what_jobs_do(
        frame in arbitrary::wire_frame(),
        job in arbitrary::job(2),
        id in selection_change(),
        send_as in option::of(select([SendAs::Classic, SendAs::Fd { bit_rate_switch: true }].as_slice())),
    ) {
        let selection = Selection { filter: Filter::ALL, id };
        let route = Route {
            modifications: job.modifications,
            selections: vec![selection],
            formats: Formats::Only(frame.format),
            send_as,
            ..route("r", 0, 1, Filter::ALL)
        };
        let change = Change::of(&route, &selection);
        let plan = plan(2, vec![route]);
        let (sent, verdict) = crate::lower(&plan)[0].apply(&frame);
        let kind = |id: RawId, format| u64::from(id.0) | if format == FrameFormat::Fd { FD } else { 0 };
        if verdict == Verdict::Send {
            prop_assert_eq!(change.on(kind(frame.id, frame.format)), kind(sent.id, sent.format));
        }
    }
}
