//! A bus in memory, and sessions of Zenoh.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use candor_bridge::bus::Bus;
use candor_core::frame::Frame;
use zenoh::sample::Sample;
use zenoh::{Config, Session, Wait as _};

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A bus in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    waiting: Mutex<VecDeque<Frame>>,
    changed: Condvar,
    written: Mutex<Vec<String>>,
}

impl Memory {
    pub(crate) fn push(&self, text: &str) {
        self.waiting.lock().unwrap().push_back(text.parse().unwrap());
        self.changed.notify_one();
    }

    pub(crate) fn written(&self) -> Vec<String> {
        self.written.lock().unwrap().clone()
    }
}

impl Bus for Memory {
    fn read(&self, timeout: Duration, take: &mut dyn FnMut(Frame, u64)) -> u64 {
        let waiting = self.waiting.lock().unwrap();
        let (mut waiting, _) = self.changed.wait_timeout_while(waiting, timeout, |one| one.is_empty()).unwrap();
        waiting.drain(..).for_each(|frame| take(frame, 1_700_000_000_000_000_000));
        0
    }

    fn write(&self, frame: &Frame) -> bool {
        self.written.lock().unwrap().push(frame.to_string());
        true
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

pub(crate) fn session(config: &str) -> Session {
    zenoh::open(Config::from_json5(config).unwrap()).wait().unwrap()
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Keys and values.
pub(crate) type Got = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// What a subscriber got.
pub(crate) fn collect(session: &Session, keys: &str) -> Got {
    let got = Got::default();
    let into = Arc::clone(&got);
    let take = move |sample: Sample| {
        let bytes = sample.payload().to_bytes().into_owned();
        into.lock().unwrap().push((sample.key_expr().to_string(), bytes));
    };
    session.declare_subscriber(keys.to_owned()).callback(take).background().wait().unwrap();
    got
}
