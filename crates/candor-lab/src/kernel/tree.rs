//! From an unpacked package to the layout of the cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{CachedKernel, KernelError, LAYOUT, MANIFEST, Pin, Testbed, file, uml, unpacked};
use crate::cache::remove_folder;

/// Names in a kernel's directory of the cache.
pub(super) const IMAGE: &str = "kernel";
pub(super) const MODULES: &str = "modules";
/// The options of the kernel, if its package contains them.
pub(super) const CONFIG: &str = "config";
/// The modules that are part of the image; named so by the kernel's build.
pub(super) const BUILT_IN: &str = "modules.builtin";

/// Parts of the module tree that gateways and laboratory can use.
const KEPT: [&str; 8] = ["arch", "crypto", "drivers/net", "drivers/usb", "fs", "lib", "net", "security"];
const NOT_KEPT: [&str; 3] = ["drivers/net/ethernet", "drivers/net/wireless", "drivers/usb/gadget"];

/// Moves the files of unpacked packages into a directory with the layout of the cache. `pinned` is the version that the
/// kernel replaces.
pub(super) fn arrange(
    target: PathBuf,
    tree: &Path,
    testbed: Testbed,
    kernel: &Pin,
    pinned: &str,
) -> Result<PathBuf, KernelError> {
    let odd = || KernelError::Odd { name: kernel.name.clone() };
    let modules = modules_in(tree, testbed).ok_or_else(odd)?;
    let release = modules.file_name().and_then(|name| name.to_str()).ok_or_else(odd)?.to_owned();
    let image = match testbed {
        Testbed::Icount => image_in(tree, &modules),
        Testbed::Uml => Some(tree.join("usr/bin/linux.uml")).filter(|image| image.is_file()),
    };
    let image = image.ok_or_else(odd)?;
    let mut program = fs::read(&image).map_err(file(&image))?;
    let room = match testbed {
        Testbed::Icount => {
            program = unpacked::unpack(&program).unwrap_or(program);
            None
        }
        Testbed::Uml => {
            bring_libraries(&mut program, tree, &target, odd)?;
            Some(uml::widen(&mut program, &release))
        }
    };
    fs::write(&image, program).map_err(file(&image))?;
    rename(&image, &target.join(IMAGE))?;
    for (from, to) in [
        (tree.join(format!("boot/config-{release}")), CONFIG),
        (modules.join("config"), CONFIG),
        (modules.join(BUILT_IN), BUILT_IN),
    ] {
        if from.is_file() {
            rename(&from, &target.join(to))?;
        }
    }
    for part in NOT_KEPT {
        let path = modules.join("kernel").join(part);
        remove_folder(&path).map_err(file(&path))?;
    }
    for part in KEPT {
        let from = modules.join("kernel").join(part);
        if from.exists() {
            let to = target.join(MODULES).join(part);
            let parent = to.parent().unwrap_or(&target);
            fs::create_dir_all(parent).map_err(file(parent))?;
            rename(&from, &to)?;
        }
    }
    let manifest = CachedKernel {
        name: kernel.name.clone(),
        testbed,
        release,
        version: kernel.version.clone(),
        suite: kernel.suite.clone(),
        instead_of: (kernel.version != pinned).then(|| pinned.to_owned()),
        room,
        layout: LAYOUT,
        pin: String::new(),
        folder: PathBuf::new(),
        own: None,
        replaced: Vec::new(),
    };
    let path = target.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from).map_err(file(&path))?;
    fs::write(&path, text).map_err(file(&path))?;
    Ok(target)
}

/// Takes along the loader and the C library of the tree, if there are any, for a user-mode Linux that hosts may be too old
/// for.
fn bring_libraries(
    program: &mut [u8],
    tree: &Path,
    target: &Path,
    odd: impl Fn() -> KernelError,
) -> Result<(), KernelError> {
    let libraries = tree.join("usr/lib/x86_64-linux-gnu");
    if !libraries.is_dir() {
        return Ok(());
    }
    uml::use_own_libraries(program).ok_or_else(odd)?;
    let folder = target.join(uml::LIBRARIES);
    fs::create_dir(&folder).map_err(file(&folder))?;
    uml::OWN_LIBRARIES.iter().try_for_each(|name| rename(&libraries.join(name), &folder.join(name)))
}

/// The directory of the modules, which is named like the release.
pub(super) fn modules_in(tree: &Path, testbed: Testbed) -> Option<PathBuf> {
    let parents = match testbed {
        Testbed::Icount => ["lib/modules", "usr/lib/modules"].as_slice(),
        Testbed::Uml => ["usr/lib/uml/modules"].as_slice(),
    };
    parents.iter().find_map(|parent| only_entry(&tree.join(parent)))
}

pub(super) fn image_in(tree: &Path, modules: &Path) -> Option<PathBuf> {
    let release = modules.file_name()?.to_str()?;
    let images = [tree.join(format!("boot/vmlinuz-{release}")), modules.join("vmlinuz")];
    images.into_iter().find(|image| image.is_file())
}

/// True if the directory of [`modules_in`] contains modules, and not only an image or lists.
pub(super) fn has_modules(modules: &Path) -> bool {
    modules.join("kernel").is_dir()
}

pub(super) fn has_boot_image(tree: &Path) -> bool {
    only_entry(&tree.join("boot")).is_some()
}

fn only_entry(folder: &Path) -> Option<PathBuf> {
    Some(fs::read_dir(folder).ok()?.next()?.ok()?.path())
}

fn rename(from: &Path, to: &Path) -> Result<(), KernelError> {
    fs::rename(from, to).map_err(file(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> Pin {
        let (suite, version) = ("sid".to_owned(), "7.3.4-1".to_owned());
        Pin { name: name.to_owned(), suite, version, release: None, files: Vec::new() }
    }

    /// Arranges a tree of these files, and returns the paths of the result.
    fn arranged(name: &str, files: &[(&str, &[u8])]) -> Result<(CachedKernel, Vec<String>), KernelError> {
        let folder = tempfile::tempdir().unwrap();
        let (tree, target) = (folder.path().join("tree"), folder.path().join("target"));
        fs::create_dir(&target).unwrap();
        for (path, bytes) in files {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let kernel = kernel(name);
        arrange(target.clone(), &tree, kernel.testbed(), &kernel, "7.3.5-1")?;
        let manifest = serde_json::from_slice(&fs::read(target.join(MANIFEST)).unwrap()).unwrap();
        let (mut paths, mut folders) = (Vec::new(), vec![target.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    paths.push(path.strip_prefix(&target).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        paths.sort();
        Ok((manifest, paths))
    }

    #[test]
    fn both_packagings_give_the_same_layout() {
        let expected = ["kernel", "manifest.json", "modules/drivers/net/can/vcan.ko.xz", "modules/net/can/can.ko.xz"];
        for (image, modules) in [
            ("boot/vmlinuz-7.3.4-amd64", "lib/modules/7.3.4-amd64"),
            ("usr/lib/modules/7.3.4-amd64/vmlinuz", "usr/lib/modules/7.3.4-amd64"),
        ] {
            let inside = [
                "drivers/net/can/vcan.ko.xz",
                "drivers/net/wireless/ath.ko.xz",
                "net/can/can.ko.xz",
                "sound/snd.ko.xz",
            ]
            .map(|path| format!("{modules}/kernel/{path}"));
            let mut files: Vec<(&str, &[u8])> = inside.iter().map(|path| (path.as_str(), b"m".as_slice())).collect();
            files.push((image, b"image"));
            let (manifest, paths) = arranged("debian-7.3", &files).unwrap();
            assert_eq!(paths, expected);
            assert_eq!((manifest.release.as_str(), manifest.instead_of.as_deref()), ("7.3.4-amd64", Some("7.3.5-1")));
        }
    }

    #[test]
    fn user_mode_linux_takes_its_libraries_along() {
        let program = b"\0/lib64/ld-linux-x86-64.so.2\0 \0/lib64:/lib\0";
        let files: [(&str, &[u8]); 5] = [
            ("usr/bin/linux.uml", program),
            ("usr/lib/uml/modules/7.2.7/kernel/net/can/can.ko", b"m"),
            ("usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", b"l"),
            ("usr/lib/x86_64-linux-gnu/libc.so.6", b"c"),
            ("usr/lib/x86_64-linux-gnu/libm.so.6", b"m"),
        ];
        let (manifest, paths) = arranged("uml-7.2", &files).unwrap();
        let libraries = ["lib/ld-linux-x86-64.so.2", "lib/libc.so.6"];
        assert_eq!(paths, [&["kernel"], &libraries[..], &["manifest.json", "modules/net/can/can.ko"]].concat());
        assert_eq!((manifest.release.as_str(), manifest.testbed), ("7.2.7", Testbed::Uml));
        let without_runpath: [(&str, &[u8]); 3] = [("usr/bin/linux.uml", b"x"), files[1], files[2]];
        assert!(matches!(arranged("uml-7.2", &without_runpath), Err(KernelError::Odd { .. })));
    }

    #[test]
    fn packages_without_kernel_or_modules_are_refused() {
        let image: (&str, &[u8]) = ("boot/vmlinuz-7.3.4-amd64", b"image");
        let module: (&str, &[u8]) = ("lib/modules/7.3.4-amd64/kernel/net/can.ko", b"m");
        for files in [[image], [module]] {
            let refused = arranged("debian-7.3", &files).unwrap_err();
            assert_eq!(refused.to_string(), "No known kind of kernel in the packages of debian-7.3");
        }
    }
}
