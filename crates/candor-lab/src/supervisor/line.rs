//! The tester's end of the connection to a supervisor.

use std::io::{self, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Assignment, END, Ended, Machine, Reply};
use crate::device::{Lines, lines_of};

/// More than gateway and load may take to start and to stop.
const PATIENCE: Duration = Duration::from_secs(120);
/// Limit for a supervisor to stop when its input has ended.
const LAST_PATIENCE: Duration = Duration::from_secs(30);
/// Interval of empty lines.
const ALIVE: Duration = Duration::from_secs(5);

/// An assignment that runs. Stopped on drop.
#[derive(Debug)]
pub struct Supervised {
    child: Child,
    replies: Receiver<Reply>,
    line: Line,
    pub machine: Machine,
}

/// The supervisor's input, and the thread that sends empty lines. Both end on drop.
#[derive(Debug)]
pub(crate) struct Line {
    /// `None` when closed.
    to_supervisor: Arc<Mutex<Option<ChildStdin>>>,
    end: Option<(Sender<()>, thread::JoinHandle<()>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    #[error("Cannot start {program}")]
    Start { program: String, source: io::Error },
    #[error("{0}")]
    Failed(String),
    #[error("Lost the connection to the supervisor of the gateway")]
    Gone,
}

impl Supervised {
    /// Runs an assignment by the supervisor that this command starts. Gateway and load run when this returns. `gone` is
    /// called on another thread if the supervisor ends unexpectedly.
    pub fn start(
        command: &[String],
        assignment: &Assignment,
        gone: impl FnOnce() + Send + 'static,
    ) -> Result<Self, SupervisorError> {
        let (program, arguments) = command.split_first().ok_or(SupervisorError::Gone)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| SupervisorError::Start { program: program.clone(), source })?;
        let lines = lines_of(child.stdout.take());
        let to_supervisor = child.stdin.take().ok_or(SupervisorError::Gone)?;
        let line = Line::new(to_supervisor, assignment.silence_s.is_some());
        let replies = replies_of(lines, Arc::clone(&line.to_supervisor), gone);
        let mut supervised = Self { child, replies, line, machine: Machine::default() };
        let text = serde_json::to_string(assignment).map_err(|error| SupervisorError::Failed(error.to_string()))?;
        supervised.line.send(&text).map_err(|_broken| SupervisorError::Gone)?;
        match supervised.receive()? {
            Reply::Ready(machine) => {
                supervised.machine = machine;
                Ok(supervised)
            }
            Reply::Failed(why) => Err(SupervisorError::Failed(why)),
            Reply::Ended(_) => Err(SupervisorError::Gone),
        }
    }

    /// Stops gateway and load. A gateway that fails, or had ended before, is an error.
    pub fn end(mut self) -> Result<Ended, SupervisorError> {
        self.line.send(END).map_err(|_broken| SupervisorError::Gone)?;
        match self.receive()? {
            Reply::Ended(ended) => Ok(ended),
            Reply::Failed(why) => Err(SupervisorError::Failed(why)),
            Reply::Ready(_) => Err(SupervisorError::Gone),
        }
    }

    fn receive(&mut self) -> Result<Reply, SupervisorError> {
        self.replies.recv_timeout(PATIENCE).map_err(|_silent| SupervisorError::Gone)
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.line.end();
        wait(&mut self.child, &self.replies);
    }
}

/// Replies of a supervisor, without login banners. If it ends while its assignment runs and its input is open, `gone`
/// is called.
fn replies_of(
    lines: Lines,
    to_supervisor: Arc<Mutex<Option<ChildStdin>>>,
    gone: impl FnOnce() + Send + 'static,
) -> Receiver<Reply> {
    let (sender, replies) = mpsc::channel();
    thread::spawn(move || {
        let mut runs = false;
        for reply in lines.iter().filter_map(|line| serde_json::from_str(&line).ok()) {
            runs = matches!(reply, Reply::Ready(_));
            // The receiver is gone if the input was closed.
            let _ = sender.send(reply);
        }
        let has_line = to_supervisor.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if runs && has_line {
            gone();
        }
    });
    replies
}

/// Waits for a process whose input has ended, and kills it after a while.
pub(crate) fn wait<T>(child: &mut Child, lines: &Receiver<T>) {
    // Standard output ends when the process and its children have ended.
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
    pub(crate) fn new(to_supervisor: ChildStdin, must_be_heard: bool) -> Self {
        let to_supervisor = Arc::new(Mutex::new(Some(to_supervisor)));
        let end = must_be_heard.then(|| {
            let (end, ended) = mpsc::channel();
            let to_supervisor = Arc::clone(&to_supervisor);
            let speak = move || {
                while ended.recv_timeout(ALIVE) == Err(RecvTimeoutError::Timeout) {
                    if write(&to_supervisor, "").is_err() {
                        break;
                    }
                }
            };
            (end, thread::spawn(speak))
        });
        Self { to_supervisor, end }
    }

    fn send(&self, text: &str) -> io::Result<()> {
        write(&self.to_supervisor, text)
    }

    pub(crate) fn end(&mut self) {
        if let Some((end, speaker)) = self.end.take() {
            drop(end);
            let _ended = speaker.join();
        }
        self.to_supervisor.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn write(to_supervisor: &Mutex<Option<ChildStdin>>, line: &str) -> io::Result<()> {
    match &mut *to_supervisor.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(to_supervisor) => to_supervisor.write_all(format!("{line}\n").as_bytes()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}
