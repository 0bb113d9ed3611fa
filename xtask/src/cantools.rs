//! cantools, which the tests of candor-signals compare with: a Python environment, and the databases of its source package.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{step, tools};

const VERSION: &str = "45.1.0";
/// Of the source package, as its registry gives it.
const SHA256: &str = "ea1619f3d6108a1c3ecd0f81c952ff2dffd023b244704f6f7a17c4f4dca75f73";
/// The file that says that the directory is complete. Its number grows with what the directory holds.
const COMPLETE: &str = "complete-2";
/// cantools needs these.
const REQUIREMENTS: [&str; 8] = [
    "argparse-addons==0.12.0",
    "bitstruct==8.24.0",
    "crccheck==1.3.1",
    "packaging==26.4",
    "python-can==4.6.1",
    "textparser==0.26.2",
    "typing_extensions==4.16.0",
    "wrapt==1.17.3",
];

/// `cargo xtask cantools`: prints what `CANDOR_CANTOOLS` must be.
pub(crate) fn run() -> anyhow::Result<()> {
    match obtain()? {
        Some(folder) => println!("{}", folder.display()),
        None => println!("cantools: left out"),
    }
    Ok(())
}

/// The directory with `venv` and `files`. `None`, after printing why, if it cannot be made.
pub(crate) fn obtain() -> anyhow::Result<Option<PathBuf>> {
    let folder = step::metadata()?.target_directory.join("tools").join(format!("cantools-{VERSION}"));
    let folder = folder.into_std_path_buf();
    if folder.join(COMPLETE).exists() {
        return Ok(Some(folder));
    }
    println!("xtask: installing cantools {VERSION}");
    if let Err(error) = install(&folder) {
        tools::left_out("cantools", &format!("{error:#}; needs python3-venv, and a registry of Python packages"))?;
        return Ok(None);
    }
    std::fs::write(folder.join(COMPLETE), "")?;
    Ok(Some(folder))
}

fn install(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    step::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder.join("venv")))?;
    let pip = || {
        let mut command = Command::new(folder.join("venv/bin/python"));
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
        command
    };
    let cantools = format!("cantools=={VERSION}");
    step::run(pip().args(["install", "--no-deps"]).args(REQUIREMENTS).arg(&cantools))?;
    // Hashes can only stand in a file.
    let requirement = folder.join("requirement.txt");
    std::fs::write(&requirement, format!("{cantools} --hash=sha256:{SHA256}\n"))?;
    step::run(
        pip()
            .args(["download", "--no-deps", "--no-binary", ":all:", "--require-hashes", "--requirement"])
            .arg(&requirement)
            .arg("--dest")
            .arg(folder),
    )?;
    let archive = folder.join(format!("cantools-{VERSION}.tar.gz"));
    let extract = |to: &Path, skipped: &str, part: &str| {
        let part = format!("cantools-{VERSION}/{part}");
        step::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(to).args([skipped, &part]))
    };
    extract(folder, "--strip-components=2", "tests/files")?;
    extract(&folder.join("files"), "--strip-components=1", "examples/motor_tester")
}
