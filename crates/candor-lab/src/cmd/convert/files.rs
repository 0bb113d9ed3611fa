//! Where recordings come from and go to.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_cli::render;
use candor_recording::Format;
use tempfile::NamedTempFile;

use super::Failure;

/// The permissions of a new file, before the umask.
const NEW_FILE: u32 = 0o666;

#[derive(Debug, thiserror::Error)]
#[error("cannot {what} {name}")]
struct FileError {
    what: &'static str,
    name: String,
    source: io::Error,
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let name = name(path);
    move |source| FileError { what, name, source }
}

pub(in crate::cmd) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// As in messages.
pub(in crate::cmd) fn name(path: &Path) -> String {
    if is_standard(path) { "-".to_owned() } else { path.display().to_string() }
}

/// First bytes of compressed files, what they are compressed with, and what unpacks them.
const COMPRESSED: [(&[u8], &str, &str); 5] = [
    (&[0x1F, 0x8B], "gzip", "zcat"),
    (&[0x28, 0xB5, 0x2F, 0xFD], "zstd", "zstdcat"),
    (&[0xFD, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

/// What bytes are compressed with, and what unpacks them.
pub(in crate::cmd) fn compression(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = COMPRESSED.into_iter().find(|(first, ..)| bytes.starts_with(first));
    found.map(|(_, with, tool)| (with, tool))
}

/// As [`compression`], of a file that can be read.
pub(super) fn compression_of(path: &Path) -> Option<(&'static str, &'static str)> {
    compression(&beginning(path)?)
}

/// The format whose first bytes a file has.
pub(super) fn format_seen(path: &Path) -> Option<Format> {
    const FIRST: [(&[u8], Format); 6] = [
        (&[0x0A, 0x0D, 0x0D, 0x0A], Format::Pcapng),
        (b"LOGG", Format::Blf),
        (b"MDF ", Format::Mdf4),
        (b"PAR1", Format::Parquet),
        (b"\x89MCAP", Format::Mcap),
        (b"(", Format::Candump),
    ];
    let bytes = beginning(path)?;
    FIRST.into_iter().find(|(first, _)| bytes.starts_with(first)).map(|(_, format)| format)
}

fn beginning(path: &Path) -> Option<Vec<u8>> {
    const MOST: u64 = 8;
    let mut bytes = Vec::new();
    // A pipe would lose what is read of it.
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns true if both are the same file.
pub(super) fn are_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok().filter(|_| !is_standard(path));
    whole(one).is_some_and(|one| one.is_file() && whole(other) == Some(one))
}

/// What is read, and how much it is if that is known.
pub(in crate::cmd) struct Opened {
    pub(in crate::cmd) input: Counting,
    pub(in crate::cmd) size: Option<u64>,
}

/// Opens a recording; standard input is copied first if its format must seek.
pub(in crate::cmd) fn open(path: &Path, format: Format, read: &Arc<AtomicU64>) -> Result<Opened, Failure> {
    let inner = match (is_standard(path), format.seeks_in_input()) {
        (false, _) => Inner::File(File::open(path).map_err(failed("open", path))?),
        (true, false) => Inner::Standard(io::stdin()),
        (true, true) => {
            let mut copy = tempfile::tempfile().map_err(failed("copy", path))?;
            io::copy(&mut io::stdin().lock(), &mut copy).and_then(|_| copy.rewind()).map_err(failed("copy", path))?;
            Inner::File(copy)
        }
    };
    let size = match &inner {
        Inner::File(file) => Some(file.metadata().map_err(failed("open", path))?),
        Inner::Standard(_) => None,
    };
    let size = size.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
    Ok(Opened { input: Counting { inner, path: path.to_owned(), read: Arc::clone(read) }, size })
}

/// Counts what is read of a file, for the progress.
#[derive(Debug)]
pub(in crate::cmd) struct Counting {
    inner: Inner,
    path: PathBuf,
    read: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Inner {
    File(File),
    Standard(io::Stdin),
}

impl Read for Counting {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            Inner::File(file) => file.read(bytes),
            Inner::Standard(stdin) => stdin.read(bytes),
        };
        let read = read.map_err(|error| io::Error::new(error.kind(), failed("read", &self.path)(error)))?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Seek for Counting {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.inner {
            Inner::File(file) => file.seek(to),
            Inner::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// Where a recording is written until it is complete.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A new file next to the one that it will be.
    Part(NamedTempFile),
    /// A pipe or a device, whose parts are there at once.
    Direct,
    /// A copy for what is not a file, because the format must seek.
    Copy(File),
}

impl Output {
    pub(super) fn create(path: &Path, format: Format) -> Result<Self, Failure> {
        let is_file = || std::fs::metadata(path).map_or(true, |metadata| metadata.is_file());
        let kind = if !is_standard(path) && is_file() {
            // Of a link, the file that it points to is replaced.
            let path = path.canonicalize().unwrap_or_else(|_missing| path.to_owned());
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
            let name = path.file_name().unwrap_or_default();
            let part = tempfile::Builder::new()
                .prefix(name)
                .suffix(".part")
                .permissions(Permissions::from_mode(NEW_FILE))
                .tempfile_in(folder)
                .map_err(failed("write", &path))?;
            Kind::Part(part)
        } else if format.seeks_in_output() {
            Kind::Copy(tempfile::tempfile().map_err(failed("write", path))?)
        } else {
            Kind::Direct
        };
        Ok(Self { path: path.to_owned(), kind })
    }

    /// What a writer gets.
    pub(super) fn file(&self) -> Result<Written, Failure> {
        let inner = match &self.kind {
            Kind::Part(part) => part.as_file().try_clone(),
            Kind::Copy(copy) => copy.try_clone(),
            Kind::Direct if is_standard(&self.path) => return Ok(Written::Standard(io::stdout())),
            Kind::Direct => OpenOptions::new().write(true).open(&self.path),
        };
        Ok(Written::File(inner.map_err(failed("write", &self.path))?))
    }

    /// Puts the file, which is complete, in its place.
    pub(super) fn complete(self) -> Result<(), Failure> {
        let Self { path, kind } = self;
        match kind {
            Kind::Part(part) => {
                part.as_file().sync_all().map_err(failed("write", &path))?;
                let place = path.canonicalize().unwrap_or_else(|_missing| path.clone());
                part.persist(place).map_err(|error| failed("write", &path)(error.error))?;
            }
            Kind::Copy(mut copy) => {
                copy.rewind().map_err(failed("write", &path))?;
                if is_standard(&path) {
                    let mut stdout = io::stdout().lock();
                    io::copy(&mut copy, &mut stdout).and_then(|_| stdout.flush()).map_err(render::out_error)?;
                } else {
                    let mut pipe = OpenOptions::new().write(true).open(&path).map_err(failed("write", &path))?;
                    io::copy(&mut copy, &mut pipe).map_err(failed("write", &path))?;
                }
            }
            Kind::Direct => {}
        }
        Ok(())
    }

    /// The error with the name of the file, unless it is one of reading.
    pub(super) fn failed(&self, error: io::Error) -> Failure {
        if error.get_ref().is_some_and(|inner| inner.is::<FileError>()) || is_standard(&self.path) {
            return error.into();
        }
        failed("write", &self.path)(error).into()
    }
}

/// A file, or standard output, which cannot seek.
#[derive(Debug)]
pub(super) enum Written {
    File(File),
    Standard(io::Stdout),
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(stdout) => stdout.write(bytes).map_err(render::out_error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(stdout) => stdout.flush().map_err(render::out_error),
        }
    }
}

impl Seek for Written {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Standard(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
