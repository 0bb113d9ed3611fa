//! The program: its exit status and its errors.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

use std::process::{Command, Output};

fn check(text: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bridge.toml"), text).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_candor-bridge"));
    program.args(["bridge.toml", "--check"]).current_dir(folder.path()).output().unwrap()
}

#[test]
fn findings_have_a_place_and_a_remedy() {
    let good = "[bus.front]\ninterface = \"can0\"\n[zenoh]\nprefix = \"candor/car7\"\n";
    let output = check(good);
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
    let output = check(&format!("{good}[[in]]\nbus = \"front\"\nmatch = \"800\"\nrate = \"10 frames/s\"\n"));
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    let parts =
        ["error[E0304]: Identifier 800 does not fit into 11 bits", "bridge.toml:7:10", "write 00000800, with 8 digits"];
    for part in parts {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_missing_file_is_status_2() {
    let output = Command::new(env!("CARGO_BIN_EXE_candor-bridge")).arg("none.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("candor-bridge: cannot read none.toml\n  caused by: "));
}
