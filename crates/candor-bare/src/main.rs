//! The program without an operating system. On a machine with one, it only says how it is used.
#![cfg_attr(target_os = "none", no_std)]
#![cfg_attr(target_os = "none", no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod machine;

#[cfg(not(target_os = "none"))]
fn main() -> std::process::ExitCode {
    eprintln!("candor-bare: needs no operating system; build it with: cargo xtask static");
    std::process::ExitCode::from(2)
}
