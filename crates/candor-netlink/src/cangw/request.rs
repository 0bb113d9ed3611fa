//! Requests: add, delete, list, probe.

use candor_core::filter::Filter;
use candor_io::can::InterfaceIndex;

use super::{
    AF_CAN, CGW_TYPE_CAN_CAN, CangwError, CangwJob, ExactJob, HEADER_BYTES, JobFlags, RTM_DELROUTE, RTM_GETROUTE,
    RTM_NEWROUTE,
};
use crate::client::{Client, NetlinkError};
use crate::codec::{Message, MessageWriter, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};

/// Readings of the list until two in a row agree.
const DUMP_ATTEMPTS: usize = 16;

/// Adds a job at the head of the kernel's list. A job that is added twice forwards every frame twice.
pub fn add(client: &mut Client, job: &CangwJob) -> Result<(), CangwError> {
    add_exact(client, &ExactJob::from(*job))
}

/// As [`add`], with the exact bytes.
///
/// If another job has the same uid, changes that one instead: its modifications and checksums are replaced, and its
/// counters continue.
///
/// # Errors
/// [`CangwError`] with the reason.
pub fn add_exact(client: &mut Client, job: &ExactJob) -> Result<(), CangwError> {
    let mut message = MessageWriter::new(RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK);
    job.encode(&mut message);
    client.request(message).map_err(CangwError::on_add)
}

/// Deletes the newest equal job.
///
/// # Errors
/// [`CangwError::NoSuchJob`] if there is none, or [`CangwError`] by errno.
pub fn delete(client: &mut Client, job: &CangwJob) -> Result<(), CangwError> {
    delete_exact(client, &ExactJob::from(*job))
}

/// As [`delete`], comparing the exact bytes.
///
/// # Errors
/// [`CangwError::NoSuchJob`] if there is none, or another [`CangwError`] with the reason.
pub fn delete_exact(client: &mut Client, job: &ExactJob) -> Result<(), CangwError> {
    let mut message = MessageWriter::new(RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK);
    job.encode(&mut message);
    client.request(message).map_err(CangwError::on_delete)
}

/// Lists all jobs of the network namespace with counters, newest first.
///
/// The kernel does not flag changes between two parts of a dump, so the list is read until two consecutive readings
/// hold the same jobs.
///
/// # Errors
/// [`CangwError::ModuleMissing`] if the kernel lists other routes instead (without any, the list is empty), or
/// [`CangwError`] by errno.
pub fn dump(client: &mut Client) -> Result<Vec<CangwJob>, CangwError> {
    Ok(dump_exact(client)?.iter().map(|exact| *exact.job()).collect())
}

/// As [`dump`], with the bytes needed for deletion.
///
/// # Errors
/// As [`dump`].
pub fn dump_exact(client: &mut Client) -> Result<Vec<ExactJob>, CangwError> {
    let mut last = dump_once(client)?;
    for _attempt in 0..DUMP_ATTEMPTS {
        let next = dump_once(client)?;
        let equal = next.len() == last.len() && next.iter().zip(&last).all(|(a, b)| a.is_same_job(b));
        if equal {
            return Ok(next);
        }
        last = next;
    }
    Err(CangwError::Restless)
}

/// Checks whether jobs could be added, by deleting one that does not exist.
///
/// # Errors
/// [`CangwError::NotPermitted`], [`CangwError::ModuleMissing`], or [`CangwError`] by errno.
pub fn probe(client: &mut Client, any_interface: InterfaceIndex) -> Result<(), CangwError> {
    // With both interfaces, because a delete request without them removes all jobs.
    let filter = Filter { id: u32::MAX, mask: u32::MAX };
    let plain = CangwJob::plain(any_interface, any_interface, filter);
    let absent = CangwJob { flags: JobFlags(u16::MAX), uid: u32::MAX, ..plain };
    match delete(client, &absent) {
        Ok(()) | Err(CangwError::NoSuchJob) => Ok(()),
        Err(error) => Err(error),
    }
}

fn dump_once(client: &mut Client) -> Result<Vec<ExactJob>, CangwError> {
    let mut message = MessageWriter::new(RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP);
    message.header(&[AF_CAN, CGW_TYPE_CAN_CAN, 0, 0]);
    let mut foreign = false;
    let jobs = client.dump(&message, |answer| {
        let ours = is_can_route(answer);
        foreign |= !ours;
        if ours { Ok(Some(ExactJob::decode(answer)?)) } else { Ok::<_, NetlinkError>(None) }
    });
    match jobs {
        _ if foreign => Err(CangwError::ModuleMissing),
        Ok(jobs) => Ok(jobs),
        Err(error) => Err(CangwError::on_dump(error)),
    }
}

fn is_can_route(message: &Message<'_>) -> bool {
    message.kind == RTM_NEWROUTE
        && message.payload.len() >= HEADER_BYTES
        && message.payload.starts_with(&[AF_CAN, CGW_TYPE_CAN_CAN])
}
