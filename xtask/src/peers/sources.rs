//! Programs of other projects that no registry of packages has, compiled from their sources for guests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::{step, tools};

/// Programs from the sources of a commit.
struct Sources {
    repository: &'static str,
    commit: &'static str,
    /// A header that its own build makes, relative to the sources.
    header: (&'static str, &'static str),
    compiler: &'static str,
    /// Program, and its sources.
    programs: &'static [(&'static str, &'static [&'static str])],
}

/// Tests of links in guests start them.
const LINK_PEERS: [Sources; 2] = [
    // 2.1.2, without SCTP.
    Sources {
        repository: "https://github.com/mguentner/cannelloni",
        commit: "a7776f82fc09d11a492414b3c2482eaebd2027d4",
        header: ("config.h", "#define CANNELLONI_VERSION \"2.1.2\"\n"),
        compiler: "g++",
        programs: &[(
            "cannelloni",
            &[
                "cannelloni.cpp",
                "canthread.cpp",
                "connection.cpp",
                "decoder.cpp",
                "framebuffer.cpp",
                "inet_address.cpp",
                "parser.cpp",
                "tcp_client_thread.cpp",
                "tcp_server_thread.cpp",
                "tcpthread.cpp",
                "thread.cpp",
                "timer.cpp",
                "udpthread.cpp",
            ],
        )],
    },
    Sources {
        repository: "https://github.com/linux-can/socketcand",
        commit: "6dd5d33d4645ab221e8cd265c08607366e21ddf1",
        header: (
            "src/config.h",
            "#define PACKAGE_VERSION \"0.6.1\"\n#define PACKAGE_NAME \"socketcand\"\n#define PACKAGE_BUGREPORT \"\"\n",
        ),
        compiler: "gcc",
        programs: &[
            (
                "socketcand",
                &[
                    "src/socketcand.c",
                    "src/statistics.c",
                    "src/beacon.c",
                    "src/state_bcm.c",
                    "src/state_raw.c",
                    "src/state_isotp.c",
                    "src/state_control.c",
                    "src/state_nobus.c",
                ],
            ),
            ("socketcandcl", &["src/socketcandcl.c"]),
        ],
    },
];

/// All of [`LINK_PEERS`].
pub(crate) const PROGRAMS: [&str; 3] = ["cannelloni", "socketcand", "socketcandcl"];

/// `cargo xtask link-peers`: prints their folder.
pub(crate) fn run() -> anyhow::Result<()> {
    match link_peers()? {
        Some(folder) => println!("{}", folder.display()),
        None => println!("link-peers: left out"),
    }
    Ok(())
}

/// The folder of static programs. `None`, after printing why, if they cannot be compiled.
pub(crate) fn link_peers() -> anyhow::Result<Option<PathBuf>> {
    let folder = step::metadata()?.target_directory.join("tools/link-peers").into_std_path_buf();
    if folder.exists() {
        return Ok(Some(folder));
    }
    let part = folder.with_extension("part");
    if part.exists() {
        std::fs::remove_dir_all(&part)?;
    }
    std::fs::create_dir_all(&part)?;
    println!("xtask: compiling cannelloni and socketcand");
    match LINK_PEERS
        .iter()
        .enumerate()
        .try_for_each(|(at, one)| one.compile(&part.join(format!("sources-{at}")), &part))
    {
        Ok(()) => {
            std::fs::rename(&part, &folder).with_context(|| format!("cannot create {}", folder.display()))?;
            Ok(Some(folder))
        }
        Err(error) => {
            tools::left_out("link-peers", &format!("{error:#}; needs git, g++, and github.com"))?;
            Ok(None)
        }
    }
}

impl Sources {
    fn compile(&self, sources: &Path, to: &Path) -> anyhow::Result<()> {
        let git = || {
            // git itself waits for minutes where a firewall drops packets.
            let mut command = Command::new("timeout");
            command.args(["60", "git", "-C"]).arg(sources).env("GIT_TERMINAL_PROMPT", "0");
            command
        };
        std::fs::create_dir_all(sources)?;
        step::run(git().args(["init", "--quiet"]))?;
        step::run(git().args(["fetch", "--quiet", "--depth", "1", self.repository, self.commit]))?;
        step::run(git().args(["checkout", "--quiet", "FETCH_HEAD"]))?;
        let (header, text) = self.header;
        std::fs::write(sources.join(header), text)?;
        for (program, files) in self.programs {
            let mut compile = Command::new(self.compiler);
            compile.current_dir(sources).args(["-w", "-O1", "-static", "-D_GNU_SOURCE", "-Iinclude", "-Isrc", "-o"]);
            step::run(compile.arg(to.join(program)).args(*files).arg("-lpthread"))?;
        }
        Ok(())
    }
}
