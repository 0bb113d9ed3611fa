//! What programs notice of a queue in the order of arbitration: where they wait, what they lose, and whom a flood delays.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixDatagram;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use candor_io::can::Loopback;
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use super::super::claims::{FRAMES_OF_THE_SMALLEST_SOCKET, fill};
use super::*;

const PLAIN: Limits = Limits { frames: 100, per_socket: None, max_age_ms: None, replace_same_id: false };
/// In which a blocked `write()` would have returned.
const MOMENT: Duration = Duration::from_millis(100);

fn install_with(line: &Line, limits: Limits, layout: &Layout) -> Installed {
    install(line.index, &queue(Handle::NONE, &Arbitration::new(limits).unwrap()), layout)
}

fn small_sender(line: &Line) -> CanSocket {
    let sender = sender_on(line.index);
    setsockopt(&sender, sockopt::SndBuf, &0).unwrap();
    sender
}

/// `O_NONBLOCK` of the socket, by another descriptor.
fn set_nonblocking(socket: &CanSocket, is_nonblocking: bool) {
    let same = socket.as_fd().try_clone_to_owned().unwrap();
    UnixDatagram::from(same).set_nonblocking(is_nonblocking).unwrap();
}

fn errno_of(sent: std::io::Result<()>) -> Option<i32> {
    sent.err().and_then(|error| error.raw_os_error())
}

/// `write()` of a full socket in another thread: it returns only after `leave`.
fn blocks_until(sender: &CanSocket, frame: &Frame, leave: impl FnOnce()) {
    thread::scope(|scope| {
        let blocked = scope.spawn(|| try_send(sender, frame));
        thread::sleep(MOMENT);
        assert!(!blocked.is_finished(), "the write has not waited");
        leave();
        blocked.join().unwrap().unwrap();
    });
}

/// The buffer of a small socket is full before the queue is.
#[test]
#[ignore = "runs in a guest"]
fn a_full_socket_waits_as_with_pfifo_fast() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    let all = Limits { per_socket: Some(50), max_age_ms: Some(9999), replace_same_id: false, ..PLAIN };
    let accepted = [None, Some(PLAIN), Some(all)].map(|limits| {
        line.plug();
        let installed = limits.map(|limits| install_with(&line, limits, &layout));
        let sender = small_sender(&line);
        let (taken, error) = fill(&sender);
        assert_eq!(error, Some(errno::EAGAIN), "{limits:?}: after {taken} frames");
        set_nonblocking(&sender, true);
        assert_eq!(errno_of(try_send(&sender, &classic(0x100, &[1]))), Some(errno::EAGAIN), "{limits:?}");
        set_nonblocking(&sender, false);
        let mut left = Vec::new();
        blocks_until(&sender, &classic(0x100, &[1]), || left = line.read(taken));
        while left.len() <= taken {
            left.extend(line.read(1));
        }
        assert_eq!(left, [vec![0; taken], vec![1]].concat(), "{limits:?}");
        if let Some(installed) = installed {
            let found = installed.statistics().unwrap();
            assert_eq!(found, Statistics { owner: found.owner, ..Statistics::default() }, "{limits:?}");
            queues::delete_root(line.index);
        }
        taken
    });
    assert!(FRAMES_OF_THE_SMALLEST_SOCKET.contains(&accepted[0]), "{accepted:?}");
    assert_eq!(accepted, [accepted[0]; 3], "pfifo_fast, and two queues in the order of arbitration");
}

/// Limits of the queue that are reached before the buffer is full: `write()` fails at once, also where it may block.
#[test]
#[ignore = "runs in a guest"]
fn a_full_queue_refuses_before_a_socket_waits() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    for (limits, is_socket) in [(Limits { frames: 3, ..PLAIN }, false), (Limits { per_socket: Some(3), ..PLAIN }, true)]
    {
        line.plug();
        let installed = install_with(&line, limits, &layout);
        let sender = small_sender(&line);
        (1..=3).for_each(|number| send(&sender, &classic(0x100, &[number])));
        assert_eq!(errno_of(try_send(&sender, &classic(0x100, &[4]))), Some(errno::ENOBUFS), "{limits:?}");
        assert_eq!(fill(&sender), (0, Some(errno::ENOBUFS)), "{limits:?}");
        let found = installed.statistics().unwrap();
        assert_eq!((found.full, found.socket), if is_socket { (0, 2) } else { (2, 0) }, "{limits:?}");
        assert_eq!(line.read(3), [1, 2, 3]);
        queues::delete_root(line.index);
    }
}

/// One socket before, with and after a queue. What waits when a queueing discipline goes is lost, as with any other.
#[test]
#[ignore = "runs in a guest"]
fn a_socket_outlives_the_queue() {
    const ROUNDS: u8 = 3;
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    let socket = CanSocket::open(line.index, &Options { loopback: Loopback::Off, ..Options::default() }).unwrap();
    let send_all = |range: std::ops::Range<u8>| {
        range.map(|number| errno_of(try_send(&socket, &classic(0x100, &[number])))).collect::<Vec<_>>()
    };
    for round in 0..ROUNDS {
        assert_eq!(send_all(0..1), [None]);
        assert_eq!(line.read(1), [0], "{round}");
        line.plug();
        assert_eq!(send_all(1..4), [None; 3]);
        // The frames in the default queue are lost.
        let installed = install_with(&line, Limits { frames: 5, ..PLAIN }, &layout);
        assert_eq!(send_all(10..17), [[None; 5].as_slice(), &[Some(errno::ENOBUFS); 2]].concat());
        assert_eq!(line.read(5), [10, 11, 12, 13, 14], "{round}");
        let counted = &line.kernel.observe().unwrap().qdiscs[0];
        assert_eq!((counted.frames, counted.drops, counted.backlog_frames), (5, 2, 0), "{round}");
        let found = installed.statistics().unwrap();
        assert_eq!(found, Statistics { owner: found.owner, full: 2, ..Statistics::default() }, "{round}");

        // It goes while frames wait in it: these are lost, and their sender has its buffer back.
        line.plug();
        let plugs = line.backlog();
        assert_eq!(send_all(20..23), [None; 3]);
        assert_eq!(line.backlog(), plugs + 3);
        queues::delete_root(line.index);
        let found = &line.kernel.observe().unwrap().defaults[0];
        assert_eq!((found.0.discipline.kind(), found.1.backlog_frames), ("pfifo_fast", 0), "{round}");
        assert_eq!(send_all(30..32), [None; 2]);
        assert_eq!(line.read(2), [30, 31], "{round}");
        // No error is left, and the socket receives.
        assert_eq!(getsockopt(&socket, sockopt::SocketError).unwrap(), 0);
        line.write(b"t12310A\r");
        // It also hears the frames that other programs sent.
        let heard = std::iter::repeat_with(|| next_frame(&socket)).find(|frame| frame.id.0 != PLUG);
        assert_eq!(heard, Some(classic(0x123, &[0x0A])), "{round}");
    }
}

/// A program that waits for room in its buffer has it when the frames are dropped with their queue.
#[test]
#[ignore = "runs in a guest"]
fn a_blocked_program_goes_on_when_the_queue_is_removed() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    line.plug();
    let _installed = install_with(&line, PLAIN, &layout);
    let sender = small_sender(&line);
    assert_eq!(fill(&sender).1, Some(errno::EAGAIN));
    let index = line.index;
    blocks_until(&sender, &classic(0x100, &[7]), || queues::delete_root(index));
    // The interface has a queue again. On a real-time kernel the program may have gone on before, and its frame be lost.
    send(&sender, &classic(0x100, &[8]));
    let before = line.read_until(8);
    assert!(before == [7] || before.is_empty() && senders_meet(), "{before:?}");
}

const FLOODS: u8 = 4;
const PER_SOCKET: u32 = 10;
/// Frames of a flood while nothing leaves, and most of it while the line is read.
const WRITES: usize = 300;
const MOST_WRITES: usize = 20_000;
const URGENT_FRAMES: u8 = 20;
const URGENT: u8 = 0xFF;

/// What became of the frames of a flood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flood {
    accepted: usize,
    refused: usize,
}

/// Writes until `is_over`. The first byte of a frame is the number of its flood.
fn flood(socket: &CanSocket, number: u8, is_over: impl Fn(usize) -> bool) -> Flood {
    let mut flood = Flood::default();
    loop {
        let written = flood.accepted + flood.refused;
        if is_over(written) {
            return flood;
        }
        let id = 0x100 + u32::try_from(written % 0x600).unwrap();
        match errno_of(try_send(socket, &classic(id, &[number]))) {
            None => flood.accepted += 1,
            Some(errno::ENOBUFS) => flood.refused += 1,
            Some(other) => panic!("errno {other} after {flood:?}"),
        }
    }
}

/// All sockets write at the same time. `frames` is the limit of the queue.
fn blocked_floods(line: &mut Line, layout: &Layout, frames: u32) -> Statistics {
    line.plug();
    let installed = install_with(line, Limits { frames, per_socket: Some(PER_SOCKET), ..PLAIN }, layout);
    let start = Barrier::new(FLOODS.into());
    let sockets: Vec<_> = (0..FLOODS).map(|number| (number, sender_on(line.index))).collect();
    let floods: Vec<_> = thread::scope(|scope| {
        let one = |(number, socket)| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                flood(socket, number, |written| written == WRITES)
            })
        };
        let floods: Vec<_> = sockets.iter().map(|(number, socket)| one((*number, socket))).collect();
        floods.into_iter().map(|flood| flood.join().unwrap()).collect()
    });
    let statistics = installed.statistics().unwrap();
    let counted = &line.kernel.observe().unwrap().qdiscs[0];
    let [accepted, refused] = sum(&floods);
    let dropped = statistics.full + statistics.socket;
    assert_eq!(accepted + refused, usize::from(FLOODS) * WRITES);
    assert_eq!(statistics.waiting + dropped, (accepted + refused) as u64, "{statistics:?}");
    assert_eq!((statistics.waiting, dropped), (counted.backlog_frames.into(), counted.drops.into()));
    assert_eq!(statistics.socket, u64::from(counted.overlimits));
    if !senders_meet() {
        assert_eq!(refused as u64, dropped, "{floods:?}");
    }
    statistics
}

fn sum(floods: &[Flood]) -> [usize; 2] {
    [floods.iter().map(|flood| flood.accepted).sum(), floods.iter().map(|flood| flood.refused).sum()]
}

/// True if the kernel can preempt a sender at the queue, on one processor. Newer kernels then take the frame of another sender
/// for the first one to queue: `write()` succeeds before, so a drop is not reported, and the frame waits for the first sender.
/// `pfifo` is the same.
fn senders_meet() -> bool {
    crate::kernel::release().contains("-rt")
}

#[test]
#[ignore = "runs in a guest"]
fn floods_fill_no_more_than_their_places() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    // There is room for all sockets.
    let statistics = blocked_floods(&mut line, &layout, 100);
    let (places, all) = (PER_SOCKET as usize, usize::from(FLOODS) * PER_SOCKET as usize);
    assert_eq!((statistics.waiting, statistics.full), (all as u64, 0));
    // One more program: its frame leaves first.
    let urgent = sender_on(line.index);
    send(&urgent, &classic(1, &[URGENT]));
    let left = line.read(all + 1);
    assert_eq!(left[0], URGENT, "{left:?}");
    let of = |number: u8| left.iter().filter(|one| **one == number).count();
    assert_eq!([of(0), of(1), of(2), of(3)], [places; FLOODS as usize]);
    queues::delete_root(line.index);

    // The last socket finds less room than it may use.
    let statistics = blocked_floods(&mut line, &layout, 35);
    assert!(statistics.waiting == 35 && statistics.full > 0 && statistics.socket > 0, "{statistics:?}");
    let left = line.read(35);
    let of = |number: u8| left.iter().filter(|one| **one == number).count();
    assert!(left.len() == 35 && (0..FLOODS).all(|number| of(number) <= places), "{left:?}");
    queues::delete_root(line.index);
}

/// The line is read meanwhile: an urgent frame overtakes all frames that wait, every time.
#[test]
#[ignore = "runs in a guest"]
fn an_urgent_frame_overtakes_floods_that_go_on() {
    let Some(mut line) = Line::new(SERIAL) else { return };
    let Some(layout) = layout() else { return };
    line.plug();
    let limits = Limits { per_socket: Some(PER_SOCKET), ..PLAIN };
    let installed = install_with(&line, limits, &layout);
    let urgent = sender_on(line.index);
    let sockets: Vec<_> = (0..FLOODS).map(|number| (number, sender_on(line.index))).collect();
    let ended = AtomicBool::new(false);
    let mut left = Vec::new();
    let floods: Vec<_> = thread::scope(|scope| {
        let over = |written| written == MOST_WRITES || ended.load(Ordering::Relaxed);
        let one = |(number, socket)| scope.spawn(move || flood(socket, number, over));
        let floods: Vec<_> = sockets.iter().map(|(number, socket)| one((*number, socket))).collect();
        for number in 0..URGENT_FRAMES {
            thread::sleep(Duration::from_millis(2));
            send(&urgent, &classic(1, &[URGENT, number]));
            let waiting = installed.statistics().unwrap().waiting;
            let before = line.read_until(URGENT);
            let is_first = before.len() <= line::MOST_PLUGS;
            assert!(is_first || senders_meet(), "frame {number} left after {before:?}; {waiting} waited");
            left.extend(before);
        }
        let are_on = floods.iter().all(|flood| !flood.is_finished());
        ended.store(true, Ordering::Relaxed);
        assert!(are_on, "the floods ended before the urgent frames");
        floods.into_iter().map(|flood| flood.join().unwrap()).collect()
    });
    let found = installed.statistics().unwrap();
    assert!(found.waiting <= u64::from(PER_SOCKET) * u64::from(FLOODS), "{found:?}");
    let [accepted, refused] = sum(&floods);
    let written = accepted + refused;
    let dropped = usize::try_from(found.socket).unwrap();
    left.extend(line.read(written - dropped - left.len()));
    assert_eq!(left.len() + dropped, written, "{floods:?}, {found:?}");
    for (number, flood) in (0..).zip(&floods) {
        let sent = left.iter().filter(|one| **one == number).count();
        assert!(flood.refused > 0 && sent > 0 && sent <= flood.accepted, "{sent} of flood {number}: {flood:?}");
    }
    if !senders_meet() {
        assert_eq!(dropped, refused, "{floods:?}");
    }
    let expected = Statistics { owner: found.owner, socket: found.socket, ..Statistics::default() };
    assert_eq!(installed.statistics().unwrap(), expected);
    let counted = &line.kernel.observe().unwrap().qdiscs[0];
    assert_eq!((counted.backlog_frames, counted.drops as usize), (0, dropped));
    queues::delete_root(line.index);
}
