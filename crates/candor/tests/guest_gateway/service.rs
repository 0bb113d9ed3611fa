//! Messages to systemd, which the test plays.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;

use crate::prelude::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn gateway() -> String {
    format!("engine = \"read-write\"\n{LEFT_RIGHT}{}", route("over", "left", "right", "echo = true"))
}

fn listen(path: &Path) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn next(socket: &UnixDatagram) -> String {
    let mut bytes = [0; 4096];
    let len = socket.recv(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..len]).into_owned()
}

#[test]
#[ignore = "runs in a guest"]
fn notifies_systemd_of_start_reload_and_end() {
    const ALIVE: &str = "WATCHDOG=1\n";
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let socket = scene.run_dir.path().join("notify");
    let systemd = listen(&socket);
    let file = scene.file("gateway.toml", &gateway());
    let mut command = scene.command(&["run", &file]);
    command.env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "200000");
    let mut candor = Guarded::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()));
    let news = || loop {
        let text = next(&systemd);
        if text != ALIVE {
            return text.trim().to_owned();
        }
    };
    assert_eq!(news(), "READY=1\nSTATUS=1 route");
    scene.file("gateway.toml", &(gateway() + &route("back", "right", "left", "echo = true")));
    signal::send(candor.id(), Signal::Hangup).unwrap();
    let reloading = news();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(news(), "READY=1\nSTATUS=2 routes");
    for _ in 0..3 {
        assert_eq!(next(&systemd), ALIVE, "nothing else without an event");
    }
    signal::send(candor.id(), Signal::Terminate).unwrap();
    assert_eq!(news(), "STOPPING=1");
    assert!(candor.wait().unwrap().success());
    systemd.set_nonblocking(true).unwrap();
    assert_eq!(systemd.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
#[ignore = "runs in a guest"]
fn journal_gets_a_field_for_each_fact() {
    const JOURNAL: &str = "/run/systemd/journal/socket";
    let Some(scene) = Scenario::new(VCAN, ["left", "right"]) else { return };
    let file = scene.file("gateway.toml", &gateway());
    let start = || {
        let mut command = scene.command(&["run", &file, "--seccomp", "--log", "journald"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    output(&mut start()).assert(2, &["cannot reach the systemd journal"]);

    fs::create_dir_all("/run/systemd/journal").unwrap();
    let journal = listen(Path::new(JOURNAL));
    let has = |words: &[&str]| {
        // At the start the library sends an empty message, to see if the journal exists.
        let text = std::iter::from_fn(|| Some(next(&journal))).find(|text| !text.is_empty()).unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text:?}");
    };
    let mut candor = Guarded::spawn(&mut start());
    let priority = |level: &str| format!("PRIORITY\n\u{1}\0\0\0\0\0\0\0{level}");
    has(&[&priority("5"), "ready: 1 route of ", "CANDOR_EVENT", "ready", "SYSLOG_IDENTIFIER"]);
    has(&[&priority("5"), "audit: start by uid 0", "CANDOR_BLAKE2B_HEX", "CANDOR_ADDED", "over"]);
    scene.bus("right").set_down();
    has(&[&priority("4"), "Interface t-right is down", "notice"]);
    signal::send(candor.id(), Signal::Terminate).unwrap();
    has(&["audit: end by uid 0", "SIGTERM", "CANDOR_REMOVED", "over"]);
    has(&["CANDOR_ROUTE", "over", "CANDOR_HANDLED", "final-counters"]);
    has(&["CANDOR_BUS", "left"]);
    has(&["CANDOR_BUS", "right"]);
    has(&["ended by SIGTERM"]);
    assert!(candor.wait().unwrap().success());
    drop(journal);
    fs::remove_file(JOURNAL).unwrap();
}
