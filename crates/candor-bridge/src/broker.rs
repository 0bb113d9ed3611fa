//! MQTT: values of signals for one broker, retained, and their announcement to Home Assistant.
//!
//! What it promises: after each connection all announcements and the last value of every signal are sent, with QoS 1. Values
//! between two of them are left out on purpose, see [`board`](crate::board).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rumqttc::{Client, Connection, Event, LastWill, MqttOptions, Packet, QoS, TlsConfiguration, Transport};

use crate::board::Board;
use crate::discovery;
use crate::settings::Mqtt;
use crate::shared::Shared;

/// Messages that wait for the connection.
const QUEUE: usize = 1024;
/// Time between two looks at what has changed, and after a failed connection.
const LOOK: Duration = Duration::from_millis(50);
const AGAIN: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The threads of MQTT.
#[derive(Debug)]
pub struct Broker {
    stop: Arc<AtomicBool>,
    threads: [JoinHandle<()>; 2],
}

impl Broker {
    /// Connects, and again whenever the connection ends. `announcements` are topics and payloads.
    #[must_use]
    pub fn start(
        settings: &Mqtt,
        announcements: Vec<(String, String)>,
        board: Arc<Mutex<Board>>,
        shared: Arc<Shared>,
        tell: fn(&str),
    ) -> Self {
        let status = discovery::status(&settings.prefix);
        let (client, connection) = Client::new(options(settings, &status), QUEUE);
        let stop = Arc::new(AtomicBool::new(false));
        let connections = Arc::new(AtomicU64::new(0));
        let (stopped, counted, counts) = (Arc::clone(&stop), Arc::clone(&connections), Arc::clone(&shared));
        let connecting = thread::spawn(move || connect(connection, &stopped, &counted, &counts, tell));
        let stopped = Arc::clone(&stop);
        let sending = thread::spawn(move || {
            let mut sender = Sender { client, status, announcements, next: usize::MAX, shared };
            let mut known = 0;
            while !stopped.load(Ordering::Relaxed) {
                let now = connections.load(Ordering::Acquire);
                if now != known {
                    known = now;
                    sender.next = 0;
                    board.lock().unwrap_or_else(PoisonError::into_inner).forget_sent();
                }
                if known > 0 && sender.announce() {
                    board
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .send_due(Instant::now(), |topic, value| sender.value(topic, value));
                }
                thread::sleep(LOOK);
            }
            sender.leave();
        });
        Self { stop, threads: [connecting, sending] }
    }

    /// Says good-bye and ends.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        let [connecting, sending] = self.threads;
        let _ = sending.join();
        // A connection attempt that hangs is left behind.
        let end = Instant::now() + AGAIN;
        while !connecting.is_finished() && Instant::now() < end {
            thread::sleep(LOOK);
        }
    }
}

fn options(settings: &Mqtt, status: &str) -> MqttOptions {
    let id = format!("candor-bridge-{}", settings.prefix.replace('/', "-"));
    let mut options = MqttOptions::new(id, settings.host.as_str(), settings.port);
    options.set_keep_alive(KEEP_ALIVE);
    options.set_last_will(LastWill::new(status, discovery::OFFLINE, QoS::AtLeastOnce, true));
    if let Some((user, password)) = &settings.login {
        options.set_credentials(user, password);
    }
    if let Some(tls) = &settings.tls {
        options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(Arc::clone(tls))));
    }
    options
}

fn connect(mut connection: Connection, stop: &AtomicBool, connections: &AtomicU64, shared: &Shared, tell: fn(&str)) {
    let mut is_told = false;
    for event in connection.iter() {
        match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => {
                is_told = false;
                shared.count(|counts| counts.mqtt_connections += 1);
                connections.fetch_add(1, Ordering::Release);
            }
            Ok(_) => {}
            Err(_) if stop.load(Ordering::Relaxed) => break,
            Err(why) => {
                if !is_told {
                    tell(&format!("mqtt: {why}; trying again each second"));
                }
                is_told = true;
                thread::sleep(AGAIN);
            }
        }
    }
}

struct Sender {
    client: Client,
    status: String,
    announcements: Vec<(String, String)>,
    /// The next announcement.
    next: usize,
    shared: Arc<Shared>,
}

impl Sender {
    fn send(&self, topic: &str, payload: &str) -> bool {
        self.client.try_publish(topic, QoS::AtLeastOnce, true, payload).is_ok()
    }

    /// True if everything is announced. The availability follows, so that no sensor is available before it is there.
    fn announce(&mut self) -> bool {
        while self.next < self.announcements.len() {
            let (topic, payload) = &self.announcements[self.next];
            if !self.send(topic, payload) {
                return false;
            }
            self.next += 1;
        }
        if self.next == self.announcements.len() {
            if !self.send(&self.status, discovery::ONLINE) {
                return false;
            }
            self.next = usize::MAX;
        }
        true
    }

    fn value(&self, topic: &str, value: &str) -> bool {
        let is_taken = self.send(topic, value);
        self.shared.count(|counts| counts.mqtt_sent += u64::from(is_taken));
        is_taken
    }

    fn leave(&self) {
        self.send(&self.status, discovery::OFFLINE);
        let _ = self.client.try_disconnect();
    }
}
