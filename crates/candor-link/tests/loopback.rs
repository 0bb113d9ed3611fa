//! Two sessions over sockets of this machine, each in a thread.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use candor_core::frame::{Frame, RawId};
use candor_link::Origin;
use candor_link::session::{
    Action, BackOff, Candor, Closed, Counts, Options, Outgoing, Protocol, Role, Session, Tcp, Udp,
};

/// Longest time of a test.
const MOST: Duration = Duration::from_secs(60);

fn options(role: Role, origin: u64) -> Options {
    Options {
        origin: Origin(NonZeroU64::new(origin).unwrap()),
        back_off: BackOff::new(Duration::from_millis(2), Duration::from_millis(10)),
        keep_alive: Some(Duration::from_millis(20)),
        ..Options::new(role, &["can0"])
    }
}

fn frame(number: u64) -> Frame {
    Frame::classic(RawId(0x123), &number.to_be_bytes()).unwrap()
}

fn number(frame: &Frame) -> u64 {
    u64::from_be_bytes(frame.data[..8].try_into().unwrap())
}

/// A session with its socket.
struct End<P> {
    session: Session<P>,
    start: Instant,
    peer: Peer,
    socket: Option<TcpStream>,
    numbers: Vec<u64>,
    closed: Vec<Closed>,
}

enum Peer {
    /// Accepts.
    Listener(TcpListener),
    /// Connects.
    Address(SocketAddr),
}

impl<P: Protocol> End<P> {
    fn new(options: &Options, peer: Peer) -> Self {
        let session = Session::new(options, Duration::ZERO, 1);
        if let Peer::Listener(listener) = &peer {
            listener.set_nonblocking(true).unwrap();
        }
        Self { session, start: Instant::now(), peer, socket: None, numbers: Vec::new(), closed: Vec::new() }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn send(&mut self, number: u64) {
        self.session.send(self.now(), Outgoing::local(0, frame(number), None));
    }

    /// Does everything that does not wait, and reads for a millisecond at most.
    fn work(&mut self) {
        assert!(self.now() < MOST, "{:?}", self.session.counts());
        if self.socket.is_none()
            && let Peer::Listener(listener) = &self.peer
            && let Ok((socket, _)) = listener.accept()
        {
            self.connected(socket);
        }
        loop {
            match self.session.poll(self.now()) {
                Action::Connect => {
                    let Peer::Address(address) = self.peer else { panic!() };
                    match TcpStream::connect(address) {
                        Ok(socket) => self.connected(socket),
                        Err(_) => drop(self.session.disconnected(self.now())),
                    }
                }
                Action::Close(reason) => {
                    self.closed.push(reason);
                    self.socket = None;
                }
                Action::Write => {
                    let socket = self.socket.as_mut().unwrap();
                    match socket.write(self.session.outgoing()) {
                        Ok(len) => self.session.written(self.start.elapsed(), len),
                        Err(error) if is_later(&error) => break,
                        Err(_) => self.lost(),
                    }
                }
                Action::Wait(_) => break,
            }
        }
        self.read();
    }

    fn read(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let Some(socket) = &mut self.socket else { return thread::sleep(Duration::from_millis(1)) };
        match socket.read(&mut buffer) {
            Ok(0) => self.lost(),
            Ok(len) => {
                let now = self.start.elapsed();
                self.session.received(now, &buffer[..len], |one| self.numbers.push(number(&one.frame)));
            }
            Err(error) if is_later(&error) => {}
            Err(_) => self.lost(),
        }
    }

    fn connected(&mut self, socket: TcpStream) {
        socket.set_nonblocking(false).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        socket.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        self.socket = Some(socket);
        self.session.connected(self.start.elapsed());
    }

    fn lost(&mut self) {
        self.socket = None;
        self.closed.extend(self.session.disconnected(self.start.elapsed()));
    }

    fn counts(&self) -> Counts {
        *self.session.counts()
    }
}

fn is_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn ends<P: Protocol>() -> (End<P>, End<P>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = End::new(&options(Role::Listens, 2), Peer::Listener(listener));
    (End::new(&options(Role::Connects, 1), Peer::Address(address)), server)
}

/// The receiver cuts the connection now and then, with frames under way.
#[test]
fn every_frame_is_received_or_counted_as_lost_over_several_connections() {
    const FRAMES: u64 = 60_000;
    const CUTS: usize = 5;
    let (mut client, mut server) = ends::<Candor>();
    let receiver = thread::spawn(move || {
        let mut cuts = 0;
        while server.counts().received + server.counts().lost < FRAMES {
            server.work();
            if cuts < CUTS && server.numbers.len() > 2_000 * (cuts + 1) {
                server.socket.as_ref().map(|socket| socket.shutdown(Shutdown::Both));
                server.lost();
                cuts += 1;
            }
        }
        server
    });
    while client.counts().connections == 0 || !client.session.is_up() {
        client.work();
    }
    for number in 0..FRAMES {
        client.send(number);
        if number % 200 == 0 {
            client.work();
        }
    }
    while !receiver.is_finished() {
        client.work();
    }
    let server = receiver.join().unwrap();
    let (sent, received) = (client.counts(), server.counts());
    assert_eq!(received.received + received.lost, FRAMES, "{sent:?} {received:?}");
    assert_eq!(received.received, server.numbers.len() as u64);
    assert!(server.numbers.is_sorted_by(|one, next| one < next));
    assert!(received.connections >= 3 && received.restarts == 0, "{received:?}");
    assert_eq!(client.session.waiting(), 0);
    assert_eq!(sent.offered, sent.accounted());
}

#[test]
fn nothing_is_lost_in_one_connection_that_is_fast_enough() {
    const FRAMES: u64 = 20_000;
    let (mut client, mut server) = ends::<Tcp>();
    let receiver = thread::spawn(move || {
        while server.counts().received < FRAMES {
            server.work();
        }
        server.numbers
    });
    let mut number = 0;
    while !receiver.is_finished() {
        while number < FRAMES && client.session.waiting() < 500 {
            client.send(number);
            number += 1;
        }
        client.work();
    }
    assert_eq!(receiver.join().unwrap(), (0..FRAMES).collect::<Vec<_>>());
    assert_eq!(client.counts().sent, FRAMES);
}

/// The other end accepts, greets and never reads again.
#[test]
fn a_stalled_peer_is_left_and_asked_again() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let peer = thread::spawn(move || {
        let accepted = [(); 2].map(|()| {
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(b"CANNELLONIv1").unwrap();
            socket
        });
        accepted.len()
    });
    let stalls = Options { time_out: Duration::from_millis(200), ..options(Role::Connects, 1) };
    let mut client = End::<Tcp>::new(&stalls, Peer::Address(address));
    let mut number = 0;
    while !peer.is_finished() {
        // More than the kernel's buffers of a socket, which hold some megabytes.
        for _ in 0..20_000 {
            client.send(number);
            number += 1;
        }
        client.work();
    }
    assert_eq!(peer.join().unwrap(), 2);
    let counts = client.counts();
    assert_eq!(counts.offered, counts.accounted() + client.session.waiting());
    assert!(client.closed.contains(&Closed::Stall(Duration::from_millis(200))), "{:?}", client.closed);
    assert!(client.session.waiting() < 1200 && counts.dropped_full > 0, "{counts:?}");
}

#[test]
fn datagrams_arrive_over_udp() {
    const FRAMES: u64 = 10_000;
    let sockets = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let [a, b] = sockets;
    a.connect(b.local_addr().unwrap()).unwrap();
    b.connect(a.local_addr().unwrap()).unwrap();
    b.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let start = Instant::now();
    let [mut sender, mut receiver] =
        [1, 2].map(|origin| Session::<Udp>::new(&options(Role::Listens, origin), Duration::ZERO, 1));
    sender.connected(Duration::ZERO);
    receiver.connected(Duration::ZERO);
    let mut numbers = Vec::new();
    let (mut datagrams, mut withheld) = (0_u64, 0_u64);
    for number_sent in 0..FRAMES {
        sender.send(start.elapsed(), Outgoing::local(0, frame(number_sent), None));
        while sender.poll(start.elapsed()) == Action::Write {
            datagrams += 1;
            // Every seventh does not leave.
            if datagrams % 7 == 0 {
                withheld += 1;
            } else {
                assert_eq!(a.send(sender.outgoing()).unwrap(), sender.outgoing().len());
                let mut buffer = [0; 2048];
                let len = b.recv(&mut buffer).unwrap();
                receiver.received(start.elapsed(), &buffer[..len], |one| numbers.push(number(&one.frame)));
            }
            sender.written(start.elapsed(), sender.outgoing().len());
        }
    }
    let (sent, received) = (*sender.counts(), *receiver.counts());
    assert!(withheld > 10);
    // The last one of them is known only when another one follows.
    assert_eq!(received.lost_datagrams, if datagrams % 7 == 0 { withheld - 1 } else { withheld });
    assert!(received.received < sent.sent && received.received == numbers.len() as u64);
    assert!(numbers.is_sorted_by(|one, next| one < next));
}
