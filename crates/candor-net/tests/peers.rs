//! The program with clients that others wrote, with itself, and with peers that do harm.
//!
//! `CANDOR_CAN_CANNELLONI` is a directory with `venv`, in which python-can and can-cannelloni are installed; without it, the
//! tests that need them print `SKIP` and the reason.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../candor-lab/tests/support/require.rs"]
mod require;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use candor_cli::link::State;
use require::require;

const MOST: Duration = Duration::from_secs(30);
const FRAMES: [&str; 6] =
    ["123#1122", "7FF#", "00000001#0102030405060708", "18FEF100#FF", "000#00", "1FFFFFFF#8877665544332211"];

/// A running program whose output and errors are read in threads.
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
}

fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = streams.spawn().unwrap();
        let output: ChildStdout = child.stdout.take().unwrap();
        let (output, errors) = (lines(output), lines(child.stderr.take().unwrap()));
        Self { input: child.stdin.take(), child, output, errors }
    }

    fn link(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor-link"));
        Self::start(command.args(["open", "--stdio", "--json"]).args(arguments))
    }

    /// A server at any port, and its address.
    fn server(arguments: &[&str]) -> (Self, String) {
        let server = Self::link(&[&["--listen", "127.0.0.1:0"], arguments].concat());
        let told = server.error_with("listens at ");
        (server, told.rsplit_once(' ').unwrap().1.to_owned())
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn line(&self) -> String {
        self.output.recv_timeout(MOST).unwrap()
    }

    /// The next error with this text.
    fn error_with(&self, text: &str) -> String {
        self.error_with_any(&[text])
    }

    /// Waits until it has a peer; over datagrams, until it can send some.
    fn is_up(&self) {
        self.error_with_any(&["connected with", "sends to"]);
    }

    fn error_with_any(&self, texts: &[&str]) -> String {
        loop {
            let line = self.errors.recv_timeout(MOST).unwrap_or_else(|_| panic!("nothing with {texts:?}"));
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
        }
    }

    /// The first state from now on for which this holds.
    fn state(&self, holds: impl Fn(&State) -> bool) -> State {
        loop {
            let line = self.errors.recv_timeout(MOST).unwrap();
            if let Ok(state) = serde_json::from_str(&line)
                && holds(&state)
            {
                return state;
            }
        }
    }

    /// Ends the input of a link, which ends when everything is sent.
    fn finish(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn peer(client: &str, address: &str) -> Option<Program> {
    let found = std::env::var_os("CANDOR_CAN_CANNELLONI").map(PathBuf::from);
    let python =
        require("can-cannelloni", found, "CANDOR_CAN_CANNELLONI is not set; cargo xtask can-cannelloni prints it")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../candor-link/tests/peers/peer.py");
    let port = address.rsplit_once(':').unwrap().1;
    Some(Program::start(Command::new(python.join("venv/bin/python")).arg(script).args([client, port])))
}

/// Both directions, and the ledger. `foreign`: a frame that the protocol cannot carry.
fn exchange(mut link: Program, mut peer: Program, foreign: Option<&str>) {
    link.is_up();
    for frame in FRAMES {
        peer.tell(&format!("send {frame}"));
        assert_eq!(link.line(), frame);
    }
    for frame in FRAMES {
        peer.tell("receive");
        link.tell(frame);
        assert_eq!(peer.line().split_once(' ').unwrap().1, frame);
    }
    foreign.into_iter().for_each(|foreign| link.tell(foreign));
    link.tell("124#");
    peer.tell("receive");
    assert!(peer.line().ends_with(" 124#"));
    let count = FRAMES.len() as u64;
    let state = link.state(|state| state.sent_frames > count && state.received_frames == count);
    assert!(state.is_up && state.connections == 1, "{state:?}");
    assert_eq!(state.dropped_frames.values().sum::<u64>(), u64::from(foreign.is_some()), "{state:?}");
    link.finish();
}

#[test]
fn python_can_is_a_client_of_the_socketcand_server() {
    let (link, address) = Program::server(&["--protocol", "socketcand", "--bus", "can0"]);
    let Some(peer) = peer("socketcand", &address) else { return };
    exchange(link, peer, Some("123##3AABB"));
}

#[test]
fn can_cannelloni_is_a_client_over_tcp() {
    let (link, address) = Program::server(&["--protocol", "cannelloni-tcp"]);
    let Some(peer) = peer("cannelloni", &address) else { return };
    exchange(link, peer, Some("123#1122334455667788_F"));
}

/// Frames from one program to another, and back.
fn both_ways(mut one: Program, mut other: Program, frames: &[&str]) {
    one.is_up();
    other.is_up();
    for _ in 0..2 {
        for frame in frames {
            one.tell(frame);
            assert_eq!(other.line(), *frame);
        }
        std::mem::swap(&mut one, &mut other);
    }
    let count = frames.len() as u64;
    one.state(|state| {
        state.sent_frames == count && state.received_frames == count && state.lost_frames + state.lost_datagrams == 0
    });
}

#[test]
fn two_programs_exchange_frames_with_every_protocol() {
    // Every FD frame has the flag of its format, as of the kernel.
    let others = ["124#R", "7FF##4", "1FFFFFFF##7AABBCCDDEEFF00112233445566"];
    let raw_dlc = ["001#1122334455667788_F"];
    for (protocol, frames) in [
        ("candor", [&FRAMES[..], &others, &raw_dlc].concat()),
        ("cannelloni-tcp", [&FRAMES[..], &others].concat()),
        ("socketcand", FRAMES.to_vec()),
    ] {
        let (server, address) = Program::server(&["--protocol", protocol]);
        let client = Program::link(&["--protocol", protocol, "--connect", &address]);
        both_ways(client, server, &frames);
    }
    // Two addresses that nobody has.
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [a, b] = sockets.each_ref().map(|socket| socket.local_addr().unwrap().to_string());
    drop(sockets);
    let [one, other] = [(&a, &b), (&b, &a)]
        .map(|(own, of_peer)| Program::link(&["--protocol", "cannelloni-udp", "--listen", own, "--connect", of_peer]));
    both_ways(one, other, &[&FRAMES[..], &others].concat());
}

#[test]
fn datagrams_that_nobody_receives_are_told_and_counted() {
    let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut link = Program::link(&["--protocol", "cannelloni-udp", "--connect", &address]);
    link.error_with("sends to ");
    link.tell("123#11");
    link.error_with("no program receives datagrams at this port of the peer");
    let state = link.state(|state| !state.dropped_frames.is_empty());
    assert_eq!((state.sent_frames, state.dropped_frames.get("no-receiver")), (1, Some(&1)), "{state:?}");
}

/// The peer accepts and reads nothing, so frames wait, and are dropped in the order of the bands.
#[test]
fn a_peer_that_reads_nothing_holds_nothing_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut link = Program::link(&[
        "--protocol",
        "cannelloni-tcp",
        "--connect",
        &address,
        "--queue",
        "100",
        "--band",
        "100",
        "--time-out",
        "1h",
    ]);
    let (mut socket, _) = listener.accept().unwrap();
    socket.write_all(b"CANNELLONIv1").unwrap();
    link.is_up();
    let long = format!("200##0{}", "5A".repeat(64));
    // More than the buffers of both sockets hold.
    for _ in 0..200_000 {
        link.tell(&long);
    }
    for _ in 0..50 {
        link.tell("100#01");
    }
    let full = |state: &State| state.dropped_frames.get("queue-full").copied();
    let stalled = link.state(|state| full(state).is_some_and(|frames| frames > 1000) && state.waiting_frames > 0);
    assert!(stalled.is_up, "{stalled:?}");
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        socket.read_to_end(&mut bytes).unwrap();
        bytes
    });
    link.finish();
    let bytes = reader.join().unwrap();
    let urgent = bytes.windows(6).filter(|bytes| *bytes == [0, 0, 1, 0, 1, 1]).count();
    assert_eq!(urgent, 50, "none of the first band was dropped");
}

#[test]
fn a_server_has_one_peer_and_takes_the_next_one_later() {
    let (mut server, address) = Program::server(&["--protocol", "cannelloni-tcp"]);
    let greeted = |address: &str| {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(MOST)).unwrap();
        let mut greeting = [0; 12];
        socket.read_exact(&mut greeting).map(|()| socket)
    };
    let mut first = greeted(&address).unwrap();
    first.write_all(b"CANNELLONIv1\x00\x00\x01\x23\x01\xFF").unwrap();
    assert_eq!(server.line(), "123#FF");
    assert!(greeted(&address).is_err(), "a second peer");
    drop(first);
    server.error_with("closed the connection");
    let mut next = greeted(&address).unwrap();
    next.write_all(b"CANNELLONIv1\x00\x00\x01\x24\x00").unwrap();
    assert_eq!(server.line(), "124#");
    // Harm ends the connection, not the program.
    next.write_all(&[0x7F; 100]).unwrap();
    server.error_with("the peer sent something wrong");
    assert!(greeted(&address).is_ok());
    server.state(|state| state.connections == 3);
    server.input.take();
}

#[test]
fn a_beacon_is_sent_only_when_asked_for() {
    let listener = UdpSocket::bind("127.0.0.1:42000").unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
    let mut bytes = [0; 500];
    let (_silent, _) = Program::server(&["--protocol", "socketcand"]);
    assert!(listener.recv(&mut bytes).is_err());
    let (_server, address) = Program::server(&["--protocol", "socketcand", "--bus", "body", "--beacon"]);
    let len = listener.recv(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
    assert!(text.contains(&format!("<URL>can://{address}</URL><Bus name=\"body\"/>")), "{text}");
}

mod tls {
    use std::fs;

    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    use super::*;

    type Authority = CertifiedIssuer<'static, KeyPair>;

    fn authority() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// Files of a certificate for this name, as arguments.
    fn arguments(folder: &Path, trusted: &Authority, issuer: &Authority, name: &str) -> Vec<String> {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, issuer).unwrap();
        let files = [("ca", trusted.pem()), ("cert", certificate.pem()), ("key", key.serialize_pem())];
        files
            .into_iter()
            .flat_map(|(kind, text)| {
                let path = folder.join(format!("{name}.{kind}"));
                fs::write(&path, text).unwrap();
                [format!("--{kind}"), path.display().to_string()]
            })
            .collect()
    }

    #[test]
    fn certificates_of_both_sides_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (authority(), authority());
        let of = |trusted, issuer, name| arguments(folder.path(), trusted, issuer, name);
        let server = of(&ours, &ours, "one.example");
        let start = |wanted: &str| {
            let own: Vec<&str> = server.iter().map(String::as_str).collect();
            Program::server(&[&["--protocol", "candor", "--peer-name", wanted], &own[..]].concat())
        };
        let client = |address: &str, tls: &[String], name: &str| {
            let own: Vec<&str> = tls.iter().map(String::as_str).collect();
            let args = ["--protocol", "candor", "--connect", address, "--peer-name", name];
            Program::link(&[&args, &own[..]].concat())
        };
        let (one, address) = start("two.example");
        let two = of(&ours, &ours, "two.example");
        both_ways(client(&address, &two, "one.example"), one, &["123#1122", "7FF##4", "18FEF100#R"]);

        // The server has another name than the client wants.
        let (_one, address) = start("two.example");
        client(&address, &two, "other.example").error_with("the certificate of the peer has another name");
        // The client has another name than the server wants.
        let (one, address) = start("three.example");
        let _two = client(&address, &two, "one.example");
        one.error_with("the certificate of the peer is not for three.example");
        // Another authority.
        let stranger = of(&ours, &theirs, "stranger.example");
        let (one, address) = start("stranger.example");
        let _stranger = client(&address, &stranger, "one.example");
        one.error_with("invalid peer certificate");
        // No TLS.
        let (one, address) = start("two.example");
        let _plain = Program::link(&["--protocol", "candor", "--connect", &address]);
        one.error_with("TLS: received corrupt message");
    }
}
