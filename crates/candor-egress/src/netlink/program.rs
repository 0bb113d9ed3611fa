//! `bpf`: filters that are programs, as far as candor has made them.
//!
//! # Source
//! `cls_bpf_set_parms()` and `cls_bpf_dump()` in `net/sched/cls_bpf.c`; `TCA_BPF_…` in `include/uapi/linux/pkt_cls.h`.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::control_group::{self, ControlGroup};
use crate::filter::{Classifier, Filter};
use candor_io::bpf::{self, LoadError};
use candor_io::errno::{ENOSYS, EPERM};

use super::error::EncodeError;
use super::filter::{self, Body, SKIP_SW};
use super::names::InterfaceNames;
use super::read::{self, Unread, speakable};
use super::write::AttributeList;

const TCA_BPF_ACT: u16 = 1;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
/// `TCA_BPF_FLAG_ACT_DIRECT`: what the program returns is an action, and no class.
const ACT_DIRECT: u32 = 1;

/// A program that the kernel did not take.
#[derive(Debug, thiserror::Error)]
#[error("{}", advice(.source.raw_os_error(), .log))]
pub struct ProgramError {
    source: std::io::Error,
    log: String,
}

impl From<LoadError> for ProgramError {
    fn from(LoadError { source, log }: LoadError) -> Self {
        Self { source, log }
    }
}

fn advice(errno: Option<i32>, log: &str) -> String {
    // What the verifier says last is why.
    let why = log.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or_default();
    match (errno, why) {
        (Some(EPERM), _) => {
            "A filter by control group is a program of BPF, which wants CAP_BPF and CAP_NET_ADMIN outside of \
                             user namespaces (before Linux 5.8 CAP_SYS_ADMIN); run it as root"
                .to_owned()
        }
        (Some(ENOSYS), _) => {
            "This kernel has no programs of BPF (CONFIG_BPF_SYSCALL), which filters by control group are".to_owned()
        }
        (_, why) if why.contains("unknown func") => {
            "This kernel's programs cannot ask for the control group of a frame: it is \
                                                     older than Linux 4.19, or has no CONFIG_CGROUP_BPF"
                .to_owned()
        }
        (_, "") => "The kernel did not take the program that filters by control group".to_owned(),
        (_, why) => format!("The kernel did not take the program that filters by control group ({why})"),
    }
}

/// Loads the program of a filter, if it has one. The filter keeps it; the descriptor is for asking.
pub(super) fn load(filter: &Filter) -> Result<Option<OwnedFd>, ProgramError> {
    let Classifier::ControlGroups(groups) = &filter.classifier else { return Ok(None) };
    Ok(Some(bpf::load_classifier(c"candor_cgroup", &control_group::program(groups))?))
}

/// The options. Without a program the kernel takes them for a mistake.
pub(super) fn encode(
    filter: &Filter,
    groups: &[ControlGroup],
    names: &InterfaceNames,
    program: Option<BorrowedFd<'_>>,
) -> Result<AttributeList, EncodeError> {
    let mut options = filter::common(filter, names, Some(TCA_BPF_CLASSID), TCA_BPF_ACT)?;
    if let Some(program) = program {
        options.put_u32(TCA_BPF_FD, program.as_raw_fd().cast_unsigned())?;
    }
    let label = control_group::label(groups);
    options.put(TCA_BPF_NAME, &[label.as_bytes(), &[0]].concat())?;
    Ok(options)
}

/// What the name says; programs of others are kept as bytes.
pub(super) fn decode(options: &[u8], names: &InterfaceNames) -> Result<Body, Unread> {
    let [_, actions, police, class, _, classic, _, name, flags, hardware] = read::by_number(options)?;
    let flag = |attribute, flag| Ok::<_, Unread>(read::u32_of(attribute)?.unwrap_or(0) & flag != 0);
    speakable(police.is_none() && classic.is_none())?;
    speakable(!flag(flags, ACT_DIRECT)? && !flag(hardware, SKIP_SW)?)?;
    let name = name.map(|name| name.text()).unwrap_or_default();
    let groups = control_group::labelled(&name).ok_or(Unread::Unspoken)?;
    Ok(Body::new(Classifier::ControlGroups(groups)).with(class, actions, names)?)
}
