//! The command line, as the transcripts in `tests/cmd` show it, and what it says of files that fail.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

#[test]
fn transcripts() {
    trycmd::TestCases::new().case("tests/cmd/*.md");
}

#[test]
fn failing_files_have_names() {
    let candor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).stdin(Stdio::null());
        command
    };
    let ends_with = |command: &mut Command, said: &str| {
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(2), said));
    };
    ends_with(
        candor().args(["check", "-"]).stdin(File::open(env!("CARGO_MANIFEST_DIR")).unwrap()),
        "candor: Cannot read standard input\n  because: Is a directory (os error 21)\n",
    );
    ends_with(
        candor().args(["show", "01-forward.toml"]).stdout(OpenOptions::new().write(true).open("/dev/full").unwrap()),
        "candor: Cannot write to standard output\n  because: No space left on device (os error 28)\n",
    );
    ends_with(
        candor().args(["generate", "man", "/dev/null"]),
        "candor: Cannot write man pages to /dev/null\n  because: not a directory\n",
    );
}

#[test]
fn help_tells_the_exit_status() {
    for command in [
        "check",
        "explain",
        "import cangw",
        "run",
        "plan",
        "apply",
        "status",
        "down",
        "show",
        "tester",
        "report",
        "lab run",
        "lab measure",
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_candor")).args(command.split(' ')).arg("--help").output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().contains("\nExit status: "), "{command}");
    }
}
