//! Signed gateway files: the keys of `--verify-key` and of the machine, and the signature of each file.
//!
//! The signature of FILE is in FILE.minisig. The bytes that were verified are those that are parsed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use candor_config::signature::{
    Digest, KeyId, MAX_SIGNATURE_BYTES, Mismatch, NotAKey, NotASignature, PublicKey, Signature, Signer,
};

use crate::bounded::at_most;

/// If this folder exists, commands that change which frames cross need files that are signed with one of its keys.
pub const KEYS_FOLDER: &str = "/etc/candor/keys.d";

/// Writable by the group or by others.
const WRITABLE: u32 = 0o022;

/// The keys of which a file needs a signature.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// With the file of each key. `None`: no file needs a signature.
    keys: Option<Vec<(PublicKey, String)>>,
}

/// The keys cannot be read, or may not be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("cannot read {path}")]
    Read { path: String, source: io::Error },
    #[error("cannot use {path} as a key")]
    NotAKey { path: String, source: NotAKey },
    #[error(
        "{KEYS_FOLDER} has no key, and this machine takes only files that are signed with a key of it; copy a public key \
         there, such as minisign.pub"
    )]
    NoKey,
    #[error(
        "{path} must belong to root, and nobody else may write to it: sudo chown root {path}; sudo chmod go-w {path}"
    )]
    Writable { path: String },
    #[error(
        "the key {id} of {path} is not in {KEYS_FOLDER}, and this machine takes only files that are signed with a key of it"
    )]
    NotOfMachine { id: String, path: String },
}

/// A file has no signature of these keys.
#[derive(Debug, thiserror::Error)]
pub enum Unsigned {
    #[error("standard input has no signature")]
    StandardInput,
    #[error("it is not signed: {signature} does not exist")]
    Missing { signature: String },
    #[error("its signature {signature} cannot be read: {why}")]
    Unreadable { signature: String, why: io::Error },
    #[error("its signature {signature} is not valid: {why}")]
    Malformed { signature: String, why: NotASignature },
    #[error("its signature {signature} is of the key {id}; accepted: {}", .accepted.join(", "))]
    OtherKey { signature: String, id: String, accepted: Vec<String> },
    #[error(
        "its signature {signature} is not that of its content: one of the two was changed, or belongs to another file"
    )]
    Content { signature: String },
    #[error("the trusted comment of its signature {signature} was changed")]
    Comment { signature: String },
    #[error("its signature {signature} is of a file with the name {name:?}")]
    OtherName { signature: String, name: String },
}

impl Unsigned {
    /// What to do about the file.
    pub fn help(&self, file: &Path) -> String {
        match self {
            Self::StandardInput => "write a file and sign it: minisign -Sm FILE".to_owned(),
            _ => format!("sign it: minisign -Sm {}", file.display()),
        }
    }
}

impl Keys {
    /// No file needs a signature.
    pub const NONE: Self = Self { keys: None };

    /// The keys of `--verify-key`: files of public keys, or the keys themselves. Without any, no file needs a signature.
    ///
    /// # Errors
    /// [`KeysError`] if a key cannot be read.
    pub fn of_options(options: &[String]) -> Result<Self, KeysError> {
        let keys: Result<Vec<_>, _> = options.iter().map(|option| of_option(option)).collect();
        Ok(Self { keys: Some(keys?).filter(|keys| !keys.is_empty()) })
    }

    /// As [`of_options`](Self::of_options), for commands that change which frames cross: if [`KEYS_FOLDER`] exists, its keys
    /// are needed, and options select some of them.
    ///
    /// # Errors
    /// [`KeysError`] if a key cannot be read, or is not of the folder.
    pub fn of_machine(options: &[String]) -> Result<Self, KeysError> {
        Self::of_folder(Path::new(KEYS_FOLDER), 0, options)
    }

    fn of_folder(folder: &Path, owner: u32, options: &[String]) -> Result<Self, KeysError> {
        let of_options = Self::of_options(options)?;
        let Some(of_machine) = folder_keys(folder, owner)? else { return Ok(of_options) };
        let Some(selected) = of_options.keys else { return Ok(Self { keys: Some(of_machine) }) };
        let is_known = |key: &PublicKey| of_machine.iter().any(|(known, _)| known == key);
        match selected.iter().find(|(key, _)| !is_known(key)) {
            Some((key, path)) => Err(KeysError::NotOfMachine { id: key.id().to_string(), path: path.clone() }),
            None => Ok(Self { keys: Some(selected) }),
        }
    }

    /// True if files need a signature.
    pub const fn are_required(&self) -> bool {
        self.keys.is_some()
    }

    /// Verifies the bytes of a file. `None` if it needs no signature.
    ///
    /// # Errors
    /// [`Unsigned`] if it needs one, and has none of these keys.
    pub fn verify(&self, file: &Path, bytes: &[u8], digest: &Digest) -> Result<Option<Signer>, Unsigned> {
        let Some(keys) = &self.keys else { return Ok(None) };
        if file.as_os_str() == "-" {
            return Err(Unsigned::StandardInput);
        }
        let path = signature_path(file);
        let name = || path.display().to_string();
        let read = fs::File::open(&path).and_then(|file| at_most(file, MAX_SIGNATURE_BYTES));
        let read = read.map_err(|why| match why.kind() {
            io::ErrorKind::NotFound => Unsigned::Missing { signature: name() },
            _ => Unsigned::Unreadable { signature: name(), why },
        })?;
        let signature = Signature::read(&read).map_err(|why| Unsigned::Malformed { signature: name(), why })?;
        let of_id = keys.iter().filter(|(key, _)| key.id() == signature.key_id());
        // Several keys may have the same number.
        let mut outcome = Err(Unsigned::OtherKey {
            signature: name(),
            id: signature.key_id().to_string(),
            accepted: keys.iter().map(|(key, path)| format!("{} ({path})", key.id())).collect(),
        });
        for (key, key_file) in of_id {
            outcome = match signature.verify(key, bytes, digest) {
                Ok(()) => Ok(signer(key.id(), key_file, &signature)),
                Err(Mismatch::Comment) => Err(Unsigned::Comment { signature: name() }),
                Err(Mismatch::Content) => Err(Unsigned::Content { signature: name() }),
            };
            if outcome.is_ok() {
                break;
            }
        }
        let signer = outcome?;
        let is_this = |name: &str| file.file_name().is_some_and(|file| file == name);
        match signature.file_name().filter(|name| !is_this(name)) {
            Some(other) => Err(Unsigned::OtherName { signature: name(), name: other.to_owned() }),
            None => Ok(Some(signer)),
        }
    }
}

fn signer(id: KeyId, key_file: &str, signature: &Signature) -> Signer {
    Signer { key_id: id.to_string(), key_file: key_file.to_owned(), comment: signature.comment().to_owned() }
}

/// Where the signature of a file is: FILE.minisig.
pub fn signature_path(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".minisig");
    path.into()
}

fn of_option(option: &str) -> Result<(PublicKey, String), KeysError> {
    match PublicKey::of_base64(option) {
        Some(key) => Ok((key, "--verify-key".to_owned())),
        None => of_file(Path::new(option)),
    }
}

fn of_file(path: &Path) -> Result<(PublicKey, String), KeysError> {
    let name = path.display().to_string();
    let read = fs::File::open(path).and_then(|file| at_most(file, MAX_SIGNATURE_BYTES));
    let bytes = read.map_err(|source| KeysError::Read { path: name.clone(), source })?;
    match PublicKey::of_file(&bytes) {
        Ok(key) => Ok((key, name)),
        Err(source) => Err(KeysError::NotAKey { path: name, source }),
    }
}

/// The keys of a folder, which are its files `*.pub`; `None` if it does not exist.
fn folder_keys(folder: &Path, owner: u32) -> Result<Option<Vec<(PublicKey, String)>>, KeysError> {
    let unreadable = |path: &Path| {
        let path = path.display().to_string();
        |source| KeysError::Read { path, source }
    };
    let is_safe = |path: &Path, metadata: &Metadata| match metadata.uid() == owner && metadata.mode() & WRITABLE == 0 {
        true => Ok(()),
        false => Err(KeysError::Writable { path: path.display().to_string() }),
    };
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(folder).is_err() => {
            return Ok(None);
        }
        found => is_safe(folder, &found.map_err(unreadable(folder))?)?,
    }
    // Who can write to the folder above could put another one in its place, or none.
    if let Some(above) = folder.parent() {
        is_safe(above, &fs::metadata(above).map_err(unreadable(above))?)?;
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        paths.push(entry.map_err(unreadable(folder))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pub"));
    candor_core::order::sort(&mut paths);
    let mut keys = Vec::new();
    for path in paths {
        is_safe(&path, &fs::metadata(&path).map_err(unreadable(&path))?)?;
        keys.push(of_file(&path)?);
    }
    if keys.is_empty() { Err(KeysError::NoKey) } else { Ok(Some(keys)) }
}

#[cfg(test)]
mod tests;
