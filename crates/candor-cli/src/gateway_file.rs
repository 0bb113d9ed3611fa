//! A gateway file from the disk or from standard input, and what is said when it is wrong.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use candor_config::config::{self, Lists, Loaded, MAX_FILE_BYTES};
use candor_config::plan::Engine;
use candor_core::diagnostic::{Diagnostic, Severity};
use serde_json::json;

use crate::render::{self, Source};

/// In which form a command answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line.
    Event,
    /// One JSON object.
    Object,
    /// Text for people.
    Text,
}

impl Form {
    /// That of a command which answers once.
    pub const fn once(json: bool) -> Self {
        if json { Self::Object } else { Self::Text }
    }

    /// That of a command which runs.
    pub const fn running(json: bool) -> Self {
        if json { Self::Event } else { Self::Text }
    }
}

/// A gateway file that has been read and checked.
#[derive(Debug)]
pub struct GatewayFile {
    /// Its name and text, for messages.
    pub source: Source,
    /// The gateway, or everything that is wrong.
    pub checked: Result<Loaded, Vec<Diagnostic>>,
}

/// A file that cannot be read.
#[derive(Debug)]
pub struct ReadError {
    name: String,
    source: io::Error,
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cannot read {}", self.name)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl GatewayFile {
    /// Reads a file; `-` is standard input.
    ///
    /// # Errors
    /// [`ReadError`] only if the bytes cannot be had. A wrong file is a value.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::read_for(path, None)
    }

    /// Reads a file for this engine instead of the one that it names.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_for(path: &Path, engine: Option<Engine>) -> Result<Self, ReadError> {
        let (name, bytes) = read_bytes(path, MAX_FILE_BYTES)?;
        Ok(Self { checked: config::load_for(&bytes, engine), source: Source::new(name, &bytes) })
    }

    /// The gateway; if there is none, every finding has been written, in this form.
    ///
    /// # Errors
    /// If nobody takes the JSON.
    pub fn gateway_or_say(&self, form: Form) -> io::Result<Option<&Loaded>> {
        let Err(findings) = &self.checked else { return Ok(self.gateway()) };
        let mut value = json!({
            "file": self.source.name(),
            "valid": false,
            "findings": render::json(&self.source, findings),
        });
        match form {
            Form::Text => return Ok(self.gateway()),
            Form::Object => render::out(&format!("{value:#}\n"))?,
            Form::Event => {
                value["event"] = "invalid".into();
                render::out(&format!("{value}\n"))?;
            }
        }
        Ok(None)
    }

    /// As [`gateway_or_say`](Self::gateway_or_say); what there is to warn of has been written to standard error.
    ///
    /// # Errors
    /// If nobody takes the JSON.
    pub fn gateway_and_warnings(&self, form: Form) -> io::Result<Option<&Loaded>> {
        let loaded = self.gateway_or_say(form)?;
        if let Some(loaded) = loaded {
            render::err(&render::digest(&self.source, &loaded.warnings, render::wants_colour()));
        }
        Ok(loaded)
    }

    /// Which lists keep frames from its routes; for the engine that the file was read for. `None` if it is no gateway.
    pub fn lists(&self, engine: Option<Engine>) -> Option<Lists> {
        config::lists_for(self.source.text().as_bytes(), engine)
    }

    /// The gateway; if there is none, every finding has been written to standard error.
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

/// The name of a file and its bytes, one more than `most` if it has more; `-` is standard input.
///
/// # Errors
/// [`ReadError`] if the bytes cannot be had.
pub fn read_bytes(path: &Path, most: usize) -> Result<(String, Vec<u8>), ReadError> {
    let (name, bytes) = if path.as_os_str() == "-" {
        // Who has forgotten the name of a file would wait for long.
        if io::stdin().is_terminal() {
            render::err("candor: reading standard input; Ctrl-D ends it\n");
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

/// The name under which what was applied from a file is known: its full path, also after it has been removed.
pub fn identity(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "-".into();
    }
    let full = std::fs::canonicalize(path).or_else(|_missing| std::path::absolute(path));
    full.as_deref().unwrap_or(path).display().to_string()
}

/// How many of what: `5 errors, 1 warning`. That there are more is a line, but no finding of its own.
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

/// One byte more than candor accepts is enough to know that a file is too large, and `/dev/zero` ends too.
fn at_most(reader: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).map_or(u64::MAX, |max| max + 1);
    reader.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
