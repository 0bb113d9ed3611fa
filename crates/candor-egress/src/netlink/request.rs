//! Requests that create, change and delete.

use std::os::fd::{AsFd, BorrowedFd};

use crate::filter::Filter;
use crate::handle::Handle;
use crate::tree::{Class, Qdisc};
use candor_io::can::InterfaceIndex;

use super::codec::AttributeList;
use super::discipline::encode_stab;
use super::error::{EncodeError, TcError};
use super::filter::load_program;
use super::message::{
    Header, InterfaceNames, RTM_DELQDISC, RTM_DELTFILTER, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER, TCA_STAB,
};
use super::{class, discipline, filter};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST};

/// Requirement on the existence of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Change,
    Make,
    Replace,
}

impl Mode {
    pub(super) const fn flags(self) -> u16 {
        let flags = match self {
            Self::Change => 0,
            Self::Make => NLM_F_CREATE | NLM_F_EXCL,
            Self::Replace => NLM_F_CREATE | NLM_F_REPLACE,
        };
        NLM_F_REQUEST | NLM_F_ACK | flags
    }
}

/// Creates a qdisc whose kind the kernel knows, or replaces the one at its parent.
///
/// # Errors
/// As [`replace_qdisc`](super::replace_qdisc).
pub(super) fn send_qdisc(client: &mut Client, interface: InterfaceIndex, qdisc: &Qdisc) -> Result<(), TcError> {
    Ok(client.request(qdisc_message(interface, qdisc, Mode::Replace)?)?)
}

/// Deletes a qdisc with everything below it; the kernel's default replaces it. [`Handle::NONE`] matches any handle.
///
/// # Errors
/// `ENOENT` if only the default exists, `EINVAL` if the existing one has another handle.
pub fn delete_qdisc(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: Handle,
    handle: Handle,
) -> Result<(), NetlinkError> {
    let header = Header { interface: interface.number(), handle, parent, info: 0 };
    client.request(header.message(RTM_DELQDISC, NLM_F_REQUEST | NLM_F_ACK))
}

/// Creates a class ([`Mode::Make`]), or changes one ([`Mode::Change`]), which keeps its frames.
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `EEXIST` or `ENOENT`.
pub(crate) fn send_class(
    client: &mut Client,
    interface: InterfaceIndex,
    class: &Class,
    mode: Mode,
) -> Result<(), TcError> {
    Ok(client.request(class_message(interface, class, mode)?)?)
}

/// Creates a filter, as the first or last of its preference, as its classifier has it.
///
/// # Kernel
/// One by control group needs CAP_BPF, too (before Linux 5.8 CAP_SYS_ADMIN).
///
/// # Errors
/// [`TcError::Encode`] and [`TcError::Program`] before anything is sent; `EEXIST` if its handle is taken, `EINVAL` if the
/// preference has filters of another kind.
pub(crate) fn make_filter(
    client: &mut Client,
    interface: InterfaceIndex,
    filter: &Filter,
    names: &InterfaceNames,
) -> Result<(), TcError> {
    let program = load_program(filter)?;
    let program = program.as_ref().map(AsFd::as_fd);
    Ok(client.request(filter_message(interface, filter, names, program, Mode::Make)?)?)
}

/// Deletes all filters of a preference.
///
/// # Errors
/// [`EncodeError::Preference`] before anything is sent for 0, which would delete the filters of all preferences; `ENOENT`
/// if there are none.
pub(crate) fn delete_filters(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: Handle,
    preference: u16,
) -> Result<(), TcError> {
    let header = Header { interface: interface.number(), parent, info: info(preference, 0)?, ..Header::default() };
    Ok(client.request(header.message(RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK))?)
}

pub(super) fn filter_message(
    interface: InterfaceIndex,
    filter: &Filter,
    names: &InterfaceNames,
    program: Option<BorrowedFd<'_>>,
    mode: Mode,
) -> Result<MessageWriter, EncodeError> {
    let mut list = AttributeList::default();
    filter::encode(filter, names, program, &mut list)?;
    let info = info(filter.preference, filter.protocol)?;
    let header = Header { interface: interface.number(), handle: Handle(filter.handle), parent: filter.parent, info };
    Ok(message(header, RTM_NEWTFILTER, mode, &list))
}

/// `tcm_info` of a filter. Preference 0 would be the kernel's choice when one is made, and all of them when deleted.
pub(super) fn info(preference: u16, protocol: u16) -> Result<u32, EncodeError> {
    if preference == 0 {
        return Err(EncodeError::Preference);
    }
    Ok(u32::from(preference) << 16 | u32::from(protocol.to_be()))
}

pub(super) fn qdisc_message(
    interface: InterfaceIndex,
    qdisc: &Qdisc,
    mode: Mode,
) -> Result<MessageWriter, EncodeError> {
    let header = Header { interface: interface.number(), handle: qdisc.handle, parent: qdisc.parent, info: 0 };
    let mut list = AttributeList::default();
    discipline::encode(&qdisc.discipline, &mut list)?;
    if let Some(table) = &qdisc.stab {
        list.nest(TCA_STAB, &encode_stab(table)?)?;
    }
    Ok(message(header, RTM_NEWQDISC, mode, &list))
}

pub(super) fn class_message(
    interface: InterfaceIndex,
    class: &Class,
    mode: Mode,
) -> Result<MessageWriter, EncodeError> {
    let header = Header { interface: interface.number(), handle: class.handle, parent: class.parent, info: 0 };
    let mut list = AttributeList::default();
    class::encode(&class.share, &mut list)?;
    Ok(message(header, RTM_NEWTCLASS, mode, &list))
}

pub(super) fn message(header: Header, kind: u16, mode: Mode, list: &AttributeList) -> MessageWriter {
    let mut message = header.message(kind, mode.flags());
    list.append_to(&mut message);
    message
}
