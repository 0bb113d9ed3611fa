//! Files with keys, which only their owner can read.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use candor_config::config::Key;
use candor_config::plan::LinkTls;
use candor_io::lock::open_regular;
use candor_io::process::effective_user;

use crate::bounded::at_most;
use crate::link::Pem;

/// Start of a path in the folder that systemd sets up for `LoadCredential=` and `LoadCredentialEncrypted=`.
const CREDENTIALS: &str = "${CREDENTIALS_DIRECTORY}/";
const ROOT: u32 = 0;
/// Bytes of a file that are read: more than a key has.
const MOST: usize = 256;
/// Bytes of a text in PEM: some certificates.
const MOST_PEM: usize = 64 << 10;

/// Reads the key in a file, whose path is relative to this folder or starts with `${CREDENTIALS_DIRECTORY}/`.
///
/// # Errors
/// Why not, and what to do: it is no regular file, does not belong to root or to the user of candor, others can read it, or it is
/// no key. Nothing of the content is in the text.
pub(crate) fn key(folder: &Path, written: &str) -> Result<Key, String> {
    let (path, others) = place(folder, written, std::env::var_os("CREDENTIALS_DIRECTORY"))?;
    of_file(&path, others, effective_user())
}

/// The path, and the permissions of others that are too many.
fn place(folder: &Path, written: &str, credentials: Option<OsString>) -> Result<(PathBuf, u32), String> {
    let Some(name) = written.strip_prefix(CREDENTIALS) else { return Ok((folder.join(written), 0o077)) };
    let credentials = credentials.ok_or("systemd sets CREDENTIALS_DIRECTORY only for services with LoadCredential=")?;
    // systemd gives the user of the service access by a list, whose mask is in the place of the group's permissions.
    Ok((Path::new(&credentials).join(name), 0o037))
}

/// Texts of TLS in files, whose paths are as those of keys. Nobody else can change one of them, or read the key.
///
/// # Errors
/// The path and why not.
pub fn pem(folder: &Path, tls: &LinkTls) -> Result<Pem, String> {
    let text = |written: &str, forbidden: u32| {
        let (path, others) = place(folder, written, std::env::var_os("CREDENTIALS_DIRECTORY"))?;
        let file = open(&path, others & forbidden, effective_user())?;
        let text = at_most(file, MOST_PEM).map_err(|why| why.to_string())?;
        if text.len() > MOST_PEM {
            return Err(format!("it has more than {} KiB", MOST_PEM >> 10));
        }
        String::from_utf8(text).map_err(|_not_utf8| "it is no text in PEM".to_owned())
    };
    let named =
        |written: &str, forbidden| text(written, forbidden).map_err(|why| format!("cannot use {written}: {why}"));
    Ok(Pem { ca: named(&tls.ca, 0o022)?, cert: named(&tls.cert, 0o022)?, key: named(&tls.key, 0o077)? })
}

fn of_file(path: &Path, others: u32, user: u32) -> Result<Key, String> {
    let file = open(path, others, user)?;
    let mut bytes = [0; MOST];
    let mut len = 0;
    loop {
        match (&file).read(&mut bytes[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why.to_string()),
        }
    }
    Key::take(&mut bytes[..len]).map_err(|why| why.to_string())
}

/// Opens a regular file of root or this user, on which others do not have these permissions.
fn open(path: &Path, others: u32, user: u32) -> Result<File, String> {
    let is_link = || path.symlink_metadata().is_ok_and(|data| data.file_type().is_symlink());
    let file = open_regular(OpenOptions::new().read(true), path).map_err(|why| match why.kind() {
        io::ErrorKind::InvalidInput => "it is no regular file".to_owned(),
        _ if is_link() => "it is a symbolic link; write the path of the file itself".to_owned(),
        _ => why.to_string(),
    })?;
    // Of the open file, which nobody can replace.
    let data = file.metadata().map_err(|why| why.to_string())?;
    if ![ROOT, user].contains(&data.uid()) {
        return Err(format!(
            "it belongs to user {}; give it to root, or to the user of candor, with chown",
            data.uid()
        ));
    }
    if data.mode() & others != 0 {
        let mode = data.mode() & 0o777;
        return Err(format!("others can read or change it (mode {mode:03o}); run chmod 600 {}", path.display()));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    const TEXT: &str = "000102030405060708090A0B0C0D0E0F\n";

    #[test]
    fn keys_are_read_only_from_files_of_their_owner() {
        let folder = std::env::temp_dir().join(format!("candor-key-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("key");
        std::fs::write(&path, TEXT).unwrap();
        let with_mode = |mode: u32, others: u32, user: u32| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            of_file(&path, others, user)
        };
        let user = effective_user();
        assert_eq!(with_mode(0o600, 0o077, user), Ok(Key::parse(TEXT.as_bytes()).unwrap()));
        assert!(with_mode(0o400, 0o077, user).is_ok());
        for mode in [0o640, 0o604, 0o620, 0o610, 0o602] {
            let why = with_mode(mode, 0o077, user).unwrap_err();
            assert!(why.contains(&format!("{mode:03o}")) && why.contains("chmod 600"), "{why}");
        }
        assert!(with_mode(0o440, 0o037, user).is_ok());
        assert!(with_mode(0o444, 0o037, user).is_err());
        if user != ROOT {
            assert!(with_mode(0o600, 0o077, user + 1).unwrap_err().contains("belongs to"));
        }
        let link = folder.join("link");
        symlink(&path, &link).unwrap();
        assert!(of_file(&link, 0o077, user).unwrap_err().contains("symbolic link"));
        assert!(of_file(&folder, 0o077, user).unwrap_err().contains("regular file"));
        assert!(of_file(&folder.join("missing"), 0o077, user).unwrap_err().contains("No such file"));
        for (content, part) in [("", "there are 0 bytes"), ("x".repeat(32).as_str(), "no digit")] {
            with_mode(0o600, 0o077, user).ok();
            std::fs::write(&path, content).unwrap();
            let why = of_file(&path, 0o077, user).unwrap_err();
            assert!(why.contains(part) && !why.contains("xx"), "{why}");
        }
        std::fs::write(&path, vec![b'0'; 10_000]).unwrap();
        assert!(of_file(&path, 0o077, user).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn paths_are_relative_to_the_file_or_credentials_of_systemd() {
        let place =
            |written, credentials: Option<&str>| place(Path::new("/etc/candor"), written, credentials.map(Into::into));
        assert_eq!(place("a.key", None), Ok(("/etc/candor/a.key".into(), 0o077)));
        assert_eq!(place("/a.key", None), Ok(("/a.key".into(), 0o077)));
        let name = "${CREDENTIALS_DIRECTORY}/a";
        assert_eq!(place(name, Some("/run/credentials/candor")), Ok(("/run/credentials/candor/a".into(), 0o037)));
        assert!(place(name, None).unwrap_err().contains("LoadCredential="));
    }
}
