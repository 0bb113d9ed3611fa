//! The name of a filter that says what its program looks for.

use super::group::{ControlGroup, GroupName, MOST_GROUPS, Place};

/// What names of candor's filters begin with, so that no program of somebody else is taken for one of its own.
const OURS: &str = "candor cgroup ";
/// `CLS_BPF_NAME_LEN`, without the zero at the end.
const MOST_BYTES: usize = 255;
/// In the place of a group that is not there.
const NOBODY: &str = "-";

/// Places in hexadecimal, and what the groups are called if there is room for that:
/// `candor cgroup 2:1f3,- can-logger.service,/custom/group`.
#[must_use]
pub fn label(groups: &[ControlGroup]) -> String {
    let place = |group: &ControlGroup| {
        group.place.map_or_else(|| NOBODY.to_owned(), |Place { level, id }| format!("{level:x}:{id:x}"))
    };
    let places: Vec<_> = groups.iter().map(place).collect();
    let places = format!("{OURS}{}", places.join(","));
    let names: Option<Vec<_>> = groups.iter().map(|group| group.name.as_ref().map(GroupName::as_str)).collect();
    let names = names.filter(|names| !names.iter().any(|name| name.contains(',')));
    match names.map(|names| format!("{places} {}", names.join(","))) {
        Some(both) if both.len() <= MOST_BYTES => both,
        _ => places,
    }
}

/// The groups of a name that [`label`] has made; `None` if somebody else has.
#[must_use]
pub fn labelled(text: &str) -> Option<Vec<ControlGroup>> {
    let rest = text.strip_prefix(OURS)?;
    let (places, names) = rest.split_once(' ').map_or((rest, None), |(places, names)| (places, Some(names)));
    let places = places.split(',').map(place).collect::<Option<Vec<_>>>()?;
    let names: Vec<_> = match names {
        None => vec![None; places.len()],
        Some(names) => names.split(',').map(|text| name(text).map(Some)).collect::<Option<_>>()?,
    };
    if names.len() != places.len() || places.len() > MOST_GROUPS {
        return None;
    }
    let groups: Vec<_> = places.into_iter().zip(names).map(|(place, name)| ControlGroup { name, place }).collect();
    // Nothing that can be written in two ways.
    (label(&groups) == text).then_some(groups)
}

fn name(text: &str) -> Option<GroupName> {
    if text.starts_with('/') { GroupName::path(text).ok() } else { GroupName::unit(text).ok() }
}

#[expect(clippy::option_option, reason = "the outer one: whether it can be read")]
fn place(text: &str) -> Option<Option<Place>> {
    if text == NOBODY {
        return Some(None);
    }
    let (level, id) = text.split_once(':')?;
    Some(Some(Place { level: u16::from_str_radix(level, 16).ok()?, id: u64::from_str_radix(id, 16).ok()? }))
}
