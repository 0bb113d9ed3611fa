//! Functions of the kernel and of programs by address.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SegmentFlags, SymbolKind, elf};

/// Name of the file that the tester leaves in a guest.
pub const ADDRESSES: &str = "addresses.txt";

/// Stack limit of the gateway. Programs are loaded below the space for the stack, so it has other addresses than the
/// tester.
pub const STACK_MIB: u16 = 1024;

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("Cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("Line {line} of the guest's list of addresses is damaged: {text}")]
    Line { line: usize, text: String },
    #[error("{path} is not a program")]
    Program { path: PathBuf, source: object::Error },
}

/// Addresses of the functions of this kernel, and of the programs of all processes. The name of a kernel's function is
/// followed by that of its module.
///
/// # Kernel
/// Needs CAP_SYSLOG; without it, all addresses are 0.
///
/// # Errors
/// Those of reading `/proc`.
pub fn of_this_machine() -> io::Result<String> {
    let mut text = String::new();
    for line in fs::read_to_string("/proc/kallsyms")?.lines() {
        let mut words = line.split_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
        if matches!(kind, "t" | "T" | "w" | "W") {
            let module = words.next().unwrap_or_default();
            let _ = writeln!(text, "k {address} {name} {module}");
        }
    }
    for process in fs::read_dir("/proc")?.flatten() {
        let Ok(maps) = fs::read_to_string(process.path().join("maps")) else { continue };
        for line in maps.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            if let [range, rights, offset, _, _, file] = words[..]
                && rights.contains('x')
            {
                let _ = writeln!(text, "u {range} {offset} {file}");
            }
        }
    }
    Ok(text)
}

/// A function, by its place among all.
pub(super) type FunctionId = u32;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// `kernel`, the name of a module in brackets, or the name of a program.
    pub place: String,
    pub name: String,
}

/// All functions of a guest.
#[derive(Debug, Default)]
pub struct Functions {
    /// First addresses, sorted.
    starts: Vec<(u64, FunctionId)>,
    functions: Vec<Function>,
    known: HashMap<Function, FunctionId>,
}

/// An executable mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    file: String,
}

impl Functions {
    /// Parses the text of [`of_this_machine`]. `program` finds the program of a guest's path on this machine.
    ///
    /// # Errors
    /// [`AddressError`]
    pub fn parse(text: &str, program: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, AddressError> {
        let mut functions = Self::default();
        let mut mappings = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let damaged = || AddressError::Line { line, text: text.to_owned() };
            let words: Vec<_> = text.split_whitespace().collect();
            match words[..] {
                ["k", address, name, ref module @ ..] => {
                    let place = module.first().copied().unwrap_or("kernel");
                    let address = hexadecimal(address).ok_or_else(damaged)?;
                    functions.add(address, place, plain(name));
                }
                ["u", range, offset, file] => {
                    let mapping = || {
                        let (from, to) = range.split_once('-')?;
                        let (from, to) = (hexadecimal(from)?, hexadecimal(to)?);
                        Some(Mapping { from, to, offset: hexadecimal(offset)?, file: file.to_owned() })
                    };
                    mappings.push(mapping().ok_or_else(damaged)?);
                }
                _ => return Err(damaged()),
            }
        }
        mappings.sort();
        mappings.dedup();
        let mut programs = BTreeMap::new();
        for mapping in &mappings {
            let name = mapping.file.rsplit('/').next().unwrap_or(&mapping.file).to_owned();
            // What lies between the first address of the mapping and its first function, and after its end.
            functions.add(mapping.from, &name, "?");
            functions.add(mapping.to, "?", "?");
            let Some(path) = program(&mapping.file) else { continue };
            if !programs.contains_key(&path) {
                programs.insert(path.clone(), Program::read(&path)?);
            }
            for (address, symbol) in programs[&path].at(mapping) {
                functions.add(address, &name, &symbol);
            }
        }
        // The plainest of several names, and rather a function than a border.
        let rank = |id: FunctionId| {
            let name = functions.functions[id as usize].name.as_str();
            let is_border = name == "?" || name.ends_with("_start") || name.ends_with("_end");
            (is_border, name.len() - name.trim_start_matches('_').len(), name.len())
        };
        functions.starts.sort_by_key(|&(address, id)| (address, rank(id)));
        functions.starts.dedup_by_key(|&mut (address, _)| address);
        Ok(functions)
    }

    fn add(&mut self, address: u64, place: &str, name: &str) {
        let function = Function { place: place.to_owned(), name: name.to_owned() };
        let next = FunctionId::try_from(self.functions.len()).unwrap_or(FunctionId::MAX);
        let id = *self.known.entry(function.clone()).or_insert(next);
        if id == next {
            self.functions.push(function);
        }
        self.starts.push((address, id));
    }

    /// The function at this address, and whether it begins there.
    pub(super) fn at(&self, address: u64) -> Option<(FunctionId, bool)> {
        let after = self.starts.partition_point(|&(start, _)| start <= address);
        let (start, id) = *self.starts.get(after.checked_sub(1)?)?;
        Some((id, start == address))
    }

    pub(super) fn get(&self, id: FunctionId) -> &Function {
        &self.functions[id as usize]
    }

    /// Whether it only jumps to the target of an indirect call.
    pub(super) fn is_thunk(&self, id: FunctionId) -> bool {
        self.get(id).name.contains("_thunk")
    }

    pub(super) fn named(&self, name: &str) -> Option<FunctionId> {
        self.known.get(&Function { place: "kernel".to_owned(), name: name.to_owned() }).copied()
    }
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// A kernel's function without what the compiler adds to its parts and copies, such as `.isra.0` and `.cold`, and without
/// what newer kernels add to the names of some, so that kernels can be compared.
fn plain(name: &str) -> &str {
    let name = name.split_once('.').map_or(name, |(name, _)| if name.is_empty() { "?" } else { name });
    let name = name.strip_prefix("__pi_").unwrap_or(name);
    ["_noprof", "_orig"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

#[derive(Debug)]
struct Program {
    /// File offset, size and address of each part with code.
    parts: Vec<(u64, u64, u64)>,
    functions: Vec<(u64, String)>,
}

impl Program {
    fn read(path: &Path) -> Result<Self, AddressError> {
        let bytes = fs::read(path).map_err(|source| AddressError::Read { path: path.to_owned(), source })?;
        let file =
            object::File::parse(&*bytes).map_err(|source| AddressError::Program { path: path.to_owned(), source })?;
        let part = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        };
        let is_code = |segment: &object::Segment<'_, '_>| matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(elf::PF_X));
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.address() != 0);
        let named = functions.filter_map(|symbol| Some((symbol.address(), readable(symbol.name().ok()?))));
        Ok(Self { parts: file.segments().filter(is_code).map(part).collect(), functions: named.collect() })
    }

    /// The functions inside of a mapping.
    fn at(&self, mapping: &Mapping) -> Vec<(u64, String)> {
        let is_mapped = |&&(offset, size, _): &&(u64, u64, u64)| {
            mapping.offset < offset + size && offset < mapping.offset + (mapping.to - mapping.from)
        };
        let Some(&(offset, _, address)) = self.parts.iter().find(is_mapped) else { return Vec::new() };
        // Both are zero for programs without a fixed address.
        let moved = mapping.from.wrapping_sub(mapping.offset).wrapping_sub(address.wrapping_sub(offset));
        let placed = self.functions.iter().map(|(address, name)| (address.wrapping_add(moved), name.clone()));
        placed.filter(|(address, _)| (mapping.from..mapping.to).contains(address)).collect()
    }
}

/// A Rust function without crate hashes.
fn readable(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(functions: &Functions, address: u64) -> (String, String, bool) {
        let (id, begins) = functions.at(address).unwrap();
        let Function { place, name } = functions.get(id).clone();
        (place, name, begins)
    }

    #[test]
    fn addresses_belong_to_the_function_before_them() {
        let text = "k ffffffff81000000 text_start \nk ffffffff81000000 startup_64 \nk ffffffff81000100 can_rcv.isra.0 [can]\n\
                    k ffffffff81000200 can_rcv.cold [can]\nu 400000-401000 0 /bin/tool\n";
        let functions = Functions::parse(text, |_| None).unwrap();
        let owned = |place: &str, name: &str, begins| (place.to_owned(), name.to_owned(), begins);
        assert_eq!(function(&functions, 0xffff_ffff_8100_0000), owned("kernel", "startup_64", true));
        assert_eq!(function(&functions, 0xffff_ffff_8100_0105), owned("[can]", "can_rcv", false));
        assert_eq!(function(&functions, 0xffff_ffff_8100_0200), owned("[can]", "can_rcv", true));
        assert_eq!(function(&functions, 0x40_0abc), owned("tool", "?", false));
        assert_eq!(function(&functions, 0x40_1000), owned("?", "?", true));
        assert_eq!(functions.at(0x10), None);
        assert!(functions.named("startup_64").is_some() && functions.named("can_rcv").is_none());
    }

    #[test]
    fn names_are_those_of_older_kernels() {
        for (name, expected) in [
            ("kmem_cache_alloc_noprof", "kmem_cache_alloc"),
            ("__pi___x86_indirect_thunk_rax", "__x86_indirect_thunk_rax"),
            ("memset_orig", "memset"),
            ("can_rcv.isra.0", "can_rcv"),
            (".text", "?"),
            ("original", "original"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }

    #[test]
    fn damaged_lines_are_named() {
        for text in ["k zz a", "x", "u 1-2 0", "u 12 0 /bin/a"] {
            let error = Functions::parse(&format!("k 1 a\n{text}\n"), |_| None).unwrap_err();
            assert!(matches!(error, AddressError::Line { line: 2, .. }), "{error}");
        }
    }

    /// The address of a function of this test is where its own mapping and symbols say.
    #[test]
    fn finds_its_own_function() {
        let functions = Functions::parse(&of_this_machine().unwrap(), |path| {
            Some(PathBuf::from(path)).filter(|path| path.is_file())
        });
        let here = hexadecimal as fn(&str) -> Option<u64> as usize;
        let (_, name, begins) = function(&functions.unwrap(), u64::try_from(here).unwrap());
        assert!(begins && name.ends_with("hexadecimal"), "{name}");
    }
}
