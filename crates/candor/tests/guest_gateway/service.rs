//! What systemd is told: this test is systemd.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::Duration;

use candor_io::signal::{self, Signal};

use crate::candor::program;
use crate::require::{Bus, Feature, require};

const PATIENCE: Duration = Duration::from_secs(60);
const GATEWAY: &str = "engine = \"read-write\"\n[bus.left]\ninterface = \"t-left\"\n[bus.right]\ninterface = \"t-right\"\n\
                       [[route]]\nname = \"over\"\nfrom = \"left\"\nto = \"right\"\n";

#[test]
#[ignore = "runs in a guest"]
fn systemd_hears_of_the_beginning_the_middle_and_the_end() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let (_left, _right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("notify");
    let systemd = UnixDatagram::bind(&place).unwrap();
    systemd.set_read_timeout(Some(PATIENCE)).unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let mut candor = Command::new(program())
        .arg("run")
        .arg(&file)
        .env("CANDOR_RUN_DIR", folder.path())
        .env("NOTIFY_SOCKET", &place)
        .env("WATCHDOG_USEC", "200000")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The next message that is no sign of life.
    let heard = |signs_of_life: &mut u32| loop {
        let mut bytes = [0; 1024];
        let len = systemd.recv(&mut bytes).unwrap();
        let text = std::str::from_utf8(&bytes[..len]).unwrap().trim().to_owned();
        if text != "WATCHDOG=1" {
            return text;
        }
        *signs_of_life += 1;
    };
    let mut signs = 0;
    assert_eq!(heard(&mut signs), "READY=1\nSTATUS=1 route");
    std::fs::write(&file, format!("{GATEWAY}[[route]]\nname = \"back\"\nfrom = \"right\"\nto = \"left\"\n")).unwrap();
    signal::send(candor.id(), Signal::Hangup).unwrap();
    let reloading = heard(&mut signs);
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(heard(&mut signs), "READY=1\nSTATUS=2 routes");
    // Of itself it says only that it is alive, again and again.
    for _sign in 0..3 {
        let mut bytes = [0; 64];
        let len = systemd.recv(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"WATCHDOG=1\n");
    }
    signal::send(candor.id(), Signal::Terminate).unwrap();
    assert_eq!(heard(&mut signs), "STOPPING=1");
    assert!(candor.wait().unwrap().success());
    systemd.set_nonblocking(true).unwrap();
    assert_eq!(systemd.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
#[ignore = "runs in a guest"]
fn the_journal_gets_a_field_for_each_fact() {
    let Some(_machine) = require(&[Feature::Root, Feature::Vcan]) else { return };
    let (_left, right) = (Bus::new("left"), Bus::new("right"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, GATEWAY).unwrap();
    let start = || {
        let mut command = Command::new(program());
        command.arg("run").arg(&file).args(["--seccomp", "--log", "journald"]).env("CANDOR_RUN_DIR", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let without = start().wait_with_output().unwrap();
    let said = String::from_utf8(without.stderr).unwrap();
    assert!(without.status.code() == Some(2) && said.contains("cannot reach the systemd journal"), "{said}");

    std::fs::create_dir_all("/run/systemd/journal").unwrap();
    let journal = UnixDatagram::bind("/run/systemd/journal/socket").unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut bytes = [0; 4096];
        loop {
            let len = journal.recv(&mut bytes).unwrap();
            // The library asks at the start whether somebody is there.
            if len > 0 {
                return String::from_utf8_lossy(&bytes[..len]).into_owned();
            }
        }
    };
    let mut candor = start();
    let ready = heard();
    let has = |text: &str, words: &[&str]| assert!(words.iter().all(|word| text.contains(word)), "{words:?}: {text:?}");
    has(
        &ready,
        &["PRIORITY\n\u{1}\0\0\0\0\0\0\x005", "ready: 1 route of ", "CANDOR_EVENT", "ready", "SYSLOG_IDENTIFIER"],
    );
    right.set_down();
    has(&heard(), &["PRIORITY\n\u{1}\0\0\0\0\0\0\x004", "Interface t-right is down", "notice"]);
    signal::send(candor.id(), Signal::Terminate).unwrap();
    has(&heard(), &["CANDOR_ROUTE", "over", "CANDOR_HANDLED", "final-counters"]);
    has(&heard(), &["CANDOR_BUS", "left"]);
    has(&heard(), &["CANDOR_BUS", "right"]);
    has(&heard(), &["ended by SIGTERM"]);
    assert!(candor.wait().unwrap().success());
    drop(journal);
    std::fs::remove_file("/run/systemd/journal/socket").unwrap();
}
