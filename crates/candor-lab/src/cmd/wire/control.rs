//! The control socket of a running `candor-lab wire`: one JSON object per line in each direction.
//!
//! One thread per connection reads requests. The main thread answers them.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

const MAX_LINE_BYTES: u64 = 4096;
const MAX_CONNECTIONS: usize = 16;
/// Pause after an error of `accept()`, such as too many open files.
const RETRY_AFTER: Duration = Duration::from_millis(200);
/// Time for a client to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// A line of a client, to be answered.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) line: String,
    answer: Sender<Value>,
}

impl Request {
    pub(super) fn answer(&self, answer: Value) {
        let _client_is_gone = self.answer.send(answer);
    }
}

/// The socket; removed on drop.
#[derive(Debug)]
pub(super) struct Control {
    path: PathBuf,
    requests: Receiver<Request>,
}

impl Control {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let listener = candor_cli::socket::bind(path)?;
        let (sender, requests) = mpsc::channel();
        let control = Self { path: path.to_owned(), requests };
        thread::Builder::new().name("control".into()).spawn(move || accept(&listener, &sender))?;
        Ok(control)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Requests since the last call.
    pub(super) fn requests(&self) -> impl Iterator<Item = Request> {
        self.requests.try_iter()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.path);
    }
}

/// Runs until the process ends.
fn accept(listener: &UnixListener, requests: &Sender<Request>) {
    let open = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(RETRY_AFTER);
            continue;
        };
        if Arc::strong_count(&open) > MAX_CONNECTIONS {
            let _client_is_gone = write(&stream, &json!({ "error": "Too many connections; close some and try again" }));
            continue;
        }
        let (requests, open) = (requests.clone(), Arc::clone(&open));
        // If the thread cannot be started, the connection is closed.
        let _no_thread = thread::Builder::new().name("control".into()).spawn(move || {
            let _client_is_gone = serve(&stream, &requests);
            drop(open);
        });
    }
}

fn serve(stream: &UnixStream, requests: &Sender<Request>) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && u64::try_from(line.len()).is_ok_and(|len| len == MAX_LINE_BYTES) {
            return write(stream, &json!({ "error": format!("A line has {MAX_LINE_BYTES} bytes at most") }));
        }
        let (answer, answers) = mpsc::channel();
        let request = Request { line: String::from_utf8_lossy(&line).into_owned(), answer };
        if requests.send(request).is_err() {
            return Ok(());
        }
        let answer = answers.recv().unwrap_or_else(|_ended| json!({ "error": "candor-lab wire is shutting down" }));
        write(stream, &answer)?;
    }
}

fn write(mut stream: &UnixStream, answer: &Value) -> io::Result<()> {
    stream.write_all(format!("{answer}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wire");
        let control = Control::open(&path).unwrap();
        let stream = UnixStream::connect(&path).unwrap();
        (&stream).write_all(b"first\nsecond\n").unwrap();
        let mut answers = BufReader::new(&stream).lines();
        for expected in ["first\n", "second\n"] {
            let request = control.requests.recv().unwrap();
            assert_eq!(request.line, expected);
            request.answer(json!({ "request": expected }));
            let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
            assert_eq!(answer["request"], expected);
        }
        let long = UnixStream::connect(&path).unwrap();
        (&long).write_all(&[b'x'; 5000]).unwrap();
        let answer = BufReader::new(&long).lines().next().unwrap().unwrap();
        assert_eq!(answer, r#"{"error":"A line has 4096 bytes at most"}"#);
        drop(control);
        assert!(!path.exists());
    }
}
