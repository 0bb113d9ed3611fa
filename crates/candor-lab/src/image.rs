//! The initramfs of guests, the same for both testbeds.

mod archive;
mod programs;

pub use archive::{Archive, FileKind};
pub use programs::{GUEST_LIBRARIES, Linkage, ProgramError, check, linkage, locate};

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::device::{OWN_PROGRAMS, gateway_program};
use crate::job::{HOME, IndexedModule, JOB_PATH, Job, MODULES_PATH, ModuleFile, ModuleIndex, OUT, Topology};
use crate::kernel::modules::{ModuleError, plain};
use crate::kernel::{CachedKernel, ModuleParameter, OtherRelease};
use programs::Needs;

/// Contents besides candor and the kernel modules.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub arch: Arch,
    /// For the working directory.
    pub copies: Vec<PathBuf>,
    /// By path, or by name on the host.
    pub programs: Vec<String>,
    /// Path in the guest and contents.
    pub files: Vec<(String, Vec<u8>)>,
    pub without_modules: Vec<String>,
    pub module_parameters: Vec<ModuleParameter>,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("Cannot use {path}")]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Module(#[from] ModuleError),
    #[error("The kernel {kernel} has no module {module}, which the topology {} needs", .topology.name())]
    NoModule { kernel: String, module: String, topology: Topology },
    #[error(transparent)]
    OtherRelease(#[from] OtherRelease),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(
        "No module {module} for guests on the kernel {kernel}, so it takes no parameters; candor-lab shell shows them in /lib/modules"
    )]
    NoModuleForParameter { kernel: String, module: String },
    #[error("Two of the copied files are called {name}")]
    Twice { name: String },
}

/// Paths of [`OWN_PROGRAMS`], of which candor-lab is given.
pub fn own_programs(lab: &Path) -> Result<[PathBuf; 2], ProgramError> {
    Ok([locate(&gateway_program(lab).to_string_lossy())?, lab.to_owned()])
}

/// Builds the image, and sets `job.modules`.
pub fn build(kernel: &CachedKernel, lab: &Path, mut job: Job, contents: &Contents) -> Result<Archive, ImageError> {
    let mut archive = Archive::default();
    archive.console();
    for folder in ["/bin", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/tmp", HOME, OUT] {
        archive.folder(folder);
    }
    for (link, target) in FOLDER_LINKS {
        archive.link(link, target);
    }
    for (name, program) in OWN_PROGRAMS.into_iter().zip(own_programs(lab)?) {
        archive.file(&format!("/bin/{name}"), FileKind::Program, read_program(&program)?);
        let mut needs = Needs::new();
        programs::add_libraries(&mut needs, &program, contents.arch)?;
        add_needs(&mut archive, needs)?;
    }
    archive.link("/init", "bin/candor-lab");
    archive.link("/sbin/modprobe", "../bin/candor-lab");
    for (path, text) in ETC {
        archive.file(path, FileKind::Data, text.as_bytes().to_vec());
    }
    add_modules(&mut archive, kernel, &mut job, contents)?;
    add_programs(&mut archive, contents)?;
    add_applets(&mut archive);
    for path in &contents.copies {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let target = format!("{HOME}/{name}");
        if archive.contains(&target) {
            return Err(ImageError::Twice { name: name.into_owned() });
        }
        let kind = if is_program(path)? { FileKind::Program } else { FileKind::Data };
        let bytes = if kind == FileKind::Program { read_program(path)? } else { read(path)? };
        add_needs_of_copy(&mut archive, path, kind, &bytes, contents.arch)?;
        archive.file(&target, kind, bytes);
    }
    for (path, bytes) in &contents.files {
        archive.file(path, FileKind::Data, bytes.clone());
    }
    archive.file(JOB_PATH, FileKind::Data, json(&job));
    Ok(archive)
}

/// Files that programs of the host expect.
const ETC: [(&str, &str); 4] = [
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("/etc/group", "root:x:0:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n"),
    // `TCF_EM_*` of the kernel, for the names in tc.
    ("/etc/iproute2/ematch_map", "1 cmp\n2 nbyte\n3 u32\n4 meta\n7 canid\n8 ipset\n9 ipt\n"),
];

/// Folders where programs expect others, and loaders search libraries. An archive cannot write through links.
const FOLDER_LINKS: [(&str, &str); 5] =
    [("/lib64", "/lib"), ("/usr/bin", "/bin"), ("/usr/lib", "/lib"), ("/usr/lib64", "/lib"), ("/usr/sbin", "/sbin")];

const BUSYBOX: &str = "/bin/busybox";

/// Programs that are links to busybox. Not those that guests have otherwise: `ip`, `modprobe`, `tc`.
const APPLETS: &str = "
    [ ash awk base64 basename cat chgrp chmod chown clear cmp cp cut date dd df diff dirname dmesg du echo egrep env expr
    false fgrep find free grep groups gunzip gzip head hexdump hostname id ifconfig kill killall less ln ls lsmod md5sum
    mkdir mkfifo mknod mktemp more mount mv nc nproc nsenter od pidof ping printf ps pwd readlink realpath
    rm rmdir rmmod sed seq setsid sh sha256sum sleep sort stat stty sync sysctl tac tail tar taskset tee test time timeout
    top touch tr true truncate tty umount uname uniq unshare uptime usleep vi watch wc which xargs xxd yes
";

/// True for the programs of busybox.
pub fn is_applet(name: &str) -> bool {
    APPLETS.split_whitespace().any(|applet| applet == name)
}

fn add_applets(archive: &mut Archive) {
    if !archive.contains(BUSYBOX) {
        return;
    }
    for name in APPLETS.split_whitespace() {
        let path = format!("/bin/{name}");
        if !archive.contains(&path) {
            archive.link(&path, "busybox");
        }
    }
}

const fn required(topology: Topology) -> &'static [&'static str] {
    match topology {
        Topology::Kvaser => &["can", "can_raw", "sja1000", "kvaser_pci"],
        Topology::Vcan => &["can", "can_raw", "vcan"],
        Topology::Wire => &["can", "can_raw", "vhci_hcd", "gs_usb"],
    }
}

/// Loaded at boot if available and wanted.
const OPTIONAL: &[&str] = &["can_gw"];

/// Loaded when the kernel or tc asks for them.
const ON_DEMAND: &str = "
    af_packet
    act_gact act_mirred act_pedit act_police act_skbedit
    can_bcm can_isotp can_j1939 slcan vcan vxcan
    cls_basic cls_bpf cls_flow cls_fw cls_matchall cls_u32
    em_canid em_cmp em_meta em_nbyte em_u32
    sch_cbs sch_codel sch_drr sch_etf sch_ets sch_fq sch_fq_codel sch_hfsc sch_htb sch_ingress sch_mqprio sch_multiq
    sch_netem sch_plug sch_prio sch_qfq sch_sfq sch_skbprio sch_taprio sch_tbf
    gs_usb ucan vhci_hcd veth
";

/// The names of all modules that a guest may load, of all topologies.
pub fn loadable() -> Vec<&'static str> {
    let required = Topology::ALL.iter().flat_map(|&topology| required(topology));
    required.chain(OPTIONAL).copied().chain(ON_DEMAND.split_whitespace()).collect()
}

fn add_modules(
    archive: &mut Archive,
    kernel: &CachedKernel,
    job: &mut Job,
    contents: &Contents,
) -> Result<(), ImageError> {
    let tree = kernel.module_tree()?;
    let excluded: BTreeSet<String> = contents.without_modules.iter().map(|name| plain(name)).collect();
    let of_user = kernel.replaced().iter().map(|replaced| replaced.module.as_str());
    let at_boot: Vec<&str> = required(job.topology).iter().chain(OPTIONAL).copied().chain(of_user).collect();
    let boot = tree.closure(&at_boot, &excluded)?;
    let missing = required(job.topology)
        .iter()
        .filter(|&&name| !excluded.contains(name) && !kernel.has_built_in(name))
        .find(|&&name| boot.iter().all(|module| module.name != name));
    if let Some(module) = missing {
        return Err(ImageError::NoModule {
            kernel: kernel.name.clone(),
            module: (*module).to_owned(),
            topology: job.topology,
        });
    }
    let all: Vec<&str> = at_boot.iter().copied().chain(ON_DEMAND.split_whitespace()).collect();
    let mut index = ModuleIndex::default();
    let modules = tree.closure(&all, &excluded)?;
    kernel.check_built_for(&modules)?;
    for module in modules {
        let path = format!("/lib/modules/{}.ko", module.name);
        let settings = contents.module_parameters.iter().filter(|parameter| parameter.module == module.name);
        let parameters = settings.map(|parameter| parameter.setting.as_str()).collect::<Vec<_>>().join(" ");
        for alias in module.aliases {
            index.aliases.insert(alias, module.name.clone());
        }
        archive.file(&path, FileKind::Data, module.bytes);
        let file = ModuleFile { path, parameters };
        index.modules.insert(module.name, IndexedModule { file, depends: module.depends });
    }
    if let Some(parameter) =
        contents.module_parameters.iter().find(|parameter| !index.modules.contains_key(&parameter.module))
    {
        let (kernel, module) = (kernel.name.clone(), parameter.module.clone());
        return Err(ImageError::NoModuleForParameter { kernel, module });
    }
    job.modules = boot.iter().filter_map(|module| Some(index.modules.get(&module.name)?.file.clone())).collect();
    archive.file(MODULES_PATH, FileKind::Data, json(&index));
    Ok(())
}

fn add_programs(archive: &mut Archive, contents: &Contents) -> Result<(), ImageError> {
    let mut needs = Needs::new();
    for name in &contents.programs {
        programs::add(&mut needs, &locate(name)?, contents.arch)?;
    }
    add_needs(archive, needs)
}

fn add_needs_of_copy(
    archive: &mut Archive,
    path: &Path,
    kind: FileKind,
    bytes: &[u8],
    arch: Arch,
) -> Result<(), ImageError> {
    let mut needs = Needs::new();
    if linkage(path).is_ok() {
        programs::add_libraries(&mut needs, path, arch)?;
    } else if kind == FileKind::Program && programs::is_script(bytes) {
        let has = |path: &str| archive.contains(&without_links(path));
        programs::add_interpreter(&mut needs, path, bytes, arch, &has)?;
    }
    add_needs(archive, needs)
}

fn add_needs(archive: &mut Archive, needs: Needs) -> Result<(), ImageError> {
    for (target, source) in needs {
        let target = without_links(&target);
        if !archive.contains(&target) {
            archive.file(&target, FileKind::Program, read_program(&source)?);
        }
    }
    Ok(())
}

/// A path that does not lead through [`FOLDER_LINKS`].
fn without_links(path: &str) -> String {
    let real = |(link, target): &(&str, &str)| {
        let rest = path.strip_prefix(link).filter(|rest| rest.starts_with('/'))?;
        Some(format!("{target}{rest}"))
    };
    FOLDER_LINKS.iter().find_map(real).unwrap_or_else(|| path.to_owned())
}

fn is_program(path: &Path) -> Result<bool, ImageError> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = fs::metadata(path).map_err(|source| ImageError::File { path: path.to_owned(), source })?;
    Ok(metadata.permissions().mode() & 0o111 != 0)
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    fs::read(path).map_err(|source| ImageError::File { path: path.to_owned(), source })
}

/// Without debugging information: a debug build can have more than fits into the memory of a guest.
fn read_program(path: &Path) -> Result<Vec<u8>, ImageError> {
    Ok(programs::without_debug_information(read(path)?))
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("maps with text keys and plain values always have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(archive: &Archive) -> String {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn small_programs_do_not_replace_others() {
        let mut archive = Archive::default();
        archive.file("/bin/cat", FileKind::Program, b"other cat".to_vec());
        add_applets(&mut archive);
        assert!(!archive.contains("/bin/sh"), "links need busybox");
        archive.file(BUSYBOX, FileKind::Program, Vec::new());
        add_applets(&mut archive);
        assert!(archive.contains("/bin/sh") && text(&archive).contains("other cat"));
        assert!(
            ["ip", "tc", "modprobe"]
                .into_iter()
                .all(|name| !is_applet(name) && !archive.contains(&format!("/bin/{name}")))
        );
    }

    #[test]
    fn loader_and_libraries_are_in_one_folder() {
        for (path, real) in [
            ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2"),
            ("/usr/lib/x.so", "/lib/x.so"),
            ("/usr/bin/env", "/bin/env"),
            ("/usr/binary", "/usr/binary"),
            ("/bin/sh", "/bin/sh"),
        ] {
            assert_eq!(without_links(path), real);
        }
    }

    #[test]
    fn copied_scripts_bring_their_interpreter_unless_the_guest_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let bytes = b"#!/bin/sh\n";
        fs::write(&script, bytes).unwrap();
        let image = |kind, with_shell: bool| {
            let mut archive = Archive::default();
            if with_shell {
                archive.file(BUSYBOX, FileKind::Program, Vec::new());
                add_applets(&mut archive);
            }
            add_needs_of_copy(&mut archive, &script, kind, bytes, Arch::X86_64).unwrap();
            archive
        };
        assert!(image(FileKind::Program, false).contains("/bin/sh"));
        assert!(!image(FileKind::Data, false).contains("/bin/sh"));
        assert!(!text(&image(FileKind::Program, true)).contains("ELF"), "the machine's own shell");
    }
}
