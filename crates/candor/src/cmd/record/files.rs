//! Files of a recording, and the disk under them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use candor_cli::render;
use candor_recording::pcapng;

/// When files end, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    /// In bytes.
    pub(super) size: Option<u64>,
    pub(super) time: Option<Duration>,
    pub(super) keep: Option<usize>,
    /// Between two times at which all is on the disk. `None`: the system decides.
    pub(super) sync: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Files {
    out: PathBuf,
    policy: Policy,
    /// Blocks at the start of each file.
    header: Vec<u8>,
    current: Option<Current>,
    /// Number of the last file, if they have numbers.
    number: u64,
    /// Files of this recording that exist, and of earlier ones with `keep`; the newest last.
    kept: Vec<PathBuf>,
    disk: Disk,
    /// Files that this process wrote.
    pub(super) written: usize,
    /// Files that were removed because the disk was full.
    pub(super) removed: usize,
    /// Frames that could not be written.
    pub(super) lost: u64,
}

/// A file and the whole blocks in it.
#[derive(Debug)]
struct Current {
    path: PathBuf,
    file: File,
    /// Bytes of blocks that are whole.
    whole: u64,
    /// Of the first block after the header.
    since: Option<Instant>,
    synced: Instant,
    is_dirty: bool,
}

impl Files {
    /// Begins the first file.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub(super) fn new(out: &Path, policy: Policy, header: Vec<u8>) -> io::Result<Self> {
        let mut files = Self {
            out: out.to_owned(),
            policy,
            header,
            current: None,
            number: 0,
            kept: Vec::new(),
            disk: Disk::start()?,
            written: 0,
            removed: 0,
            lost: 0,
        };
        if files.are_many() {
            let mut there = files.numbered().map_err(|error| about(files.folder(), &error))?;
            there.sort_unstable();
            files.number = there.last().map_or(0, |(number, _)| *number);
            if policy.keep.is_some() {
                files.kept = there.into_iter().map(|(_, path)| path).collect();
            }
        }
        files.begin()?;
        Ok(files)
    }

    const fn are_many(&self) -> bool {
        self.policy.size.is_some() || self.policy.time.is_some()
    }

    fn folder(&self) -> &Path {
        self.out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
    }

    /// Stem and extension of the name, with the point.
    fn name(&self) -> (String, String) {
        let name = self.out.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match name.rfind('.') {
            Some(at) if at > 0 => (name[..at].to_owned(), name[at..].to_owned()),
            _ => (name, String::new()),
        }
    }

    /// Files of this name with a number.
    fn numbered(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let (stem, extension) = self.name();
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let number = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(&extension)?.strip_prefix('-'));
            if let Some(number) = number.filter(|digits| digits.len() >= 6).and_then(|digits| digits.parse().ok()) {
                found.push((number, path));
            }
        }
        Ok(found)
    }

    /// The files, for people.
    pub(super) fn shown(&self) -> String {
        let path = self.current.as_ref().map_or(&self.out, |current| &current.path);
        path.display().to_string()
    }

    /// False after the end of a file, until the next one begins.
    pub(super) const fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// True if the file has frames and is as long or as old as it may be.
    pub(super) fn is_full(&self) -> bool {
        let Some(Current { whole, since: Some(since), .. }) = &self.current else { return false };
        self.policy.size.is_some_and(|size| *whole >= size)
            || self.policy.time.is_some_and(|time| since.elapsed() >= time)
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut path = self.out.clone();
        if self.are_many() {
            self.number += 1;
            let (stem, extension) = self.name();
            path.set_file_name(format!("{stem}-{:06}{extension}", self.number));
        }
        let file = loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break file,
                Err(error) => self.make_room(&path, &error)?,
            }
        };
        // The name, too, must survive a power cut.
        self.disk.sync(self.folder(), File::open(self.folder())?);
        self.kept.push(path.clone());
        self.written += 1;
        self.current = Some(Current { path, file, whole: 0, since: None, synced: Instant::now(), is_dirty: true });
        while self.policy.keep.is_some_and(|keep| self.kept.len() > keep) {
            self.remove_oldest()?;
        }
        let header = std::mem::take(&mut self.header);
        let written = self.write(&header);
        self.header = header;
        if let (Err(_), Some(Current { whole: 0, path, .. })) = (&written, &self.current) {
            // It would be no recording.
            let _ = fs::remove_file(path);
            self.current = None;
            self.written -= 1;
        }
        written
    }

    /// Removes the oldest file if the disk is full and others remain.
    ///
    /// # Errors
    /// Otherwise, what is wrong with the path.
    fn make_room(&mut self, path: &Path, error: &io::Error) -> io::Result<()> {
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if !is_full || self.policy.keep.is_none() || self.kept.len() <= usize::from(self.current.is_some()) {
            return Err(about(path, error));
        }
        if self.removed == 0 {
            render::err(&format!("{}: {error}; removing the oldest files\n", path.display()));
        }
        self.removed += 1;
        self.remove_oldest()
    }

    fn remove_oldest(&mut self) -> io::Result<()> {
        let oldest = self.kept.remove(0);
        match fs::remove_file(&oldest) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(about(&oldest, &error)),
            _ => Ok(()),
        }
    }

    /// Appends whole blocks with frames, to a new file if the last one has ended.
    ///
    /// # Errors
    /// If they cannot be written; the file then ends with the last whole block for which there is room.
    pub(super) fn append(&mut self, blocks: &[u8]) -> io::Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        if self.current.is_none()
            && let Err(error) = self.begin()
        {
            self.lost += pcapng::packets(blocks);
            return Err(error);
        }
        if let Some(current) = &mut self.current {
            current.since.get_or_insert_with(Instant::now);
        }
        self.write(blocks)
    }

    fn write(&mut self, mut blocks: &[u8]) -> io::Result<()> {
        while let Some(current) = &mut self.current
            && !blocks.is_empty()
        {
            let (written, result) = write_some(&mut current.file, blocks);
            let whole = pcapng::whole(&blocks[..written]);
            blocks = &blocks[whole..];
            current.whole += whole as u64;
            current.is_dirty |= whole > 0;
            let Err(error) = result else { continue };
            // What was written of the next block is no block.
            let _ = current.file.set_len(current.whole);
            let sought = io::Seek::seek(&mut current.file, io::SeekFrom::Start(current.whole));
            let path = current.path.clone();
            let room = sought.map_err(|error| about(&path, &error)).and_then(|_at| self.make_room(&path, &error));
            if room.is_err() {
                self.lost += pcapng::packets(blocks);
                return room;
            }
        }
        Ok(())
    }

    /// Writes to the disk, without waiting for it, what is old enough.
    ///
    /// # Errors
    /// If the disk could not take what was there earlier.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if let (Some(every), Some(current)) = (self.policy.sync, &mut self.current)
            && current.is_dirty
            && current.synced.elapsed() >= every
        {
            self.disk.sync(&current.path, current.file.try_clone()?);
            (current.synced, current.is_dirty) = (Instant::now(), false);
        }
        self.disk.errors.try_recv().map_or(Ok(()), Err)
    }

    /// Ends the file; the next blocks begin another one.
    pub(super) fn end(&mut self) {
        if let Some(Current { path, file, .. }) = self.current.take() {
            self.disk.sync(&path, file);
        }
    }

    /// Ends the recording when all of it is on the disk.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.end();
        self.disk.finish()
    }
}

/// A thread that waits for the disk.
#[derive(Debug)]
struct Disk {
    /// `None` after the end.
    to: Option<Sender<(PathBuf, File)>>,
    errors: Receiver<io::Error>,
    thread: Option<JoinHandle<()>>,
}

impl Disk {
    fn start() -> io::Result<Self> {
        let (to, files) = mpsc::channel::<(PathBuf, File)>();
        let (failed, errors) = mpsc::channel();
        let work = move || {
            for (path, file) in files {
                if let Err(error) = file.sync_all() {
                    // Nobody waits for it any more if the recording has ended.
                    let _ = failed.send(about(&path, &error));
                }
            }
        };
        let thread = std::thread::Builder::new().name("candor-disk".to_owned()).spawn(work)?;
        Ok(Self { to: Some(to), errors, thread: Some(thread) })
    }

    fn sync(&self, path: &Path, file: File) {
        if let Some(to) = &self.to {
            // The thread ends only with this value.
            let _ = to.send((path.to_owned(), file));
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // A panic of it ends the process.
            let _ = thread.join();
        }
        self.errors.try_recv().map_or(Ok(()), Err)
    }
}

/// Writes as many bytes as the file takes.
fn write_some(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written, Err(error)),
        }
    }
    (written, Ok(()))
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::AlreadyExists => "; choose another name, or many files with --file-size or --file-time",
        io::ErrorKind::FileTooLarge => "; begin new files with --file-size",
        io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
            "; make room, or record with --file-size and --keep, which remove the oldest files"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{}: {error}{hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"";

    /// A block of 12 bytes, which is a packet or not.
    fn block(kind: u32) -> Vec<u8> {
        [kind, 12, 12].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn names(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn many_files_go_on_and_the_oldest_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.b.pcapng");
        let policy = Policy { size: Some(36), keep: Some(2), ..Policy::default() };
        fs::write(folder.path().join("a.b-notes.pcapng"), "").unwrap();
        for round in 0..2 {
            let mut files = Files::new(&out, policy, block(1)).unwrap();
            for _file in 0..2 {
                files.append(&block(6)).unwrap();
                assert!(!files.is_full());
                files.append(&block(6)).unwrap();
                assert!(files.is_full());
                files.end();
            }
            files.finish().unwrap();
            assert_eq!((files.written, files.removed, files.lost), (2, 0, 0));
            let [first, second] = [1, 2].map(|number| format!("a.b-{:06}.pcapng", number + 2 * round));
            assert_eq!(names(folder.path()), [first, second, "a.b-notes.pcapng".to_owned()]);
        }
        let last = fs::read(folder.path().join("a.b-000004.pcapng")).unwrap();
        assert_eq!(last, [block(1), block(6), block(6)].concat());
    }

    #[test]
    fn a_file_ends_after_its_time_only_with_frames() {
        let folder = tempfile::tempdir().unwrap();
        let policy = Policy { time: Some(Duration::from_nanos(1)), ..Policy::default() };
        let mut files = Files::new(&folder.path().join("a"), policy, block(1)).unwrap();
        assert!(!files.is_full());
        files.append(&block(6)).unwrap();
        assert!(files.is_full());
        assert_eq!(names(folder.path()), ["a-000001"]);
    }

    #[test]
    fn a_file_that_exists_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.pcapng");
        fs::write(&out, "mine").unwrap();
        let error = Files::new(&out, Policy::default(), HEADER.to_vec()).unwrap_err();
        assert!(error.to_string().contains("choose another name"), "{error}");
        assert_eq!(fs::read(&out).unwrap(), b"mine");
    }
}
