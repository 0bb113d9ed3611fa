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
