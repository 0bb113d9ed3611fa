//! As much of HTTP as a scraper needs: one request for each connection, one after the other.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use candor_io::signal;

use super::Asker;

/// Who needs longer for a request or for taking the answer is left.
const PATIENCE: Duration = Duration::from_secs(2);
/// The supervising thread may be in the middle of a reload.
const PATIENCE_FOR_TEXT: Duration = Duration::from_secs(8);
/// After an error of `accept()`, such as too many open files.
const BREATH: Duration = Duration::from_millis(200);
const MAX_REQUEST_BYTES: usize = 8192;
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Where connections come in.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// What is said to a request.
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

/// Serves until the process ends.
pub(super) fn serve(listener: &Listener, asks: &Sender<Asker>) {
    loop {
        let served = match listener {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                serve_one(stream, asks);
                Ok(())
            }),
            Listener::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                serve_one(stream, asks);
                Ok(())
            }),
        };
        if served.is_err() {
            std::thread::sleep(BREATH);
        }
    }
}

/// A client that goes away in the middle has only itself to blame.
fn serve_one(mut stream: impl Read + Write, asks: &Sender<Asker>) {
    let Some(request) = read_request(&mut stream) else { return };
    let line = request.lines().next().unwrap_or_default();
    let words: Vec<_> = line.split(' ').collect();
    let answer = match words.as_slice() {
        ["GET" | "HEAD", "/metrics", version] if version.starts_with("HTTP/1.") => metrics(asks),
        ["GET" | "HEAD", _, version] if version.starts_with("HTTP/1.") => {
            Answer { status: "404 Not Found", kind: PLAIN, body: "The metrics are at /metrics\n".into() }
        }
        [_, _, version] if version.starts_with("HTTP/1.") => {
            Answer { status: "405 Method Not Allowed", kind: PLAIN, body: "GET /metrics\n".into() }
        }
        _ => Answer { status: "400 Bad Request", kind: PLAIN, body: "GET /metrics HTTP/1.1\n".into() },
    };
    let Answer { status, kind, body } = answer;
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let body = if words[0] == "HEAD" { "" } else { body.as_str() };
    let _ = write_all(&mut stream, &(head + body));
}

fn write_all(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Up to the empty line; `None` if it does not come.
fn read_request(stream: &mut impl Read) -> Option<String> {
    let started = Instant::now();
    let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let len = stream.read(&mut piece).ok()?;
        if len == 0 || bytes.len() + len > MAX_REQUEST_BYTES || started.elapsed() > PATIENCE {
            return None;
        }
        bytes.extend(&piece[..len]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Has the supervising thread read the counters.
fn metrics(asks: &Sender<Asker>) -> Answer {
    let (asker, text) = mpsc::channel();
    let is_asked = asks.send(asker).is_ok();
    signal::nudge();
    match text.recv_timeout(PATIENCE_FOR_TEXT) {
        Ok(body) if is_asked => Answer { status: "200 OK", kind: OPENMETRICS, body },
        _ => Answer { status: "503 Service Unavailable", kind: PLAIN, body: "The gateway does not answer\n".into() },
    }
}
