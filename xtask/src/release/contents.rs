//! Descriptions of a release: sources, components, the Yocto layer with its list of crates, and notes.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::{Release, TARGETS};
use crate::{step, tools};

impl Release {
    pub(super) fn contents(&self) -> anyhow::Result<()> {
        self.sources()?;
        for package in TARGETS[0].packages {
            self.components(package)?;
        }
        self.layer()?;
        self.compose()?;
        self.notes()
    }

    fn sources(&self) -> anyhow::Result<()> {
        let name = format!("candor-{}", self.version);
        let file = self.out.join(format!("{name}.tar.gz"));
        let mut git = self.command("git");
        step::run(
            git.args(["archive", "--format=tar.gz", &format!("--prefix={name}/"), "--output"]).arg(file).arg("HEAD"),
        )
    }

    /// The components of a program as CycloneDX. The same list is in the program itself, for `cargo audit bin`.
    fn components(&self, package: &str) -> anyhow::Result<()> {
        let name = format!("{package}-{}.cdx", self.version);
        let folder = step::root().join("crates").join(package);
        let mut bom = self.command(tools::CARGO_CYCLONEDX.obtain()?);
        bom.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", TARGETS[0].triple]);
        step::run(bom.args(["--override-filename", &name, "--manifest-path"]).arg(folder.join("Cargo.toml")))?;
        let (from, to) = (folder.join(format!("{name}.json")), self.out.join(format!("{name}.json")));
        let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
        // cargo-cyclonedx writes one for each member of the workspace.
        for member in step::metadata()?.packages {
            let path = member.manifest_path.with_file_name(format!("{name}.json"));
            fs::remove_file(&path).with_context(|| format!("cannot remove {path}"))?;
        }
        // The name of this machine's folder is in every reference.
        let text = text.replace(&step::root().display().to_string(), "/candor");
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))
    }

    /// meta-candor with the crates of Cargo.lock and a recipe of this version.
    fn layer(&self) -> anyhow::Result<()> {
        let layer = self.built.join("meta-candor");
        self.clear(&layer)?;
        let from = step::root().join("packaging/yocto/meta-candor/.");
        step::run(Command::new("cp").args(["--recursive", "--no-preserve=mode"]).arg(from).arg(&layer))?;
        let recipes = layer.join("recipes-connectivity/candor");
        let recipe = recipes.join(format!("candor_{}.bb", self.version));
        fs::rename(recipes.join("candor.bb"), &recipe).with_context(|| format!("cannot write {}", recipe.display()))?;
        let sources = format!("candor-{}.tar.gz", self.version);
        fs::create_dir_all(recipes.join("files"))
            .and_then(|()| fs::copy(self.out.join(&sources), recipes.join("files").join(&sources)))
            .context("cannot copy the sources")?;
        let lock = fs::read_to_string(step::root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
        fs::write(recipes.join("candor-crates.inc"), crates(&lock)?).context("cannot write candor-crates.inc")?;
        self.tar(&layer, "meta-candor", &format!("meta-candor-{}", self.version))
    }

    /// The example for containers, with the version of the image.
    fn compose(&self) -> anyhow::Result<()> {
        let from = step::root().join("packaging/container/compose.yaml");
        let text = fs::read_to_string(&from).with_context(|| format!("cannot read {}", from.display()))?;
        fs::write(self.out.join("compose.yaml"), text.replace("candor:VERSION", &format!("candor:{}", self.version)))
            .context("cannot write compose.yaml")
    }

    fn notes(&self) -> anyhow::Result<()> {
        let changelog = fs::read_to_string(step::root().join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
        let section = match section(&changelog, &self.version) {
            Some(section) => section,
            None => {
                println!("xtask: CHANGELOG.md has no section {}: the notes are those of Unreleased", self.version);
                section(&changelog, "Unreleased").context("CHANGELOG.md has no section Unreleased either")?
            }
        };
        let text = format!("# candor {}\n\n{}\n", self.version, section.trim());
        fs::write(self.out.join("NOTES.md"), text).context("cannot write NOTES.md")
    }
}

/// The text below a `## HEADING`, which may go on with a date.
fn section<'a>(changelog: &'a str, heading: &str) -> Option<&'a str> {
    changelog.split("\n## ").skip(1).find_map(|section| {
        let (title, text) = section.split_once('\n')?;
        (title.split(' ').next() == Some(heading)).then_some(text)
    })
}

/// The crates of a Cargo.lock as sources of a Yocto recipe.
fn crates(lock: &str) -> anyhow::Result<String> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let mut text = "# Written by cargo xtask release from Cargo.lock.\n".to_owned();
    for package in lock.split("[[package]]").skip(1) {
        let Some(checksum) = field(package, "checksum") else { continue };
        let name = field(package, "name").context("Cargo.lock has a package without name")?;
        let version = field(package, "version").context("Cargo.lock has a package without version")?;
        text += &format!("SRC_URI += \"crate://crates.io/{name}/{version}\"\n");
        text += &format!("SRC_URI[{name}-{version}.sha256sum] = \"{checksum}\"\n");
    }
    ensure!(text.lines().count() > 1, "Cargo.lock names no crate with a checksum");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{crates, section};

    #[test]
    fn notes_are_the_section_of_the_version() {
        let changelog =
            "# Changelog\n\n## Unreleased\n\nlater\n\n## 0.2.0 - 2027-01-01\n\n### Added\n\n* new\n\n## 0.1.0\n\nold\n";
        assert_eq!(section(changelog, "0.2.0").unwrap().trim(), "### Added\n\n* new");
        assert_eq!(section(changelog, "0.1.0").unwrap().trim(), "old");
        assert_eq!(section(changelog, "0.2"), None);
    }

    #[test]
    fn crates_with_a_checksum_are_sources() {
        let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\nname = \"libc\"\n\
                    version = \"0.2.1\"\nsource = \"registry\"\nchecksum = \"12ab\"\ndependencies = [\n \"own\",\n]\n";
        let text = crates(lock).unwrap();
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, ["SRC_URI += \"crate://crates.io/libc/0.2.1\"", "SRC_URI[libc-0.2.1.sha256sum] = \"12ab\""]);
        assert!(crates("version = 4\n").is_err());
    }
}
