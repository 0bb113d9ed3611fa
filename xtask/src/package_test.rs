//! `cargo xtask package-test`: the packages of this machine's architecture in a new Debian.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::release::{self, Key, Release};
use crate::{step, tools};

const PROGRAMS: [(&str, &str); 5] = [
    ("apt-ftparchive", "apt-utils"),
    ("dpkg-deb", "dpkg"),
    ("gpg", "gpg"),
    ("lintian", "lintian"),
    ("mmdebstrap", "mmdebstrap"),
];

/// Version of the packages that are upgraded.
const OLD: &str = "0.0.1";

/// Checks the packages with lintian; then installs an older version from a signed repository, upgrades and purges it.
pub(crate) fn run() -> anyhow::Result<()> {
    if let Err(error) = release::require(&PROGRAMS) {
        return tools::left_out("packages", &format!("{error:#}"));
    }
    let target = release::of_this_machine()?;
    let release = Release::new(None, "package-test")?;
    release.clear(&release.out)?;
    step::step("build", || release.build(target))?;
    let (old, new) = (release.out.join("old"), release.out.join("new"));
    for package in target.packages {
        release.deb(target, package, OLD, &old)?;
        let deb = release.deb(target, package, &release.version, &new)?;
        step::run(Command::new("lintian").args(["--allow-root", "--fail-on", "error,warning"]).arg(deb))?;
    }
    let private = std::fs::Permissions::from_mode(0o700);
    let home = tempfile::Builder::new().permissions(private).tempdir().context("cannot create a folder for keys")?;
    let key = Key { id: "candor package test".to_owned(), home: Some(home.path().to_owned()) };
    key.gpg(home.path(), &["--passphrase", "", "--quick-generate-key", &key.id, "ed25519", "sign", "1d"])?;
    for folder in [&old, &new] {
        release::publish(&release, folder, Some(&key))?;
    }
    step::step("install, upgrade and purge in Debian", || in_debian(&old, &new))
}

fn in_debian(old: &Path, new: &Path) -> anyhow::Result<()> {
    let script = step::root().join("packaging/package-test.sh");
    let hook = format!("'{}' \"$1\" '{}' '{}'", script.display(), old.display(), new.display());
    let system = std::fs::read_to_string("/etc/os-release").context("cannot read /etc/os-release")?;
    let suite = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("/etc/os-release has no VERSION_CODENAME, the Debian to install")?;
    let mut debian = Command::new("mmdebstrap");
    step::run(debian.args(["--quiet", "--variant=apt", &format!("--customize-hook={hook}"), suite, "/dev/null"]))
}
