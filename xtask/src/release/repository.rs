//! A flat apt repository: a folder of packages with their signed list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::Release;
use crate::step;

/// A secret key of gpg.
#[derive(Debug)]
pub(crate) struct Key {
    /// Fingerprint, address or name.
    pub(crate) id: String,
    /// Folder of keys, if it is not the user's.
    pub(crate) home: Option<PathBuf>,
}

impl Key {
    /// Runs gpg in a folder with this key.
    pub(crate) fn gpg(&self, folder: &Path, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new("gpg");
        command.current_dir(folder).args(["--batch", "--yes", "--local-user", &self.id]).args(arguments);
        step::run(command.envs(self.home.iter().map(|home| ("GNUPGHOME", home))))
    }
}

/// Writes the lists of a folder of packages; with a key, signs them and adds the public key as `candor.gpg`.
pub(crate) fn publish(release: &Release, folder: &Path, key: Option<&Key>) -> anyhow::Result<()> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let archive = || {
        let mut command = release.command("apt-ftparchive");
        command.current_dir(folder);
        command
    };
    write("Packages", step::output(archive().args(["packages", "."]))?)?;
    step::run(Command::new("gzip").current_dir(folder).args(["--best", "--no-name", "--keep", "--force", "Packages"]))?;
    let date = format!("Date={}", release.date()?);
    let options = ["Origin=candor", "Label=candor", "Suite=stable", &date]
        .map(|field| format!("-oAPT::FTPArchive::Release::{field}"));
    write("Release", step::output(archive().args(options).args(["release", "."]))?)?;
    let Some(key) = key else { return Ok(()) };
    key.gpg(folder, &["--output", "InRelease", "--clearsign", "Release"])?;
    key.gpg(folder, &["--output", "Release.gpg", "--armor", "--detach-sign", "Release"])?;
    key.gpg(folder, &["--output", "candor.gpg", "--export", &key.id])
}
