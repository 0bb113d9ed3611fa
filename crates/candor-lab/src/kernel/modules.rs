//! Kernel modules: names, dependencies, load order and parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use object::{Object as _, ObjectSection as _};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// With `_`, as in `/proc/modules`.
    pub name: String,
    pub depends: Vec<String>,
    /// Aliases that contain no pattern.
    pub aliases: Vec<String>,
    /// The kernel that it is built for: its release, and options that change data structures.
    pub vermagic: String,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct ModuleTree {
    files: BTreeMap<String, PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("The kernel modules {} need each other", .0.join(", "))]
    Circle(Vec<String>),
    #[error("Cannot read the kernel module {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not a kernel module: {reason}")]
    Odd { path: PathBuf, reason: String },
    #[error(
        "Cannot unpack the kernel module {path}: unpack it with {command}, or build the kernel without CONFIG_MODULE_COMPRESS"
    )]
    Packed { path: PathBuf, command: &'static str },
}

impl ModuleTree {
    pub fn scan(folder: &Path) -> Result<Self, ModuleError> {
        let mut tree = Self::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let failed = |source| ModuleError::Read { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                if entry.file_type().map_err(failed)?.is_dir() {
                    folders.push(entry.path());
                } else if let Some(name) = module_name(&entry.path()) {
                    tree.files.insert(name, entry.path());
                }
            }
        }
        Ok(tree)
    }

    /// The modules of a tree in which a kernel was built, from its `modules.order`.
    pub fn of_build(folder: &Path) -> Result<Self, ModuleError> {
        let path = folder.join("modules.order");
        let list = fs::read_to_string(&path).map_err(|source| ModuleError::Read { path, source })?;
        // Older ones begin each line with `kernel/`; newer ones name objects.
        let file = |line: &str| Path::new(line.strip_prefix("kernel/").unwrap_or(line)).with_extension("ko");
        let module = |line: &str| Some((module_name(&file(line))?, folder.join(file(line))));
        Ok(Self { files: list.lines().filter_map(module).collect() })
    }

    pub fn path(&self, module: &str) -> Option<&Path> {
        self.files.get(module).map(PathBuf::as_path)
    }

    /// Uses this file for the module of its name.
    pub fn put(&mut self, name: String, path: PathBuf) {
        self.files.insert(name, path);
    }

    /// The given modules and their dependencies, each after what it depends on. Modules that do not exist (built in or
    /// not configured) are left out, as are those that depend on an excluded one.
    pub fn closure(&self, wanted: &[&str], excluded: &BTreeSet<String>) -> Result<Vec<Module>, ModuleError> {
        let mut read: BTreeMap<String, Module> = BTreeMap::new();
        let mut queue: Vec<String> = wanted.iter().map(|name| plain(name)).collect();
        while let Some(name) = queue.pop() {
            if read.contains_key(&name) || excluded.contains(&name) {
                continue;
            }
            if let Some(path) = self.files.get(&name) {
                let module = read_module(&name, path)?;
                queue.extend(module.depends.iter().cloned());
                read.insert(name, module);
            }
        }
        in_order(read, excluded)
    }
}

/// `-` becomes `_`, as in the kernel.
pub fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// Loadable modules in dependency order, then by name.
fn in_order(mut modules: BTreeMap<String, Module>, excluded: &BTreeSet<String>) -> Result<Vec<Module>, ModuleError> {
    let mut unloadable: BTreeSet<String> = excluded.clone();
    loop {
        let before = unloadable.len();
        for module in modules.values() {
            if module.depends.iter().any(|name| unloadable.contains(name)) {
                unloadable.insert(module.name.clone());
            }
        }
        if unloadable.len() == before {
            break;
        }
    }
    modules.retain(|name, _| !unloadable.contains(name));
    let mut ordered: Vec<Module> = Vec::new();
    while !modules.is_empty() {
        let ready: Vec<String> = modules
            .values()
            .filter(|module| !module.depends.iter().any(|name| modules.contains_key(name)))
            .map(|module| module.name.clone())
            .collect();
        if ready.is_empty() {
            return Err(ModuleError::Circle(modules.into_keys().collect()));
        }
        ordered.extend(ready.iter().filter_map(|name| modules.remove(name)));
    }
    Ok(ordered)
}

/// Ends of the names of modules. Those of [`PACKED`] must be unpacked first.
const ENDS: [&str; 4] = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"];
/// End of the name, and the command that unpacks it.
const PACKED: [(&str, &str); 2] = [("gz", "gunzip"), ("zst", "unzstd")];

pub(super) fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    ENDS.iter().find_map(|end| name.strip_suffix(end)).map(plain)
}

pub(super) fn read_module(name: &str, path: &Path) -> Result<Module, ModuleError> {
    let failed = |source| ModuleError::Read { path: path.to_owned(), source };
    let odd = |reason: String| ModuleError::Odd { path: path.to_owned(), reason };
    let end = path.extension().unwrap_or_default();
    if let Some((_, command)) = PACKED.iter().find(|(packed, _)| end == *packed) {
        return Err(ModuleError::Packed { path: path.to_owned(), command });
    }
    let bytes = if end == "xz" {
        let mut bytes = Vec::new();
        let mut reader = BufReader::new(fs::File::open(path).map_err(failed)?);
        lzma_rs::xz_decompress(&mut reader, &mut bytes).map_err(|error| odd(error.to_string()))?;
        bytes
    } else {
        fs::read(path).map_err(failed)?
    };
    let info = {
        let file = object::File::parse(&*bytes).map_err(|error| match bytes.starts_with(b"\x7FELF") {
            true => odd(error.to_string()),
            false => odd("it is no ELF file".to_owned()),
        })?;
        let section = file.section_by_name(".modinfo").ok_or_else(|| odd("no .modinfo section".to_owned()))?;
        Modinfo::parse(section.data().map_err(|error| odd(error.to_string()))?)
    };
    Ok(Module { name: name.to_owned(), depends: info.depends, aliases: info.aliases, vermagic: info.vermagic, bytes })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Modinfo {
    depends: Vec<String>,
    aliases: Vec<String>,
    vermagic: String,
}

impl Modinfo {
    /// NUL-terminated `name=value`. The rest is ignored.
    fn parse(section: &[u8]) -> Self {
        let mut info = Self::default();
        for entry in section.split(|&byte| byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            match entry.split_once('=') {
                Some(("depends", names)) => {
                    info.depends.extend(names.split(',').filter(|name| !name.is_empty()).map(plain));
                }
                Some(("vermagic", text)) => text.trim_end().clone_into(&mut info.vermagic),
                Some(("alias", alias)) if !alias.contains(['*', '?', '[']) => info.aliases.push(alias.to_owned()),
                _ => {}
            }
        }
        info
    }
}

/// Parameter of a module, as on the kernel's command line: `can_gw.max_hops=6`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleParameter {
    pub module: String,
    pub setting: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a module parameter is written MODULE.NAME=VALUE, as in can_gw.max_hops=6, without spaces and quotes")]
pub struct BadParameter;

impl FromStr for ModuleParameter {
    type Err = BadParameter;

    fn from_str(text: &str) -> Result<Self, BadParameter> {
        let (left, value) = text.split_once('=').ok_or(BadParameter)?;
        let (module, name) = left.split_once('.').ok_or(BadParameter)?;
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        // The kernel splits parameters at spaces outside quotes.
        let is_value = value.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
        if !is_name(module) || !is_name(name) || !is_value {
            return Err(BadParameter);
        }
        Ok(Self { module: plain(module), setting: format!("{name}={value}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(modules: &[(&str, &[&str])]) -> BTreeMap<String, Module> {
        let module = |&(name, depends): &(&str, &[&str])| {
            let depends = depends.iter().map(|&name| name.to_owned()).collect();
            (
                name.to_owned(),
                Module {
                    name: name.to_owned(),
                    depends,
                    aliases: Vec::new(),
                    vermagic: String::new(),
                    bytes: Vec::new(),
                },
            )
        };
        modules.iter().map(module).collect()
    }

    fn names(modules: &[Module]) -> Vec<&str> {
        modules.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn modules_follow_their_dependencies() {
        let modules = set(&[("can", &[]), ("can_dev", &[]), ("vcan", &["can_dev"]), ("can_gw", &["can", "builtin"])]);
        let ordered = in_order(modules, &BTreeSet::new()).unwrap();
        assert_eq!(names(&ordered), ["can", "can_dev", "can_gw", "vcan"]);
    }

    #[test]
    fn dependents_of_excluded_modules_are_excluded() {
        let modules = set(&[("can_raw", &["can"]), ("vcan", &["can_dev"]), ("user", &["can_raw"])]);
        let ordered = in_order(modules, &BTreeSet::from(["can".to_owned()])).unwrap();
        assert_eq!(names(&ordered), ["vcan"]);
    }

    #[test]
    fn circular_dependencies_are_an_error() {
        let modules = set(&[("a", &["b"]), ("b", &["a"])]);
        assert!(matches!(in_order(modules, &BTreeSet::new()), Err(ModuleError::Circle(_))));
    }

    #[test]
    fn parses_modinfo() {
        let section =
            b"license=GPL\0alias=can-proto-1\0alias=pci:v*\0depends=can-dev,sja1000\0\0name=x\0depends=\0\xFF=\0\
              vermagic=6.1.0-1-amd64 SMP preempt \0";
        let expected = Modinfo {
            depends: vec!["can_dev".into(), "sja1000".into()],
            aliases: vec!["can-proto-1".into()],
            vermagic: "6.1.0-1-amd64 SMP preempt".into(),
        };
        assert_eq!(Modinfo::parse(section), expected);
    }

    #[test]
    fn module_names_of_files() {
        assert_eq!(module_name(Path::new("/x/can-raw.ko.xz")).as_deref(), Some("can_raw"));
        assert_eq!(module_name(Path::new("/x/vcan.ko")).as_deref(), Some("vcan"));
        assert_eq!(module_name(Path::new("/x/vcan.ko.zst")).as_deref(), Some("vcan"));
        assert_eq!(module_name(Path::new("/x/modules.dep")), None);
    }

    #[test]
    fn unreadable_modules_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "x").unwrap();
            read_module("vcan", &path).unwrap_err().to_string()
        };
        assert!(said("vcan.ko.zst").contains("vcan.ko.zst: unpack it with unzstd"));
        assert!(said("vcan.ko.gz").contains("vcan.ko.gz: unpack it with gunzip"));
        assert!(said("vcan.ko").ends_with("vcan.ko is not a kernel module: it is no ELF file"));
    }

    #[test]
    fn parses_module_parameters() {
        let parameter: ModuleParameter = "can-gw.max_hops=6".parse().unwrap();
        assert_eq!((parameter.module.as_str(), parameter.setting.as_str()), ("can_gw", "max_hops=6"));
        let empty: ModuleParameter = "vcan.echo=".parse().unwrap();
        assert_eq!(empty.setting, "echo=");
        let list: ModuleParameter = "slcan.maxdev=1,2.5".parse().unwrap();
        assert_eq!(list.setting, "maxdev=1,2.5");
        for text in [
            "",
            "can_gw",
            "can_gw.max_hops",
            "max_hops=6",
            ".max_hops=6",
            "can_gw.=6",
            "a.b=1 2",
            "a.b=\"1\"",
            "../a.b=1",
        ] {
            assert_eq!(text.parse::<ModuleParameter>(), Err(BadParameter), "{text}");
        }
    }
}
