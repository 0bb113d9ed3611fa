//! Making, changing and deleting.

use std::os::fd::{AsFd, BorrowedFd};

use crate::filter::{Classifier, Filter};
use crate::handle::Handle;
use crate::tree::{Class, Qdisc};
use candor_io::can::InterfaceIndex;

use super::codec::AttributeList;
use super::discipline::encode_stab;
use super::error::{EncodeError, TcError};
use super::filter::load_program;
use super::message::{
    Header, InterfaceNames, RTM_DELQDISC, RTM_DELTCLASS, RTM_DELTFILTER, RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER,
    TCA_KIND, TCA_STAB,
};
use super::{class, discipline, filter};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::codec::{MessageWriter, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST};

/// What a request does if what it names is there already, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
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

/// Makes a discipline where there is none but the kernel's default.
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `EEXIST` if somebody has made one there, `ENOENT` if the kernel does not
/// have the kind or the parent, `EINVAL` for a value that it does not take, or whatever else it refuses with.
pub fn make_qdisc(client: &mut Client, interface: InterfaceIndex, qdisc: &Qdisc) -> Result<(), TcError> {
    Ok(client.request(qdisc_message(interface, qdisc, Mode::Make)?)?)
}

/// Makes a discipline, in the place of what is there.
///
/// # Kernel
/// One of the same kind and [`handle`](Qdisc::handle), or without a handle of the same kind, is changed: what hangs below
/// it stays, and what the new one leaves to the kernel stays as it was. Any other is taken away with all below it.
///
/// # Errors
/// As [`make_qdisc`], without `EEXIST`.
pub fn replace_qdisc(client: &mut Client, interface: InterfaceIndex, qdisc: &Qdisc) -> Result<(), TcError> {
    Ok(client.request(qdisc_message(interface, qdisc, Mode::Replace)?)?)
}

/// Takes a discipline away with all that hangs below it; the kernel's default comes in its place. [`Handle::NONE`] is
/// whichever is there.
///
/// # Errors
/// `ENOENT` if there is only the default, `EINVAL` if one of another handle is there, or whatever else the kernel refuses
/// with.
pub fn delete_qdisc(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: Handle,
    handle: Handle,
) -> Result<(), NetlinkError> {
    let header = Header { interface: interface.number(), handle, parent, info: 0 };
    client.request(header.message(RTM_DELQDISC, NLM_F_REQUEST | NLM_F_ACK))
}

/// Makes a class.
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `EEXIST` if it is there, or whatever else the kernel refuses with.
pub fn make_class(client: &mut Client, interface: InterfaceIndex, class: &Class) -> Result<(), TcError> {
    Ok(client.request(class_message(interface, class, Mode::Make)?)?)
}

/// Changes a class; frames that wait in it stay.
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `ENOENT` if it is not there, or whatever else the kernel refuses with.
pub fn change_class(client: &mut Client, interface: InterfaceIndex, class: &Class) -> Result<(), TcError> {
    Ok(client.request(class_message(interface, class, Mode::Change)?)?)
}

/// Takes a class away with all that hangs below it.
///
/// # Errors
/// `EBUSY` if classes are below it or filters lead to it, `ENOENT` if it is not there, or whatever else the kernel refuses
/// with.
pub fn delete_class(client: &mut Client, interface: InterfaceIndex, handle: Handle) -> Result<(), NetlinkError> {
    let header = Header { interface: interface.number(), handle, ..Header::default() };
    client.request(header.message(RTM_DELTCLASS, NLM_F_REQUEST | NLM_F_ACK))
}

/// Makes a filter, as the first or last of its preference as the classifier has it.
///
/// # Kernel
/// One by control groups wants CAP_BPF, too (before Linux 5.8 CAP_SYS_ADMIN).
///
/// # Errors
/// [`TcError::Encode`] and [`TcError::Program`] before anything is sent; `EEXIST` if one of its handle is there, `EINVAL` if the preference has
/// filters of another kind, or whatever else the kernel refuses with.
pub fn make_filter(
    client: &mut Client,
    interface: InterfaceIndex,
    filter: &Filter,
    names: &InterfaceNames,
) -> Result<(), TcError> {
    let program = load_program(filter)?;
    let program = program.as_ref().map(AsFd::as_fd);
    Ok(client.request(filter_message(interface, filter, names, program, Mode::Make)?)?)
}

/// Makes a filter, in the place of the one of its preference and handle if there is one. Without a handle it is another one.
///
/// # Kernel
/// A node of `u32` keeps the keys that it has. A `matchall` that is there is `EEXIST`.
pub fn replace_filter(
    client: &mut Client,
    interface: InterfaceIndex,
    filter: &Filter,
    names: &InterfaceNames,
) -> Result<(), TcError> {
    let program = load_program(filter)?;
    let program = program.as_ref().map(AsFd::as_fd);
    Ok(client.request(filter_message(interface, filter, names, program, Mode::Replace)?)?)
}

/// Takes a filter away.
///
/// # Errors
/// [`EncodeError::NoHandle`] before anything is sent if it has none; `ENOENT` if it is not there, `EBUSY` for a table of
/// `u32` that nodes lead to, or whatever else the kernel refuses with.
pub fn delete_filter(client: &mut Client, interface: InterfaceIndex, filter: &Filter) -> Result<(), TcError> {
    // matchall is alone in its preference, and the kernel deletes it only with that.
    if filter.classifier == Classifier::Matchall {
        return delete_filters(client, interface, filter.parent, filter.preference);
    }
    Ok(client.request(deletion_message(interface, filter)?)?)
}

/// Takes all filters of a preference away.
///
/// # Errors
/// [`EncodeError::Preference`] before anything is sent for 0, which would delete the filters of all preferences; `ENOENT`
/// if there are none, or whatever else the kernel refuses with.
pub fn delete_filters(
    client: &mut Client,
    interface: InterfaceIndex,
    parent: Handle,
    preference: u16,
) -> Result<(), TcError> {
    let header = Header { interface: interface.number(), parent, ..Header::default() };
    let header = Header { info: info(preference, 0)?, ..header };
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
    Ok(message(filter_header(interface, filter)?, RTM_NEWTFILTER, mode, &list))
}

pub(super) fn deletion_message(interface: InterfaceIndex, filter: &Filter) -> Result<MessageWriter, EncodeError> {
    if filter.handle == 0 {
        return Err(EncodeError::NoHandle);
    }
    let mut message = filter_header(interface, filter)?.message(RTM_DELTFILTER, NLM_F_REQUEST | NLM_F_ACK);
    let mut list = AttributeList::default();
    list.put_kind(TCA_KIND, filter.classifier.kind())?;
    list.append_to(&mut message);
    Ok(message)
}

fn filter_header(interface: InterfaceIndex, filter: &Filter) -> Result<Header, EncodeError> {
    let info = info(filter.preference, filter.protocol)?;
    Ok(Header { interface: interface.number(), handle: Handle(filter.handle), parent: filter.parent, info })
}

/// `tcm_info` of a filter. Preference 0 would be the kernel's choice when one is made, and all of them when deleted.
fn info(preference: u16, protocol: u16) -> Result<u32, EncodeError> {
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

fn message(header: Header, kind: u16, mode: Mode, list: &AttributeList) -> MessageWriter {
    let mut message = header.message(kind, mode.flags());
    list.append_to(&mut message);
    message
}
