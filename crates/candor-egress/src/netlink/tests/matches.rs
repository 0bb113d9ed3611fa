//! Expressions as lists.

use crate::ematch::{CanRule, Ematch};
use crate::filter::Classifier;

use super::super::codec::{AttributeList, StructWriter, Unread};
use super::super::ematch;
use super::*;

const END: u16 = 0;
const AND: u16 = 1;
const OR: u16 = 2;
const NOT: u16 = 4;

fn canid(id: u32) -> Ematch {
    Ematch::Canid(vec![CanRule { id, mask: 0x7FF }])
}

fn list_of(entries: &[(u16, Option<u32>, u32)]) -> Vec<u8> {
    let mut inner = AttributeList::default();
    for (place, (flags, target, id)) in (1..).zip(entries) {
        let kind = if target.is_some() { 0 } else { 7 };
        let record = StructWriter::default().u16(0).u16(kind).u16(*flags).u16(0);
        let record = match target {
            Some(target) => record.u32(*target),
            None => record.u32(*id).u32(0x7FF),
        };
        inner.put(place, &record.done()).unwrap();
    }
    let mut list = AttributeList::default();
    list.put(1, &StructWriter::default().u16(u16::try_from(entries.len()).unwrap()).u16(0).done()).unwrap();
    list.nest(2, &inner).unwrap();
    list.into_bytes()
}

#[test]
fn reads_flat_lists() {
    let list = list_of(&[(AND, None, 1), (OR, None, 2), (END, None, 3)]);
    let expected = Ematch::And(vec![canid(1), Ematch::Or(vec![canid(2), canid(3)])]);
    assert_eq!(ematch::decode(&list), Ok(Some(expected)));
}

#[test]
fn nested_groups_become_containers() {
    // `(1 and 2) or not (3 or not 4)`
    let or = Ematch::Or(vec![canid(3), Ematch::Not(Box::new(canid(4)))]);
    let expression = Ematch::Or(vec![Ematch::And(vec![canid(1), canid(2)]), Ematch::Not(Box::new(or))]);
    let list = list_of(&[
        (OR, Some(2), 0),
        (END | NOT, Some(4), 0),
        (AND, None, 1),
        (END, None, 2),
        (OR, None, 3),
        (END | NOT, None, 4),
    ]);
    assert_eq!(ematch::encode(&expression).unwrap().into_bytes(), list);
    assert_eq!(ematch::decode(&list), Ok(Some(expression)));
}

#[test]
fn keeps_lists_with_loops_as_bytes() {
    for entries in [
        vec![(END, Some(0), 0)],
        vec![(AND, Some(1), 0), (END, Some(0), 0)],
        vec![(AND, Some(2), 0), (END, Some(2), 0), (END, None, 1)],
        vec![(AND, Some(1), 0), (END, None, 1)],
        vec![(END, Some(9), 0)],
        vec![(AND, None, 1)],
        vec![(3, None, 1), (END, None, 2)],
    ] {
        assert_eq!(ematch::decode(&list_of(&entries)), Err(Unread::Unsupported), "{entries:?}");
    }
}

#[test]
fn reads_container_lists_in_linear_time() {
    let count: u32 = 2000;
    let mut entries: Vec<_> = (1..count).map(|target| (AND, Some(target), 0)).collect();
    entries.push((END, None, 1));
    assert_eq!(ematch::decode(&list_of(&entries)), Err(Unread::Unsupported));
}

#[test]
fn rejects_expressions_beyond_the_kernel_limits() {
    let nested = |depth: usize| (0..depth).fold(canid(1), |inner, _| Ematch::Not(Box::new(inner)));
    let deepest = ematch::encode(&nested(33)).unwrap().into_bytes();
    assert_eq!(ematch::decode(&deepest), Ok(Some(nested(33))));
    assert_eq!(ematch::encode(&nested(34)).unwrap_err(), EncodeError::MatchDepth);
    for count in [0, 1] {
        let group = Ematch::And(vec![canid(1); count]);
        assert_eq!(ematch::encode(&group).unwrap_err(), EncodeError::Group { count });
    }
}

#[test]
fn an_empty_list_is_no_expression() {
    assert_eq!(ematch::decode(&list_of(&[])), Ok(None));
}

#[test]
fn keeps_filters_with_unsupported_lists_as_bytes() {
    let mut options = AttributeList::default();
    options.put(2, &list_of(&[(END, Some(0), 0)])).unwrap();
    let options = options.into_bytes();
    let mut list = AttributeList::default();
    list.put_kind(TCA_KIND, "basic").unwrap();
    list.put(TCA_OPTIONS, &options).unwrap();
    let mut message = Header { handle: Handle(1), ..Default::default() }.message(RTM_NEWTFILTER, 0);
    list.append_to(&mut message);
    let filter = read_filter(message, Handle::ROOT).unwrap();
    assert_eq!(filter.classifier, Classifier::Other { kind: "basic".into(), options });
}
