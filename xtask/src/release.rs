//! `cargo xtask release`: packages, archives, images and lists of components, from one build for each target.

mod contents;
mod package;
mod repository;
mod target;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::{step, tools};

pub(crate) use repository::{Key, publish};
use target::TARGETS;
pub(crate) use target::{Target, of_this_machine};

/// Programs that a release starts, with the Debian package that has them.
const PROGRAMS: [(&str, &str); 11] = [
    ("apt-ftparchive", "apt-utils"),
    ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    ("buildah", "buildah"),
    ("dpkg-deb", "dpkg"),
    ("git", "git"),
    ("gpg", "gpg"),
    ("gzip", "gzip"),
    ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    ("rpmbuild", "rpm"),
    ("sha256sum", "coreutils"),
    ("xz", "xz-utils"),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Version, as in Cargo.toml.
    version: String,
    /// Rust targets, separated by commas [default: all four].
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    targets: Vec<String>,
    /// Sign the repository and SHA256SUMS with this key of gpg.
    #[arg(long, value_name = "KEY")]
    sign: Option<String>,
    /// Build the committed state again in another folder, and compare every file.
    #[arg(long)]
    check_reproducible: bool,
}

/// Inputs of all steps of a release.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// Time of the commit: the only time in the artefacts.
    epoch: String,
    /// Name and address of the committer.
    maintainer: String,
    /// Target directory of cargo.
    built: PathBuf,
    /// Directory of the artefacts.
    pub(crate) out: PathBuf,
}

/// `cargo xtask release`.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let release = Release::new(Some(&args.version), "release")?;
    let targets = target::selected(&args.targets)?;
    require(&PROGRAMS)?;
    for tool in [tools::CARGO_AUDITABLE, tools::CARGO_CYCLONEDX, tools::CARGO_DEB] {
        tool.obtain()?;
    }
    release.clear(&release.out)?;
    let key = args.sign.clone().map(|id| Key { id, home: None });
    // Its programs write the man pages of all.
    step::step("build for this machine", || release.build(of_this_machine()?))?;
    for target in &targets {
        step::step(&format!("build for {}", target.triple), || release.build(target))?;
        step::step(&format!("package for {}", target.triple), || release.package(target))?;
    }
    step::step("sources, components, notes", || release.contents())?;
    step::step("repository", || publish(&release, &release.out.join("debian"), key.as_ref()))?;
    let sums = step::step("checksums", || release.checksums(key.as_ref()))?;
    if args.check_reproducible {
        step::step("second build", || release.compare_second_build(&targets, &sums))?;
    }
    print_table(&release.out, &sums)
}

/// An error that lists missing programs and how to install them.
pub(crate) fn require(programs: &[(&str, &str)]) -> anyhow::Result<()> {
    let missing: Vec<_> = programs.iter().filter(|(program, _)| !is_installed(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = |name: fn(&&(&str, &str)) -> String| missing.iter().map(name).collect::<Vec<_>>();
    let (programs, packages) = (list(|one| one.0.to_owned()), list(|one| one.1.to_owned()));
    bail!("missing: {}; install them: apt-get install {}", programs.join(", "), packages.join(" "))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Release {
    /// A release of this commit; its artefacts go to `target/NAME/VERSION`.
    pub(crate) fn new(version: Option<&str>, name: &str) -> anyhow::Result<Self> {
        let metadata = step::metadata()?;
        let package = metadata.packages.iter().find(|package| package.name.as_str() == "candor");
        let written = package.context("the workspace has no package candor")?.version.to_string();
        if let Some(version) = version {
            let fix = "write the version in [workspace.package] of Cargo.toml, run cargo check, and commit";
            ensure!(version == written, "Cargo.toml has version {written}, not {version}: {fix}");
        }
        let commit = |format: &str| {
            let mut git = Command::new("git");
            step::output(git.current_dir(step::root()).args(["log", "-1", &format!("--format={format}")]))
        };
        let built = metadata.target_directory.into_std_path_buf();
        Ok(Self {
            epoch: commit("%ct")?.trim().to_owned(),
            maintainer: commit("%cn <%ce>")?.trim().to_owned(),
            out: built.join(name).join(&written),
            built,
            version: written,
        })
    }

    /// The time of the commit as Debian writes it.
    fn date(&self) -> anyhow::Result<String> {
        let date =
            step::output(Command::new("date").args(["--utc", "--rfc-email", &format!("--date=@{}", self.epoch)]))?;
        Ok(date.trim().to_owned())
    }

    /// A program that runs offline in the workspace and finds the time of the commit.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(step::root()).env("SOURCE_DATE_EPOCH", &self.epoch).env("CARGO_NET_OFFLINE", "true");
        command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        // They would replace those of .cargo/config.toml.
        command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }

    /// Makes a folder without contents.
    pub(crate) fn clear(&self, folder: &Path) -> anyhow::Result<()> {
        ensure!(folder.starts_with(&self.built), "{} is not a folder of this build", folder.display());
        if folder.exists() {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
    }

    /// Writes SHA256SUMS and returns its text.
    fn checksums(&self, key: Option<&Key>) -> anyhow::Result<String> {
        let mut find = Command::new("find");
        let signed = ["InRelease", "Release.gpg", "candor.gpg"].iter().flat_map(|name| ["!", "-name", name]);
        find.current_dir(&self.out).args(["-type", "f"]).args(signed).args(["-printf", "%P\n"]);
        let all = step::output(&mut find)?;
        let mut files: Vec<&str> = all.lines().collect();
        files.sort_unstable();
        let sums = step::output(Command::new("sha256sum").current_dir(&self.out).args(files))?;
        std::fs::write(self.out.join("SHA256SUMS"), &sums).context("cannot write SHA256SUMS")?;
        if let Some(key) = key {
            key.gpg(&self.out, &["--armor", "--detach-sign", "SHA256SUMS"])?;
        }
        Ok(sums)
    }

    /// Makes the same release from a clone in a folder with a longer name, and compares the checksums.
    fn compare_second_build(&self, targets: &[&Target], sums: &str) -> anyhow::Result<()> {
        let clone = self.built.join("second-build/in-a-folder-with-another-name");
        self.clear(&clone)?;
        step::run(
            Command::new("git").args(["clone", "--quiet", "--depth", "1"]).arg(url_of(&step::root())).arg(&clone),
        )?;
        let second = clone.join("target");
        self.clear(&second)?;
        std::os::unix::fs::symlink(self.built.join("tools"), second.join("tools")).context("cannot link the tools")?;
        let names: Vec<_> = targets.iter().map(|target| target.triple).collect();
        let mut release = self.command("cargo");
        release.args(["xtask", "release", &self.version, "--targets", &names.join(",")]);
        release.env_remove("CARGO").env("CARGO_TARGET_DIR", &second).stdout(Stdio::null());
        step::run(release.current_dir(&clone))?;
        let path = second.join("release").join(&self.version).join("SHA256SUMS");
        let other = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let different: Vec<_> = sums.lines().filter(|line| !other.lines().any(|one| one == *line)).collect();
        let count = sums.lines().count();
        if !different.is_empty() || other.lines().count() != count {
            let kept = path.display();
            bail!(
                "the second build ({kept}) differs in {} of {count} files:\n{}",
                different.len(),
                different.join("\n")
            );
        }
        println!("reproducible: {count} files are identical in a second build in another folder");
        std::fs::remove_dir_all(&clone).with_context(|| format!("cannot remove {}", clone.display()))
    }
}

/// Git ignores `--depth` for a plain path.
fn url_of(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

fn print_table(out: &Path, sums: &str) -> anyhow::Result<()> {
    println!("\n{:>10}  {:64}  file in {}", "bytes", "sha256", out.display());
    for (sum, name) in sums.lines().filter_map(|line| line.split_once("  ")) {
        let path = out.join(name);
        let bytes = path.metadata().with_context(|| format!("cannot read {}", path.display()))?.len();
        println!("{bytes:10}  {sum}  {name}");
    }
    Ok(())
}
