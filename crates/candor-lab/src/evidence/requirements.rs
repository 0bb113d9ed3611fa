//! The requirements, from `requirements.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

const TEXT: &str = include_str!("requirements.toml");

/// The published text of all requirements, at the commit that was read.
pub static SOURCE: LazyLock<&'static str> = LazyLock::new(|| &FILE.source);

static FILE: LazyLock<File> = LazyLock::new(|| toml::from_str(TEXT).expect("a test reads the file"));
static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| FILE.requirement.iter().map(Requirement::of).collect());

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    title: String,
    requirement: Vec<Written>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    demand: String,
    judge: Judge,
    reason: Option<String>,
}

/// What decides a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Judge {
    Addresses,
    Claims,
    Flood,
    /// People, with documents: not this program.
    Inspection,
    Inversion,
    Jitter,
    Loss,
    ModeIndication,
    ModeSwitch,
    Order,
    OrderAndPriority,
    OwnAddress,
    Signature,
    Spoofing,
}

/// One requirement.
#[derive(Debug)]
pub struct Requirement {
    /// As published, such as `CGW-S-006`.
    pub id: &'static str,
    /// What it demands, in our words.
    pub demand: &'static str,
    pub(super) judge: Judge,
    /// Why only people can decide it.
    pub(super) reason: Option<&'static str>,
}

impl Requirement {
    fn of(written: &'static Written) -> Self {
        Self { id: &written.id, demand: &written.demand, judge: written.judge, reason: written.reason.as_deref() }
    }

    /// True if neither the file nor a run can decide it.
    pub const fn is_for_people(&self) -> bool {
        matches!(self.judge, Judge::Inspection)
    }
}

/// All of them, in the order of the published text.
pub fn requirements() -> &'static [Requirement] {
    &ALL
}

/// The published document.
pub fn title() -> &'static str {
    &FILE.title
}

/// The requirement of this id, in capitals or not.
pub fn find(id: &str) -> Option<&'static Requirement> {
    ALL.iter().find(|requirement| requirement.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_unique_and_those_for_people_have_a_reason() {
        for (at, requirement) in ALL.iter().enumerate() {
            let is_first = ALL.iter().position(|other| other.id == requirement.id) == Some(at);
            assert!(is_first && !requirement.demand.ends_with('.'), "{}", requirement.id);
            assert_eq!(requirement.reason.is_some(), requirement.judge == Judge::Inspection, "{}", requirement.id);
        }
        assert!(SOURCE.starts_with("https://") && ALL.len() == 29);
        assert_eq!(find("cgw-s-006").map(|found| found.id), Some("CGW-S-006"));
    }
}
