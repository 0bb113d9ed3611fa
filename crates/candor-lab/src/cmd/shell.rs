//! `candor-lab shell`.

use candor_lab::guest::{self, ShellError};
use candor_lab::image;

use super::progress::Progress;
use crate::cli::LabShellArgs;
use candor_cli::Exit;
use candor_cli::Outcome;

/// Best first; the first that the host has is the guest's shell.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// Taken along if the host has them.
const TOOLS: [&str; 40] = [
    "asc2log",
    "bash",
    "bcmserver",
    "can-calc-bit-timing",
    "canbusload",
    "candump",
    "canfdtest",
    "cangen",
    "cangw",
    "canlogserver",
    "canplayer",
    "cansend",
    "cansequence",
    "cansniffer",
    "cat",
    "cp",
    "date",
    "dmesg",
    "grep",
    "head",
    "ip",
    "isotpdump",
    "isotprecv",
    "isotpsend",
    "kill",
    "less",
    "log2asc",
    "ls",
    "lsmod",
    "mount",
    "ps",
    "sh",
    "sleep",
    "ss",
    "stty",
    "tail",
    "tc",
    "timeout",
    "uname",
    "wc",
];

pub(crate) fn run(args: &LabShellArgs) -> Outcome {
    let is_here = |name: &&str| image::locate(name).is_ok();
    let shell = SHELLS.into_iter().find(|name| is_here(name)).ok_or("this machine has no shell to take along")?;
    let mut spec = super::guests::specification(&args.guest, vec![shell.to_owned()])?;
    spec.programs.extend(TOOLS.into_iter().filter(is_here).map(str::to_owned));
    let term = std::env::var("TERM").unwrap_or_else(|_| "dumb".to_owned());
    spec.files.extend(terminal_description(&term));
    spec.environment.insert("TERM".to_owned(), term);
    spec.environment.insert("TERMINFO".to_owned(), TERMINFO.to_owned());
    spec.environment.insert("PS1".to_owned(), format!("{}:\\w# ", spec.testbed.name()));
    let mut progress = Progress::new();
    let exit = guest::shell(&spec, &mut progress);
    progress.clear();
    if let Err(ShellError::Lab(error)) = &exit {
        super::guests::show_console(error);
    }
    Ok(Exit::Guest(exit?.status))
}

const TERMINFO: &str = "/etc/terminfo";

/// What the terminal can do, so that line editing works.
fn terminal_description(term: &str) -> Option<(String, Vec<u8>)> {
    let first = term.chars().next().filter(char::is_ascii_alphanumeric)?;
    let folders = ["/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"];
    let description = folders.iter().find_map(|folder| std::fs::read(format!("{folder}/{first}/{term}")).ok())?;
    Some((format!("{TERMINFO}/{first}/{term}"), description))
}
