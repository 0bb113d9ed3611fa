//! Control groups: frames by the service that sends them.
//!
//! ```text
//!  cgroup, unit ──▶ GroupName ──a machine looks──▶ GroupId ──▶ program ──▶ cls_bpf
//!                                                     ▲                       │
//!                                                     └─── label (its name) ◀─┘
//! ```
//!
//! No filter of `tc` matches a control group of version 2, but a BPF program of a few instructions can: it determines
//! which group is the ancestor of the frame's socket at some level. The kernel gives programs of others back as numbers that
//! say nothing, so candor writes into the name of its filter what the program looks for ([`label()`]).
//!
//! # Kernel
//! Linux 4.19 (`bpf_skb_ancestor_cgroup_id`), `CONFIG_NET_CLS_BPF` and `CONFIG_SOCK_CGROUP_DATA`, which comes with
//! `CONFIG_CGROUP_BPF`. A socket belongs to the group in which its process was when it opened it, also if that process has
//! moved since. Before Linux 5.15 a machine that also uses `net_cls` or `net_prio` of version 1 loses that.
//!
//! # Source
//! Linux 6.1: [`cgroup_sk_alloc()`](https://github.com/gregkh/linux/blob/v6.1.192/kernel/cgroup/cgroup.c#L7023),
//! [`__bpf_sk_ancestor_cgroup_id()`](https://github.com/gregkh/linux/blob/v6.1.192/net/core/filter.c#L4946).

use std::fmt;

mod program;

pub use program::program;

#[cfg(test)]
mod tests;

/// Groups of one filter, whose ids fit into its name (`CLS_BPF_NAME_LEN`).
pub const MOST_GROUPS: usize = 8;
/// `NAME_MAX`, the longest name of a directory, and so of a group.
pub const MOST_NAME_BYTES: usize = 255;
const MOST_PATH_BYTES: usize = 4095;
/// Unit types with a control group.
const UNIT_KINDS: &[&str] = &[".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// `None` for a filter read from the kernel whose label has no room for names.
    pub name: Option<GroupName>,
    /// `None` if it does not exist now; no frame matches.
    pub id: Option<GroupId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupName {
    /// A directory, from the cgroup root or the file system root: `/system.slice/can-logger.service`.
    Path(String),
    /// A systemd unit: `can-logger.service`.
    Unit(String),
}

/// The kernel's identity of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId {
    /// Depth; the root is 0.
    pub level: u16,
    /// Never reused until the next boot.
    pub id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("A control group must be an absolute path, such as /system.slice")]
    NoPath,
    #[error("This is not a valid directory name")]
    NoDirectory,
    #[error("The root group contains every process")]
    Root,
    #[error("A unit name must end in .service, .scope, .slice or another suffix of a unit with processes")]
    NoKind,
    #[error("This is not a valid unit name")]
    NoUnit,
}

impl GroupName {
    pub fn path(text: &str) -> Result<Self, NameError> {
        let Some(inner) = text.strip_prefix('/') else { return Err(NameError::NoPath) };
        if inner.is_empty() {
            return Err(NameError::Root);
        }
        let is_name = |name: &str| !["", ".", ".."].contains(&name) && name.len() <= MOST_NAME_BYTES;
        let is_path = text.len() <= MOST_PATH_BYTES && !text.contains(char::is_control);
        if is_path && inner.split('/').all(is_name) {
            Ok(Self::Path(text.to_owned()))
        } else {
            Err(NameError::NoDirectory)
        }
    }

    pub fn unit(text: &str) -> Result<Self, NameError> {
        let is_known = |character: char| character.is_ascii_alphanumeric() || ":-_.\\@".contains(character);
        if text.is_empty() || text.len() > MOST_NAME_BYTES || !text.chars().all(is_known) {
            return Err(NameError::NoUnit);
        }
        let stem = UNIT_KINDS.iter().find_map(|kind| text.strip_suffix(kind));
        if stem.is_some_and(|stem| !stem.is_empty()) { Ok(Self::Unit(text.to_owned())) } else { Err(NameError::NoKind) }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(text) | Self::Unit(text) => text,
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "cgroup {path}"),
            Self::Unit(unit) => write!(f, "unit {unit}"),
        }
    }
}

impl ControlGroup {
    #[must_use]
    pub const fn named(name: GroupName) -> Self {
        Self { name: Some(name), id: None }
    }
}

impl fmt::Display for ControlGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.id) {
            (Some(name), _) => name.fmt(f),
            (None, Some(GroupId { level, id })) => write!(f, "cgroup number {id} at level {level}"),
            (None, None) => f.write_str("a cgroup that does not exist"),
        }
    }
}

/// Kind and groups of a filter as text.
#[must_use]
pub fn words(groups: &[ControlGroup]) -> String {
    let groups: Vec<_> = groups.iter().map(ControlGroup::to_string).collect();
    format!("bpf {}", groups.join(" or "))
}

/// Prefix of the names of candor's filters, which identifies them.
const OURS: &str = "candor cgroup ";
/// `CLS_BPF_NAME_LEN`, without the zero at the end.
const MOST_BYTES: usize = 255;
/// Stands for a group that does not exist.
const NOBODY: &str = "-";

/// Levels and numbers in hexadecimal, and the names of the groups if there is room:
/// `candor cgroup 2:1f3,- can-logger.service,/custom/group`.
#[must_use]
pub fn label(groups: &[ControlGroup]) -> String {
    let id = |group: &ControlGroup| {
        group.id.map_or_else(|| NOBODY.to_owned(), |GroupId { level, id }| format!("{level:x}:{id:x}"))
    };
    let ids: Vec<_> = groups.iter().map(id).collect();
    let ids = format!("{OURS}{}", ids.join(","));
    let names: Option<Vec<_>> = groups.iter().map(|group| group.name.as_ref().map(GroupName::as_str)).collect();
    let names = names.filter(|names| !names.iter().any(|name| name.contains(',')));
    match names.map(|names| format!("{ids} {}", names.join(","))) {
        Some(both) if both.len() <= MOST_BYTES => both,
        _ => ids,
    }
}

/// The groups of a name that [`label`] made; `None` for any other name.
#[must_use]
pub fn labelled(text: &str) -> Option<Vec<ControlGroup>> {
    let rest = text.strip_prefix(OURS)?;
    let (ids, names) = rest.split_once(' ').map_or((rest, None), |(ids, names)| (ids, Some(names)));
    let ids = ids.split(',').map(id).collect::<Option<Vec<_>>>()?;
    let names: Vec<_> = match names {
        None => vec![None; ids.len()],
        Some(names) => names.split(',').map(|text| name(text).map(Some)).collect::<Option<_>>()?,
    };
    if names.len() != ids.len() || ids.len() > MOST_GROUPS {
        return None;
    }
    let groups: Vec<_> = ids.into_iter().zip(names).map(|(id, name)| ControlGroup { name, id }).collect();
    // Nothing that can be written in two ways.
    (label(&groups) == text).then_some(groups)
}

fn name(text: &str) -> Option<GroupName> {
    if text.starts_with('/') { GroupName::path(text).ok() } else { GroupName::unit(text).ok() }
}

#[expect(clippy::option_option, reason = "the outer one: whether it can be read")]
fn id(text: &str) -> Option<Option<GroupId>> {
    if text == NOBODY {
        return Some(None);
    }
    let (level, id) = text.split_once(':')?;
    Some(Some(GroupId { level: u16::from_str_radix(level, 16).ok()?, id: u64::from_str_radix(id, 16).ok()? }))
}
