//! The threads of a bridge: one reader for each bus, two for Zenoh, two for MQTT.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::admission::Admission;
use crate::board::Board;
use crate::book::Book;
use crate::broker::Broker;
use crate::bus::{Bus, NamedBus};
use crate::counts::Counts;
use crate::discovery;
use crate::fleet;
use crate::line::Line;
use crate::queue::{Dropped, Queue};
use crate::settings::{Mqtt, Settings};
use crate::shared::Shared;

/// A reader looks this often whether it should end.
const LOOK: Duration = Duration::from_millis(100);

/// A bridge that runs.
#[derive(Debug)]
pub struct Bridge {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    readers: Vec<JoinHandle<()>>,
    publisher: Option<JoinHandle<()>>,
    broker: Option<Broker>,
}

impl Bridge {
    /// Starts it with these buses, one for each of the settings, in the same order. `tell` gets troubles of the connection.
    #[must_use]
    pub fn start(settings: &Settings, buses: &[Arc<dyn Bus>], tell: fn(&str)) -> Self {
        let (queue, max_age) = settings.zenoh.as_ref().map_or((1, Duration::ZERO), |one| (one.queue, one.max_age));
        let shared = Arc::new(Shared {
            counts: Mutex::new(Counts::default()),
            book: Mutex::new(Book::default()),
            queue: Queue::new(queue, max_age),
        });
        let named = settings.buses.iter().zip(buses);
        let named: Vec<_> = named.map(|(bus, one)| NamedBus { name: bus.name.clone(), bus: Arc::clone(one) }).collect();
        let publisher = settings.zenoh.clone().map(|zenoh| {
            let (admission, named, shared) = (Admission::new(&settings.allowed), named.clone(), Arc::clone(&shared));
            thread::spawn(move || fleet::publish(&zenoh, admission, named, &shared, tell))
        });
        let lines: Vec<_> = settings.buses.iter().map(|bus| Line::new(bus, settings)).collect();
        let board = Arc::new(Mutex::new(Board::new(settings.mqtt.as_ref().map_or(Duration::ZERO, |one| one.interval))));
        let broker = settings.mqtt.as_ref().map(|mqtt| {
            Broker::start(mqtt, announcements(mqtt, &lines), Arc::clone(&board), Arc::clone(&shared), tell)
        });
        let stop = Arc::new(AtomicBool::new(false));
        let reader = |(line, NamedBus { bus, .. })| {
            let (shared, board, stop) = (Arc::clone(&shared), Arc::clone(&board), Arc::clone(&stop));
            thread::spawn(move || read(line, &*bus, &shared, &board, &stop))
        };
        let readers = lines.into_iter().zip(named).map(reader).collect();
        Self { shared, stop, readers, publisher, broker }
    }

    /// Counters so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        counts(&self.shared)
    }

    /// Ends it: buses are not read any more, and what waits has a second to leave.
    #[must_use]
    pub fn stop(self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        for reader in self.readers {
            let _ = reader.join();
        }
        self.shared.queue.close();
        if let Some(publisher) = self.publisher {
            let _ = publisher.join();
        }
        if let Some(broker) = self.broker {
            broker.stop();
        }
        counts(&self.shared)
    }
}

fn counts(shared: &Shared) -> Counts {
    let mut counts = shared.counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (Dropped { full, old }, waiting) = shared.queue.counts();
    counts.waiting = waiting;
    counts.dropped.extend([("queue-full", full), ("too-old", old)].into_iter().filter(|(_, count)| *count > 0));
    counts
}

fn announcements(mqtt: &Mqtt, lines: &[Line]) -> Vec<(String, String)> {
    let Some(prefix) = &mqtt.discovery else { return Vec::new() };
    let of_line = |line: &Line| {
        let sensors = line.decoder().signals().map(|known| discovery::sensor(prefix, &mqtt.prefix, &line.bus, &known));
        sensors.collect::<Vec<_>>()
    };
    lines.iter().flat_map(of_line).collect()
}

fn read(mut line: Line, bus: &dyn Bus, shared: &Shared, board: &Mutex<Board>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let (mut received, mut not_carried) = (0, 0);
        let lost = bus.read(LOOK, &mut |frame, stamp_ns| {
            let now = Instant::now();
            let mut book = shared.book.lock().unwrap_or_else(PoisonError::into_inner);
            let publish = |one| shared.queue.push(now, one);
            let put = |topic: &str, value| board.lock().unwrap_or_else(PoisonError::into_inner).put(topic, value);
            received += 1;
            not_carried += u64::from(!line.frame(&frame, stamp_ns, &mut book, publish, put));
        });
        if received + lost > 0 {
            shared.count(|counts| {
                counts.received += received;
                counts.lost_in_socket += lost;
                counts.not_carried += not_carried;
            });
        }
    }
}
