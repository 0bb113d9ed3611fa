//! Reading a gateway file, and printing its findings if it is not valid.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use candor_config::config::{self, Lists, Loaded, MAX_FILE_BYTES, code};
use candor_config::plan::Engine;
use candor_config::signature::{Digest, Signer, blake2b};
use candor_core::diagnostic::{Diagnostic, Severity};
use serde::Serialize;

use crate::bounded::at_most;
use crate::key_file;
use crate::render::{self, Finding, Source};
use crate::signed::{Keys, Unsigned};

/// Output format of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object per line.
    Event,
    /// A single JSON object.
    Object,
    Text,
}

impl Form {
    /// For a single answer.
    pub const fn once(json: bool) -> Self {
        if json { Self::Object } else { Self::Text }
    }

    /// For commands that print events while they run.
    pub const fn running(json: bool) -> Self {
        if json { Self::Event } else { Self::Text }
    }
}

/// The answer of a command to a file that is not valid.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Invalid<'a> {
    /// `invalid`, for commands that print events.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    file: &'a str,
    valid: bool,
    findings: Vec<Finding<'a>>,
}

impl<'a> Invalid<'a> {
    pub fn of(source: &'a Source, findings: &'a [Diagnostic], event: Option<&'a str>) -> Self {
        Self { event, file: source.name(), valid: false, findings: render::json(source, findings) }
    }
}

/// A gateway file that has been read and checked.
#[derive(Debug)]
pub struct GatewayFile {
    pub source: Source,
    /// The gateway, or all findings of a file that is not valid.
    pub checked: Result<Loaded, Vec<Diagnostic>>,
    /// The gateway file, then its databases, in the order in which they were read. A file without the signature that it needs
    /// is the last.
    pub contents: Vec<Content>,
    /// Where the paths in the file start.
    folder: PathBuf,
}

/// What was read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub file: String,
    pub digest: Digest,
    /// `None` if it needs no signature.
    pub signer: Option<Signer>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read {name}")]
pub struct ReadError {
    name: String,
    source: io::Error,
}

impl GatewayFile {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be read. Findings are not an error, see [`checked`](Self::checked).
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_for(path, None, &Keys::NONE)
    }

    /// Reads a file and checks it for this engine instead of the one in the file. The file and its databases need signatures
    /// of these keys; without one, the file is not valid, and nothing of it is parsed.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_for(path: &Path, engine: Option<Engine>, keys: &Keys) -> Result<Self, ReadError> {
        let (name, bytes) = read_bytes(path, MAX_FILE_BYTES)?;
        let folder = path.parent().unwrap_or_else(|| Path::new("")).to_owned();
        let content = match verified(path, name.clone(), &bytes, keys) {
            Ok(content) => content,
            Err(unsigned) => {
                let checked = Err(vec![not_signed(path, &unsigned)]);
                let contents = vec![Content { file: name.clone(), digest: blake2b(&bytes), signer: None }];
                return Ok(Self { checked, source: Source::new(name, b""), contents, folder });
            }
        };
        let mut contents = vec![content];
        let mut key = |path: &str| key_file::key(&folder, path);
        let read = &mut |path: &str| {
            let path = folder.join(path);
            let bytes = database(&path)?;
            let content = verified(&path, path.display().to_string(), &bytes, keys);
            contents.push(content.map_err(|unsigned| format!("{unsigned}; {}", unsigned.help(&path)))?);
            Ok(bytes)
        };
        let checked = config::load_with(&bytes, engine, read, &mut key);
        Ok(Self { checked, source: Source::new(name, &bytes), contents, folder })
    }

    /// True if the file has no signature that it needs.
    pub fn is_not_signed(&self) -> bool {
        let not_signed = |finding: &Diagnostic| finding.code == code::NOT_SIGNED;
        self.checked.as_ref().is_err_and(|findings| findings.iter().any(not_signed))
    }

    /// The gateway; if the file is not valid, prints all findings in this format and returns `None`.
    ///
    /// # Errors
    /// If standard output fails.
    pub fn gateway_or_say(&self, form: Form) -> io::Result<Option<&Loaded>> {
        let Err(findings) = &self.checked else { return Ok(self.gateway()) };
        let invalid = |event| Invalid::of(&self.source, findings, event);
        match form {
            Form::Text => return Ok(self.gateway()),
            Form::Object => render::out(&render::object(&invalid(None)))?,
            Form::Event => render::out(&render::line(&invalid(Some("invalid"))))?,
        }
        Ok(None)
    }

    /// As [`gateway_or_say`](Self::gateway_or_say), and prints the warnings of a valid file to standard error.
    ///
    /// # Errors
    /// If standard output fails.
    pub fn gateway_and_warnings(&self, form: Form) -> io::Result<Option<&Loaded>> {
        let loaded = self.gateway_or_say(form)?;
        if let Some(loaded) = loaded {
            render::err(&render::digest(&self.source, &loaded.warnings, render::wants_colour()));
        }
        Ok(loaded)
    }

    /// A gateway with this text in place of that of the file, and the databases of the file.
    ///
    /// # Errors
    /// All findings of a text that is not valid.
    pub fn with_text(&self, text: &str) -> Result<Loaded, Vec<Diagnostic>> {
        let mut key = |path: &str| key_file::key(&self.folder, path);
        config::load_with(text.as_bytes(), None, &mut |path| database(&self.folder.join(path)), &mut key)
    }

    /// The lists that exclude frames from routes, for the engine of [`read_for`](Self::read_for), in a mode. `None` if the file is
    /// not valid.
    pub fn lists(&self, engine: Option<Engine>, mode: Option<&str>) -> Option<Lists> {
        let bytes = self.source.text().as_bytes();
        let mut key = |path: &str| key_file::key(&self.folder, path);
        config::lists_for(bytes, (engine, mode), &mut |path| database(&self.folder.join(path)), &mut key)
    }

    /// The gateway; if the file is not valid, prints all findings to standard error and returns `None`.
    pub fn gateway(&self) -> Option<&Loaded> {
        match &self.checked {
            Ok(loaded) => Some(loaded),
            Err(findings) => {
                render::err(&render::text(&self.source, findings, render::wants_colour()));
                render::err(&format!("{}: not valid: {}\n", self.source.name(), tally(findings)));
                None
            }
        }
    }
}

fn verified(path: &Path, file: String, bytes: &[u8], keys: &Keys) -> Result<Content, Unsigned> {
    let digest = blake2b(bytes);
    Ok(Content { signer: keys.verify(path, bytes, &digest)?, file, digest })
}

fn not_signed(path: &Path, unsigned: &Unsigned) -> Diagnostic {
    let message = format!("The file may not be used: {unsigned}");
    // A finding is one line, and names of files may have others.
    let message = message.replace(char::is_control, " ");
    Diagnostic::error(code::NOT_SIGNED, 0..0, message).help(unsigned.help(path))
}

/// The largest database that is read. Those of real cars have up to 2 MiB.
pub const MAX_DATABASE_BYTES: usize = 32 << 20;

fn database(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = File::open(path).and_then(|file| at_most(file, MAX_DATABASE_BYTES)).map_err(|why| why.to_string())?;
    if bytes.len() > MAX_DATABASE_BYTES {
        return Err(format!("it has more than {} MiB", MAX_DATABASE_BYTES >> 20));
    }
    Ok(bytes)
}

/// The name of a file and up to `most` + 1 of its bytes; `-` is standard input.
///
/// # Errors
/// [`ReadError`] if the file cannot be read.
pub fn read_bytes(path: &Path, most: usize) -> Result<(String, Vec<u8>), ReadError> {
    let (name, bytes) = if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            render::err("reading standard input; end it with Ctrl-D\n");
        }
        ("standard input".to_owned(), at_most(io::stdin().lock(), most))
    } else {
        (path.display().to_string(), File::open(path).and_then(|file| at_most(file, most)))
    };
    match bytes {
        Ok(bytes) => Ok((name, bytes)),
        Err(source) => Err(ReadError { name, source }),
    }
}

/// The name of a file in ownership records: its absolute path, also after it has been removed.
pub fn identity(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "-".into();
    }
    let full = std::fs::canonicalize(path).or_else(|_missing| std::path::absolute(path));
    full.as_deref().unwrap_or(path).display().to_string()
}

/// The number of findings by severity: `5 errors, 1 warning`.
pub fn tally(findings: &[Diagnostic]) -> String {
    let listed = || findings.iter().filter(|finding| !render::is_more(finding));
    let count = |severity| listed().filter(|finding| finding.severity == severity).count();
    let nouns = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let counts = nouns.map(|(severity, noun)| (count(severity), noun));
    let counted: Vec<_> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural(count, noun)).collect();
    let counted = counted.join(", ");
    if findings.iter().any(render::is_more) { format!("{counted} and more") } else { counted }
}

/// `1 route`, `2 routes`, `2 buses`.
pub fn plural(count: usize, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}
