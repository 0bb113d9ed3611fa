//! Messages of a guest and their effects.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::{LabError, file};
use crate::channel::{ChannelError, Message, Receiver};
use crate::observer::Observer;

#[derive(Debug)]
pub(super) struct Output<'a> {
    receiver: Receiver,
    out: Option<&'a Path>,
    files: BTreeMap<String, u64>,
    started: bool,
    outcome: Option<Result<u8, String>>,
}

impl<'a> Output<'a> {
    pub(super) fn new(out: Option<&'a Path>) -> Self {
        Self { receiver: Receiver::default(), out, files: BTreeMap::new(), started: false, outcome: None }
    }

    pub(super) const fn is_started(&self) -> bool {
        self.started
    }

    /// Exit status, or the reason why there is none.
    pub(super) fn outcome(&self) -> Option<Result<u8, String>> {
        self.outcome.clone()
    }

    /// Processes new messages. Returns whether there were any.
    pub(super) fn poll(&mut self, channel: &mut File, observer: &mut dyn Observer) -> Result<bool, LabError> {
        let mut buffer = [0; 64 * 1024];
        let count = channel.read(&mut buffer).map_err(file(Path::new("channel")))?;
        self.receiver.push(&buffer[..count]);
        while let Some(message) = self.receiver.next_message()? {
            self.handle(message, observer)?;
        }
        Ok(count > 0)
    }

    fn handle(&mut self, message: Message, observer: &mut dyn Observer) -> Result<(), LabError> {
        match message {
            Message::Exit(status) => {
                for (name, &bytes) in &self.files {
                    observer.file(name, bytes);
                }
                self.outcome = Some(Ok(status));
            }
            Message::Failed(reason) => self.outcome = Some(Err(reason)),
            Message::File { name, bytes } => self.store(name, &bytes)?,
            Message::Started => {
                self.started = true;
                observer.started();
            }
            Message::Stderr(bytes) => observer.stderr(&bytes),
            Message::Stdout(bytes) => observer.stdout(&bytes),
        }
        Ok(())
    }

    fn store(&mut self, name: String, bytes: &[u8]) -> Result<(), LabError> {
        let Some(out) = self.out else { return Ok(()) };
        let path = out.join(inside(&name).ok_or(ChannelError::Name)?);
        let first = !self.files.contains_key(&name);
        if first {
            let parent = path.parent().unwrap_or(out);
            fs::create_dir_all(parent).map_err(file(parent))?;
        }
        let mut options = File::options();
        options.create(true).write(true).truncate(first).append(!first);
        let mut target = options.open(&path).map_err(file(&path))?;
        std::io::Write::write_all(&mut target, bytes).map_err(file(&path))?;
        *self.files.entry(name).or_default() += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }
}

/// The path of a file, which must not leave its folder.
fn inside(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let plain = path.components().all(|component| matches!(component, Component::Normal(_)));
    (plain && !name.is_empty()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Sender;
    use crate::observer::Silent;

    #[test]
    fn names_cannot_escape_the_folder() {
        assert!(inside("a/b.json").is_some());
        for name in ["", "/etc/passwd", "../x", "a/../../x", "."] {
            assert_eq!(inside(name), None, "{name}");
        }
    }

    #[test]
    fn pieces_are_appended_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let channel = folder.path().join("channel");
        let mut sender = Sender::begin(File::create(&channel).unwrap()).unwrap();
        for bytes in [b"ab".to_vec(), b"c".to_vec()] {
            sender.send(&Message::File { name: "sub/f".into(), bytes }).unwrap();
        }
        sender.send(&Message::Exit(3)).unwrap();
        let out = folder.path().join("out");
        let mut output = Output::new(Some(&out));
        assert!(output.poll(&mut File::open(&channel).unwrap(), &mut Silent).unwrap());
        assert_eq!(fs::read(out.join("sub/f")).unwrap(), b"abc");
        assert_eq!(output.outcome(), Some(Ok(3)));
    }
}
