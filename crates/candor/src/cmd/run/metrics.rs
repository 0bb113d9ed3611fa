//! OpenMetrics over HTTP: on a Unix socket in the run directory, which `candor top` uses, and with `--metrics` on a Unix socket
//! or a loopback address.
//!
//! Each listener has a thread. The supervisor reads the counters between two checks; forwarding threads are not involved.

mod http;
mod load;
mod text;

pub(super) use text::Observer;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};

use crate::cli::Address;
use http::Listener;

/// A pending request; the response text is sent here.
type Request = Sender<String>;

/// Listeners, whose Unix sockets are removed on drop.
#[derive(Debug)]
pub(super) struct Metrics {
    requests: Sender<Request>,
    pending: Receiver<Request>,
    sockets: Vec<PathBuf>,
}

/// Small, because a gateway may have its memory locked.
const STACK_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}{}", advice(.address, .source))]
pub(super) struct MetricsError {
    address: Address,
    source: io::Error,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let (requests, pending) = mpsc::channel();
        Self { requests, pending, sockets: Vec::new() }
    }

    /// Binds the address and starts its thread.
    pub(super) fn listen(&mut self, address: &Address) -> Result<(), MetricsError> {
        let refused = |source| MetricsError { address: address.clone(), source };
        let listener = match address {
            Address::Unix(path) => {
                let listener = candor_cli::socket::bind(path).map_err(refused)?;
                self.sockets.push(path.clone());
                Listener::Unix(listener)
            }
            Address::Tcp(address) => Listener::Tcp(TcpListener::bind(address).map_err(refused)?),
        };
        let requests = self.requests.clone();
        let serve = move || http::serve(&listener, &requests);
        let thread = std::thread::Builder::new().name("metrics".into()).stack_size(STACK_BYTES);
        thread.spawn(serve).map_err(refused)?;
        Ok(())
    }

    /// Answers all pending requests.
    pub(super) fn answer(&self, text: impl FnOnce() -> String) {
        let pending: Vec<Request> = self.pending.try_iter().collect();
        if pending.is_empty() {
            return;
        }
        let text = text();
        for request in pending {
            // A client that timed out has closed the channel.
            let _ = request.send(text.clone());
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        for path in &self.sockets {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn advice(address: &Address, error: &io::Error) -> String {
    match (error.kind(), address) {
        (io::ErrorKind::AddrInUse, _) => ": address in use; choose another address".into(),
        (io::ErrorKind::NotFound, Address::Unix(path)) => {
            let folder = path.parent().unwrap_or(path).display();
            format!(": directory {folder} not found; create it: sudo mkdir -p {folder}")
        }
        (io::ErrorKind::PermissionDenied, Address::Unix(path)) => {
            let folder = path.parent().unwrap_or(path).display();
            format!(": this user may not write to {folder}; choose another directory, or run candor as root")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Duration;

    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    fn listen(address: &Address) -> Result<Metrics, MetricsError> {
        let mut metrics = Metrics::new();
        metrics.listen(address).map(|()| metrics)
    }

    /// Sends one request while the metrics answer with this text.
    fn ask(metrics: &Metrics, request: &str, answer: &str) -> String {
        let mut stream = UnixStream::connect(&metrics.sockets[0]).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                let mut got = String::new();
                stream.read_to_string(&mut got).unwrap();
                got
            });
            while !reader.is_finished() {
                metrics.answer(|| answer.to_owned());
                std::thread::sleep(Duration::from_millis(1));
            }
            reader.join().unwrap()
        })
    }

    #[test]
    fn a_request_gets_the_current_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.sock");
        let metrics = listen(&Address::Unix(path.clone())).unwrap();
        for text in ["one 1\n# EOF\n", "one 2\n# EOF\n"] {
            let got = ask(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", text);
            let (head, body) = got.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(
                head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
                "{head}"
            );
            assert!(head.contains(&format!("Content-Length: {}", text.len())), "{head}");
            assert_eq!(body, text);
        }
        let head = ask(&metrics, "HEAD /metrics HTTP/1.0\r\n\r\n", "text");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("nonsense\r\n\r\n", "400"),
            ("\u{0}\r\n\r\n", "400"),
        ] {
            let got = ask(&metrics, request, "text");
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {got}");
        }
        drop(metrics);
        assert!(!path.exists());
    }

    #[test]
    fn a_stale_socket_is_replaced_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.sock");
        drop(UnixListener::bind(&path).unwrap());
        let metrics = listen(&Address::Unix(path.clone())).unwrap();
        let refused = listen(&Address::Unix(path.clone())).unwrap_err().to_string();
        assert!(refused.ends_with("address in use; choose another address"), "{refused}");
        drop(metrics);
        std::fs::write(&path, "another file").unwrap();
        assert!(listen(&Address::Unix(path.clone())).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "another file");
        let nowhere = listen(&Address::Unix(folder.path().join("no/metrics.sock"))).unwrap_err().to_string();
        assert!(nowhere.contains("sudo mkdir -p"), "{nowhere}");
    }
}
