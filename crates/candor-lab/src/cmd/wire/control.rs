//! Where a running `candor-lab wire` takes commands: a socket of the run directory, one JSON object per line each way.
//!
//! Threads of their own read what is asked. The thread that looks after the buses answers, between two looks.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// A line that is longer is no command.
const MAX_LINE_BYTES: u64 = 4096;
/// Connections at a time.
const MAX_CONNECTIONS: usize = 16;
/// After an error of `accept()`, such as too many open files.
const BREATH: Duration = Duration::from_millis(200);
/// Who does not take an answer for so long is left.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that somebody asks.
#[derive(Debug)]
pub(super) struct Asked {
    /// The line.
    pub(super) line: String,
    answer: Sender<Value>,
}

impl Asked {
    pub(super) fn answer(&self, answer: Value) {
        // Who does not wait any more has gone.
        let _ = self.answer.send(answer);
    }
}

/// The socket, until this value is gone.
#[derive(Debug)]
pub(super) struct Control {
    path: PathBuf,
    asked: Receiver<Asked>,
}

impl Control {
    /// Opens the socket.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let listener = candor_cli::socket::bind(path)?;
        let control_path = path.to_owned();
        let (asks, asked) = mpsc::channel();
        let control = Self { path: control_path, asked };
        thread::Builder::new().name("control".into()).spawn(move || accept(&listener, &asks))?;
        Ok(control)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What was asked since the last call.
    pub(super) fn asked(&self) -> impl Iterator<Item = Asked> {
        self.asked.try_iter()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Until the process ends.
fn accept(listener: &UnixListener, asks: &Sender<Asked>) {
    let open = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(BREATH);
            continue;
        };
        if Arc::strong_count(&open) > MAX_CONNECTIONS {
            let _ = say(&stream, &json!({ "error": "Too many connections; close some and try again" }));
            continue;
        }
        let (asks, open) = (asks.clone(), Arc::clone(&open));
        let serves = thread::Builder::new().name("control".into());
        // Without a thread the connection is closed, which says enough.
        let _ = serves.spawn(move || {
            let _gone = serve(&stream, &asks);
            drop(open);
        });
    }
}

fn serve(stream: &UnixStream, asks: &Sender<Asked>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && u64::try_from(line.len()).is_ok_and(|len| len == MAX_LINE_BYTES) {
            return say(stream, &json!({ "error": format!("A line has {MAX_LINE_BYTES} bytes at most") }));
        }
        let (answer, answers) = mpsc::channel();
        let asked = Asked { line: String::from_utf8_lossy(&line).into_owned(), answer };
        if asks.send(asked).is_err() {
            return Ok(());
        }
        let answer = answers.recv().unwrap_or_else(|_ended| json!({ "error": "candor-lab wire ends just now" }));
        say(stream, &answer)?;
    }
}

fn say(mut stream: &UnixStream, answer: &Value) -> io::Result<()> {
    stream.write_all(format!("{answer}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wire");
        let control = Control::open(&path).unwrap();
        let stream = UnixStream::connect(&path).unwrap();
        (&stream).write_all(b"first\nsecond\n").unwrap();
        let mut answers = BufReader::new(&stream).lines();
        for expected in ["first\n", "second\n"] {
            let asked = control.asked.recv().unwrap();
            assert_eq!(asked.line, expected);
            asked.answer(json!({ "you said": expected }));
            let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
            assert_eq!(answer["you said"], expected);
        }
        let long = UnixStream::connect(&path).unwrap();
        (&long).write_all(&[b'x'; 5000]).unwrap();
        let said = BufReader::new(&long).lines().next().unwrap().unwrap();
        assert_eq!(said, r#"{"error":"A line has 4096 bytes at most"}"#);
        drop(control);
        assert!(!path.exists());
    }
}
