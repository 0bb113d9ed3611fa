//! Zenoh links libdl by its name. In static programs the C library has all of it, and there is no file of that name.
#![forbid(unsafe_code)]

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_TARGET_ENV").is_some_and(|env| env == "musl") {
        let folder = std::env::var("OUT_DIR").map_err(std::io::Error::other)?;
        std::fs::write(format!("{folder}/libdl.a"), "!<arch>\n")?;
        println!("cargo::rustc-link-search=native={folder}");
    }
    Ok(())
}
