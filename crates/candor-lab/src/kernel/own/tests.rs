use std::process::Command;

use super::*;
use crate::observer::Silent;

fn obtained(folder: &Path, name: &str) -> Result<CachedKernel, String> {
    let cache = Cache::at(folder.join("cache"));
    let path = folder.join(name).display().to_string();
    obtain(&cache, Testbed::Icount, &path, &mut Silent)
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.display()), ""))
}

fn write(folder: &Path, files: &[(&str, &[u8])]) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The start of an image that is not packed.
fn image() -> Vec<u8> {
    let mut image = vec![0; 0x300];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image
}

#[test]
fn paths_differ_from_names() {
    for (kernel, path) in
        [("debian-6.1", false), ("uml-6.1", false), ("./debian-6.1", true), ("k.deb", true), (".", true)]
    {
        assert_eq!(is_path(kernel), path, "{kernel}");
    }
}

#[test]
fn build_tree_is_read_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = || obtained(folder, "linux").unwrap_err();
    write(folder, &[("linux/Makefile", b"")]);
    assert!(refused().ends_with("neither arch/x86/boot/bzImage nor vmlinux exists"), "{}", refused());
    write(folder, &[("linux/arch/x86/boot/bzImage", b"text")]);
    assert!(refused().contains("bzImage is no kernel image"), "{}", refused());
    write(
        folder,
        &[("linux/arch/x86/boot/bzImage", &image()), ("linux/include/config/kernel.release", b"6.1.0-own\n")],
    );
    assert!(refused().contains("linux is not completely built: .config is missing"), "{}", refused());
    write(
        folder,
        &[
            ("linux/.config", b"CONFIG_CAN=y\n# CONFIG_CAN_RAW is not set\n"),
            ("linux/modules.order", b"kernel/net/can/can-gw.ko\ndrivers/net/can/vcan.o\n"),
            ("linux/modules.builtin", b"kernel/net/can/can.ko\n"),
        ],
    );
    let kernel = obtained(folder, "linux").unwrap();
    assert_eq!((kernel.release.as_str(), kernel.image()), ("6.1.0-own", folder.join("linux/arch/x86/boot/bzImage")));
    assert!(kernel.has_built_in("can") && !kernel.has_built_in("can_gw"));
    assert_eq!(kernel.options().unwrap().value("CAN"), Some("y"));
    assert_eq!((kernel.pin(), kernel.sha256().unwrap().len()), (None, 64));
    let modules = kernel.module_tree().unwrap();
    for (name, path) in [("can_gw", "net/can/can-gw.ko"), ("vcan", "drivers/net/can/vcan.ko")] {
        assert_eq!(modules.path(name), Some(folder.join("linux").join(path).as_path()));
    }
    let other = obtain(&Cache::at(folder.to_owned()), Testbed::Uml, "linux/", &mut Silent).unwrap_err();
    assert!(other.to_string().contains("add --testbed icount"), "{other}");
}

/// Builds a package of these files.
fn package(folder: &Path, name: &str, depends: &str, files: &[(&str, &[u8])]) -> String {
    let tree = folder.join(name);
    let control = format!(
        "Package: {name}\nVersion: 6.1.9-1\nArchitecture: amd64\nMaintainer: a <a@b.c>\nDescription: a\nDepends: {depends}\n"
    );
    write(&tree, &[("DEBIAN/control", control.as_bytes())]);
    write(&tree, files);
    let file = format!("{name}_6.1.9-1_amd64.deb");
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group"]).arg(&tree).arg(folder.join(&file));
    assert!(build.output().unwrap().status.success());
    file
}

#[test]
fn package_is_unpacked_with_that_of_its_modules() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let binary = package(folder, "linux-binary-6.1.9-own", "a", &[("boot/vmlinuz-6.1.9-own", &image())]);
    let refused = obtained(folder, &binary).unwrap_err();
    let companion = "linux-modules-6.1.9-own_6.1.9-1_amd64.deb";
    assert!(refused.contains(&format!("has no modules, and {companion} is not next to it")), "{refused}");
    assert!(!folder.join("cache/own").exists(), "half of it is cached");

    let module = ("lib/modules/6.1.9-own/kernel/net/can/can.ko", b"m".as_slice());
    let built_in = ("lib/modules/6.1.9-own/modules.builtin", b"kernel/net/can/can-raw.ko\n".as_slice());
    let config = ("boot/config-6.1.9-own", b"CONFIG_CAN=m\n".as_slice());
    assert_eq!(package(folder, "linux-modules-6.1.9-own", "a", &[module, built_in, config]), companion);
    let kernel = obtained(folder, &binary).unwrap();
    assert_eq!((kernel.release.as_str(), kernel.version.as_str()), ("6.1.9-own", "6.1.9-1"));
    assert!(kernel.name.ends_with(&binary) && kernel.image().starts_with(folder.join("cache/own")));
    assert!(kernel.has_built_in("can_raw") && kernel.module_tree().unwrap().path("can").is_some());
    assert_eq!(kernel.options().unwrap().value("CAN"), Some("m"));
    assert_eq!(kernel.without_options(), None);
    assert_eq!(obtained(folder, &binary).unwrap(), kernel);
    // A file may have any name.
    fs::copy(folder.join(&binary), folder.join("k.deb")).unwrap();
    assert_eq!(obtained(folder, "k.deb").unwrap().release, "6.1.9-own");

    let refused = obtained(folder, companion).unwrap_err();
    assert!(refused.contains("contains modules only"), "{refused}");
    let depends = "linux-binary-6.1.9-own (= 1), linux-modules-6.1.9-own, kmod";
    let meta = package(folder, "linux-image-6.1.9-own", depends, &[]);
    assert_eq!(obtained(folder, &meta).unwrap().release, "6.1.9-own");
    fs::remove_file(folder.join(&binary)).unwrap();
    let refused = obtained(folder, &meta).unwrap_err();
    assert!(refused.contains("only depends on linux-binary-6.1.9-own and linux-modules-6.1.9-own: put"), "{refused}");
    fs::write(folder.join("no.deb"), "x").unwrap();
    assert_eq!(
        obtained(folder, "no.deb").unwrap_err(),
        "no.deb is not a Debian package; was it downloaded completely?"
    );
    assert!(obtained(folder, "DEBIAN").unwrap_err().starts_with("Cannot use DEBIAN"));
}

#[test]
fn image_among_modules_needs_the_package_of_its_modules() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let modules = "usr/lib/modules/7.3.4-own";
    let image_file = format!("{modules}/vmlinuz");
    let binary = package(folder, "linux-binary-7.3.4-own", "a", &[(&image_file, &image())]);
    let depends = "linux-binary-7.3.4-own (= 1), linux-modules-7.3.4-own (= 1)";
    let meta = package(folder, "linux-image-7.3.4-own", depends, &[]);
    for name in [&binary, &meta] {
        let wanted = "has no modules, and linux-modules-7.3.4-own_6.1.9-1_amd64.deb is not next to it: put it there";
        assert_eq!(obtained(folder, name).unwrap_err(), format!("{name} {wanted}"));
        assert!(!folder.join("cache/own").exists(), "half of it is cached");
    }
    let module = format!("{modules}/kernel/net/can/can.ko");
    package(folder, "linux-modules-7.3.4-own", "a", &[(&module, b"m")]);
    for name in [&binary, &meta] {
        assert!(obtained(folder, name).unwrap().module_tree().unwrap().path("can").is_some());
    }
}

#[test]
fn options_and_lists_are_taken_from_a_package_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let modules = "usr/lib/modules/7.3.4-own";
    let at = |name: &str| format!("{modules}/{name}");
    let depends = "linux-base-7.3.4-own (= 1)";
    let binary = package(folder, "linux-binary-7.3.4-own", depends, &[(&at("vmlinuz"), &image())]);
    let depends = format!("{depends}, linux-binary-7.3.4-own, linux-modules-7.3.4-own, linux-base (>= 4.3)");
    let meta = package(folder, "linux-image-7.3.4-own", &depends, &[]);
    package(folder, "linux-modules-7.3.4-own", "a", &[(&at("kernel/net/can/can-gw.ko"), b"m")]);
    for name in [&binary, &meta] {
        let kernel = obtained(folder, name).unwrap();
        let said = kernel.without_options().unwrap();
        let base = "linux-base-7.3.4-own_6.1.9-1_amd64.deb";
        assert!(said.ends_with(&format!("that guests need; put {base} next to it")), "{said}");
        assert!(!kernel.has_built_in("can"));
    }
    let lists: [(&str, &[u8]); 2] =
        [(&at("config"), b"CONFIG_CAN=y\n"), (&at("modules.builtin"), b"kernel/net/can/can.ko\n")];
    package(folder, "linux-base-7.3.4-own", "a", &lists);
    fs::copy(folder.join(&binary), folder.join("k.deb")).unwrap();
    for name in [binary.as_str(), &meta, "k.deb"] {
        let kernel = obtained(folder, name).unwrap();
        assert_eq!((kernel.without_options(), kernel.options().unwrap().value("CAN")), (None, Some("y")));
        assert!(kernel.has_built_in("can") && kernel.module_tree().unwrap().path("can_gw").is_some());
    }
}

#[test]
fn package_without_its_companion_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let image = image();
    let boot = [("boot/vmlinuz-6.1.9-own", image.as_slice())];
    for (package_name, depends, companion) in [
        ("linux-image-6.1.9-own", "a", "linux-modules-6.1.9-own_6.1.9-1_amd64.deb"),
        ("kernel", "kmod, linux-modules-6.1.9 (= 1)", "linux-modules-6.1.9_6.1.9-1_amd64.deb"),
        ("kernel", "kmod", "the package of its modules"),
    ] {
        let built = package(folder, package_name, depends, &boot);
        fs::rename(folder.join(built), folder.join("k.deb")).unwrap();
        let wanted = format!("k.deb has no modules, and {companion} is not next to it: put it there");
        assert_eq!(obtained(folder, "k.deb").unwrap_err(), wanted);
    }
    let module = ("lib/modules/6.1.9-own/kernel/net/can/can.ko", b"m".as_slice());
    let whole = package(folder, "whole", "kmod", &[boot[0], module]);
    let said = obtained(folder, &whole).unwrap().without_options().unwrap();
    assert!(
        said.ends_with(
            "contains no config-6.1.9-own, so it is not checked whether it has the options that guests need"
        ),
        "{said}"
    );
}

#[test]
fn truncated_package_may_not_be_downloaded_completely() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Not repetitive, so that it is still long when it is packed.
    let noise: Vec<u8> = (0..20_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    let module = ("lib/modules/6.1.9-own/kernel/net/can/can.ko", noise.as_slice());
    let whole = package(folder, "whole", "kmod", &[("boot/vmlinuz-6.1.9-own", &image()), module]);
    let bytes = fs::read(folder.join(&whole)).unwrap();
    // In the fields of the package, and in its files.
    for (length, program) in [(100, "dpkg-deb"), (bytes.len() - 1000, "dpkg")] {
        fs::write(folder.join("k.deb"), &bytes[..length]).unwrap();
        let path = folder.join("k.deb").display().to_string();
        let cache = Cache::at(folder.join("cache"));
        let error = obtain(&cache, Testbed::Icount, &path, &mut Silent).unwrap_err();
        let said = candor_core::causes::in_full(&error);
        assert!(said.contains(&format!("{program} cannot read {path}; was it downloaded completely?")), "{said}");
        assert!(!folder.join("cache/own").exists(), "half of it is cached");
    }
}

/// An object file that depends on these modules.
fn module(depends: &str, code: &[u8]) -> Vec<u8> {
    use object::write::Object;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};
    let mut file = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, bytes) in [(".modinfo", format!("depends={depends}\0").as_bytes()), (".text", code)] {
        let section = file.add_section(Vec::new(), name.into(), SectionKind::Data);
        file.append_section_data(section, bytes, 1);
    }
    file.write().unwrap()
}

#[test]
fn rebuilt_kernels_are_other_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cache = Cache::at(folder.join("cache"));
    let sum = |name: &str| checksum(&cache, &folder.join(name), &["can-gw"]).unwrap();
    let order = b"net/can/can.o\nnet/can/can-gw.o\ndrivers/scsi/sd_mod.o\n";
    write(
        folder,
        &[
            ("linux/arch/x86/boot/bzImage", &image()),
            ("linux/modules.order", order),
            ("linux/net/can/can.ko", &module("", b"1")),
            ("linux/net/can/can-gw.ko", &module("can", b"1")),
        ],
    );
    let first = sum("linux");
    assert_eq!(first.len(), 64);
    write(folder, &[("linux/drivers/scsi/sd_mod.ko", b"guests do not load it")]);
    assert_eq!(sum("linux"), first);
    for changed in ["linux/net/can/can.ko", "linux/net/can/can-gw.ko", "linux/arch/x86/boot/bzImage"] {
        let before = fs::read(folder.join(changed)).unwrap();
        let after = if changed.ends_with(".ko") { module("", b"2") } else { [image(), vec![1]].concat() };
        write(folder, &[(changed, &after)]);
        assert_ne!(sum("linux"), first, "{changed}");
        write(folder, &[(changed, &before)]);
    }
    assert_eq!(sum("linux"), first);

    let packed = package(folder, "linux-binary-6.1.9-own", "a", &[("boot/vmlinuz-6.1.9-own", &image())]);
    let alone = sum(&packed);
    package(folder, "linux-modules-6.1.9-own", "a", &[("lib/modules/6.1.9-own/kernel/net/can/can.ko", b"m")]);
    assert_ne!(sum(&packed), alone);
}

#[test]
fn packages_and_build_trees_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &[("linux/arch/x86/boot/bzImage", b"i"), ("programs/candor", b"p"), ("k.deb", b"d")]);
    for (name, is_kernel) in [("linux", true), ("programs", false), ("k.deb", true), ("programs/candor", false)] {
        assert_eq!(is_own(Arch::X86_64, &folder.join(name)), is_kernel, "{name}");
    }
}
