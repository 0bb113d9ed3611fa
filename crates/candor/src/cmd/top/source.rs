//! Where samples come from: a gateway that is found by the run directory, or an address.

use std::error::Error;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use candor_engine::Running;

use super::sample::Sample;
use crate::cmd::run::metrics::Address;
use crate::cmd::running;
use candor_cli::gateway_file::identity;

/// A gateway answers within 8 s or says that it cannot.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than 2048 routes with latencies have to say.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Which gateway is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// One of this network namespace: the only one, or the one of this name.
    Here(Option<String>),
    At(Address),
}

/// One that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    address: Address,
    /// For people: its file and its process, or its address.
    pub(super) title: String,
}

/// No sample could be had.
#[derive(Debug)]
pub(super) enum NoSample {
    Connect { title: String, source: io::Error },
    Refused { title: String, status: String },
    NoGateway { title: String },
}

impl Source {
    /// Looks for the gateway.
    ///
    /// # Errors
    /// If there is none, or no only one, or if this user may not know.
    pub(super) fn find(&self) -> Result<Found, Box<dyn Error>> {
        let name = match self {
            Self::At(address) => return Ok(Found { address: address.clone(), title: address.to_string() }),
            Self::Here(name) => name.as_deref(),
        };
        let running = Running::list()?;
        let one = running::choose(&running, "candor top", name, is_called)?;
        let file = one.file.as_deref().unwrap_or("standard input");
        let title = format!("{file}, process {}", one.pid);
        Ok(Found { address: Address::Unix(one.metrics.clone()), title })
    }
}

/// Whether a name means a gateway: its file, its file's name without `.toml`, or the number of its process.
fn is_called(one: &Running, name: &str) -> bool {
    let file = one.file.as_deref();
    let stem = file.and_then(|file| Path::new(file).file_stem()).and_then(|stem| stem.to_str());
    file == Some(identity(Path::new(name)).as_str()) || stem == Some(name) || name == one.pid.to_string()
}

impl Found {
    /// Asks it.
    ///
    /// # Errors
    /// [`NoSample`].
    pub(super) fn ask(&self) -> Result<Sample, NoSample> {
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
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                talk(stream)
            }
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
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

impl fmt::Display for NoSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { title, source } => {
                write!(f, "The gateway of {title} does not answer")?;
                match source.kind() {
                    io::ErrorKind::PermissionDenied => f.write_str(": it is somebody else's; try sudo candor top"),
                    io::ErrorKind::NotFound => f.write_str(
                        ": its socket is not there; a candor of an earlier version has none, and candor run says if it could \
                         not make one",
                    ),
                    _ => Ok(()),
                }
            }
            Self::Refused { title, status } => write!(f, "The gateway of {title} gives no metrics now: {status}"),
            Self::NoGateway { title } => {
                write!(f, "What answers at {title} is no candor; candor run FILE --metrics ADDRESS is one")
            }
        }
    }
}

impl Error for NoSample {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect { source, .. } => Some(source),
            Self::Refused { .. } | Self::NoGateway { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Asks somebody who answers this.
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
        let asked = found.ask();
        serves.join().unwrap();
        asked
    }

    #[test]
    fn a_gateway_is_asked() {
        let sample =
            ask("HTTP/1.1 200 OK\r\n\r\ncandor_build_info{version=\"0.1.0\",engine=\"auto\"} 1\n# EOF\n").unwrap();
        assert_eq!((sample.version.as_str(), sample.engine.as_str()), ("0.1.0", "auto"));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for (answer, says) in [
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", "The gateway of car gives no metrics now: HTTP/1.1 503"),
            ("HTTP/1.1 200 OK\r\n\r\nnode_load1 1\n# EOF\n", "What answers at car is no candor"),
            ("SSH-2.0-OpenSSH_9.2\r\n", "What answers at car is no candor"),
            ("", "What answers at car is no candor"),
        ] {
            let said = ask(answer).unwrap_err().to_string();
            assert!(said.starts_with(says), "{said}");
        }
        let nobody = Found { address: Address::Unix("/nowhere/metrics.sock".into()), title: "car".into() };
        let said = nobody.ask().unwrap_err().to_string();
        assert!(said.contains("its socket is not there"), "{said}");
    }
}
