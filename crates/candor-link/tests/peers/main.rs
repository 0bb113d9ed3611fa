//! Sessions with clients that others wrote, over sockets of this machine: python-can for socketcand, can-cannelloni; and with
//! a program in another language for candor's own protocol.
//!
//! `CANDOR_CAN_CANNELLONI` is a directory with `venv`, in which both are installed. `cargo xtask test` makes it and sets
//! the variable; without it, the test prints `SKIP` and the reason.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, Frame, RawId};
use candor_core::random::SplitMix64;
use candor_link::session::{
    Action, Candor, Options, Outgoing, Protocol, Received, Role, Session, SocketcandServer, Tcp,
};
use candor_link::{Clock, Origin, Stamp};
use require::require;

const FRAMES: usize = 300;
const MOST: Duration = Duration::from_secs(30);

#[test]
fn a_client_of_python_can_sends_and_receives_through_the_server() {
    let Some(mut line) = Line::<SocketcandServer>::new("socketcand") else { return };
    let frames = frames(1, false);
    frames.iter().for_each(|frame| line.command(&format!("send {frame}")));
    line.drive(|received, _| received.len() == FRAMES);
    assert_eq!(line.received.iter().map(|one| one.frame).collect::<Vec<_>>(), frames);

    let stamp =
        |number: usize| Stamp { ns: 1_700_000_000_000_001_000 + number as u64 * 1_001_000, clock: Clock::Realtime };
    for (number, frame) in frames.iter().enumerate() {
        line.command("receive");
        line.send(*frame, Some(stamp(number)));
    }
    line.drive(|_, session| session.counts().sent == FRAMES as u64);
    for (number, frame) in frames.iter().enumerate() {
        let us = stamp(number).ns / 1000;
        let seconds = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
        assert_eq!(line.output_line(), format!("{seconds} {frame}"));
    }
    assert_eq!(line.session.counts().refused_commands, 0);
    // As python-can writes a remote frame, socketcand does not understand it, and the connection goes on.
    line.command("send 123#R");
    line.command("send 124#");
    line.drive(|received, _| received.len() == FRAMES + 2);
    let last: Vec<String> = line.received[FRAMES..].iter().map(|one| one.frame.to_string()).collect();
    assert_eq!(last, ["123#", "124#"]);
}

#[test]
fn a_client_of_can_cannelloni_sends_and_receives_and_reconnects() {
    let Some(mut line) = Line::<Tcp>::new("cannelloni") else { return };
    let frames = frames(2, true);
    frames.iter().for_each(|frame| line.command(&format!("send {frame}")));
    line.drive(|received, _| received.len() == FRAMES);
    assert_eq!(line.received.iter().map(|one| one.frame).collect::<Vec<_>>(), frames);
    for round in 1..=2 {
        for frame in &frames {
            line.command("receive");
            line.send(*frame, None);
        }
        let sent = round * FRAMES as u64;
        line.drive(|_, session| session.counts().sent == sent);
        for frame in &frames {
            assert_eq!(line.output_line().split_once(' ').unwrap().1, frame.to_string());
        }
        line.reconnect();
    }
    assert_eq!(line.session.counts().connections, 3);
}

/// The page has everything that a peer needs.
#[test]
fn a_program_written_from_the_page_exchanges_every_kind_of_frame() {
    let Some(mut line) = Line::<Candor>::new("candor") else { return };
    let mut frames = frames(3, true);
    let others =
        ["123#R8", "7FF##0", "1FFFFFFF##3AABBCCDDEEFF00112233445566", "001#1122334455667788_F", "00000001#R8_9"];
    frames.extend(others.map(|text| text.parse::<Frame>().unwrap()));
    frames.iter().for_each(|frame| line.command(&format!("send {frame}")));
    line.drive(|received, _| received.len() == FRAMES + others.len());
    for (number, (one, frame)) in line.received.iter().zip(&frames).enumerate() {
        let stamp = Some(Stamp { ns: 1000 + number as u64, clock: Clock::Monotonic });
        assert_eq!((one.frame, one.stamp, one.hops, one.bus), (*frame, stamp, 1, 0));
        assert_eq!(one.origin, Origin::new(2));
    }
    let stamps =
        [None, Some(Stamp { ns: u64::MAX, clock: Clock::Realtime }), Some(Stamp { ns: 7, clock: Clock::Adapter })];
    for (number, frame) in frames.iter().enumerate() {
        line.command("receive");
        line.send(*frame, stamps[number % 3]);
    }
    line.drive(|_, session| session.counts().sent == frames.len() as u64);
    for (number, frame) in frames.iter().enumerate() {
        let stamp = ["0 0".to_owned(), format!("{} 1", u64::MAX), "7 3".to_owned()][number % 3].clone();
        assert_eq!(line.output_line(), format!("{number} 9 0 can0 {stamp} {frame}"));
    }
    assert_eq!(line.session.counts().lost, 0);
}

/// Classic frames of any identifier and length, with some remote frames of length 0: can-cannelloni sends no other length,
/// and reads data after one.
fn frames(seed: u64, with_remote: bool) -> Vec<Frame> {
    let mut random = SplitMix64::new(seed);
    let one = |_| {
        let number = u32::try_from(random.next_u64() >> 32).unwrap();
        let id = if random.below(2) == 0 { number & 0x7FF } else { number & 0x1FFF_FFFF | CAN_EFF_FLAG };
        if with_remote && random.below(8) == 0 {
            return Frame::classic(RawId(id | CAN_RTR_FLAG), &[]).unwrap();
        }
        let data = random.next_u64().to_be_bytes();
        Frame::classic(RawId(id), &data[..random.below(9)]).unwrap()
    };
    (0..FRAMES).map(one).collect()
}

/// A session, its socket, and the program at the other end.
struct Line<P> {
    session: Session<P>,
    start: Instant,
    listener: TcpListener,
    socket: TcpStream,
    received: Vec<Received>,
    program: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl<P: Protocol> Line<P> {
    /// A connected client. `None` after saying why there is none.
    fn new(client: &str) -> Option<Self> {
        let found = std::env::var_os("CANDOR_CAN_CANNELLONI").map(PathBuf::from);
        let reason = "CANDOR_CAN_CANNELLONI is not set; cargo xtask can-cannelloni prints it";
        let peer = require("can-cannelloni", found, reason)?;
        let script = if client == "candor" { "page.py" } else { "peer.py" };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut program = Command::new(peer.join("venv/bin/python"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(script))
            .args([client, &listener.local_addr().unwrap().port().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cannot start the Python of the peer");
        let (input, output) = (program.stdin.take().unwrap(), BufReader::new(program.stdout.take().unwrap()));
        let socket = accept(&listener);
        let options = Options { origin: Origin::new(9).unwrap(), ..Options::new(Role::Listens, &["can0"]) };
        let session = Session::new(&options, Duration::ZERO, 1);
        let start = Instant::now();
        let mut line = Self { session, start, listener, socket, received: Vec::new(), program, input, output };
        line.session.connected(Duration::ZERO);
        line.drive(|_, session| session.is_up());
        Some(line)
    }

    fn command(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
    }

    fn output_line(&mut self) -> String {
        let mut text = String::new();
        self.output.read_line(&mut text).unwrap();
        text.trim_end().to_owned()
    }

    fn send(&mut self, frame: Frame, stamp: Option<Stamp>) {
        self.session.send(self.start.elapsed(), Outgoing::local(0, frame, stamp));
    }

    fn reconnect(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Both).unwrap();
        self.session.disconnected(self.start.elapsed());
        self.socket = accept(&self.listener);
        self.session.connected(self.start.elapsed());
        self.drive(|_, session| session.is_up());
    }

    /// Runs the session until this holds.
    fn drive(&mut self, until: impl Fn(&[Received], &Session<P>) -> bool) {
        let end = Instant::now() + MOST;
        let mut buffer = [0; 4096];
        while !until(&self.received, &self.session) {
            assert!(Instant::now() < end, "{:?}, {} received", self.session.counts(), self.received.len());
            let now = self.start.elapsed();
            match self.session.poll(now) {
                Action::Write => {
                    let written = self.socket.write(self.session.outgoing()).unwrap();
                    self.session.written(self.start.elapsed(), written);
                }
                Action::Wait(_) => match self.socket.read(&mut buffer) {
                    Ok(0) => panic!("the peer closed the connection: {:?}", self.session.counts()),
                    Ok(len) => {
                        self.session.received(now, &buffer[..len], |received| self.received.push(received));
                    }
                    Err(error) => {
                        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}")
                    }
                },
                other => panic!("{other:?}"),
            }
        }
    }
}

impl<P> Drop for Line<P> {
    fn drop(&mut self) {
        // It may wait for frames.
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (socket, _) = listener.accept().unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    socket
}
