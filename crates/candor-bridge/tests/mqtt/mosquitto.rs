//! MQTT with a broker that others wrote: mosquitto, with its own client.
//!
//! `cargo xtask mosquitto` unpacks it; without `CANDOR_MOSQUITTO` it is the one of `PATH`. Without one, the test prints `SKIP`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use candor_bridge::bridge::Bridge;
use candor_bridge::bus::Bus;
use candor_bridge::settings;

use crate::require::require;
use crate::{LIMIT, Repeating};

fn program(name: &str) -> Command {
    let Some(root) = std::env::var_os("CANDOR_MOSQUITTO").map(PathBuf::from) else { return Command::new(name) };
    let folder = if name == "mosquitto" { "usr/sbin" } else { "usr/bin" };
    let mut command = Command::new(root.join(folder).join(name));
    let architecture = format!("{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["usr/lib", "lib"].map(|folder| root.join(folder).join(&architecture));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    command
}

/// A broker on loopback.
struct Broker(Child);

impl Broker {
    fn start(folder: &Path, port: u16) -> Self {
        let file = folder.join("mosquitto.conf");
        // As root, it becomes another user, which not every machine has.
        let user = "user root\n";
        std::fs::write(&file, format!("listener {port} 127.0.0.1\nallow_anonymous true\n{user}")).unwrap();
        let mut command = program("mosquitto");
        Self(command.arg("-c").arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the broker has kept, as `TOPIC PAYLOAD`, sorted.
fn retained(port: u16) -> Vec<String> {
    let mut command = program("mosquitto_sub");
    command.args(["-h", "127.0.0.1", "-t", "#", "-v", "--retained-only", "-W", "1", "-p"]).arg(port.to_string());
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let mut lines: Vec<_> = output.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn wait_for(what: &str, port: u16, holds: impl Fn(&[String]) -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds(&retained(port)) {
        assert!(Instant::now() < end, "not in time: {what}: {:#?}", retained(port));
    }
}

#[test]
fn mosquitto_keeps_announcements_values_and_status() {
    let help = program("mosquitto").arg("-h").output().ok();
    if require("mosquitto", help, "mosquitto does not start: apt-get install mosquitto mosquitto-clients").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let broker = Broker::start(folder.path(), port);
    let text = format!(
        "[bus.front]\ninterface = \"can0\"\ndatabase = \"car.dbc\"\n\
         [mqtt]\nbroker = \"127.0.0.1:{port}\"\nprefix = \"candor/car7\"\ndiscovery = \"homeassistant\"\ninterval = \"100ms\"\n"
    );
    let dbc = b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n";
    let (settings, _) = settings::load(text.as_bytes(), &|_| Ok(dbc.to_vec())).unwrap();
    let bus = Arc::new(Repeating(Mutex::new("123#2710000000000000".parse().unwrap())));
    let bridge = Bridge::start(&settings, &[Arc::clone(&bus) as Arc<dyn Bus>], |_| {});
    let speed = |value: &str| format!("candor/car7/front/signal/ABS1/VehSpd {value}");
    let status = |value: &str| format!("candor/car7/status {value}");

    wait_for("the value", port, |kept| kept.contains(&speed("100")));
    let all = retained(port);
    let [value, online, announced] = &all[..] else { panic!("{all:#?}") };
    assert_eq!((value, online), (&speed("100"), &status("online")));
    let announced = announced.strip_prefix("homeassistant/sensor/candor_car7_front_ABS1_VehSpd/config ").unwrap();
    let announced: serde_json::Value = serde_json::from_str(announced).unwrap();
    assert_eq!(announced["state_topic"], "candor/car7/front/signal/ABS1/VehSpd");
    assert_eq!(announced["unit_of_measurement"], "km/h");

    // A broker that has lost what it kept gets everything again.
    drop(broker);
    *bus.0.lock().unwrap() = "123#4E20000000000000".parse().unwrap();
    let _broker = Broker::start(folder.path(), port);
    wait_for("everything again", port, |kept| kept.len() == 3 && kept.contains(&speed("200")));
    let _ = bridge.stop();
    wait_for("the end", port, |kept| kept.contains(&status("offline")));
}
