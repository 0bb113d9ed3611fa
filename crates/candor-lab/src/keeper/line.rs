//! The tester's end of the line to a keeper.

use std::io::{self, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Charge, END, Ended, Machine, Word};
use crate::device::{Lines, lines_of};

/// Longer than a gateway and a load may take to begin and to end.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a keeper whose line has ended may take to end what it has.
const LAST_PATIENCE: Duration = Duration::from_secs(30);
/// How often something is said so that silence means something.
const ALIVE: Duration = Duration::from_secs(5);

/// A charge that a keeper has; ended when this is dropped.
#[derive(Debug)]
pub struct Kept {
    child: Child,
    words: Receiver<Word>,
    line: Line,
    /// What the gateway runs on.
    pub machine: Machine,
}

/// The way to the keeper, and the thread that says that there is somebody; dropping it ends both.
#[derive(Debug)]
pub(crate) struct Line {
    /// `None` when it has ended.
    to_keeper: Arc<Mutex<Option<ChildStdin>>>,
    end: Option<(Sender<()>, thread::JoinHandle<()>)>,
}

/// A charge that is not kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// There is no keeper.
    #[error("Cannot start {program}")]
    Start {
        /// Its program, or that which reaches it.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The gateway or the load does not run, or did not end well.
    #[error("{0}")]
    Charge(String),
    /// The keeper is gone, and nobody knows what became of the charge; it ends what it has by itself.
    #[error("The line to whoever runs the gateway broke")]
    Gone,
}

impl Kept {
    /// Gives a charge to the keeper that this command starts. Gateway and load run when this returns. `gone` is called, on a thread
    /// of its own, if the keeper is gone before anybody has asked for the end.
    ///
    /// # Errors
    /// [`KeeperError`].
    pub fn start(
        command: &[String],
        charge: &Charge,
        gone: impl FnOnce() + Send + 'static,
    ) -> Result<Self, KeeperError> {
        let (program, arguments) = command.split_first().ok_or(KeeperError::Gone)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| KeeperError::Start { program: program.clone(), source })?;
        let lines = lines_of(&mut child);
        let to_keeper = child.stdin.take().ok_or(KeeperError::Gone)?;
        let line = Line::new(to_keeper, charge.silence_s.is_some());
        let words = words_of(lines, Arc::clone(&line.to_keeper), gone);
        let mut kept = Self { child, words, line, machine: Machine::default() };
        let text = serde_json::to_string(charge).map_err(|error| KeeperError::Charge(error.to_string()))?;
        kept.line.say(&text).map_err(|_broken| KeeperError::Gone)?;
        match kept.hear()? {
            Word::Ready(machine) => {
                kept.machine = machine;
                Ok(kept)
            }
            Word::Failed(why) => Err(KeeperError::Charge(why)),
            Word::Ended(_) => Err(KeeperError::Gone),
        }
    }

    /// Ends gateway and load as a user would.
    ///
    /// # Errors
    /// [`KeeperError`]; also of a gateway that did not end well, or had ended before.
    pub fn end(mut self) -> Result<Ended, KeeperError> {
        self.line.say(END).map_err(|_broken| KeeperError::Gone)?;
        match self.hear()? {
            Word::Ended(ended) => Ok(ended),
            Word::Failed(why) => Err(KeeperError::Charge(why)),
            Word::Ready(_) => Err(KeeperError::Gone),
        }
    }

    fn hear(&mut self) -> Result<Word, KeeperError> {
        self.words.recv_timeout(PATIENCE).map_err(|_silent| KeeperError::Gone)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.line.end();
        wait(&mut self.child, &self.words);
    }
}

/// What a keeper says. What a login prints on the way is nobody's word. If the keeper is gone while its charge runs and its line has
/// not been ended, somebody is told.
fn words_of(
    lines: Lines,
    to_keeper: Arc<Mutex<Option<ChildStdin>>>,
    gone: impl FnOnce() + Send + 'static,
) -> Receiver<Word> {
    let (sender, words) = mpsc::channel();
    thread::spawn(move || {
        let mut runs = false;
        for word in lines.iter().filter_map(|line| serde_json::from_str(&line).ok()) {
            runs = matches!(word, Word::Ready(_));
            // Who does not hear it any more has ended the line.
            let _ = sender.send(word);
        }
        let has_line = to_keeper.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if runs && has_line {
            gone();
        }
    });
    words
}

/// Waits for a process whose line has ended, and has patience with it, but not for ever.
pub(crate) fn wait<T>(child: &mut Child, lines: &Receiver<T>) {
    // Its standard output ends when it does, which is when all that it had has ended.
    let begin = Instant::now();
    loop {
        match lines.recv_timeout(LAST_PATIENCE.saturating_sub(begin.elapsed())) {
            Ok(_late_word) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _gone = child.kill();
                break;
            }
        }
    }
    let _ended = child.wait();
}

impl Line {
    pub(crate) fn new(to_keeper: ChildStdin, must_be_heard: bool) -> Self {
        let to_keeper = Arc::new(Mutex::new(Some(to_keeper)));
        let end = must_be_heard.then(|| {
            let (end, ended) = mpsc::channel();
            let to_keeper = Arc::clone(&to_keeper);
            let speak = move || {
                while ended.recv_timeout(ALIVE) == Err(RecvTimeoutError::Timeout) {
                    if write(&to_keeper, "").is_err() {
                        break;
                    }
                }
            };
            (end, thread::spawn(speak))
        });
        Self { to_keeper, end }
    }

    fn say(&self, text: &str) -> io::Result<()> {
        write(&self.to_keeper, text)
    }

    pub(crate) fn end(&mut self) {
        if let Some((end, speaker)) = self.end.take() {
            drop(end);
            let _ended = speaker.join();
        }
        self.to_keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn write(to_keeper: &Mutex<Option<ChildStdin>>, line: &str) -> io::Result<()> {
    match &mut *to_keeper.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(to_keeper) => to_keeper.write_all(format!("{line}\n").as_bytes()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}
