//! The modules of the running kernel, and other parameters for them.

use candor_io::version::Version;
use candor_io::{guest, module};
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_REQUEST};

use crate::prelude::*;

const CANGW_FILES: [&str; 2] = ["/lib/modules/can-gw.ko", "/lib/modules/can_gw.ko"];
const VCAN_FILE: &str = "/lib/modules/vcan.ko";

const MAX_HOPS: &str = "/sys/module/can_gw/parameters/max_hops";

pub(crate) fn cangw_file() -> Option<PathBuf> {
    CANGW_FILES.iter().map(PathBuf::from).find(|file| file.exists())
}

pub(crate) fn vcan_file() -> Option<PathBuf> {
    Some(PathBuf::from(VCAN_FILE)).filter(|file| file.exists())
}

/// `uname -r`.
pub(crate) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

pub(crate) fn version() -> Version {
    candor_io::version::version(&release()).unwrap()
}

/// Interrupts and timers wake threads.
pub(crate) fn is_real_time() -> bool {
    fs::read_to_string("/proc/sys/kernel/version").unwrap().contains("PREEMPT_RT")
}

pub(crate) fn max_hops() -> u8 {
    fs::read_to_string(MAX_HOPS).unwrap().trim().parse().unwrap()
}

/// can-gw with another `max_hops` until this value is dropped. Both changes delete all jobs.
#[derive(Debug)]
pub(crate) struct WithMaxHops {
    file: PathBuf,
    before: u8,
}

impl WithMaxHops {
    /// `None`, after printing the reason, without the file of the module.
    pub(crate) fn new(max_hops: u8) -> Option<Self> {
        let file = cangw_file().filter(|_| is_there(Feature::Modules))?;
        let with = Self { file, before: self::max_hops() };
        with.load(max_hops);
        assert_eq!(self::max_hops(), max_hops);
        Some(with)
    }

    fn load(&self, max_hops: u8) {
        module::unload("can_gw").unwrap();
        guest::load_module(&fs::read(&self.file).unwrap(), &format!("max_hops={max_hops}")).unwrap();
    }
}

impl Drop for WithMaxHops {
    fn drop(&mut self) {
        self.load(self.before);
    }
}

/// vcan with the driver echo of a controller, until this value is dropped. No virtual bus may exist at either time.
#[derive(Debug)]
pub(crate) struct WithVcanEcho(());

impl WithVcanEcho {
    /// `None`, after printing the reason, without the file of the module.
    pub(crate) fn new() -> Option<Self> {
        is_there(Feature::Modules).then(|| {
            Self::load("echo=1");
            Self(())
        })
    }

    fn load(parameters: &str) {
        module::unload("vcan").unwrap();
        guest::load_module(&fs::read(VCAN_FILE).unwrap(), parameters).unwrap();
    }
}

impl Drop for WithVcanEcho {
    fn drop(&mut self) {
        Self::load("");
    }
}

/// `cangw -F`: deletes all jobs. In the kernel this is a request to delete with interfaces 0.
pub(crate) fn flush() {
    const RTM_DELROUTE: u16 = 25;
    const AF_CAN: u8 = 29;
    const CGW_TYPE_CAN_CAN: u8 = 1;
    const CGW_SRC_IF: u16 = 9;
    const CGW_DST_IF: u16 = 10;
    let mut message = MessageWriter::new(RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK);
    message.header(&[AF_CAN, CGW_TYPE_CAN_CAN, 0, 0]).attribute(CGW_SRC_IF, &[0; 4]).attribute(CGW_DST_IF, &[0; 4]);
    Client::open().unwrap().request(message).unwrap();
}
