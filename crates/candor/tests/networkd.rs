//! `candor generate networkd`, read by systemd-networkd itself.

use std::fs;
use std::process::Command;

const GATEWAY: &str = include_str!("networkd.toml");

/// In namespaces of its own, with these files only, for three seconds.
const START: &str = "mount -t tmpfs none /etc/systemd/network && mkdir -p /run/systemd && mount -t tmpfs none /run/systemd \
     && mkdir /run/systemd/netif && cp \"$0\"/* /etc/systemd/network && exec timeout 3 /lib/systemd/systemd-networkd";

#[test]
#[ignore = "starts systemd-networkd as root, in namespaces of its own"]
fn systemd_networkd_accepts_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let (file, units) = (folder.path().join("car.toml"), folder.path().join("units"));
    fs::write(&file, GATEWAY).unwrap();
    let mut candor = Command::new(env!("CARGO_BIN_EXE_candor"));
    candor.args(["generate", "networkd"]).arg(&file).arg("--output").arg(&units);
    assert!(candor.status().unwrap().success());
    // It complains about this one only.
    fs::write(units.join("99-wrong.network"), "[Match]\nName=x\n[CAN]\nBitRates=1\n").unwrap();
    let mut networkd = Command::new("unshare");
    networkd.args(["--mount", "--net", "sh", "-c", START]).arg(&units);
    let output = networkd.env("SYSTEMD_LOG_LEVEL", "debug").env("SYSTEMD_LOG_TARGET", "console").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<_> = said.lines().filter(|line| line.contains("/etc/systemd/network/")).collect();
    assert!(said.contains("vcan0: loaded \"vcan\"") && said.contains("vx0: loaded \"vxcan\""), "{said}");
    assert!(matches!(complaints[..], [one] if one.contains("99-wrong.network:4: Unknown key")), "{complaints:#?}");
}
