//! How the two laboratories are started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::GuestSpec;
use crate::job::Topology;
use crate::kernel::CachedKernel;
use crate::qemu::Qemu;

/// The files of one run.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) image: PathBuf,
    /// What the guest's init sends.
    pub(super) channel: PathBuf,
    /// What the kernel, and the program that runs it, print.
    pub(super) console: PathBuf,
}

/// A program, its arguments, and the whole of its environment.
#[derive(Debug, Default)]
pub(super) struct CommandLine {
    pub(super) words: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The folder of the guest's memory, if it is in a file.
    pub(super) memory: Option<PathBuf>,
}

/// Descriptors of the guest's program besides the standard streams.
pub(super) const CHANNEL_FD: i32 = 3;
pub(super) const TERMINAL_FD: i32 = 4;

impl Files {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            image: folder.join("image.cpio"),
            channel: folder.join("channel"),
            console: folder.join("console"),
        }
    }
}

/// QEMU with one processor whose clock counts instructions. Nothing of the host gets in: fixed seed, fixed date,
/// no random instructions, and no input.
pub(super) fn icount(
    spec: &GuestSpec,
    qemu: &Qemu,
    kernel: &CachedKernel,
    files: &Files,
    terminal: bool,
) -> CommandLine {
    let (program, arguments, environment) = qemu.command();
    let mut words = vec![program.into_os_string()];
    words.extend(arguments);
    let mut add = |option: &str, value: OsString| words.extend([option.into(), value]);
    add("-machine", "pc".into());
    add("-accel", "tcg".into());
    let clock = if terminal { SHARED_CLOCK } else { OWN_CLOCK };
    add("-icount", format!("shift={},{clock}", spec.clock.exponent()).into());
    // String instructions that count as one would count by the byte instead: they are switched off.
    add("-cpu", "max,-rdrand,-rdseed,erms=off,fsrm=off".into());
    add("-seed", "1".into());
    add("-rtc", "base=2026-01-01,clock=vm".into());
    add("-smp", "1".into());
    add("-m", "512".into());
    add("-vga", "none".into());
    add("-net", "none".into());
    add("-display", "none".into());
    add("-monitor", "none".into());
    add("-chardev", option_with_path("file,id=console,path=", &files.console));
    add("-serial", "chardev:console".into());
    add("-chardev", option_with_path("file,id=channel,path=", &files.channel));
    add("-device", "isa-debugcon,iobase=0xe9,chardev=channel".into());
    if terminal {
        add("-chardev", format!("socket,id=terminal,fd={TERMINAL_FD}").into());
        add("-serial", "chardev:terminal".into());
    }
    if spec.topology == Topology::Kvaser {
        for bus in ["first", "second"] {
            add("-object", format!("can-bus,id={bus}").into());
        }
        for bus in ["first", "first", "first", "second", "second"] {
            add("-device", format!("kvaser_pci,canbus={bus}").into());
        }
    }
    add("-kernel", kernel.image().into_os_string());
    add("-initrd", files.image.clone().into_os_string());
    add("-append", KERNEL_ARGUMENTS.into());
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
    CommandLine { words, environment, memory: None }
}

/// Idle time is skipped.
const SHARED_CLOCK: &str = "sleep=off";

/// And QEMU runs as if it recorded the guest. The record is thrown away; what counts is the lock with which a recording QEMU keeps its main
/// loop waiting while the processor runs. Without it the main loop now and then skips idle time just when the processor halts, before the
/// last instructions are counted (`icount_start_warp_timer()`): then the next timer comes some tens of instructions too late, once in some
/// hundred thousand halts, and more often on a busy host. What is typed never gets into a guest that is recorded and idle.
const OWN_CLOCK: &str = "sleep=off,rr=record,rrfile=/dev/null";

/// No console input, no random numbers of the host's making, no addresses that change, no self-tests that take half of
/// the time to boot.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 panic=1 quiet tsc=reliable nokaslr norandmaps random.trust_cpu=off \
                                random.trust_bootloader=off cryptomgr.notests";

/// Memory of a guest in user-mode Linux. It is taken as it is used.
pub(super) const UML_MEMORY_BYTES: u64 = 512 << 20;

/// User-mode Linux: a program of its own, with its memory in a file that has no name.
pub(super) fn uml(kernel: &CachedKernel, files: &Files, memory: &Path, terminal: bool) -> CommandLine {
    let mut words = vec![kernel.image().into_os_string()];
    let mut add = |name: &str, value: &Path| {
        let mut word = OsString::from(name);
        word.push(value);
        words.push(word);
    };
    add(&format!("mem={}", UML_MEMORY_BYTES), Path::new(""));
    add("initrd=", &files.image);
    add("uml_dir=", &files.folder);
    let mut fixed = vec!["umid=guest".to_owned(), "con=null".to_owned(), "con0=null,fd:2".to_owned()];
    fixed.push(format!("con1=null,fd:{CHANNEL_FD}"));
    if terminal {
        fixed.push(format!("con2=fd:{TERMINAL_FD}"));
    }
    fixed.extend(["quiet", "panic=1"].map(str::to_owned));
    words.extend(fixed.into_iter().map(OsString::from));
    let environment = vec![("TMPDIR".into(), memory.into())];
    CommandLine { words, environment, memory: Some(memory.to_owned()) }
}

/// QEMU splits options at commas; a comma in a path is doubled.
fn option_with_path(option: &str, path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    let mut bytes = option.as_bytes().to_vec();
    for &byte in path.as_os_str().as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(option_with_path("path=", Path::new("/a,b/c")), "path=/a,,b/c");
    }
}
