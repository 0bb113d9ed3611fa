//! Scripts, and the programs of guests.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Lab, example};

/// Starts with a program of each kind: small ones, can-utils, iproute2, candor. candump receives the forwarded frame.
const SCRIPT: &str = "#!/bin/sh -e
candump -n 1 vcan1 > frame &
candor apply 01-forward.toml > /dev/null
until [ -s frame ]; do cansend vcan0 123#11; sleep 0.1; done
wait
cat frame
ip -details link show vcan1 | grep -o link/can
busybox --list > small
find /bin -type l | sed s,.*/,, | grep -vFxf small || exit 3
";

/// Dynamically linked, with debugging information.
#[test]
#[ignore = "boots guests"]
fn guest_of_any_build_runs_a_script() {
    let Some(lab) = Lab::of_plain_build() else { return };
    let script = lab.write("script", SCRIPT);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let run = lab.run(&["--copy", &example("01-forward")], &[&script]).exits_with(3);
    assert_eq!(run.stdout, "  vcan1  123   [1]  11\nlink/can\n");
}

#[test]
#[ignore = "boots guests"]
fn shell_is_a_command() {
    let Some(lab) = Lab::find() else { return };
    let script = lab.write("script", "echo $((6 * 7)) $1; cangw -L; exit 4\n");
    let run = lab.run(&["--copy", &script], &["sh", "script", "x"]).exits_with(4);
    assert_eq!(run.stdout, "42 x\n");
}
