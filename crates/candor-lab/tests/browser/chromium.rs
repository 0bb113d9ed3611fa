//! Finds a browser: installed, or from packages in the cache of the laboratory.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use candor_lab::cache::Cache;
use candor_lab::observer::Silent;
use candor_lab::packages::{self, PackageError};

const PACKAGE: &str = "chromium";
const INSTALLED: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const IN_TREE: &str = "usr/lib/chromium/chromium";
/// The last is for the sound library, if it is installed.
const LIBRARIES: [&str; 3] =
    ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio"];

#[derive(Clone, Debug)]
pub(crate) struct Chromium {
    pub(crate) program: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Chromium {
    /// `None`, after printing why, if there is none. With `CANDOR_REQUIRE=browser` it is fetched.
    pub(crate) fn require() -> Option<Self> {
        let is_required = std::env::var("CANDOR_REQUIRE").unwrap_or_default().split(',').any(|one| one == "browser");
        let installed = INSTALLED.iter().find_map(|name| Self::check(name.into(), Vec::new()));
        if let Some(there) = installed.or_else(|| Self::cached(&Cache::of_user().ok()?)) {
            return Some(there);
        }
        if is_required {
            let cache = Cache::of_user().unwrap();
            let missing = || PackageError::NotFound { package: PACKAGE.to_owned() };
            let cached = || Self::cached(&cache).ok_or_else(missing);
            return Some(packages::obtain(&cache, PACKAGE, PACKAGE, &mut Silent, cached).unwrap());
        }
        println!("SKIP needs browser: there is no chromium; CANDOR_REQUIRE=browser fetches one");
        None
    }

    fn cached(cache: &Cache) -> Option<Self> {
        let tree = cache.path(PACKAGE);
        let libraries = std::env::join_paths(LIBRARIES.map(|folder| tree.join(folder))).ok()?;
        Self::check(tree.join(IN_TREE), vec![("LD_LIBRARY_PATH".into(), libraries)])
    }

    fn check(program: PathBuf, environment: Vec<(OsString, OsString)>) -> Option<Self> {
        let mut command = Command::new(&program);
        command.arg("--version").envs(environment.clone()).stdin(Stdio::null());
        command.output().is_ok_and(|output| output.status.success()).then_some(Self { program, environment })
    }
}
