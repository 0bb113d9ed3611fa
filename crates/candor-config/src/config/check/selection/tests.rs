use super::*;
use crate::config::lists_for;
use crate::testing::loaded;
use candor_core::job;

const FILE: &str = include_str!("lists.toml");

#[test]
fn lists_withhold_what_match_includes_and_the_route_excludes() {
    let without = FILE.lines().filter(|line| !line.starts_with("allow") && !line.starts_with("deny"));
    let without: String = without.map(|line| format!("{line}\n")).collect();
    let jobs = |text: &str| crate::lower(&loaded(text));
    let (left, all) = (jobs(FILE), jobs(&without));
    let lists =
        lists_for(FILE.as_bytes(), (None, None), &mut crate::config::no_files, &mut crate::config::no_keys).unwrap();
    let takes =
        |jobs: &[job::Job], route, id| jobs.iter().any(|job| job.route == route && job.filter.normalise().matches(id));
    let ids = (0..0x800).flat_map(|id| [id, id | 0x4000_0000, id | 0x8000_0000]).chain([0x98DA_00F1, 0x2000_0040]);
    let mut withheld = [0; 6];
    for id in ids.map(RawId) {
        for (index, withheld) in withheld.iter_mut().enumerate() {
            let route = RouteIndex(index);
            let by_a_list = !lists.withhold(route, id).is_empty();
            assert_eq!(by_a_list, takes(&all, route, id) && !takes(&left, route, id), "route {index}, {id:?}");
            *withheld += usize::from(by_a_list);
        }
    }
    assert!(withheld[..5].iter().all(|&count| count > 0) && withheld[5] == 0, "{withheld:?}");
}

#[test]
fn names_every_list() {
    let lists =
        lists_for(FILE.as_bytes(), (None, None), &mut crate::config::no_files, &mut crate::config::no_keys).unwrap();
    let withheld = |route, id| lists.withhold(RouteIndex(route), RawId(id));
    let list = |by, list| Withheld { by, list };
    let (bus, route) = (ListOf::Bus, ListOf::Route);
    assert_eq!(withheld(0, 0x123), [list(bus, ListKind::Deny)]);
    assert_eq!(withheld(1, 0x123), [list(bus, ListKind::Deny)]);
    assert_eq!(withheld(1, 0x124), [list(route, ListKind::Deny)]);
    assert_eq!(withheld(1, 0x126), [list(route, ListKind::Allow)]);
    assert_eq!(
        withheld(3, 0x4000_0110),
        [list(bus, ListKind::Allow)],
        "the opposite direction has the other bus as source"
    );
    assert_eq!(withheld(1, 0x200), [], "not in `match`");
    assert_eq!(withheld(99, 0x123), []);
    assert!(
        lists_for(b"engine = 1", (None, None), &mut crate::config::no_files, &mut crate::config::no_keys).is_none()
    );
}
