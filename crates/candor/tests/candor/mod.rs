//! Runs the binary of the gateway.

use std::io::Write;
use std::process::{Command, Stdio};

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn candor(folder: &str, arguments: &[&str]) -> Run {
    candor_with_input(folder, arguments, b"")
}

pub(crate) fn candor_with_input(folder: &str, arguments: &[&str], input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_candor"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("candor starts");
    // candor may stop reading early.
    let _closed = child.stdin.take().expect("it is piped").write_all(input);
    let output = child.wait_with_output().expect("the child can be waited for");
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("output is UTF-8"),
    }
}
