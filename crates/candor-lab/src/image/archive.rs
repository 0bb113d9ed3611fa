//! The initramfs as an archive whose bytes depend on its contents alone.

use std::collections::BTreeMap;
use std::io::{self, Write};

use cpio::newc::{self, Builder};

/// Contents of an initramfs, by absolute path.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Console,
    File { mode: u32, bytes: Vec<u8> },
    Folder,
    Link(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Data,
    /// An executable file or a library.
    Program,
}

const FOLDER_MODE: u32 = 0o040_755;
const CONSOLE_MODE: u32 = 0o020_600;
const LINK_MODE: u32 = 0o120_777;
const DATA_MODE: u32 = 0o100_644;
const PROGRAM_MODE: u32 = 0o100_755;
/// Character device 5:1: the kernel opens it for init before anything is mounted.
const CONSOLE_DEVICE: (u32, u32) = (5, 1);

impl Archive {
    pub fn folder(&mut self, path: &str) {
        self.parents(path);
        self.entries.entry(relative(path)).or_insert(Entry::Folder);
    }

    pub fn file(&mut self, path: &str, kind: FileKind, bytes: Vec<u8>) {
        let mode = if kind == FileKind::Program { PROGRAM_MODE } else { DATA_MODE };
        self.parents(path);
        self.entries.insert(relative(path), Entry::File { mode, bytes });
    }

    pub fn link(&mut self, path: &str, target: &str) {
        self.parents(path);
        self.entries.insert(relative(path), Entry::Link(target.to_owned()));
    }

    pub fn console(&mut self) {
        self.parents("/dev/console");
        self.entries.insert("dev/console".to_owned(), Entry::Console);
    }

    pub fn contains(&self, path: &str) -> bool {
        self.entries.contains_key(&relative(path))
    }

    /// Entries in order of their names, owned by root, without times, inodes from 1. Files of 4 GiB or more are
    /// `InvalidInput`.
    pub fn write(&self, mut stream: impl Write) -> io::Result<()> {
        for (number, (name, entry)) in (1..).zip(&self.entries) {
            let header = Builder::new(name).ino(number).uid(0).gid(0).nlink(1).mtime(0);
            let (header, bytes): (_, &[u8]) = match entry {
                Entry::Console => {
                    let (major, minor) = CONSOLE_DEVICE;
                    (header.mode(CONSOLE_MODE).rdev_major(major).rdev_minor(minor), &[])
                }
                Entry::File { mode, bytes } => (header.mode(*mode), bytes),
                Entry::Folder => (header.mode(FOLDER_MODE), &[]),
                Entry::Link(target) => (header.mode(LINK_MODE), target.as_bytes()),
            };
            let length = u32::try_from(bytes.len()).map_err(|_too_long| io::ErrorKind::InvalidInput)?;
            let mut writer = header.write(&mut stream, length);
            writer.write_all(bytes)?;
            writer.finish()?;
        }
        newc::trailer(&mut stream)?;
        stream.flush()
    }

    fn parents(&mut self, path: &str) {
        let name = relative(path);
        for (at, _) in name.match_indices('/') {
            self.entries.entry(name[..at].to_owned()).or_insert(Entry::Folder);
        }
    }
}

fn relative(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_does_not_depend_on_insertion_order() {
        let mut forward = Archive::default();
        forward.console();
        forward.file("/bin/candor", FileKind::Program, vec![1, 2, 3]);
        forward.link("/init", "bin/candor");
        let mut backward = Archive::default();
        backward.link("/init", "bin/candor");
        backward.file("/bin/candor", FileKind::Program, vec![9]);
        backward.folder("/bin");
        backward.file("/bin/candor", FileKind::Program, vec![1, 2, 3]);
        backward.console();
        let bytes = |archive: &Archive| {
            let mut bytes = Vec::new();
            archive.write(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(&forward), bytes(&backward));
        let text = String::from_utf8_lossy(&bytes(&forward)).into_owned();
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("bin\0") < at("bin/candor\0") && at("dev/console\0") < at("init\0"));
    }

    #[test]
    fn header_has_the_newc_layout() {
        let mut archive = Archive::default();
        archive.file("/f", FileKind::Data, b"abc".to_vec());
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        let header = String::from_utf8_lossy(&bytes[..110]).to_lowercase();
        assert_eq!(&header[..6], "070701");
        let field = |number: usize| u32::from_str_radix(&header[6 + 8 * number..14 + 8 * number], 16).unwrap();
        assert_eq!((field(0), field(1), field(4), field(5), field(6)), (1, 0o100_644, 1, 0, 3));
    }
}
