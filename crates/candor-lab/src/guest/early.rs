//! The console of a kernel that fails before it has one.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::command_line::{self, Files};
use super::running::{self, Running};
use super::{GuestSpec, LabError, file, new_folder};
use crate::kernel::CachedKernel;
use crate::qemu::Qemu;

/// Without output for this long, a kernel has stopped.
const SILENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// Boots the kernel of a guest with an empty console again, with a console from its first instructions on, and returns the last
/// lines of that; none if it boots this time. The command does not run.
pub(super) fn last_lines(
    spec: &GuestSpec,
    qemu: &Qemu,
    kernel: &CachedKernel,
    write_image: impl FnOnce(&Path) -> Result<(), LabError>,
) -> Result<Vec<String>, LabError> {
    let folder = new_folder()?;
    let files = Files::new(folder.path());
    write_image(&files.image)?;
    let spec = GuestSpec { traced: None, ..spec.clone() };
    let command = command_line::icount(&spec, qemu, kernel, &files, false).with_early_console();
    let mut running = Running::start(&spec, &command, &files, None)?;
    let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
    let (mut seen, mut since) = (0, Instant::now());
    while !running.has_ended().map_err(file(&files.console))? {
        let now = size(&files.console);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if size(&files.channel) > 0 {
            running.end();
            return Ok(Vec::new());
        }
        if now > 0 && since.elapsed() >= SILENCE {
            break;
        }
        thread::sleep(LOOK);
    }
    let lines = running::last_lines(&files.console);
    running.end();
    Ok(lines)
}
