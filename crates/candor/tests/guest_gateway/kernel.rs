//! What the running kernel's can-gw is, and how it can be made another one.

use std::path::PathBuf;

use candor_io::{guest, module};

use crate::require::{Feature, is_there};

/// Where a guest keeps the module.
const CANGW_FILES: [&str; 2] = ["/lib/modules/can-gw.ko", "/lib/modules/can_gw.ko"];

/// Where a guest keeps the module vcan.
const VCAN_FILE: &str = "/lib/modules/vcan.ko";

const MAX_HOPS: &str = "/sys/module/can_gw/parameters/max_hops";

/// The file to load can-gw from.
pub(crate) fn cangw_file() -> Option<PathBuf> {
    CANGW_FILES.iter().map(PathBuf::from).find(|file| file.exists())
}

/// The file to load vcan from.
pub(crate) fn vcan_file() -> Option<PathBuf> {
    Some(PathBuf::from(VCAN_FILE)).filter(|file| file.exists())
}

/// The version, as `uname -r` tells it.
pub(crate) fn release() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

/// How many hops the module lets a frame take.
pub(crate) fn max_hops() -> u8 {
    std::fs::read_to_string(MAX_HOPS).unwrap().trim().parse().unwrap()
}

/// can-gw with another `max_hops` until this value is gone. All jobs are gone at both ends of that time.
#[derive(Debug)]
pub(crate) struct WithMaxHops {
    file: PathBuf,
    before: u8,
}

impl WithMaxHops {
    /// `None`, after saying why, where there is no file to load the module from.
    pub(crate) fn new(max_hops: u8) -> Option<Self> {
        let file = cangw_file().filter(|_| is_there(Feature::Modules))?;
        let with = Self { file, before: self::max_hops() };
        with.load(max_hops);
        assert_eq!(self::max_hops(), max_hops);
        Some(with)
    }

    fn load(&self, max_hops: u8) {
        module::unload("can_gw").unwrap();
        guest::load_module(&std::fs::read(&self.file).unwrap(), &format!("max_hops={max_hops}")).unwrap();
    }
}

impl Drop for WithMaxHops {
    fn drop(&mut self) {
        self.load(self.before);
    }
}

/// vcan whose driver echoes what was sent, as that of a controller does, until this value is gone. There must be no virtual
/// bus at both ends of that time.
#[derive(Debug)]
pub(crate) struct WithVcanEcho(());

impl WithVcanEcho {
    /// `None`, after saying why, where there is no file to load the module from.
    pub(crate) fn new() -> Option<Self> {
        is_there(Feature::Modules).then(|| {
            Self::load("echo=1");
            Self(())
        })
    }

    fn load(parameters: &str) {
        module::unload("vcan").unwrap();
        guest::load_module(&std::fs::read(VCAN_FILE).unwrap(), parameters).unwrap();
    }
}

impl Drop for WithVcanEcho {
    fn drop(&mut self) {
        Self::load("");
    }
}
