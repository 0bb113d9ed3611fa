//! The structured log (`--log`): events with time, level and fields.
//!
//! The supervisor composes a line and the thread of [`Output`](super::output::Output) writes it, so that a slow reader never
//! blocks the gateway.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candor_engine::{BusCounters, FrameCounters, RouteCounters};
use tracing::{Dispatch, Level, dispatcher};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::cli::LogForm;
use crate::cmd::audit::{Audit, some};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogLine {
    level: Level,
    /// Event name, as in `--json`.
    event: &'static str,
    text: String,
    route: Option<(String, RouteCounters)>,
    bus: Option<BusCounters>,
    audit: Option<Box<Audited>>,
}

/// The fields of an audit line; lists are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Audited {
    cause: &'static str,
    mode: Option<String>,
    uid: Option<u32>,
    pid: Option<u32>,
    login_uid: Option<u32>,
    file: Option<String>,
    blake2b_hex: Option<String>,
    key_id: Option<String>,
    added: String,
    removed: String,
    changed: String,
}

impl LogLine {
    pub(super) fn new(level: Level, event: &'static str, text: &str) -> Self {
        Self { level, event, text: text.trim_end().to_owned(), route: None, bus: None, audit: None }
    }

    pub(super) fn of_route(event: &'static str, name: &str, counted: &RouteCounters) -> Self {
        let RouteCounters { handled, dropped, deleted, .. } = counted;
        let text = format!("route {name:?}: handled {handled}, dropped {dropped}, deleted {deleted}");
        Self { route: Some((name.to_owned(), counted.clone())), ..Self::new(Level::INFO, event, &text) }
    }

    pub(super) fn of_frame(event: &'static str, name: &str, counted: &FrameCounters) -> Self {
        let FrameCounters { received, sent, drops } = counted;
        let text = format!("frame {name:?}: received {received}, sent {sent}, dropped {}", drops.total());
        Self::new(Level::INFO, event, &text)
    }

    pub(super) fn of_bus(event: &'static str, counted: &BusCounters) -> Self {
        let BusCounters { bus, received, sent, refused, .. } = counted;
        let text = format!("bus {bus:?}: received {received}, lost {}, sent {sent}, refused {refused}", lost(counted));
        Self { bus: Some(counted.clone()), ..Self::new(Level::INFO, event, &text) }
    }

    pub(super) fn of_audit(audit: &Audit<'_>) -> Self {
        let text = audit.to_string();
        let audit = audit.view();
        let file = audit.files.first();
        let audited = Audited {
            cause: audit.cause.name(),
            mode: audit.mode.map(str::to_owned),
            uid: audit.uid,
            pid: audit.pid,
            login_uid: audit.login_uid,
            file: file.map(|file| file.file.to_owned()),
            blake2b_hex: file.and_then(|file| file.blake2b_hex.clone()),
            key_id: file.and_then(|file| file.signed).map(|signed| signed.key_id.to_owned()),
            added: some(audit.added),
            removed: some(audit.removed),
            changed: some(audit.changed),
        };
        Self { audit: Some(Box::new(audited)), ..Self::new(Level::INFO, "audit", &text) }
    }

    /// Passes the line to the current tracing dispatcher.
    fn emit(&self) {
        if let Some(audit) = &self.audit {
            return audit.emit(&self.text);
        }
        let (route, bus) = (self.route.as_ref(), self.bus.as_ref());
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    target: "candor",
                    event = self.event,
                    route = route.map(|(name, _)| name.as_str()),
                    handled = route.map(|(_, counted)| counted.handled),
                    dropped = route.map(|(_, counted)| counted.dropped),
                    deleted = route.map(|(_, counted)| counted.deleted),
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
        match self.level {
            Level::ERROR => line!(error),
            Level::WARN => line!(warn),
            _ => line!(info),
        }
    }
}

impl Audited {
    fn emit(&self, text: &str) {
        tracing::info!(
            target: "candor",
            event = "audit",
            cause = self.cause,
            mode = self.mode,
            uid = self.uid,
            pid = self.pid,
            login_uid = self.login_uid,
            file = self.file,
            blake2b_hex = self.blake2b_hex,
            key_id = self.key_id,
            added = self.added,
            removed = self.removed,
            changed = self.changed,
            "{text}",
        );
    }
}

const fn lost(bus: &BusCounters) -> u64 {
    bus.lost_in_socket + bus.lost_in_ring
}

/// Writes an audit line to the systemd journal, for commands that end at once. Without a journal, nothing is written.
pub(in crate::cmd) fn write_to_journal(audit: &Audit<'_>) {
    if let Ok(journal) = Log::open(LogForm::Journald) {
        let _ = journal.write(&LogLine::of_audit(audit));
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot reach the systemd journal at /run/systemd/journal/socket; use --log human or --log json")]
pub(super) struct JournalError(#[source] io::Error);

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
        let count = Arc::clone(&refused);
        let writer = move || Counting { to: to(), refused: Arc::clone(&count) };
        // A write error is counted; a message about it would fail in the same way.
        let lines = tracing_subscriber::fmt().with_writer(writer).with_ansi(false).with_target(false);
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
struct Counting<W> {
    to: W,
    refused: Arc<AtomicU64>,
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
        let warning = written(LogForm::Human, &LogLine::new(Level::WARN, "notice", "it is down\n"));
        assert!(warning.contains(" WARN it is down event=\"notice\"\n"), "{warning}");
    }

    #[test]
    fn reports_a_full_disk() {
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
        log.write(&LogLine::new(Level::ERROR, "notice", "no room")).unwrap_err();
    }
}
