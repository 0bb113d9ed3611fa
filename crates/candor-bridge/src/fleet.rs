//! Zenoh: one session for all buses.
//!
//! The session is opened in a thread of its own, which may wait for a router for hours and cannot be interrupted.
//!
//! What it promises: frames and values leave in the order of the buses, reliably, and Zenoh may hold the bridge up
//! (`CongestionControl::Block`). While nobody subscribes, or the router is away, they wait in the queue. What Zenoh had taken
//! when a connection broke may be lost; the gap in the numbers of the frames shows it.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use zenoh::bytes::Encoding;
use zenoh::key_expr::KeyExpr;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Config, Session, Wait as _};

use crate::admission::{Admission, Refusal};
use crate::book::{Kind, Publication};
use crate::bus::NamedBus;
use crate::keys;
use crate::settings::Zenoh;
use crate::shared::Shared;

/// Entries between two looks at who listens.
const MOST: usize = 256;
/// Time between two looks while nobody listens.
const LOOK: Duration = Duration::from_millis(20);
/// What still waits at the end has this long to leave.
const LEAVE: Duration = Duration::from_secs(1);
/// Time after an attempt that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// A session that is not open after this time is told, and then once in each [`REMINDER`].
const PATIENCE: Duration = Duration::from_secs(1);
const REMINDER: Duration = Duration::from_secs(60);
/// Encoding of frames, with the name of the format in [`payload`](crate::payload).
pub const FRAME_ENCODING: &str = "application/vnd.candor.frame";

/// A failure of Zenoh, whose errors are of no type.
#[derive(Debug, thiserror::Error)]
#[error("Zenoh: {0}")]
struct ZenohError(String);

impl From<zenoh::Error> for ZenohError {
    fn from(error: zenoh::Error) -> Self {
        let text = error.to_string();
        // The place in the source of Zenoh follows.
        Self(text.rfind(" at /").map_or(&text[..], |end| &text[..end]).to_owned())
    }
}

/// The session and what it has declared.
#[derive(Debug)]
struct Fleet {
    session: Session,
    heard: [Publisher<'static>; 2],
}

/// Opens the session, however long that takes, and publishes what the queue has, until it is closed and empty. `tell` gets what
/// keeps the session from being opened.
pub fn publish(settings: &Zenoh, admission: Admission, buses: Vec<NamedBus>, shared: &Arc<Shared>, tell: fn(&str)) {
    let door = Door { prefix: settings.prefix.clone(), admission: Mutex::new(admission), buses, start: Instant::now() };
    let mut ending = Ending::default();
    if let Some(fleet) = wait(&open(settings, door, shared), shared, &mut ending, tell) {
        fleet.publish(shared, &mut ending);
    }
}

/// Starts the thread that opens the session. It is left behind if nobody waits for its session any more.
fn open(settings: &Zenoh, door: Door, shared: &Arc<Shared>) -> Receiver<Result<Fleet, ZenohError>> {
    let (opened, waiting) = mpsc::sync_channel(0);
    let (settings, door, shared) = (settings.clone(), Arc::new(door), Arc::clone(shared));
    thread::spawn(move || {
        loop {
            let fleet = Fleet::open(&settings, &door, &shared);
            let is_open = fleet.is_ok();
            if opened.send(fleet).is_err() || is_open {
                break;
            }
            thread::sleep(AGAIN);
        }
    });
    waiting
}

fn wait(
    opened: &Receiver<Result<Fleet, ZenohError>>,
    shared: &Shared,
    ending: &mut Ending,
    tell: fn(&str),
) -> Option<Fleet> {
    let (mut is_told, mut due) = (false, Instant::now() + PATIENCE);
    let mut why = "there is no session yet".to_owned();
    while !ending.is_over(shared) {
        match opened.recv_timeout(LOOK) {
            Ok(Ok(fleet)) => {
                if is_told {
                    tell("zenoh: the session is open");
                }
                return Some(fleet);
            }
            Ok(Err(ZenohError(now))) => why = now,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        let now = Instant::now();
        shared.queue.drop_old(now);
        if now >= due {
            tell(&format!("zenoh: {why}; frames wait, and the bridge goes on trying"));
            (is_told, due) = (true, now + REMINDER);
        }
    }
    None
}

/// The end of the queue, or of the time that is left for what still waits.
#[derive(Debug, Default)]
struct Ending(Option<Instant>);

impl Ending {
    fn is_over(&mut self, shared: &Shared) -> bool {
        shared.queue.is_closed()
            && (shared.queue.is_finished() || Instant::now() > *self.0.get_or_insert_with(|| Instant::now() + LEAVE))
    }
}

impl Fleet {
    /// Opens the session, answers queries, and takes frames for the buses.
    fn open(settings: &Zenoh, door: &Arc<Door>, shared: &Arc<Shared>) -> Result<Self, ZenohError> {
        let mut config = match &settings.config {
            Some(text) => Config::from_json5(text)?,
            None => Config::default(),
        };
        // By default a client tries once and logs that each time.
        if config.get_json("connect/timeout_ms").is_ok_and(|written| written == "null") {
            config.insert_json5("connect/timeout_ms", "-1")?;
        }
        // By default Zenoh cannot be opened where /dev/shm is missing.
        if !settings.config.as_ref().is_some_and(|text| text.contains("shared_memory")) {
            config.insert_json5("transport/shared_memory/enabled", "false")?;
        }
        let session = zenoh::open(config).wait()?;
        let prefix = &settings.prefix;
        // Not below `send`, where this session itself subscribes.
        let publisher = |kind| session.declare_publisher(format!("{prefix}/*/{kind}/**")).wait();
        let heard = [publisher("frame")?, publisher("signal")?];
        let answers = Arc::clone(shared);
        session
            .declare_queryable(keys::all(prefix))
            .callback(move |query| answer(&answers, &query))
            .background()
            .wait()?;
        let (door, taken) = (Arc::clone(door), Arc::clone(shared));
        session
            .declare_subscriber(keys::sends(prefix))
            .callback(move |sample| {
                let sent = door.take(&sample);
                taken.count(|counts| match sent {
                    Ok(()) => counts.sent_to_bus += 1,
                    Err(why) => counts.refuse(why),
                });
            })
            .background()
            .wait()?;
        Ok(Self { session, heard })
    }

    fn publish(self, shared: &Shared, ending: &mut Ending) {
        while !ending.is_over(shared) {
            if !self.is_heard() {
                shared.queue.drop_old(Instant::now());
                thread::sleep(LOOK);
                continue;
            }
            for one in shared.queue.take(LOOK, MOST) {
                let is_taken = self.put(one).is_ok();
                shared.count(|counts| {
                    if is_taken {
                        counts.published += 1;
                    } else {
                        *counts.dropped.entry("refused-by-zenoh").or_default() += 1;
                    }
                });
            }
        }
        // Ends the session: what it has taken leaves before.
        let _ = self.session.close().wait();
    }

    /// Somebody subscribes to frames or signals.
    fn is_heard(&self) -> bool {
        self.heard.iter().any(|one| one.matching_status().wait().is_ok_and(|status| status.matching()))
    }

    fn put(&self, one: Publication) -> Result<(), ZenohError> {
        let put = self.session.put(one.key, one.bytes).encoding(encoding(one.kind));
        Ok(put.congestion_control(CongestionControl::Block).wait()?)
    }
}

fn encoding(kind: Kind) -> Encoding {
    match kind {
        Kind::Frame => FRAME_ENCODING.into(),
        Kind::Signal => Encoding::APPLICATION_JSON,
    }
}

fn answer(shared: &Shared, query: &zenoh::query::Query) {
    let wanted = query.key_expr().clone();
    let is_wanted = |key: &str| KeyExpr::try_from(key).is_ok_and(|key| wanted.intersects(&key));
    let last = shared.book.lock().unwrap_or_else(PoisonError::into_inner).last(is_wanted);
    for one in last {
        if query.reply(one.key, one.bytes).encoding(encoding(one.kind)).wait().is_ok() {
            shared.count(|counts| counts.answered += 1);
        }
    }
}

/// The way back to the buses.
struct Door {
    prefix: String,
    admission: Mutex<Admission>,
    buses: Vec<NamedBus>,
    start: Instant,
}

impl Door {
    fn take(&self, sample: &Sample) -> Result<(), Refusal> {
        let (bus, id) = keys::parse_send(&self.prefix, sample.key_expr().as_str()).ok_or(Refusal::Malformed)?;
        if sample.kind() != SampleKind::Put {
            return Err(Refusal::Malformed);
        }
        // Under the lock, so that stamps of one thread are not behind those of another.
        let admission = self.admission.lock().unwrap_or_else(PoisonError::into_inner);
        let now = i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let frame = admission.admit(bus, id, &sample.payload().to_bytes(), now)?;
        drop(admission);
        let bus = self.buses.iter().find(|one| one.name == bus).ok_or(Refusal::NotAllowed)?;
        if bus.bus.write(&frame) { Ok(()) } else { Err(Refusal::BusFull) }
    }
}
