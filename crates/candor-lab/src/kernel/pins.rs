//! Pinned kernels: the version of each, and the checksums of its packages.

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Testbed;
use crate::arch::Arch;
use crate::packages::{self, PoolFile};

/// A kernel in a version of its packages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// Such as `debian-6.1`, `debian-6.12-rt`, `uml-6.1`.
    pub name: String,
    pub suite: String,
    pub version: String,
    /// `uname -r`; the package of user-mode Linux does not name it.
    pub release: Option<String>,
    pub files: Vec<PoolFile>,
}

impl Pin {
    pub(super) fn testbed(&self) -> Testbed {
        if self.name.starts_with(UML_PREFIX) { Testbed::Uml } else { Testbed::Icount }
    }
}

pub(super) const UML_PREFIX: &str = "uml-";

/// Names from before the kernels were pinned, which plans and results contain: today's name is that after the second.
const OTHER_PREFIX: (&str, &str) = ("backports-6.12", "debian-6.12");

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Pins {
    #[serde(rename = "x86-64")]
    x86_64: Vec<Pin>,
    arm64: Vec<Pin>,
}

impl Pins {
    const fn of(&self, arch: Arch) -> &Vec<Pin> {
        match arch {
            Arch::X86_64 => &self.x86_64,
            Arch::Arm64 => &self.arm64,
        }
    }

    const fn of_mut(&mut self, arch: Arch) -> &mut Vec<Pin> {
        match arch {
            Arch::X86_64 => &mut self.x86_64,
            Arch::Arm64 => &mut self.arm64,
        }
    }
}

static PINS: LazyLock<Pins> =
    LazyLock::new(|| toml::from_str(include_str!("pins.toml")).expect("a test parses the file"));

/// The pinned kernels for a processor. The first one of a testbed is its default.
pub(super) fn of(arch: Arch) -> &'static [Pin] {
    PINS.of(arch)
}

/// The kernel of this name, or the default one.
pub(super) fn find<'a>(pins: &'a [Pin], testbed: Testbed, name: Option<&str>) -> Option<&'a Pin> {
    let name = name.map(todays);
    pins.iter().find(|pin| pin.testbed() == testbed && name.as_ref().is_none_or(|name| *name == pin.name))
}

fn todays(name: &str) -> String {
    let (other, today) = OTHER_PREFIX;
    name.strip_prefix(other).map_or_else(|| name.to_owned(), |rest| format!("{today}{rest}"))
}

/// Of equal versions that of the first suite, which changes least.
pub(super) fn newest<'a>(kernels: impl Iterator<Item = &'a Pin>) -> Option<&'a Pin> {
    kernels.reduce(|best, next| if packages::compare(&next.version, &best.version).is_gt() { next } else { best })
}

/// All names that `--kernel` accepts.
pub fn names(arch: Arch) -> Vec<String> {
    let (other, today) = OTHER_PREFIX;
    let others = of(arch).iter().filter_map(|pin| Some(format!("{other}{}", pin.name.strip_prefix(today)?)));
    of(arch).iter().map(|pin| pin.name.clone()).chain(others).collect()
}

/// A kernel whose pin is to move: NAME for the newest version, or NAME=VERSION. It may be one that has no pin yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub name: String,
    pub version: Option<String>,
}

impl std::str::FromStr for Move {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, version) = text.split_once('=').map_or((text, None), |(name, version)| (name, Some(version)));
        Ok(Self { name: name.to_owned(), version: version.map(str::to_owned) })
    }
}

/// The text of a pin file after moving some pins, or all, to kernels in the archive; and what changed, a line each.
pub(super) fn moved(
    text: &str,
    moves: &[Move],
    archive: &[(Arch, Vec<Pin>)],
) -> Result<(String, Vec<String>), toml::de::Error> {
    let mut pins: Pins = toml::from_str(text)?;
    let mut changes = Vec::new();
    for (arch, offered) in archive {
        let present = pins.of_mut(*arch);
        let all = present.iter().map(|pin| Move { name: pin.name.clone(), version: None });
        let moves = if moves.is_empty() { all.collect() } else { moves.to_vec() };
        for Move { name, version } in moves {
            let subject = format!("{} {name}", arch.name());
            let fits = |pin: &&Pin| pin.name == name && version.as_ref().is_none_or(|version| *version == pin.version);
            let found = newest(offered.iter().filter(fits));
            let place = present.iter().position(|pin| pin.name == name);
            match (found, place) {
                (Some(found), Some(place)) if present[place] == *found => {}
                (Some(found), Some(place)) => {
                    changes.push(format!("{subject}: {} → {}", present[place].version, found.version));
                    present[place] = found.clone();
                }
                (Some(found), None) => {
                    changes.push(format!("{subject}: {}", found.version));
                    present.push(found.clone());
                }
                (None, Some(place)) => {
                    changes.push(format!("{subject}: not in the archive, stays {}", present[place].version));
                }
                (None, None) => changes.push(format!("{subject}: not in the archive")),
            }
        }
    }
    Ok((written(&pins), changes))
}

const HEADER: &str = "\
# Kernels of guests, with the version and the packages that candor-lab fetches. `cargo xtask pins` moves them to the newest
# versions of their series. The first kernel of a testbed is its default.
";

fn written(pins: &Pins) -> String {
    let mut text = HEADER.to_owned();
    let mut line = |line: &str| writeln!(text, "{line}").expect("writing to a String cannot fail");
    for &arch in Arch::ALL {
        for pin in pins.of(arch) {
            line(&format!("\n[[{}]]", arch.name()));
            let fixed = [("name", Some(&pin.name)), ("suite", Some(&pin.suite)), ("version", Some(&pin.version))];
            for (key, value) in fixed.into_iter().chain([("release", pin.release.as_ref())]) {
                if let Some(value) = value {
                    line(&format!("{key} = \"{value}\""));
                }
            }
            for PoolFile { path, bytes, sha256 } in &pin.files {
                line(&format!("[[{}.files]]", arch.name()));
                line(&format!("path = \"{path}\"\nbytes = {bytes}\nsha256 = \"{sha256}\""));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pin(name: &str, version: &str) -> Pin {
        let file = PoolFile { path: "pool/a.deb".into(), bytes: 9, sha256: "ab".into() };
        let (name, version) = (name.to_owned(), version.to_owned());
        Pin { name, suite: "sid".into(), version, release: None, files: vec![file] }
    }

    #[test]
    fn pins_are_complete() {
        for &arch in Arch::ALL {
            let names: BTreeSet<&str> = of(arch).iter().map(|pin| pin.name.as_str()).collect();
            assert_eq!(names.len(), of(arch).len());
            assert_eq!(of(arch)[0].name, "debian-6.1");
            for pin in of(arch) {
                assert!(!pin.suite.is_empty() && !pin.version.is_empty() && !pin.files.is_empty(), "{pin:?}");
                assert_eq!(pin.release.is_some(), pin.testbed() == Testbed::Icount, "{pin:?}");
                for file in &pin.files {
                    assert!(file.path.starts_with("pool/") && file.path.ends_with(".deb"), "{file:?}");
                    let is_sum = |sum: &str| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
                    assert!(file.bytes > 0 && is_sum(&file.sha256), "{file:?}");
                }
            }
        }
    }

    #[test]
    fn names_of_stored_plans_and_results_are_accepted() {
        let pins = of(Arch::X86_64);
        let found = |testbed, name| find(pins, testbed, name).map(|pin| pin.name.as_str());
        assert_eq!(found(Testbed::Icount, Some("backports-6.12")), Some("debian-6.12"));
        assert_eq!(found(Testbed::Icount, Some("backports-6.12-rt")), Some("debian-6.12-rt"));
        assert_eq!(found(Testbed::Icount, None), Some("debian-6.1"));
        assert_eq!(found(Testbed::Uml, None), Some("uml-6.1"));
        for (testbed, name) in [(Testbed::Uml, "debian-6.1"), (Testbed::Icount, "backports-6.1"), (Testbed::Icount, "")]
        {
            assert_eq!(found(testbed, Some(name)), None, "{name}");
        }
        let names = names(Arch::X86_64);
        assert!(names.contains(&"backports-6.12-rt".to_owned()) && names.contains(&"debian-7.3".to_owned()));
        assert!(names.iter().all(|name| ["debian-", "uml-", "backports-6.12"].iter().any(|it| name.starts_with(it))));
    }

    #[test]
    fn first_suite_with_the_newest_version_is_taken() {
        let offered = [("6.1.9-1", "bookworm"), ("6.1.10-1", "trixie"), ("6.1.10-1", "sid")]
            .map(|(version, suite)| Pin { suite: suite.to_owned(), ..pin("debian-6.1", version) });
        assert_eq!(newest(offered.iter()).map(|kernel| kernel.suite.as_str()), Some("trixie"));
        assert_eq!(newest([].iter()), None);
    }

    #[test]
    fn pins_move_to_the_newest_version_or_stay() {
        let before =
            written(&Pins { x86_64: vec![pin("debian-6.1", "6.1.9-1"), pin("debian-7.0", "7.0.1-1")], arm64: vec![] });
        let offered = ["6.1.9-1", "6.1.10-1~bpo1", "6.1.10-1"].map(|version| pin("debian-6.1", version));
        let archive = [(Arch::X86_64, [&offered[..], &[pin("debian-7.3", "7.3.4-1")]].concat())];
        let change = |moves: &[&str]| {
            let moves: Vec<Move> = moves.iter().map(|text| text.parse().unwrap()).collect();
            let (text, changes) = moved(&before, &moves, &archive).unwrap();
            let pins: Pins = toml::from_str(&text).unwrap();
            let versions = pins.x86_64.into_iter().map(|pin| pin.version).collect::<Vec<_>>();
            (versions.join(" "), changes.join(", "))
        };
        let all = "x86-64 debian-6.1: 6.1.9-1 → 6.1.10-1, x86-64 debian-7.0: not in the archive, stays 7.0.1-1";
        assert_eq!(change(&[]), ("6.1.10-1 7.0.1-1".to_owned(), all.to_owned()));
        let some = "x86-64 debian-7.3: 7.3.4-1, x86-64 debian-6.1: 6.1.9-1 → 6.1.10-1~bpo1";
        let moves = ["debian-7.3", "debian-6.1=6.1.10-1~bpo1"];
        assert_eq!(change(&moves), ("6.1.10-1~bpo1 7.0.1-1 7.3.4-1".to_owned(), some.to_owned()));
        let none = "x86-64 debian-8.0: not in the archive";
        assert_eq!(change(&["debian-8.0"]), ("6.1.9-1 7.0.1-1".to_owned(), none.to_owned()));
        assert!(moved("x", &[], &archive).is_err());
    }
}
