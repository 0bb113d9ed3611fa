//! Control groups and their names.

use std::fmt;

/// Groups that one filter looks for. With their places they fit into its name (`CLS_BPF_NAME_LEN`).
pub const MOST_GROUPS: usize = 8;
/// `NAME_MAX`, the longest name of a directory, and so of a group.
pub const MOST_NAME_BYTES: usize = 255;
/// `PATH_MAX`.
const MOST_PATH_BYTES: usize = 4095;
/// Kinds of units that have a group of their own.
const UNIT_KINDS: &[&str] = &[".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

/// A control group with all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlGroup {
    /// What it is called; of a filter that was read, if its name has room for that.
    pub name: Option<GroupName>,
    /// Which one it is; none if there is none now, and no frame is from it.
    pub place: Option<Place>,
}

/// What a group is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupName {
    /// By its directory, from the root of all groups or of the file system: `/system.slice/can-logger.service`.
    Path(String),
    /// By the unit of systemd: `can-logger.service`.
    Unit(String),
}

/// Which group it is, as the kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// How deep it is; the root of all groups is 0.
    pub level: u16,
    /// Its number, which no other one has had since the machine started.
    pub id: u64,
}

/// Why a text is no name of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Without a slash at the start.
    #[error("A control group is a path from the root of all groups, with / before it")]
    NoPath,
    /// `//`, `.`, `..`, an end with `/`, control characters, or longer than a path can be.
    #[error("No directory is called so")]
    NoDirectory,
    /// `/`.
    #[error("Every process is in the root of all groups")]
    Root,
    /// Without a kind, or of one that has no processes.
    #[error("A unit with processes has .service, .scope, .slice or the like at the end")]
    NoKind,
    /// Characters that no unit has.
    #[error("No unit is called so")]
    NoUnit,
}

impl GroupName {
    /// By its directory.
    ///
    /// # Errors
    /// [`NameError`].
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

    /// By the unit of systemd.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn unit(text: &str) -> Result<Self, NameError> {
        let is_known = |character: char| character.is_ascii_alphanumeric() || ":-_.\\@".contains(character);
        if text.is_empty() || text.len() > MOST_NAME_BYTES || !text.chars().all(is_known) {
            return Err(NameError::NoUnit);
        }
        let stem = UNIT_KINDS.iter().find_map(|kind| text.strip_suffix(kind));
        if stem.is_some_and(|stem| !stem.is_empty()) { Ok(Self::Unit(text.to_owned())) } else { Err(NameError::NoKind) }
    }

    /// As it stands in a file.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(text) | Self::Unit(text) => text,
        }
    }
}

/// As a file says it.
impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "cgroup {path}"),
            Self::Unit(unit) => write!(f, "unit {unit}"),
        }
    }
}

impl ControlGroup {
    /// One that nobody has looked for yet.
    #[must_use]
    pub const fn named(name: GroupName) -> Self {
        Self { name: Some(name), place: None }
    }
}

/// Its name, or else its number.
impl fmt::Display for ControlGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.place) {
            (Some(name), _) => name.fmt(f),
            (None, Some(Place { level, id })) => write!(f, "cgroup number {id} at level {level}"),
            (None, None) => f.write_str("a cgroup that is not there"),
        }
    }
}

/// What a filter looks for, in words: kind and groups.
#[must_use]
pub fn words(groups: &[ControlGroup]) -> String {
    let groups: Vec<_> = groups.iter().map(ControlGroup::to_string).collect();
    format!("bpf {}", groups.join(" or "))
}
