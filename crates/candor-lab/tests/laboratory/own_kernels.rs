//! Kernels and modules of the user.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::bounds::real_cache;
use super::require::require;
use super::{Called, Lab};

/// What Debian's kernel has of the options that guests need.
const OPTIONS: &str = "
    BINFMT_ELF BLK_DEV_INITRD CAN CAN_CALC_BITTIMING CAN_DEV CAN_KVASER_PCI CAN_RAW CAN_SJA1000 CAN_VCAN DEVTMPFS MODULES NET
    PACKET PCI PROC_FS SERIAL_8250_CONSOLE SYSFS TMPFS UNIX UNIX98_PTYS X86_IOPL_IOPERM
";

/// A tree as after the build of a kernel, made of the cached debian-6.1.
fn build_tree(lab: &Lab) -> String {
    lab.run(&["--testbed", "icount"], &["candor", "--version"]).exits_with(0);
    let cached = real_cache().join("kernels/debian-6.1");
    let tree = lab.path("linux");
    fs::create_dir_all(tree.join("include/config")).unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(cached.join("manifest.json")).unwrap()).unwrap();
    fs::write(tree.join("include/config/kernel.release"), manifest["release"].as_str().unwrap()).unwrap();
    fs::write(tree.join(".config"), options("")).unwrap();
    symlink(cached.join("kernel"), tree.join("vmlinux")).unwrap();
    let modules = cached.join("modules");
    for entry in fs::read_dir(&modules).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), tree.join(entry.file_name())).unwrap();
    }
    let order: String = files(&modules).iter().map(|file| format!("kernel/{}\n", relative(file, &modules))).collect();
    fs::write(tree.join("modules.order"), order).unwrap();
    lab.at("linux")
}

fn relative(file: &Path, folder: &Path) -> String {
    file.strip_prefix(folder).unwrap().display().to_string()
}

/// The text of a `.config`, without this option.
fn options(without: &str) -> String {
    let options = OPTIONS.split_whitespace().filter(|option| *option != without);
    options.map(|option| format!("CONFIG_{option}=y\n")).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn platform(run: &Called) -> Value {
    serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap()
}

#[test]
#[ignore = "boots guests"]
fn kernel_of_a_build_tree_boots_and_is_named_in_the_results() {
    let Some(lab) = Lab::find() else { return };
    let tree = build_tree(&lab);
    let options_of = |tree: &str| ["--testbed", "icount", "--topology", "kvaser", "--kernel", tree].map(str::to_owned);
    let chosen = options_of(&tree);
    let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
    let run = lab.run(&chosen, &["sh", "-c", "ip link show can4 && echo $CANDOR_PLATFORM"]).exits_with(0);
    let platform = platform(&run);
    assert_eq!((&platform["kernel"], &platform["kernel_pin"]), (&Value::from(tree.as_str()), &Value::Null));
    assert_eq!(platform["kernel_sha256"].as_str().unwrap().len(), 64);

    fs::write(lab.path("linux/.config"), options("CAN_KVASER_PCI").replace("SERIAL_8250_CONSOLE=y", "X=y")).unwrap();
    let run = lab.run(&chosen, &["true"]).exits_with(2);
    run.reports("topology kvaser need: CONFIG_SERIAL_8250_CONSOLE=y, CONFIG_CAN_KVASER_PCI");
    fs::write(lab.path("linux/.config"), options("")).unwrap();

    let release = lab.path("linux/include/config/kernel.release");
    let right = fs::read(&release).unwrap();
    fs::write(&release, "6.1.0-other").unwrap();
    let run = lab.run(&chosen, &["true"]).exits_with(2);
    run.reports("Modules are not built for this kernel (6.1.0-other)").reports("vhci_hcd (6.1.0-");

    // Half of an image.
    fs::write(&release, right).unwrap();
    let kernel = fs::read(real_cache().join("kernels/debian-6.1/kernel")).unwrap();
    fs::remove_file(lab.path("linux/vmlinux")).unwrap();
    fs::write(lab.path("linux/vmlinux"), &kernel[..kernel.len() / 2]).unwrap();
    let run = lab.run(&[&chosen[..], &["--timeout", "20s"]].concat(), &["true"]).exits_with(2);
    run.reports("guest did not boot");
}

/// `cargo xtask modules` builds them from Debian's source package.
#[test]
#[ignore = "boots guests"]
fn rebuilt_module_replaces_that_of_the_package() {
    let built = std::env::var_os("CANDOR_MODULES").map(|folder| PathBuf::from(folder).join("busy-poll"));
    let Some(built) = require("modules", built, "CANDOR_MODULES is unset") else { return };
    let Some(lab) = Lab::find() else { return };
    let version = ["sh", "-c", "cat /sys/module/can_raw/version; echo $CANDOR_PLATFORM"];
    let own = built.join("can-raw.ko").display().to_string();
    let options = ["--testbed", "icount", "--module", &own];
    let run = lab.run(&options, &version).exits_with(0);
    assert!(run.stdout.starts_with("busy-poll\n"), "{}", run.stdout);
    let modules = &platform(&run)["modules"];
    assert_eq!((&modules[0]["module"], &modules[0]["path"]), (&Value::from("can_raw"), &Value::from(own.as_str())));
    let packaged = lab.run(&options[..2], &version).exits_with(0);
    assert!(packaged.stdout.starts_with('{'), "{}", packaged.stdout);
    lab.run(&[&options[..], &["--kernel", "debian-6.12"]].concat(), &["true"])
        .exits_with(2)
        .reports("A module is not built for this kernel (6.12.");
}
