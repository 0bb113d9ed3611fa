//! Runs a guest from its specification to its exit status.

mod command_line;
mod early;
mod needs;
mod output;
mod running;
mod shell;
mod specification;

pub use shell::{ShellError, shell};
pub use specification::{ClockShift, GuestSpec, OwnProgramError, Traced, guest_lab, lab_program};

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arch::Arch;
use crate::bare_metal;
use crate::cache::{Cache, CacheError};
use crate::channel::ChannelError;
use crate::device::OWN_PROGRAMS;
use crate::image::{self, Contents, ImageError};
use crate::job::{HOME, Job, OUT, PATH, TerminalSize, Topology};
use crate::kernel::{self, KernelError, ReplacedModule, Testbed};
use crate::observer::Observer;
use crate::qemu::{Qemu, QemuError};
use crate::tools::{self, ToolError};
use command_line::Files;
use output::Output;
use running::Running;

/// Result of a guest that ran its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestExit {
    /// 128 + signal if one killed the command.
    pub status: u8,
    /// Host time from the start of the guest to its last message.
    pub wall: Duration,
    /// Host time from the start of the guest to the start of the command.
    pub boot: Duration,
    pub platform: Platform,
}

/// Everything that results depend on besides the contents of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Platform {
    /// As in `candor-lab kernels`, or the path of a kernel of the user.
    pub kernel: String,
    #[serde(skip)]
    pub release: String,
    pub kernel_version: String,
    /// Version that the laboratory pins. Another one is booted only if the archive no longer has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_pin: Option<String>,
    /// Of a kernel of the user: of its package, or of the image in its build tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_sha256: Option<String>,
    /// Modules of the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<ReplacedModule>,
    /// Version of QEMU; only for the testbed icount.
    pub qemu: Option<String>,
    #[serde(skip_serializing_if = "Arch::is_here")]
    pub arch: Arch,
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    BareMetal(#[from] bare_metal::ProgramError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("The guest's messages are damaged")]
    Channel(#[from] ChannelError),
    #[error("The guest did not boot: {reason}{}", if .console.is_empty() { " (and its console is empty)" } else { "" })]
    DidNotBoot { reason: String, console: Vec<String> },
    #[error("The guest ended before the command did: {reason}")]
    Died { reason: String, console: Vec<String> },
    #[error("Cannot use {path}{}", room(.source))]
    File { path: PathBuf, source: io::Error },
    #[error("{reason}")]
    Guest { reason: String, console: Vec<String> },
    #[error(
        "A gateway without an operating system needs emulated cards and an x86-64 processor: testbed icount, topology kvaser"
    )]
    NoBareMetal,
    #[error("Cannot build the guest's image")]
    Image(#[from] ImageError),
    #[error("No kernel for the guest")]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Modules(KernelError),
    #[error("There is no command to run")]
    NoCommand,
    #[error(
        "User-mode Linux needs a directory with {} MiB free that allows programs to run, unlike {}; the testbed icount \
         needs none (--testbed icount)",
        .bytes >> 20,
        .folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoExecFolder { bytes: u64, folders: Vec<PathBuf> },
    #[error("The topology {} needs the testbed icount: add --testbed icount", .0.name())]
    NoHardware(Topology),
    #[error("The kernel {kernel} does not support this processor's registers; use --testbed icount")]
    NoRoom { kernel: String },
    #[error("User-mode Linux runs on the processor of this machine only: add --testbed icount for {}", .0.name())]
    NoUml(Arch),
    #[error("The kernel {kernel} lacks options that guests with the topology {} need: {}", .topology.name(), .missing.join(", "))]
    Options { kernel: String, topology: Topology, missing: Vec<String> },
    #[error("No QEMU for the guest")]
    Qemu(#[from] QemuError),
    #[error("No candor for the guest")]
    OwnProgram(#[from] OwnProgramError),
    #[error("No program for the guest")]
    Tool(#[from] ToolError),
    #[error("The guest was killed after {} s; --timeout sets the limit", .limit.as_secs())]
    Timeout { limit: Duration, console: Vec<String> },
}

fn room(source: &io::Error) -> &'static str {
    if source.kind() == io::ErrorKind::StorageFull { "; set TMPDIR to a directory with more space" } else { "" }
}

impl LabError {
    /// The last lines of the console, if they help to explain the error.
    pub fn console(&self) -> &[String] {
        match self {
            Self::DidNotBoot { console, .. }
            | Self::Died { console, .. }
            | Self::Guest { console, .. }
            | Self::Timeout { console, .. } => console,
            _ => &[],
        }
    }
}

/// Boots a guest, runs the command in it, and removes everything.
///
/// Kernel and QEMU are fetched if they are not cached. The guest ends with this process. A command that fails is not an
/// error.
pub fn run(spec: &GuestSpec, observer: &mut dyn Observer) -> Result<GuestExit, LabError> {
    run_on(spec, None, observer)
}

/// [`run`], on a terminal if one is given.
fn run_on(
    spec: &GuestSpec,
    terminal: Option<(TerminalSize, std::os::unix::net::UnixStream)>,
    observer: &mut dyn Observer,
) -> Result<GuestExit, LabError> {
    if spec.command.is_empty() {
        return Err(LabError::NoCommand);
    }
    if spec.topology.needs_machine() && spec.testbed != Testbed::Icount {
        return Err(LabError::NoHardware(spec.topology));
    }
    if spec.testbed == Testbed::Uml && !spec.arch.is_here() {
        return Err(LabError::NoUml(spec.arch));
    }
    let is_bare_metal_possible =
        (spec.testbed, spec.topology, spec.arch) == (Testbed::Icount, Topology::Kvaser, Arch::X86_64);
    if spec.bare_metal && !is_bare_metal_possible {
        return Err(LabError::NoBareMetal);
    }
    let lab = specification::lab_for(spec.arch, &spec.lab)?;
    if let Some(out) = &spec.out {
        check_out(out)?;
    }
    let cache = Cache::of_user()?;
    let qemu = match spec.testbed {
        Testbed::Icount => Some(Qemu::obtain(&cache, spec.arch, observer)?),
        Testbed::Uml => None,
    };
    let cache = cache.of(spec.arch);
    let kernel = kernel::obtain(&cache, spec.testbed, spec.kernel.as_deref(), observer)?;
    if let Some(sentence) = kernel.without_options() {
        observer.notice(&sentence);
    }
    let missing = kernel.options().map(|options| needs::missing(options, spec.topology, spec.arch)).unwrap_or_default();
    if !missing.is_empty() {
        return Err(LabError::Options { kernel: kernel.name, topology: spec.topology, missing });
    }
    let kernel = kernel.with_modules(&cache, &spec.modules).map_err(LabError::Modules)?;

    if !kernel.fits_processor() {
        return Err(LabError::NoRoom { kernel: kernel.name });
    }

    observer.stage("Building the guest's image");
    let (size, socket) = terminal.unzip();
    let platform = Platform {
        kernel: kernel.name.clone(),
        release: kernel.release.clone(),
        kernel_version: kernel.version.clone(),
        kernel_pin: kernel.pin().map(str::to_owned),
        kernel_sha256: kernel.sha256().map(str::to_owned),
        modules: kernel.replaced().to_vec(),
        qemu: qemu.as_ref().map(|qemu| qemu.version.clone()),
        arch: spec.arch,
    };
    let build = |size: Option<TerminalSize>, observer: &mut dyn Observer| {
        let mut image = Vec::new();
        let contents = contents(spec, &lab, &cache, observer)?;
        let archive = image::build(&kernel, &lab, job(spec, &platform, size), &contents)?;
        archive.write(&mut image).map_err(file(Path::new("the guest's image")))?;
        Ok::<_, LabError>(image)
    };
    let image = build(size, observer)?;
    // As late as possible: only the guard removes the directory if this process is killed.
    let folder = new_folder()?;
    let files = Files::new(folder.path());
    fs::write(&files.image, image).map_err(file(&files.image))?;

    observer.stage(&format!("Booting {} ({})", kernel.name, spec.testbed.name()));
    let command = match &qemu {
        Some(qemu) => command_line::icount(spec, qemu, &kernel, &files, socket.is_some()),
        None => {
            let folders = vec!["/dev/shm".into(), temporary()?, "/var/tmp".into()];
            let memory = memory_folder(folders, command_line::UML_MEMORY_BYTES)?;
            command_line::uml(&kernel, &files, &memory, socket.is_some())
        }
    };
    let begin = Instant::now();
    let mut running = Running::start(spec, &command, &files, socket)?;
    let mut output = Output::new(spec.out.as_deref());
    let received = listen(&mut running, &mut output, &files, begin, observer);
    // In this order: processes of the guest, its directory, the guard.
    let mut last_lines = running::last_lines(&files.console);
    let ending = running.end();
    let boot = received?;
    let is_silent = last_lines.is_empty();
    let says_nothing = is_silent && boot.is_none() && output.outcome().is_none();
    if let Some(qemu) = qemu.as_ref().filter(|_| says_nothing && spec.arch == Arch::X86_64) {
        observer.stage("Booting again with an early console");
        let write = |path: &Path| fs::write(path, build(None, observer)?).map_err(file(path));
        last_lines = early::last_lines(spec, qemu, &kernel, write).unwrap_or_default();
    }
    let console = || last_lines;
    match (output.outcome(), boot) {
        (Some(Ok(status)), Some(boot)) => {
            // Also if the command left no file.
            spec.out.iter().try_for_each(|out| fs::create_dir_all(out).map_err(file(out)))?;
            Ok(GuestExit { status, wall: begin.elapsed(), boot, platform })
        }
        (Some(Err(reason)), _) => Err(LabError::Guest { reason, console: console() }),
        // Kernel messages of the boot do not explain a command that ran.
        (_, Some(_)) if ending.at_deadline => Err(LabError::Timeout { limit: spec.timeout, console: Vec::new() }),
        _ if ending.at_deadline => {
            let limit = spec.timeout.as_secs();
            let reason = format!("its init did not start within {limit} s; --timeout sets the limit");
            Err(LabError::DidNotBoot { reason, console: console() })
        }
        (_, Some(_)) => Err(LabError::Died { reason: ending.reason, console: console() }),
        (_, None) => {
            let console = console();
            let remedy = kernel.if_damaged(&ending.reason, is_silent);
            Err(LabError::DidNotBoot { reason: ending.reason + &remedy, console })
        }
    }
}

/// A guest may run in another working directory.
fn temporary() -> Result<PathBuf, LabError> {
    std::path::absolute(std::env::temp_dir()).map_err(file(&std::env::temp_dir()))
}

fn new_folder() -> Result<tempfile::TempDir, LabError> {
    let parent = temporary()?;
    tempfile::Builder::new().prefix("candor-lab-").tempdir_in(&parent).map_err(file(&parent))
}

/// Reads messages until the last one or the end of the guest. Returns the boot time if it booted.
fn listen(
    running: &mut Running,
    output: &mut Output<'_>,
    files: &Files,
    begin: Instant,
    observer: &mut dyn Observer,
) -> Result<Option<Duration>, LabError> {
    /// Poll interval on the host; the guest does not notice.
    const LOOK: Duration = Duration::from_millis(4);
    let mut channel = File::open(&files.channel).map_err(file(&files.channel))?;
    let mut boot = None;
    loop {
        // Before the last read, so that nothing is missed.
        let ended = running.has_ended().map_err(file(&files.channel))?;
        let before = output.is_started();
        let received = output.poll(&mut channel, observer)?;
        if !before && output.is_started() {
            boot = Some(begin.elapsed());
        }
        if ended || output.outcome().is_some() {
            return Ok(boot);
        }
        if !received {
            std::thread::sleep(LOOK);
        }
    }
}

fn job(spec: &GuestSpec, platform: &Platform, terminal: Option<TerminalSize>) -> Job {
    let mut environment = spec.environment.clone();
    environment.extend(own_variables(spec, platform).map(|(name, value)| (name.to_owned(), value)));
    Job {
        testbed: spec.testbed,
        topology: spec.topology,
        bare_metal: spec.bare_metal,
        wire_adapters: spec.wire_adapters.clone(),
        modules: Vec::new(),
        command: spec.command.clone(),
        environment,
        terminal,
    }
}

/// Part of the image, so they must not change from run to run.
fn own_variables(spec: &GuestSpec, platform: &Platform) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let instruction_ns = match spec.testbed {
        Testbed::Icount => Some(("CANDOR_INSTRUCTION_NS", (1_u32 << spec.clock.exponent()).to_string())),
        Testbed::Uml => None,
    };
    let fixed = [
        ("CANDOR_OUT", OUT.to_owned()),
        ("CANDOR_PLATFORM", serde_json::json!(platform).to_string()),
        ("CANDOR_TESTBED", spec.testbed.name().to_owned()),
        ("CANDOR_TOPOLOGY", spec.topology.name().to_owned()),
        ("HOME", HOME.to_owned()),
        ("LD_LIBRARY_PATH", image::GUEST_LIBRARIES.to_owned()),
        ("PATH", PATH.to_owned()),
    ];
    fixed.into_iter().chain(instruction_ns)
}

/// Adds the command itself if it is the plain name of a program on the host or in a known package.
fn contents(spec: &GuestSpec, lab: &Path, cache: &Cache, observer: &mut dyn Observer) -> Result<Contents, LabError> {
    let tools = tools::USUAL.split(' ').filter(|_| spec.tools).map(str::to_owned);
    let is_small = |name: &str| spec.tools && image::is_applet(name);
    let wanted = spec.programs.iter().filter(|name| spec.arch.is_here() || !is_small(name));
    // The last of several with the same name is used.
    let mut programs: Vec<String> = tools.chain(wanted.cloned()).collect();
    let name = &spec.command[0];
    let is_here = || !is_small(name) && tools::is_there(name, spec.arch);
    if !OWN_PROGRAMS.contains(&name.as_str()) && !name.contains('/') && !programs.contains(name) && is_here() {
        programs.push(name.clone());
    }
    for program in &mut programs {
        *program = tools::obtain(cache, program, observer)?;
    }
    let mut files = spec.files.clone();
    if spec.bare_metal {
        let (path, bytes) = bare_metal::read(lab)?;
        files.push((path.to_owned(), bytes));
    }
    Ok(Contents {
        arch: spec.arch,
        copies: spec.copies.clone(),
        programs,
        files,
        without_modules: spec.without_modules.clone(),
        module_parameters: spec.module_parameters.clone(),
    })
}

/// Directory for the memory of user-mode Linux. The file is mapped executable, and the kernel dies if it runs out of
/// space.
fn memory_folder(folders: Vec<PathBuf>, bytes: u64) -> Result<PathBuf, LabError> {
    let usable = |folder: &&PathBuf| {
        candor_io::process::room(folder).is_ok_and(|room| room.allows_exec && room.free_bytes >= bytes)
            && tempfile::tempfile_in(folder).is_ok()
    };
    match folders.iter().find(usable) {
        Some(folder) => Ok(folder.clone()),
        None => Err(LabError::NoExecFolder { bytes, folders }),
    }
}

/// Checks before the guest runs that results of an hour have a place. An interrupted guest leaves no empty directory.
fn check_out(out: &Path) -> Result<(), LabError> {
    let is_new = !out.exists();
    fs::create_dir_all(out).and_then(|()| tempfile::tempfile_in(out)).map(drop).map_err(file(out))?;
    if is_new {
        let _ = fs::remove_dir(out);
    }
    Ok(())
}

fn file(path: &Path) -> impl Fn(io::Error) -> LabError {
    let path = path.to_owned();
    move |source| LabError::File { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(qemu: Option<&str>) -> Platform {
        Platform {
            kernel: "debian-6.1".to_owned(),
            release: "6.1.0-1-amd64".to_owned(),
            kernel_version: "6.1.1-1".to_owned(),
            kernel_pin: Some("6.1.1-1".to_owned()),
            kernel_sha256: None,
            modules: Vec::new(),
            qemu: qemu.map(str::to_owned),
            arch: Arch::X86_64,
        }
    }

    fn environment(testbed: Testbed, platform: &Platform) -> std::collections::BTreeMap<String, String> {
        let mut spec = GuestSpec::new(testbed, Topology::Vcan, PathBuf::new(), vec!["candor".to_owned()]);
        spec.clock = ClockShift::new(3).unwrap();
        job(&spec, platform, None).environment
    }

    #[test]
    fn memory_folder_needs_space_and_exec() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_owned();
        let folders = || vec!["/no such directory".into(), "/proc".into(), here.clone()];
        assert_eq!(memory_folder(folders(), 1).unwrap(), here);
        let error = memory_folder(folders(), 1 << 60).unwrap_err();
        assert!(matches!(error, LabError::NoExecFolder { .. }), "{error}");
    }

    #[test]
    fn out_folder_is_tried_first_and_not_left_empty() {
        let folder = tempfile::tempdir().unwrap();
        let [new, old] = ["a/b", "a"].map(|name| folder.path().join(name));
        check_out(&new).unwrap();
        assert!(!new.exists());
        check_out(&old).unwrap();
        assert!(old.is_dir());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for out in [file.join("x"), file] {
            assert!(matches!(check_out(&out), Err(LabError::File { path, .. }) if path == out));
        }
    }

    #[test]
    fn environment_describes_the_platform() {
        let counted = environment(Testbed::Icount, &platform(Some("7.2.22 (Debian \"x\")")));
        assert_eq!(counted["CANDOR_INSTRUCTION_NS"], "8");
        let said = r#"{"kernel":"debian-6.1","kernel_pin":"6.1.1-1","kernel_version":"6.1.1-1","qemu":"7.2.22 (Debian \"x\")"}"#;
        assert_eq!(counted["CANDOR_PLATFORM"], said);
        assert!(counted.keys().eq(GuestSpec::OWN_VARIABLES));
        let other = Platform { arch: Arch::Arm64, ..platform(None) };
        assert!(environment(Testbed::Icount, &other)["CANDOR_PLATFORM"].contains(r#""arch":"arm64""#));
        let uml = environment(Testbed::Uml, &platform(None));
        assert!(!uml.contains_key("CANDOR_INSTRUCTION_NS"));
        assert_eq!(
            uml["CANDOR_PLATFORM"],
            r#"{"kernel":"debian-6.1","kernel_pin":"6.1.1-1","kernel_version":"6.1.1-1","qemu":null}"#
        );
    }
}
