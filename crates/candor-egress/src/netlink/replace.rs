//! Disciplines of all kinds at their place.

use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

use crate::discipline::Discipline;
use crate::tree::Qdisc;

use super::arbitration::Installed;
use super::error::TcError;
use super::{arbitration, request};

/// Creates a qdisc, or replaces the one at its parent.
///
/// # Kernel
/// One of the same kind and [`handle`](Qdisc::handle), or without a handle of the same kind, is changed: everything below it
/// stays, and what the new one leaves to the kernel keeps its value. Any other is deleted with everything below it. A queue in
/// the order of arbitration is never changed ([`arbitration::install`]).
///
/// # Errors
/// [`TcError::Encode`] before anything is sent; `ENOENT` if the kernel lacks the kind or the parent, `EINVAL` for a value that
/// it rejects.
pub fn replace_qdisc(client: &mut Client, interface: InterfaceIndex, qdisc: &Qdisc) -> Result<(), TcError> {
    make_qdisc(client, interface, qdisc).map(drop)
}

/// As [`replace_qdisc`]; returns a queue in the order of arbitration.
pub(crate) fn make_qdisc(
    client: &mut Client,
    interface: InterfaceIndex,
    qdisc: &Qdisc,
) -> Result<Option<Installed>, TcError> {
    if let Discipline::Arbitration(arbitration) = &qdisc.discipline {
        let layout = arbitration::layout()?;
        return arbitration::install(client, interface, qdisc, arbitration, &layout).map(Some);
    }
    request::send_qdisc(client, interface, qdisc).map(|()| None)
}
