//! Instructions of a part of a benchmark, counted by valgrind.

use std::process::Command;

/// Instructions for each of the frames in the function whose name contains `work`, when this program runs this case. Empty without
/// valgrind.
pub(crate) fn instructions(case: usize, work: &str, frames: usize) -> String {
    let count = || {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", &format!("--toggle-collect=*{work}*")])
            .arg(std::env::current_exe().ok()?)
            .args(["--measured", &case.to_string(), work])
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let counted: usize = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())?;
        Some((counted / frames).to_string())
    };
    count().unwrap_or_default()
}
