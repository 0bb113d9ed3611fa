//! `bpf`: filters that are programs, as far as candor has made them.
//!
//! # Source
//! `cls_bpf_set_parms()` and `cls_bpf_dump()` in `net/sched/cls_bpf.c`; `TCA_BPF_…` in `include/uapi/linux/pkt_cls.h`.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use crate::control_group::{self, ControlGroup};
use crate::filter::{Classifier, Filter};
use candor_io::bpf;

use super::body::{Body, SKIP_SW, common};
use super::error::{EncodeError, ProgramError};
use super::names::InterfaceNames;
use super::read::{self, Unread, speakable};
use super::write::AttributeList;

const TCA_BPF_ACT: u16 = 1;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
/// `TCA_BPF_FLAG_ACT_DIRECT`: what the program returns is an action, and no class.
const ACT_DIRECT: u32 = 1;

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
    let mut options = common(filter, names, Some(TCA_BPF_CLASSID), TCA_BPF_ACT)?;
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
