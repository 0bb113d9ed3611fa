//! The subset of HTTP/1.1 that scrapers need: one request per connection, connections one after the other.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use candor_io::signal;

use super::Request;

/// Timeout for reading a request and for writing the response.
const PATIENCE: Duration = Duration::from_secs(2);
/// The supervisor may be in the middle of a reload.
const PATIENCE_FOR_TEXT: Duration = Duration::from_secs(8);
/// Pause after an error of `accept()`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
const MAX_REQUEST_BYTES: usize = 8192;
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Status, content type and body.
type Response = (&'static str, &'static str, String);

/// Loops until the process ends.
pub(super) fn serve(listener: &Listener, requests: &Sender<Request>) {
    loop {
        let served = match listener {
            Listener::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                serve_one(stream, requests);
                Ok(())
            }),
            Listener::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                serve_one(stream, requests);
                Ok(())
            }),
        };
        if served.is_err() {
            std::thread::sleep(ACCEPT_PAUSE);
        }
    }
}

/// Errors of the connection are ignored: the client has gone away.
fn serve_one(mut stream: impl Read + Write, requests: &Sender<Request>) {
    let Some(request) = read_request(&mut stream) else { return };
    let line = request.lines().next().unwrap_or_default();
    let words: Vec<_> = line.split(' ').collect();
    let (status, kind, body): Response = match words.as_slice() {
        ["GET" | "HEAD", "/metrics", version] if version.starts_with("HTTP/1.") => metrics(requests),
        ["GET" | "HEAD", _, version] if version.starts_with("HTTP/1.") => {
            ("404 Not Found", PLAIN, "The metrics are at /metrics\n".into())
        }
        [_, _, version] if version.starts_with("HTTP/1.") => ("405 Method Not Allowed", PLAIN, "GET /metrics\n".into()),
        _ => ("400 Bad Request", PLAIN, "GET /metrics HTTP/1.1\n".into()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let body = if words[0] == "HEAD" { "" } else { body.as_str() };
    let _ = stream.write_all((head + body).as_bytes()).and_then(|()| stream.flush());
}

/// Reads up to the empty line; `None` after a timeout, an error or 8 KiB.
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

/// Lets the supervisor read the counters, and waits for the text.
fn metrics(requests: &Sender<Request>) -> Response {
    let (request, text) = mpsc::channel();
    let is_queued = requests.send(request).is_ok();
    signal::nudge();
    match text.recv_timeout(PATIENCE_FOR_TEXT) {
        Ok(body) if is_queued => ("200 OK", OPENMETRICS, body),
        _ => ("503 Service Unavailable", PLAIN, "The gateway does not respond\n".into()),
    }
}
