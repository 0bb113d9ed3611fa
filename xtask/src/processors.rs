//! Unit and property tests on other processors, by the user emulation of QEMU.

use std::process::Command;

use crate::{pure, static_build, step, tools};

struct Processor {
    target: &'static str,
    /// If it does not come with Rust.
    linker: Option<(&'static str, &'static str)>,
    runner: (&'static str, &'static str),
    /// Besides the pure crates.
    packages: &'static [&'static str],
}

/// The others need the cookie of a network namespace, which QEMU does not emulate, or CAN.
const WITH_SYSTEM_CALLS: &[&str] = &["candor-io", "candor-netlink", "candor-cli", "candor-wire"];

/// Tests whose system calls QEMU does not emulate: `SIOCETHTOOL` and `SO_NETNS_COOKIE`.
const NOT_EMULATED: [&str; 2] = ["what_has_no_adapter_stamps_nothing", "a_namespace_has_one_cookie"];

const PROCESSORS: [Processor; 3] = [
    Processor {
        target: static_build::ARM64,
        linker: None,
        runner: ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", "qemu-aarch64-static"),
        packages: WITH_SYSTEM_CALLS,
    },
    // 32 bits.
    Processor {
        target: "armv7-unknown-linux-gnueabihf",
        linker: Some(("CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER", "arm-linux-gnueabihf-gcc")),
        runner: ("CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_RUNNER", "qemu-arm-static -L /usr/arm-linux-gnueabihf"),
        packages: WITH_SYSTEM_CALLS,
    },
    // Big-endian.
    Processor {
        target: "s390x-unknown-linux-gnu",
        linker: Some(("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER", "s390x-linux-gnu-gcc")),
        runner: ("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER", "qemu-s390x-static -L /usr/s390x-linux-gnu"),
        packages: &[],
    },
];

const PACKAGES: &str = "qemu-user-static gcc-arm-linux-gnueabihf gcc-s390x-linux-gnu";

/// `cargo xtask processors`.
pub(crate) fn run() -> anyhow::Result<()> {
    for processor in PROCESSORS {
        let emulator = processor.runner.1.split(' ').next().unwrap_or_default();
        let programs = [emulator].into_iter().chain(processor.linker.map(|(_, program)| program));
        let missing = { programs }.find(|name| !step::succeeds(Command::new(name).arg("--version")));
        if let Some(name) = missing {
            return tools::left_out("processors", &format!("there is no {name}: apt-get install {PACKAGES}"));
        }
    }
    println!("not run, because QEMU does not emulate their system calls: {}", NOT_EMULATED.join(", "));
    for Processor { target, linker, runner, packages } in PROCESSORS {
        static_build::ensure_target(target)?;
        let mut command = step::cargo();
        command.args(["test", "--quiet", "--lib", "--tests", "--target", target]).envs(linker).envs([runner]);
        command.args(pure::PURE.iter().chain(packages).flat_map(|package| ["--package", package]));
        command.arg("--").args(NOT_EMULATED.iter().flat_map(|name| ["--skip", *name]));
        step::step(&format!("tests on {target}"), || step::run(&mut command))?;
    }
    Ok(())
}
