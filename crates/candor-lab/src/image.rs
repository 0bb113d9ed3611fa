//! The initramfs of guests, the same for both testbeds.

mod archive;
mod programs;

pub use archive::{Archive, FileKind};
pub use programs::{GUEST_LIBRARIES, Linkage, ProgramError, linkage, locate};

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::device::gateway_program;
use crate::job::{HOME, IndexedModule, JOB_PATH, Job, MODULES_PATH, ModuleFile, ModuleIndex, OUT, Topology};
use crate::kernel::modules::{ModuleError, ModuleTree, plain};
use crate::kernel::{CachedKernel, ModuleParameter};
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
    Program(#[from] ProgramError),
    #[error(
        "No module {module} for guests on the kernel {kernel}, so it takes no parameters; candor-lab shell shows them in /lib/modules"
    )]
    NoModuleForParameter { kernel: String, module: String },
    #[error("Two of the copied files are called {name}")]
    Twice { name: String },
}

/// Builds the image, and sets `job.modules`.
pub fn build(kernel: &CachedKernel, lab: &Path, mut job: Job, contents: &Contents) -> Result<Archive, ImageError> {
    let mut archive = Archive::default();
    archive.console();
    for folder in ["/bin", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/tmp", HOME, OUT] {
        archive.folder(folder);
    }
    archive.file("/bin/candor", FileKind::Program, read(&gateway_program(lab))?);
    archive.file("/bin/candor-lab", FileKind::Program, read(lab)?);
    archive.link("/init", "bin/candor-lab");
    archive.link("/sbin/modprobe", "../bin/candor-lab");
    archive.link("/usr/bin", "../bin");
    archive.link("/usr/sbin", "../sbin");
    for (path, text) in ETC {
        archive.file(path, FileKind::Data, text.as_bytes().to_vec());
    }
    add_modules(&mut archive, kernel, &mut job, contents)?;
    add_programs(&mut archive, contents)?;
    for path in &contents.copies {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let target = format!("{HOME}/{name}");
        if archive.contains(&target) {
            return Err(ImageError::Twice { name: name.into_owned() });
        }
        let kind = if is_program(path)? { FileKind::Program } else { FileKind::Data };
        archive.file(&target, kind, read(path)?);
        add_needs_of_copy(&mut archive, path, contents.arch)?;
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
    act_gact act_mirred act_pedit act_police act_skbedit
    can_bcm can_isotp can_j1939 slcan vcan vxcan
    cls_basic cls_bpf cls_flow cls_fw cls_matchall cls_u32
    em_canid em_cmp em_meta em_nbyte em_u32
    sch_cbs sch_codel sch_drr sch_etf sch_ets sch_fq sch_fq_codel sch_hfsc sch_htb sch_ingress sch_mqprio sch_multiq
    sch_netem sch_plug sch_prio sch_qfq sch_sfq sch_skbprio sch_taprio sch_tbf
    gs_usb ucan vhci_hcd
";

fn add_modules(
    archive: &mut Archive,
    kernel: &CachedKernel,
    job: &mut Job,
    contents: &Contents,
) -> Result<(), ImageError> {
    let tree = ModuleTree::scan(&kernel.modules())?;
    let excluded: BTreeSet<String> = contents.without_modules.iter().map(|name| plain(name)).collect();
    let at_boot: Vec<&str> = required(job.topology).iter().chain(OPTIONAL).copied().collect();
    let boot = tree.closure(&at_boot, &excluded)?;
    let missing = required(job.topology)
        .iter()
        .find(|&&name| !excluded.contains(name) && boot.iter().all(|module| module.name != name));
    if let Some(module) = missing {
        return Err(ImageError::NoModule {
            kernel: kernel.name.clone(),
            module: (*module).to_owned(),
            topology: job.topology,
        });
    }
    let all: Vec<&str> = at_boot.iter().copied().chain(ON_DEMAND.split_whitespace()).collect();
    let mut index = ModuleIndex::default();
    for module in tree.closure(&all, &excluded)? {
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

fn add_needs_of_copy(archive: &mut Archive, path: &Path, arch: Arch) -> Result<(), ImageError> {
    let mut needs = Needs::new();
    if linkage(path).is_ok() {
        programs::add_libraries(&mut needs, path, arch)?;
    }
    add_needs(archive, needs)
}

fn add_needs(archive: &mut Archive, needs: Needs) -> Result<(), ImageError> {
    for (target, source) in needs {
        let target = without_links(&target);
        if !archive.contains(target) {
            archive.file(target, FileKind::Program, read(&source)?);
        }
    }
    Ok(())
}

/// `/usr/bin` and `/usr/sbin` are links in the guest, and an archive cannot write through them.
fn without_links(target: &str) -> &str {
    target.strip_prefix("/usr").filter(|rest| rest.starts_with("/bin/") || rest.starts_with("/sbin/")).unwrap_or(target)
}

fn is_program(path: &Path) -> Result<bool, ImageError> {
    use std::os::unix::fs::PermissionsExt as _;

    let metadata = fs::metadata(path).map_err(|source| ImageError::File { path: path.to_owned(), source })?;
    Ok(metadata.permissions().mode() & 0o111 != 0)
}

fn read(path: &Path) -> Result<Vec<u8>, ImageError> {
    fs::read(path).map_err(|source| ImageError::File { path: path.to_owned(), source })
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("maps with text keys and plain values always have a JSON form")
}
