//! Sources of samples: the socket of a gateway in the run directory, or an address.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use candor_engine::{Running, reconcile};

use super::sample::Sample;
use crate::cli::Address;
use crate::cmd::running;
use candor_cli::gateway_file::identity;

/// A gateway answers within 8 s, with metrics or with an error.
const TIMEOUT: Duration = Duration::from_secs(10);
/// More than the metrics of 2048 routes with latencies.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The only gateway of this network namespace, or the one with this name.
    Here(Option<String>),
    At(Address),
}

/// A gateway that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    address: Address,
    /// Its file and PID, or its address.
    pub(super) title: String,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NoSample {
    #[error("cannot query the gateway {title}{}", advice(.source))]
    Connect { title: String, source: io::Error },
    #[error("the gateway {title} returned no metrics: {status}")]
    Refused { title: String, status: String },
    #[error("{title} is not the metrics address of a gateway; see candor run --metrics")]
    NoGateway { title: String },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ": it belongs to another user; use sudo candor top",
        io::ErrorKind::NotFound => {
            ": it has no socket in the run directory; it may be of an earlier version, or have failed to create one"
        }
        _ => "",
    }
}

impl Source {
    /// Finds the gateway.
    ///
    /// # Errors
    /// If none or several match, or if this user cannot read the run directory.
    pub(super) fn find(&self) -> Result<Found, Box<dyn Error>> {
        let name = match self {
            Self::At(address) => return Ok(Found { address: address.clone(), title: address.to_string() }),
            Self::Here(name) => name.as_deref(),
        };
        let running = Running::list()?;
        let one = running::choose(&running, "candor top", name, is_called).map_err(|unclear| {
            let owners = reconcile::status(&mut |_notice| {}).map(|status| status.owners).unwrap_or_default();
            unclear.or_applied(owners.iter().map(|state| &state.owner))
        })?;
        let file = one.file.as_deref().unwrap_or("standard input");
        let title = format!("{file}, process {}", one.pid);
        Ok(Found { address: Address::Unix(one.metrics.clone()), title })
    }
}

/// A name is the file of a gateway, the name of the file without `.toml`, or a PID.
fn is_called(one: &Running, name: &str) -> bool {
    let file = one.file.as_deref();
    let stem = file.and_then(|file| Path::new(file).file_stem()).and_then(|stem| stem.to_str());
    file == Some(identity(Path::new(name)).as_str()) || stem == Some(name) || name == one.pid.to_string()
}

impl Found {
    /// Reads the metrics of the gateway.
    pub(super) fn sample(&self) -> Result<Sample, NoSample> {
        let title = || self.title.clone();
        let answer = self.answer().map_err(|source| NoSample::Connect { title: title(), source })?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.lines().next().unwrap_or_default();
        match status.split(' ').nth(1) {
            Some("200") => Sample::read(body).ok_or_else(|| NoSample::NoGateway { title: title() }),
            _ if status.starts_with("HTTP/") => Err(NoSample::Refused { title: title(), status: status.into() }),
            _ => Err(NoSample::NoGateway { title: title() }),
        }
    }

    fn answer(&self) -> io::Result<String> {
        match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                talk(stream)
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
                stream.set_read_timeout(Some(TIMEOUT))?;
                stream.set_write_timeout(Some(TIMEOUT))?;
                talk(stream)
            }
        }
    }
}

fn talk(mut stream: impl Read + Write) -> io::Result<String> {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: candor\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Samples a server with this answer.
    fn ask(answer: &'static str) -> Result<Sample, NoSample> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let serves = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let len = stream.read(&mut request).unwrap();
            assert!(request[..len].starts_with(b"GET /metrics HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let found = Found { address: Address::Unix(path), title: "car".into() };
        let asked = found.sample();
        serves.join().unwrap();
        asked
    }

    #[test]
    fn metrics_of_a_gateway_are_read() {
        let sample =
            ask("HTTP/1.1 200 OK\r\n\r\ncandor_build_info{version=\"0.1.0\",engine=\"auto\"} 1\n# EOF\n").unwrap();
        assert_eq!((sample.version.as_str(), sample.engine.as_str()), ("0.1.0", "auto"));
    }

    #[test]
    fn other_answers_are_errors() {
        for (answer, says) in [
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", "the gateway car returned no metrics: HTTP/1.1 503"),
            ("HTTP/1.1 200 OK\r\n\r\nnode_load1 1\n# EOF\n", "car is not the metrics address"),
            ("SSH-2.0-OpenSSH_9.2\r\n", "car is not the metrics address"),
            ("", "car is not the metrics address"),
        ] {
            let said = ask(answer).unwrap_err().to_string();
            assert!(said.starts_with(says), "{said}");
        }
        let absent = Found { address: Address::Unix("/nowhere/metrics.sock".into()), title: "car".into() };
        let said = absent.sample().unwrap_err().to_string();
        assert!(said.contains("no socket in the run directory"), "{said}");
    }
}
