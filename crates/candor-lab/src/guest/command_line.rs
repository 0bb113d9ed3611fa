//! Command lines of QEMU and user-mode Linux.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::GuestSpec;
use crate::arch::Arch;
use crate::bare_metal;
use crate::job::Topology;
use crate::kernel::CachedKernel;
use crate::qemu::Qemu;

#[derive(Debug)]
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) image: PathBuf,
    pub(super) channel: PathBuf,
    /// Output of the kernel, and of the program that runs it.
    pub(super) console: PathBuf,
}

#[derive(Debug, Default)]
pub(super) struct CommandLine {
    pub(super) words: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Working directory, if it matters.
    pub(super) folder: Option<PathBuf>,
    /// Directory of the guest's memory, if it is a file.
    pub(super) memory: Option<PathBuf>,
    /// The kernel and the processes of the guest alternate: on two processors that takes several times as long.
    pub(super) one_processor: bool,
}

impl CommandLine {
    /// For a kernel that fails before it has a console: on the serial port, also while the kernel unpacks itself. Other guests do
    /// without, because a longer command line changes the figures of some kernels by a few instructions.
    pub(super) fn with_early_console(mut self) -> Self {
        if let Some(at) = self.words.iter().position(|word| word == "-append")
            && let Some(arguments) = self.words.get_mut(at + 1)
        {
            arguments.push(EARLY_CONSOLE);
        }
        self
    }
}

/// Descriptors besides the standard streams.
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

/// QEMU with one processor and a clock that counts instructions. Nothing of the host gets in: fixed seed and date, no
/// random instructions, no input.
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
    let (machine, processor) = match spec.arch {
        // Counting string instructions: without these features they are executed byte by byte.
        Arch::X86_64 => ("pc", "max,-rdrand,-rdseed,erms=off,fsrm=off"),
        // Its clock has the resolution of an instruction instead of 16 ns.
        Arch::Arm64 => ("virt,gic-version=3", "cortex-a72,cntfrq=1000000000"),
    };
    add("-machine", machine.into());
    add("-accel", "tcg".into());
    // QEMU records no machine with two processors.
    let is_not_recorded = terminal || spec.traced.is_some() || spec.bare_metal;
    let clock = if is_not_recorded { SHARED_CLOCK } else { OWN_CLOCK };
    add("-icount", format!("shift={},{clock}", spec.clock.exponent()).into());
    add("-cpu", processor.into());
    add("-seed", "1".into());
    add("-rtc", "base=2026-01-01,clock=vm".into());
    add("-smp", if spec.bare_metal { "2" } else { "1" }.into());
    add("-m", "512".into());
    add("-vga", "none".into());
    add("-net", "none".into());
    add("-display", "none".into());
    match &spec.traced {
        Some(traced) => {
            let mut monitor = option_with_path("unix:", &traced.monitor);
            monitor.push(",server=on,wait=off");
            add("-monitor", monitor);
            add("-D", traced.log.clone().into_os_string());
        }
        None => add("-monitor", "none".into()),
    }
    // The first serial port of `virt` is the channel, so its console and terminal are cards.
    let [for_console, for_channel, for_terminal] = match spec.arch {
        Arch::X86_64 => [
            ("-serial", "chardev:console"),
            ("-device", "isa-debugcon,iobase=0xe9,chardev=channel"),
            ("-serial", "chardev:terminal"),
        ],
        Arch::Arm64 => [
            ("-device", "pci-serial,addr=2,chardev=console"),
            ("-serial", "chardev:channel"),
            ("-device", "pci-serial,addr=3,chardev=terminal"),
        ],
    };
    add("-chardev", option_with_path("file,id=console,path=", &files.console));
    add(for_console.0, for_console.1.into());
    add("-chardev", option_with_path("file,id=channel,path=", &files.channel));
    add(for_channel.0, for_channel.1.into());
    if terminal {
        add("-chardev", format!("socket,id=terminal,fd={TERMINAL_FD}").into());
        add(for_terminal.0, for_terminal.1.into());
    }
    if spec.topology == Topology::Kvaser {
        for bus in ["first", "second"] {
            add("-object", format!("can-bus,id={bus}").into());
        }
        // The order of interrupts is part of every latency: on both machines, can1 and can2 share a line, and so do the others.
        // On `virt`, slots that differ by four do.
        let slots = match spec.arch {
            // The cards of the two processors must not share a line, and the interfaces are named in the order of slots. Linux
            // gives one line to the slot that it meets first and to those that differ from it by four.
            Arch::X86_64 if spec.bare_metal => [",addr=2", ",addr=6", ",addr=7", ",addr=8", ",addr=a"],
            Arch::X86_64 => [""; 5],
            Arch::Arm64 => [",addr=4", ",addr=5", ",addr=9", ",addr=c", ",addr=10"],
        };
        for (bus, slot) in ["first", "first", "first", "second", "second"].into_iter().zip(slots) {
            add("-device", format!("kvaser_pci,canbus={bus}{slot}").into());
        }
    }
    add("-kernel", kernel.image().into_os_string());
    add("-initrd", files.image.clone().into_os_string());
    let kernel_arguments = match spec.arch {
        Arch::X86_64 => KERNEL_ARGUMENTS,
        Arch::Arm64 => KERNEL_ARGUMENTS_ARM64,
    };
    let reserved = if spec.bare_metal { bare_metal::kernel_arguments() } else { String::new() };
    add("-append", (kernel_arguments.to_owned() + &reserved).into());
    words.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
    CommandLine { words, environment, folder: None, memory: None, one_processor: false }
}

/// Idle time is skipped.
const SHARED_CLOCK: &str = "sleep=off";

/// QEMU runs as if it recorded the guest, and the record is discarded. What counts is the lock by which a recording
/// QEMU keeps its main loop waiting while the processor runs. Without it, the main loop sometimes skips idle time just
/// when the processor halts, before the last instructions are counted (`icount_start_warp_timer()`). Then the next
/// timer is tens of instructions late: once in several hundred thousand halts, more often on a busy host. A recorded
/// guest that is idle gets no terminal input, and the monitor has to wait, too.
const OWN_CLOCK: &str = "sleep=off,rr=record,rrfile=/dev/null";

/// No console input, no host randomness, fixed addresses, and no crypto self-tests, which take half of the boot time.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 panic=1 quiet tsc=reliable nokaslr norandmaps random.trust_cpu=off \
                                random.trust_bootloader=off cryptomgr.notests";

/// x86 only.
const EARLY_CONSOLE: &str = " earlyprintk=serial,ttyS0";

/// The same. After a panic the guest ends at once, because a second of waiting takes half a minute; its init may write to
/// a serial port that has a driver.
const KERNEL_ARGUMENTS_ARM64: &str = "console=ttyS0 panic=-1 quiet iomem=relaxed nokaslr norandmaps \
                                      random.trust_cpu=off random.trust_bootloader=off cryptomgr.notests";

/// Allocated as it is used.
pub(super) const UML_MEMORY_BYTES: u64 = 512 << 20;

/// User-mode Linux: a program whose memory is an unlinked file.
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
    let mut environment = vec![("TMPDIR".into(), memory.into())];
    // A library that changes the time of the guest.
    environment.extend(std::env::var_os("LD_PRELOAD").map(|libraries| ("LD_PRELOAD".into(), libraries)));
    let folder = kernel.working_folder().map(Path::to_owned);
    CommandLine { words, environment, folder, memory: Some(memory.to_owned()), one_processor: true }
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
    fn early_console_is_an_argument_of_the_kernel() {
        let words = ["qemu", "-append", "console=ttyS0 quiet", "-no-reboot"].map(OsString::from).to_vec();
        let line = CommandLine { words, ..CommandLine::default() }.with_early_console();
        assert_eq!(line.words[1..], ["-append", "console=ttyS0 quiet earlyprintk=serial,ttyS0", "-no-reboot"]);
        assert!(CommandLine::default().with_early_console().words.is_empty());
    }

    #[test]
    fn commas_in_paths_are_doubled() {
        assert_eq!(option_with_path("path=", Path::new("/a,b/c")), "path=/a,,b/c");
    }
}
