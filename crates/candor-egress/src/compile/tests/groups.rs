use crate::control_group::{GroupId, GroupName};

use super::*;

/// Groups and where they are; the last one is not there.
const GROUPS: &[(&str, Option<GroupId>)] = &[
    ("/a", Some(GroupId { level: 1, id: 10 })),
    ("/a/b", Some(GroupId { level: 2, id: 11 })),
    ("/a/b/c", Some(GroupId { level: 3, id: 12 })),
    ("/d", Some(GroupId { level: 1, id: 20 })),
    ("/gone", None),
];

fn name(path: &str) -> GroupName {
    GroupName::path(path).unwrap()
}

pub(super) fn selection() -> impl Strategy<Value = Selection> {
    let groups = vec(select(GROUPS), 1..=20);
    groups.prop_map(|groups| {
        let groups = groups.into_iter().map(|(path, _)| name(path)).collect();
        Selection { groups, ..Selection::default() }
    })
}

/// Of a socket in one of the groups, or in another one.
pub(super) fn ancestors() -> impl Strategy<Value = Vec<u64>> {
    select(vec![
        vec![1],
        vec![1, 10],
        vec![1, 10, 11],
        vec![1, 10, 11, 12],
        vec![1, 20],
        vec![1, 20, 12],
        vec![1, 99, 20],
    ])
}

pub(super) fn locate(tree: &mut Tree) {
    tree.locate(|name| GROUPS.iter().find(|(path, _)| *path == name.as_str())?.1);
}

pub(super) fn names(sent: &Sent) -> Vec<GroupName> {
    let is_of = |id: &GroupId| sent.groups.get(usize::from(id.level)) == Some(&id.id);
    let of_socket = GROUPS.iter().filter(|(_, id)| sent.from.is_none() && id.as_ref().is_some_and(is_of));
    of_socket.map(|(path, _)| name(path)).collect()
}

fn by(groups: &[&str]) -> Selection {
    Selection { groups: groups.iter().map(|path| name(path)).collect(), ..Selection::default() }
}

fn limited(take: Vec<Selection>) -> Result<Vec<Filter>, PolicyError> {
    let limit = Limit { take, rate: FrameRate::new(20).unwrap(), burst_frames: NonZeroU32::MIN };
    let policy = Policy::new(vec![plain("all", Vec::new(), 20)], vec![limit])?;
    Ok(tree(&policy).filters)
}

#[test]
fn control_groups_of_a_limit_are_one_filter() {
    let filters = limited(vec![by(&["/a", "/d"]), by(&["/e"])]).unwrap();
    let [Filter { classifier: Classifier::ControlGroups(groups), actions, .. }] = &filters[..] else {
        panic!("{filters:#?}")
    };
    assert_eq!((groups.len(), actions.len()), (3, 1));
    assert_eq!(limited(vec![by(&["/a"]), of_ids(&["123"])]), Err(PolicyError::MixedLimit(0)));
    assert_eq!(limited(vec![by(&["/a"; 9])]), Err(PolicyError::LargeLimit(0)));
}

#[test]
fn rejects_selections_by_group_and_something_else() {
    let both = Selection { socket_priorities: vec![3], ..by(&["/a"]) };
    let bands = vec![plain("both", vec![both.clone()], 1), plain("rest", Vec::new(), 1)];
    assert_eq!(Policy::new(bands, Vec::new()), Err(PolicyError::MixedSelection));
    assert_eq!(limited(vec![both]), Err(PolicyError::MixedSelection));
}

#[test]
fn many_groups_become_several_filters_without_script() {
    let tree = chosen_by(by(&["/a"; 20]));
    assert_eq!(tree.filters.len(), 3);
    assert!(tree.filters.iter().all(|filter| filter.class == Some(Handle::new(1, 1))));
    let unsayable = text::script(&tree, "can0").unwrap_err();
    assert_eq!(unsayable.len(), 3);
    assert!(unsayable[0].why.to_string().contains("object file"), "{unsayable:?}");
}
