//! Kernels of the user: a Debian package, or a tree in which a kernel was built.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::modules::{ModuleError, ModuleTree, module_name};
use super::options::Options;
use super::{CachedKernel, KernelError, LAYOUT, Pin, Testbed, file, read_manifest, replaced, tree, unpacked};
use crate::arch::Arch;
use crate::cache::Cache;
use crate::observer::Observer;
use crate::packages::{self, Control, PackageError};

/// What is known of a kernel that is not a pinned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// Of the package, or of the image in the tree.
    pub(super) sha256: String,
    image: PathBuf,
    /// The tree with its modules; `None`: the cache has them.
    tree: Option<PathBuf>,
    /// `None` if the package does not contain them.
    pub(super) options: Option<Options>,
    /// Names of the modules that are part of the image.
    builtin: BTreeSet<String>,
    /// File name of the package that contains the options, if they are in one of their own.
    base: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    #[error("{path} has no kernel for {} guests: {}", .arch.name(), because)]
    NoKernel { path: PathBuf, arch: Arch, because: String },
    #[error("{path} has no modules, and {companion} is not next to it: put it there")]
    NoCompanion { path: PathBuf, companion: String },
    #[error("{path} only depends on {depends}: put both packages next to it")]
    OnlyDepends { path: PathBuf, depends: String },
    #[error("{path} is neither a Debian package (.deb) nor the directory of a built kernel")]
    Neither { path: PathBuf },
    #[error("{path} is not a Debian package; was it downloaded completely?")]
    NoPackage { path: PathBuf },
    #[error("Your own kernels run in QEMU: add --testbed icount for {path}")]
    Uml { path: PathBuf },
    #[error("Cannot use {path}")]
    Package { path: PathBuf, source: PackageError },
    #[error("{path} is not completely built: {missing} is missing (make builds it together with the modules)")]
    Unbuilt { path: PathBuf, missing: String },
}

/// True if a kernel is named by its path. Names contain no `/`.
pub fn is_path(kernel: &str) -> bool {
    kernel.contains('/') || kernel.ends_with(".deb") || matches!(kernel, "." | "..")
}

/// True for a package, and for a directory in which a kernel was built.
pub fn is_own(arch: Arch, path: &Path) -> bool {
    let is_package = path.extension().is_some_and(|extension| extension == "deb") && !path.is_dir();
    is_package || images(arch).iter().any(|image| path.join(image).is_file())
}

/// The kernel of a package or a build tree.
pub(super) fn obtain(
    cache: &Cache,
    testbed: Testbed,
    name: &str,
    observer: &mut dyn Observer,
) -> Result<CachedKernel, KernelError> {
    let path = Path::new(name);
    if testbed == Testbed::Uml {
        return Err(OwnError::Uml { path: path.to_owned() }.into());
    }
    let found = fs::metadata(path).map_err(file(path))?;
    if found.is_dir() {
        built(cache, name, observer)
    } else if path.extension().is_some_and(|extension| extension == "deb") {
        package(cache, name, observer)
    } else {
        Err(OwnError::Neither { path: path.to_owned() }.into())
    }
}

/// Identifies a kernel of the user: a package (and the one next to it that has its modules), a build tree (its image and
/// those modules of it that guests `load`), a module, or the modules in a directory.
pub fn checksum(cache: &Cache, path: &Path, load: &[&str]) -> Result<String, KernelError> {
    let failed = |source| OwnError::Package { path: path.to_owned(), source };
    let image = images(cache.arch()).iter().map(|image| path.join(image)).find(|image| image.is_file());
    let files = match image {
        Some(image) if path.join("modules.order").is_file() => {
            let tree = ModuleTree::of_build(path)?;
            let modules = tree.closure(load, &BTreeSet::new())?;
            let files = modules.iter().filter_map(|module| tree.path(&module.name)).map(Path::to_owned);
            std::iter::once(image).chain(files).collect()
        }
        Some(image) => vec![image],
        None if is_own(cache.arch(), path) => {
            let control = packages::control(cache, path).map_err(failed)?;
            control.map_or_else(|| vec![path.to_owned()], |control| with_companions(path, &control))
        }
        None => replaced::files(path)?,
    };
    let sums = packages::sha256_each(cache, &files).map_err(failed)?;
    if sums.len() == 1 {
        return Ok(sums.concat());
    }
    let list = tempfile::NamedTempFile::new().map_err(file(path))?;
    fs::write(list.path(), sums.join("\n")).map_err(file(list.path()))?;
    Ok(packages::sha256(cache, list.path()).map_err(failed)?)
}

/// Of a build tree, the first of which is taken.
const fn images(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::X86_64 => &["arch/x86/boot/bzImage", "vmlinux"],
        Arch::Arm64 => &["arch/arm64/boot/Image"],
    }
}

impl CachedKernel {
    pub(super) fn own_image(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| own.image.as_path())
    }

    /// The modules of the kernel, without those of the user.
    pub(super) fn packaged_modules(&self) -> Result<ModuleTree, ModuleError> {
        match self.own.as_ref().and_then(|own| own.tree.as_deref()) {
            Some(tree) => ModuleTree::of_build(tree),
            None => ModuleTree::scan(&self.folder.join(tree::MODULES)),
        }
    }

    /// True if the image contains the module, as far as that is known.
    pub(crate) fn has_built_in(&self, module: &str) -> bool {
        self.own.as_ref().is_some_and(|own| own.builtin.contains(module))
    }

    /// The options of a kernel of the user, if its package contains them.
    pub(crate) fn options(&self) -> Option<&Options> {
        self.own.as_ref().and_then(|own| own.options.as_ref())
    }

    /// A sentence for the user if the options of a kernel of the user are not known.
    pub(crate) fn without_options(&self) -> Option<String> {
        self.own.as_ref().is_some_and(|own| own.options.is_none()).then(|| {
            let base = self.own.as_ref().and_then(|own| own.base.as_ref());
            let remedy = base.map_or_else(String::new, |base| format!("; put {base} next to it"));
            format!(
                "{} contains no config-{}, so it is not checked whether it has the options that guests need{remedy}",
                self.name, self.release
            )
        })
    }
}

/// Unpacks a package into the cache, under its checksum.
fn package(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<CachedKernel, KernelError> {
    let path = Path::new(name);
    let failed = |source| OwnError::Package { path: path.to_owned(), source };
    let control = packages::control(cache, path).map_err(failed)?;
    let control = control.ok_or_else(|| OwnError::NoPackage { path: path.to_owned() })?;
    let wrong = |because: String| OwnError::NoKernel { path: path.to_owned(), arch: cache.arch(), because };
    if control.architecture != cache.arch().debian() {
        return Err(wrong(format!("it is for {}", control.architecture)).into());
    }
    let files = with_companions(path, &control);
    let base = control.base().map(|base| control.file_of(base));
    let sums = packages::sha256_each(cache, &files).map_err(failed)?;
    let key = sums.iter().map(|sum| &sum[..16]).collect::<Vec<_>>().join("-");
    let folder = format!("own/{key}");
    let cached = || {
        let kernel = read_manifest(&cache.path(&folder))?;
        // Earlier versions also kept kernels without modules.
        if !cache.path(&folder).join(tree::MODULES).is_dir() {
            return None;
        }
        Some(CachedKernel { name: name.to_owned(), pin: kernel.version.clone(), ..kernel })
    };
    let mut kernel = match cached() {
        Some(kernel) => kernel,
        None => {
            let lock = cache.lock(observer)?;
            let unpacked = packages::unpack_local(cache, &lock, &files, observer).map_err(failed)?;
            check_package(path, &control, unpacked.path(), &wrong)?;
            let Control { version, .. } = control;
            let pin = Pin { name: name.to_owned(), suite: String::new(), version, release: None, files: Vec::new() };
            let finished =
                tree::arrange(cache.workshop(&lock)?.keep(), unpacked.path(), Testbed::Icount, &pin, &pin.version)?;
            cache.publish(&lock, &finished, &folder)?;
            cached().ok_or_else(|| KernelError::Odd { name: name.to_owned() })?
        }
    };
    kernel.own = Some(Own {
        sha256: sums[0].clone(),
        image: kernel.folder.join(tree::IMAGE),
        tree: None,
        options: fs::read_to_string(kernel.folder.join(tree::CONFIG)).ok().map(|text| Options::parse(&text)),
        builtin: built_in(&kernel.folder.join(tree::BUILT_IN)),
        base,
    });
    Ok(kernel)
}

/// The package and those that belong to it and are next to it.
fn with_companions(path: &Path, control: &Control) -> Vec<PathBuf> {
    let others = companions(path, control).into_iter().filter(|file| file.is_file());
    std::iter::once(path.to_owned()).chain(others).collect()
}

/// Newer packagings have a package for the image, one for the modules, one for the options and lists of modules, and one
/// that only depends on the others. Their names differ in one word, and so do their file names, unless a file was renamed.
fn companions(path: &Path, control: &Control) -> Vec<PathBuf> {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let depends = control.parts().into_iter().chain(control.base()).map(str::to_owned);
    let usual = siblings(&control.package).into_iter().chain(depends);
    let mut names = siblings(file);
    names.extend(usual.map(|package| control.file_of(&package)));
    let mut paths = Vec::new();
    for path in names.iter().map(|name| path.with_file_name(name)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The names of the other packages of a kernel, that of its modules first.
fn siblings(name: &str) -> Vec<String> {
    if let Some(rest) = name.strip_prefix("linux-binary-") {
        return ["modules", "base"].map(|part| format!("linux-{part}-{rest}")).to_vec();
    }
    let rest = name.strip_prefix("linux-image-unsigned-").or_else(|| name.strip_prefix("linux-image-"));
    rest.map_or_else(Vec::new, |rest| ["modules", "binary", "base"].map(|part| format!("linux-{part}-{rest}")).to_vec())
}

/// Reports what a package lacks.
fn check_package(
    path: &Path,
    control: &Control,
    unpacked: &Path,
    wrong: &impl Fn(String) -> OwnError,
) -> Result<(), OwnError> {
    let modules = tree::modules_in(unpacked, Testbed::Icount);
    match (modules.as_deref().and_then(|modules| tree::image_in(unpacked, modules)), &modules) {
        (Some(image), _) if !is_image(&image) => {
            Err(wrong(format!("{} is no kernel image", image.strip_prefix(unpacked).unwrap_or(&image).display())))
        }
        // The package of an image has a directory of modules, too, if that contains the image.
        (Some(_), Some(modules)) if tree::has_modules(modules) => Ok(()),
        (Some(_), _) => Err(no_modules(path, control)),
        (None, None) if tree::has_boot_image(unpacked) => Err(no_modules(path, control)),
        (None, _) => match control.parts().join(" and ") {
            depends if !depends.is_empty() => Err(OwnError::OnlyDepends { path: path.to_owned(), depends }),
            _ if modules.is_some() => Err(wrong("it contains modules only; name the package of the kernel".to_owned())),
            _ => Err(wrong("it contains neither a kernel nor modules".to_owned())),
        },
    }
}

fn no_modules(path: &Path, control: &Control) -> OwnError {
    let companions = companions(path, control).into_iter();
    let mut names = companions.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let companion = names.find(|name| name.starts_with("linux-modules-"));
    let companion = companion.unwrap_or_else(|| "the package of its modules".to_owned());
    OwnError::NoCompanion { path: path.to_owned(), companion }
}

/// The kernel of a build tree. Only its unpacked image is in the cache.
fn built(cache: &Cache, name: &str, observer: &mut dyn Observer) -> Result<CachedKernel, KernelError> {
    let path = Path::new(name);
    let images = images(cache.arch());
    let Some(image) = images.iter().map(|image| path.join(image)).find(|image| image.is_file()) else {
        let because = match images {
            [image, others @ ..] if !others.is_empty() => {
                format!("neither {image} nor {} exists", others.join(" nor "))
            }
            images => format!("{} does not exist", images.join(" ")),
        };
        return Err(OwnError::NoKernel { path: path.to_owned(), arch: cache.arch(), because }.into());
    };
    if !is_image(&image) {
        let because = format!("{} is no kernel image", image.display());
        return Err(OwnError::NoKernel { path: path.to_owned(), arch: cache.arch(), because }.into());
    }
    let text = |part: &str| {
        fs::read_to_string(path.join(part))
            .map_err(|_absent| OwnError::Unbuilt { path: path.to_owned(), missing: part.to_owned() })
    };
    let release = text("include/config/kernel.release")?.trim().to_owned();
    let options = Options::parse(&text(".config")?);
    text("modules.order")?;
    let sha256 = packages::sha256(cache, &image).map_err(|source| OwnError::Package { path: image.clone(), source })?;
    let own = Own {
        image: unpacked_image(cache, &image, &sha256, observer)?,
        sha256,
        tree: Some(path.to_owned()),
        options: Some(options),
        builtin: built_in(&path.join("modules.builtin")),
        base: None,
    };
    Ok(CachedKernel {
        name: name.to_owned(),
        testbed: Testbed::Icount,
        version: release.clone(),
        pin: release.clone(),
        release,
        suite: String::new(),
        instead_of: None,
        room: None,
        layout: LAYOUT,
        folder: path.to_owned(),
        own: Some(own),
        replaced: Vec::new(),
    })
}

/// The image that QEMU boots: unpacked on the host if possible, which saves the guest most of its boot.
fn unpacked_image(
    cache: &Cache,
    image: &Path,
    sha256: &str,
    observer: &mut dyn Observer,
) -> Result<PathBuf, KernelError> {
    let folder = format!("own/{}", &sha256[..16]);
    let cached = cache.path(&folder).join(tree::IMAGE);
    if cached.is_file() {
        return Ok(cached);
    }
    let Some(program) = unpacked::unpack(&fs::read(image).map_err(file(image))?) else { return Ok(image.to_owned()) };
    let lock = cache.lock(observer)?;
    let workshop = cache.workshop(&lock)?;
    fs::write(workshop.path().join(tree::IMAGE), program).map_err(file(workshop.path()))?;
    Ok(cache.publish(&lock, &workshop.keep(), &folder)?.join(tree::IMAGE))
}

/// True for images of x86 (`HdrS`) and arm64, and for ELF files.
fn is_image(path: &Path) -> bool {
    const MAGICS: [(usize, &[u8]); 4] = [(0, b"\x7FELF"), (0x202, b"HdrS"), (56, b"ARM\x64"), (4, b"zimg")];
    let mut head = [0; 0x206];
    let read = fs::File::open(path).and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && MAGICS.iter().any(|(at, magic)| head[*at..].starts_with(magic))
}

fn built_in(list: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(list).unwrap_or_default();
    text.lines().filter_map(|line| module_name(Path::new(line))).collect()
}

#[cfg(test)]
mod tests;
