//! Packages: `.deb` by cargo-deb from the lists in Cargo.toml; archive, rpm and image have the files of the `.deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::{Release, Target, of_this_machine};
use crate::{step, tools};

/// Debian's version after that of candor: older than any `-1` that Debian itself may package.
const REVISION: &str = "0candor1";

impl Release {
    /// Writes all packages of a target.
    pub(super) fn package(&self, target: &Target) -> anyhow::Result<()> {
        let trees = self.programs(target).join("trees");
        self.clear(&trees)?;
        for package in target.packages {
            let deb = self.deb(target, package, &self.version, &self.out.join("debian"))?;
            let tree = trees.join(package);
            step::run(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(&tree))?;
            self.archive(target, package, &tree)?;
        }
        let Some((rpm, image)) = target.rpm_and_image else { return Ok(()) };
        self.rpm(rpm, &trees)?;
        self.image(image, &self.programs(target))
    }

    /// Writes the `.deb` of a package and returns its path.
    pub(crate) fn deb(&self, target: &Target, package: &str, version: &str, folder: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        self.write_debian_changelog(target, package, version)?;
        let mut deb = self.command(tools::CARGO_DEB.obtain()?);
        deb.args(["--no-build", "--no-strip", "--locked", "--offline", "--quiet", "--profile", "dist"]);
        deb.args(["--target", target.triple, "--package", package, "--maintainer", &self.maintainer]);
        deb.args(["--deb-version", &debian_version(version), "--output"]).arg(folder);
        let variants = target.variants.iter().filter(|(of, _)| *of == package);
        deb.args(variants.flat_map(|(_, variant)| ["--variant", variant]));
        // cargo-deb prints the path last.
        let printed = step::output(deb.env("CARGO_TARGET_DIR", &self.built))?;
        Ok(printed.lines().last().context("cargo-deb names no package")?.into())
    }

    /// Man pages and completions, by the programs for this machine.
    pub(super) fn write_pages(&self, target: &Target, package: &str) -> anyhow::Result<()> {
        let share = self.share(target, package);
        self.clear(&share)?;
        let programs: &[&str] = if package == "candor" { &["candor", "candor-link"] } else { &[package] };
        for name in programs {
            let program = self.programs(of_this_machine()?).join(name);
            let generate = || {
                let mut command = self.command(&program);
                command.arg("generate");
                command
            };
            step::run(generate().arg("man").arg(share.join("man")))?;
            let shells = [("bash", (*name).to_owned()), ("zsh", format!("_{name}")), ("fish", format!("{name}.fish"))];
            for (shell, name) in shells {
                fs::create_dir_all(share.join(shell)).with_context(|| format!("cannot create {}", share.display()))?;
                let script = step::output(generate().args(["completions", shell]))?;
                fs::write(share.join(shell).join(name), script)
                    .with_context(|| format!("cannot write to {}", share.display()))?;
            }
        }
        if package == "candor" {
            // candor-lab has its own.
            fs::remove_file(share.join("man/candor-lab.1")).context("cannot remove candor-lab.1")?;
        }
        let pages = fs::read_dir(share.join("man")).context("cannot list man pages")?;
        let pages = pages.map(|page| Ok(page?.path())).collect::<std::io::Result<Vec<_>>>()?;
        step::run(Command::new("gzip").args(["--best", "--no-name"]).args(pages))
    }

    /// Directory of generated files, which the lists in Cargo.toml refer to.
    fn share(&self, target: &Target, package: &str) -> PathBuf {
        self.programs(target).join("share").join(package)
    }

    fn write_debian_changelog(&self, target: &Target, package: &str, version: &str) -> anyhow::Result<()> {
        let (version, maintainer, date) = (debian_version(version), &self.maintainer, self.date()?);
        let text = format!(
            "{package} ({version}) stable; urgency=medium\n\n  * See changelog.gz for the changes.\n\n -- {maintainer}  {date}\n"
        );
        let path = self.share(target, package).join("changelog.Debian");
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        step::run(Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(path))
    }

    /// The files of the `.deb` with the licences as an archive.
    fn archive(&self, target: &Target, package: &str, tree: &Path) -> anyhow::Result<()> {
        let name = format!("{package}-{}-{}", self.version, target.triple);
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let to = tree.join(licence);
            fs::copy(step::root().join(licence), &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
        self.tar(tree, &name, &name)
    }

    /// Writes the files of a folder below `top` to `NAME.tar.xz`.
    pub(super) fn tar(&self, folder: &Path, top: &str, name: &str) -> anyhow::Result<()> {
        let mut tar = self.command("tar");
        tar.args(["--create", "--xz", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+w,go=u-w"]);
        tar.arg(format!("--mtime=@{}", self.epoch)).arg(format!("--transform=s,^\\.,{top},"));
        let file = self.out.join(format!("{name}.tar.xz"));
        step::run(tar.arg("--file").arg(file).arg("--directory").arg(folder).arg("."))
    }

    /// One rpm of each package.
    fn rpm(&self, arch: &str, trees: &Path) -> anyhow::Result<()> {
        let define = |name: &str, value: &str| ["--define".to_owned(), format!("{name} {value}")];
        let mut build = self.command("rpmbuild");
        build.args(["-bb", "--quiet", "--target", arch]);
        build.args(define("release_version", &self.version.replace('-', "~")));
        build.args(define("trees", &trees.display().to_string()));
        build.args(define("_topdir", &trees.with_file_name("rpm").display().to_string()));
        build.args(define("_rpmdir", &self.out.display().to_string()));
        build.args(define("_build_name_fmt", "%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm"));
        // The same file from any machine.
        build.args(define("_buildhost", "candor")).args(define("use_source_date_epoch_as_buildtime", "1"));
        build.args(define("clamp_mtime_to_source_date_epoch", "1"));
        step::run(build.arg("packaging/rpm/candor.spec"))
    }

    /// The static program alone as an image, by buildah, which needs no service.
    fn image(&self, arch: &str, programs: &Path) -> anyhow::Result<()> {
        let store = self.built.join("images");
        let buildah = |verb: &str| {
            let mut command = self.command("buildah");
            command.args(["--storage-driver", "vfs", "--root"]).arg(store.join("root"));
            command.arg("--runroot").arg(store.join("run")).arg(verb);
            command
        };
        let name = format!("candor:{}-{arch}", self.version);
        let mut build = buildah("build");
        build.args(["--quiet", "--timestamp", &self.epoch, "--platform", &format!("linux/{arch}"), "--tag", &name]);
        step::run(build.args(["--file", "packaging/container/Containerfile"]).arg(programs))?;
        let file = self.out.join(format!("candor-{}-image-{arch}.tar", self.version));
        let to = format!("docker-archive:{}:candor:{}", file.display(), self.version);
        step::run(buildah("push").args(["--quiet", &name, &to]))
    }
}

fn debian_version(version: &str) -> String {
    format!("{}-{REVISION}", version.replace('-', "~"))
}
