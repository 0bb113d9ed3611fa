//! Links the program without an operating system to its place in memory.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=link.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "none") {
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-T{folder}/link.ld");
    }
}
