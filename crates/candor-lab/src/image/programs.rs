//! Programs of the host for a guest, with everything they need to start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Architecture, Object as _};

use crate::arch::Arch;

/// Path in the guest → path on the host.
pub(super) type Needs = BTreeMap<String, PathBuf>;

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("The program {program} needs {library}, which is neither on this machine nor next to it")]
    NoLibrary { program: PathBuf, library: String },
    #[error("This machine has no program {0}")]
    NotFound(String),
    #[error("{path} is for another architecture than {}", .arch.name())]
    OtherProcessor { path: PathBuf, arch: Arch },
    #[error("{path} is neither a program for this kind of machine nor a script: {reason}")]
    Odd { path: PathBuf, reason: String },
    #[error("Cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linkage {
    processor: Architecture,
    /// The dynamic loader; `None` for a static program.
    pub interpreter: Option<String>,
    libraries: Vec<String>,
    search: Vec<String>,
}

impl Linkage {
    pub fn is_for(&self, arch: Arch) -> bool {
        self.processor == arch.of_programs()
    }
}

/// Looks up a program in PATH and the system directories, unless the name has a `/`.
pub fn locate(name: &str) -> Result<PathBuf, ProgramError> {
    let not_found = || ProgramError::NotFound(name.to_owned());
    if name.contains('/') {
        let path = PathBuf::from(name);
        return if path.is_file() { Ok(path) } else { Err(not_found()) };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(not_found)
}

/// Adds a program as `/bin/NAME`, with libraries and loader, or the interpreter of a script.
pub(super) fn add(needs: &mut Needs, program: &Path, arch: Arch) -> Result<(), ProgramError> {
    let name = program.file_name().and_then(OsStr::to_str).ok_or_else(|| odd(program, "its name is not text"))?;
    needs.insert(format!("/bin/{name}"), program.to_owned());
    let bytes = read(program)?;
    if is_script(&bytes) {
        add_interpreter(needs, program, &bytes, arch, &|_| false)
    } else {
        add_libraries(needs, program, arch)
    }
}

pub(super) fn is_script(bytes: &[u8]) -> bool {
    bytes.starts_with(b"#!")
}

/// Adds the interpreter of a script unless the guest has it at this path.
pub(super) fn add_interpreter(
    needs: &mut Needs,
    script: &Path,
    bytes: &[u8],
    arch: Arch,
    has: &dyn Fn(&str) -> bool,
) -> Result<(), ProgramError> {
    let line = bytes[2..].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_not_text| odd(script, "its first line is not text"))?;
    let mut words = line.split_whitespace();
    let interpreter = words.next().ok_or_else(|| odd(script, "its first line names no interpreter"))?;
    // `#!/usr/bin/env NAME` needs both.
    if interpreter.ends_with("/env")
        && let Some(name) = words.find(|word| !word.starts_with('-'))
        && !has(&format!("/bin/{name}"))
    {
        add(needs, &locate(name)?, arch)?;
    }
    if has(interpreter) {
        return Ok(());
    }
    needs.insert(interpreter.to_owned(), interpreter.into());
    add_libraries(needs, Path::new(interpreter), arch)
}

fn odd(path: &Path, reason: &str) -> ProgramError {
    ProgramError::Odd { path: path.to_owned(), reason: reason.to_owned() }
}

/// Adds the libraries of a program that is already in the image.
pub(super) fn add_libraries(needs: &mut Needs, program: &Path, arch: Arch) -> Result<(), ProgramError> {
    let folders = if arch.is_here() { library_folders(arch) } else { Vec::new() };
    let mut queue = vec![program.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(path) = queue.pop() {
        let linkage = linkage(&path)?;
        if !linkage.is_for(arch) {
            return Err(ProgramError::OtherProcessor { path, arch });
        }
        let origin = path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned())).unwrap_or_default();
        if let Some(interpreter) = linkage.interpreter {
            let Some(found) = loader(&interpreter, &origin, arch) else {
                return Err(ProgramError::NoLibrary { program: path, library: interpreter });
            };
            needs.entry(interpreter).or_insert(found);
        }
        let own: Vec<PathBuf> = linkage
            .search
            .iter()
            .map(|folder| {
                PathBuf::from(folder.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin.to_string_lossy()))
            })
            .collect();
        let unpacked_libraries = unpacked_libraries(&origin, arch);
        for library in linkage.libraries {
            if !seen.insert(library.clone()) {
                continue;
            }
            let found = own
                .iter()
                .chain(&folders)
                .chain(&unpacked_libraries)
                .map(|folder| folder.join(&library))
                .find(|path| path.is_file());
            let Some(found) = found else {
                return Err(ProgramError::NoLibrary { program: path, library });
            };
            // One directory for all, wherever the host keeps them.
            needs.insert(format!("{GUEST_LIBRARIES}/{library}"), found.clone());
            queue.push(found);
        }
    }
    Ok(())
}

/// Fails if the file is not an ELF file for this kind of machine.
pub fn linkage(path: &Path) -> Result<Linkage, ProgramError> {
    parse(&read(path)?).map_err(|reason| odd(path, &reason))
}

/// Fails if a guest could not start this ELF file.
pub fn check(path: &Path, arch: Arch) -> Result<(), ProgramError> {
    add_libraries(&mut Needs::new(), path, arch)
}

/// Directory of all libraries in guests. Every loader searches it, also for init, which has no `LD_LIBRARY_PATH`.
pub const GUEST_LIBRARIES: &str = "/lib";

fn parse(bytes: &[u8]) -> Result<Linkage, String> {
    let explain = |error: object::Error| error.to_string();
    let file: ElfFile64<'_> = ElfFile64::parse(bytes).map_err(explain)?;
    let endian = file.endian();
    let mut linkage =
        Linkage { processor: file.architecture(), interpreter: None, libraries: Vec::new(), search: Vec::new() };
    for header in file.elf_program_headers() {
        if let Some(interpreter) = header.interpreter(endian, bytes).map_err(explain)? {
            linkage.interpreter = Some(text(interpreter.strip_suffix(b"\0").unwrap_or(interpreter)));
        }
    }
    let sections = file.elf_header().sections(endian, bytes).map_err(explain)?;
    let Some((dynamic, strings)) = sections.dynamic(endian, bytes).map_err(explain)? else { return Ok(linkage) };
    let strings = sections.strings(endian, bytes, strings).map_err(explain)?;
    for entry in dynamic {
        let value = || entry.string(endian, strings).map(text).map_err(explain);
        match entry.d_tag(endian) {
            elf::DT_NEEDED => linkage.libraries.push(value()?),
            elf::DT_RPATH | elf::DT_RUNPATH => linkage.search.extend(value()?.split(':').map(str::to_owned)),
            elf::DT_NULL => break,
            _ => {}
        }
    }
    Ok(linkage)
}

/// Leaves out the sections that are not loaded if some of them contain debugging information.
pub(super) fn without_debug_information(bytes: Vec<u8>) -> Vec<u8> {
    let has =
        |file: &ElfFile64<'_>| [".debug_info", ".debug_line"].iter().any(|&name| file.section_by_name(name).is_some());
    match ElfFile64::parse(&*bytes) {
        Ok(file) if has(&file) => loaded_part(&bytes, &file),
        _ => bytes,
    }
}

fn loaded_part(bytes: &[u8], file: &ElfFile64<'_>) -> Vec<u8> {
    /// Of the section headers: offset, then number and index of names.
    const HEADER_FIELDS: [std::ops::Range<usize>; 2] = [0x28..0x30, 0x3C..0x40];
    let end = |header: &elf::ProgramHeader64<_>| {
        let (offset, size) = header.file_range(file.endian());
        usize::try_from(offset.saturating_add(size)).unwrap_or(usize::MAX)
    };
    let end = file.elf_program_headers().iter().map(end).max().unwrap_or(usize::MAX);
    let mut loaded = bytes[..end.min(bytes.len())].to_vec();
    for field in HEADER_FIELDS {
        loaded[field].fill(0);
    }
    loaded
}

fn text(bytes: &[u8]) -> String {
    OsStr::from_bytes(bytes).to_string_lossy().into_owned()
}

/// Library directories of a program in an unpacked package: for `TREE/usr/sbin` and `TREE/sbin`, those below `TREE/usr/lib`
/// and `TREE/lib`.
fn unpacked_libraries(origin: &Path, arch: Arch) -> Vec<PathBuf> {
    let usual = ["lib", "usr/lib"].map(|folder| format!("{folder}/{}", arch.libraries()));
    origin.ancestors().skip(1).take(3).flat_map(|folder| usual.each_ref().map(|usual| folder.join(usual))).collect()
}

/// The dynamic loader: that of this machine, or the one in the tree of an unpacked package.
fn loader(interpreter: &str, origin: &Path, arch: Arch) -> Option<PathBuf> {
    if arch.is_here() {
        return Some(interpreter.into());
    }
    let inside = interpreter.trim_start_matches('/');
    origin.ancestors().map(|folder| folder.join(inside)).find(|path| path.is_file())
}

/// Search path of this machine's loader, configured directories first.
fn library_folders(arch: Arch) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    read_configuration(Path::new("/etc/ld.so.conf"), &mut folders, 0);
    for parent in ["/lib", "/usr/lib"] {
        folders.push(Path::new(parent).join(arch.libraries()));
    }
    folders.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
    folders
}

fn read_configuration(path: &Path, folders: &mut Vec<PathBuf>, depth: u8) {
    let Ok(text) = fs::read_to_string(path) else { return };
    for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
        match line.strip_prefix("include ") {
            // Usually `/etc/ld.so.conf.d/*.conf`.
            Some(pattern) if depth < 4 => {
                let pattern = Path::new(pattern.trim());
                let Some(Ok(entries)) = pattern.parent().map(fs::read_dir) else { continue };
                let mut parts: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
                parts.retain(|part| part.extension() == pattern.extension());
                parts.sort();
                parts.iter().for_each(|part| read_configuration(part, folders, depth + 1));
            }
            None if line.starts_with('/') => folders.push(line.into()),
            _ => {}
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let failed = |source| ProgramError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(failed)?.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacked_program_in_sbin_finds_libraries_below_usr() {
        let wanted = Path::new("/tree/usr/lib/aarch64-linux-gnu");
        assert!(unpacked_libraries(Path::new("/tree/sbin"), Arch::Arm64).iter().any(|folder| folder == wanted));
    }

    #[test]
    fn dynamic_program_needs_loader_and_libc() {
        let mut needs = Needs::new();
        let program = locate("dpkg").or_else(|_| locate("sh")).unwrap();
        add(&mut needs, &program, Arch::X86_64).unwrap();
        if let Some(interpreter) = linkage(&program).unwrap().interpreter {
            assert!(needs.contains_key(&interpreter));
            assert!(needs.contains_key(&format!("{GUEST_LIBRARIES}/libc.so.6")), "{needs:?}");
        }
    }

    #[test]
    fn program_of_this_machine_is_refused_for_another_processor() {
        let program = locate("sh").unwrap();
        let refused = add(&mut Needs::new(), &program, Arch::Arm64);
        assert!(matches!(refused, Err(ProgramError::OtherProcessor { path, .. }) if path == program), "{program:?}");
    }

    #[test]
    fn loader_for_another_processor_is_in_the_tree_of_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let (loader_path, programs) = (folder.path().join("lib/ld.so.1"), folder.path().join("usr/bin"));
        fs::create_dir_all(folder.path().join("lib")).unwrap();
        assert_eq!(loader("/lib/ld.so.1", &programs, Arch::Arm64), None);
        fs::write(&loader_path, "").unwrap();
        assert_eq!(loader("/lib/ld.so.1", &programs, Arch::Arm64), Some(loader_path));
        assert_eq!(loader("/lib/ld.so.1", &programs, Arch::X86_64), Some("/lib/ld.so.1".into()));
    }

    #[test]
    fn loaded_part_of_a_program_runs() {
        let whole = read(&std::env::current_exe().unwrap()).unwrap();
        let loaded = loaded_part(&whole, &ElfFile64::parse(&*whole).unwrap());
        assert!(loaded.len() < whole.len(), "{} bytes", loaded.len());
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::write(&program, &loaded).unwrap();
        // A child of another test holds the open file until it has started.
        let list = || std::process::Command::new(&program).arg("--list").output();
        let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
        let listed = loop {
            match list() {
                Err(error) if is_busy(&error) => std::thread::yield_now(),
                listed => break listed.unwrap(),
            }
        };
        assert!(listed.status.success(), "{listed:?}");
        // Programs without debugging information keep the names of their functions.
        assert_eq!(without_debug_information(loaded.clone()), loaded);
    }

    #[test]
    fn scripts_need_their_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("hello");
        fs::write(&script, "#!/bin/sh -e\necho hello\n").unwrap();
        let mut needs = Needs::new();
        add(&mut needs, &script, Arch::X86_64).unwrap();
        assert_eq!(needs.get("/bin/hello"), Some(&script));
        assert!(needs.contains_key("/bin/sh"));
    }

    #[test]
    fn interpreter_of_the_guest_is_used() {
        let mut needs = Needs::new();
        let has = |path: &str| ["/bin/ash", "/usr/bin/env"].contains(&path);
        let add = |needs: &mut Needs, line: &[u8]| add_interpreter(needs, Path::new("x"), line, Arch::X86_64, &has);
        add(&mut needs, b"#!/usr/bin/env ash\n").unwrap();
        add(&mut needs, b"#!/bin/ash -e\n").unwrap();
        assert_eq!(needs, Needs::new());
        let missing = add(&mut needs, b"#!/usr/bin/env no-such-shell\n");
        assert!(matches!(missing, Err(ProgramError::NotFound(name)) if name == "no-such-shell"));
    }

    #[test]
    fn garbage_is_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(b"\x7fELF\x02\x01\x01 and then nothing").is_err());
        assert!(matches!(locate("no-such-program-here"), Err(ProgramError::NotFound(_))));
    }
}
