//! The structured log (`--log`): events with time, level and fields.
//!
//! The supervisor composes a line and the thread of [`Output`](super::output::Output) writes it, so that a slow reader never
//! blocks the gateway.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_engine::{BusCounters, RouteCounters};
use clap::ValueEnum;
use tracing::Dispatch;
use tracing::dispatcher;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

/// Output format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// A line of text on standard error, with time and level.
    Human,
    /// One JSON object per line on standard error.
    Json,
    /// The systemd journal, with fields (CANDOR_EVENT, CANDOR_ROUTE …).
    Journald,
}

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Error,
    Warning,
    Information,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogLine {
    weight: Weight,
    /// Event name, as in `--json`.
    event: &'static str,
    text: String,
    about: About,
}

/// Subject of the counters in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Gateway,
    Route { name: String, counted: RouteCounters },
    Bus(BusCounters),
}

impl LogLine {
    pub(super) fn new(weight: Weight, event: &'static str, text: &str) -> Self {
        Self { weight, event, text: text.trim_end().to_owned(), about: About::Gateway }
    }

    pub(super) fn of_route(event: &'static str, name: &str, counted: &RouteCounters) -> Self {
        let RouteCounters { handled, dropped, deleted, .. } = counted;
        let text = format!("route {name:?}: handled {handled}, dropped {dropped}, deleted {deleted}");
        let about = About::Route { name: name.to_owned(), counted: counted.clone() };
        Self { weight: Weight::Information, event, text, about }
    }

    pub(super) fn of_bus(event: &'static str, counted: &BusCounters) -> Self {
        let BusCounters { bus, received, sent, refused, .. } = counted;
        let text = format!("bus {bus:?}: received {received}, lost {}, sent {sent}, refused {refused}", lost(counted));
        Self { weight: Weight::Information, event, text, about: About::Bus(counted.clone()) }
    }

    /// Passes the line to the current tracing dispatcher.
    fn emit(&self) {
        let (route, counted) = match &self.about {
            About::Route { name, counted } => (Some(name.as_str()), Some(counted)),
            About::Gateway | About::Bus(_) => (None, None),
        };
        let bus = match &self.about {
            About::Bus(counted) => Some(counted),
            About::Gateway | About::Route { .. } => None,
        };
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    target: "candor",
                    event = self.event,
                    route,
                    handled = counted.map(|counted| counted.handled),
                    dropped = counted.map(|counted| counted.dropped),
                    deleted = counted.map(|counted| counted.deleted),
                    bus = bus.map(|bus| bus.bus.as_str()),
                    interface = bus.map(|bus| bus.interface.as_str()),
                    received = bus.map(|bus| bus.received),
                    lost = bus.map(lost),
                    sent = bus.map(|bus| bus.sent),
                    refused = bus.map(|bus| bus.refused),
                    "{}",
                    self.text
                )
            };
        }
        match self.weight {
            Weight::Error => line!(error),
            Weight::Warning => line!(warn),
            Weight::Information => line!(info),
        }
    }
}

const fn lost(bus: &BusCounters) -> u64 {
    bus.lost_in_socket + bus.lost_in_ring
}

/// The systemd journal socket cannot be opened.
#[derive(Debug)]
pub(super) struct JournalError(io::Error);

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot reach the systemd journal at /run/systemd/journal/socket; use --log human or --log json")
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// A tracing dispatcher that counts failed writes.
#[derive(Debug)]
pub(super) struct Log {
    dispatch: Dispatch,
    refused: Arc<AtomicU64>,
}

impl Log {
    pub(super) fn open(form: LogForm) -> Result<Self, JournalError> {
        Self::open_on(form, io::stderr).map_err(JournalError)
    }

    fn open_on<W: Write + 'static>(form: LogForm, to: impl Fn() -> W + Send + Sync + 'static) -> io::Result<Self> {
        let refused = Arc::new(AtomicU64::new(0));
        let sink = Sink { to, refused: Arc::clone(&refused) };
        // A write error is counted; a message about it would fail in the same way.
        let lines = tracing_subscriber::fmt().with_writer(sink).with_ansi(false).with_target(false);
        let lines = lines.log_internal_errors(false);
        let dispatch = match form {
            LogForm::Human => Dispatch::new(lines.finish()),
            LogForm::Json => Dispatch::new(lines.json().flatten_event(true).finish()),
            LogForm::Journald => {
                let journal = tracing_journald::layer()?.with_syslog_identifier("candor".into());
                let journal = journal.with_field_prefix(Some("CANDOR".into()));
                Dispatch::new(tracing_subscriber::registry().with(journal))
            }
        };
        Ok(Self { dispatch, refused })
    }

    /// Writes a line; an error if the stream failed.
    pub(super) fn write(&self, line: &LogLine) -> io::Result<()> {
        let before = self.refused.load(Ordering::Relaxed);
        dispatcher::with_default(&self.dispatch, || line.emit());
        if self.refused.load(Ordering::Relaxed) == before { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    }
}

/// A stream that counts write errors.
#[derive(Debug)]
struct Sink<F> {
    to: F,
    refused: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Counting<W> {
    to: W,
    refused: Arc<AtomicU64>,
}

impl<'a, W: Write, F: Fn() -> W> MakeWriter<'a> for Sink<F> {
    type Writer = Counting<W>;

    fn make_writer(&'a self) -> Self::Writer {
        Counting { to: (self.to)(), refused: Arc::clone(&self.refused) }
    }
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Clone, Debug, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(form: LogForm, line: &LogLine) -> String {
        let to = Shared::default();
        let copy = to.clone();
        let log = Log::open_on(form, move || copy.clone()).unwrap();
        log.write(line).unwrap();
        String::from_utf8(to.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_line_has_its_fields_in_every_form() {
        let counted = RouteCounters { handled: 7, dropped: 1, ..RouteCounters::default() };
        let line = LogLine::of_route("counters", "speed", &counted);
        let human = written(LogForm::Human, &line);
        let expected = r#" INFO route "speed": handled 7, dropped 1, deleted 0 event="counters" route="speed" handled=7 dropped=1 deleted=0"#;
        assert!(human.ends_with(&format!("{expected}\n")), "{human}");
        let json: serde_json::Value = serde_json::from_str(&written(LogForm::Json, &line)).unwrap();
        assert_eq!((&json["level"], &json["event"]), (&"INFO".into(), &"counters".into()));
        assert_eq!((&json["route"], &json["handled"]), (&"speed".into(), &7.into()));
        assert!(json["timestamp"].is_string() && json.get("bus").is_none(), "{json}");
        let bus = BusCounters { bus: "body".into(), lost_in_ring: 2, lost_in_socket: 1, ..BusCounters::default() };
        let json: serde_json::Value =
            serde_json::from_str(&written(LogForm::Json, &LogLine::of_bus("counters", &bus))).unwrap();
        assert_eq!((&json["bus"], &json["lost"]), (&"body".into(), &3.into()));
        let warning = written(LogForm::Human, &LogLine::new(Weight::Warning, "notice", "it is down\n"));
        assert!(warning.contains(" WARN it is down event=\"notice\"\n"), "{warning}");
    }

    #[test]
    fn a_full_disk_is_noticed() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let log = Log::open_on(LogForm::Json, || Full).unwrap();
        log.write(&LogLine::new(Weight::Error, "notice", "no room")).unwrap_err();
    }
}
