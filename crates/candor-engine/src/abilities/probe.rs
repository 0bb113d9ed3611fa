//! Trial of the kernel's CRC8 with positions from the end.

use std::io;
use std::time::Duration;

use candor_config::plan::{BusIndex, Echo};
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MTU, Frame, FrameFormat, RawId};
use candor_core::job::Job;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand};
use candor_io::can::{self, CanSocket, InterfaceIndex, Options};
use candor_io::own_netns;
use candor_netlink::cangw::{self, CangwError, CangwJob};
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link;

/// vcan delivers during `write()`, so this is generous.
const PATIENCE: Duration = Duration::from_secs(1);
const BUSES: [&str; 2] = ["candor-in", "candor-out"];

/// A trial without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// No frame, or one that no known kernel produces.
    #[error("can-gw returned an unexpected frame")]
    Odd,
    #[error("can-gw rejected the job")]
    Job(#[from] CangwError),
    /// The vcan interfaces of the probe cannot be created.
    #[error("cannot create virtual buses for the test")]
    Link(#[from] NetlinkError),
    /// No network namespace or no socket.
    #[error("cannot create a network namespace for the test")]
    Place(#[from] io::Error),
}

/// Lets the kernel compute a CRC8 with positions from the end; true if it stays inside the frame.
///
/// Runs in a temporary network namespace, on two virtual buses with one job, without effect on the system. A wrong
/// kernel does no damage here: positions -2 and -1, taken literally, are the two bytes before the data, which belong to
/// the frame struct.
///
/// # Kernel
/// Needs CAP_SYS_ADMIN for the namespace, CAP_NET_ADMIN for the job, network namespaces, and the modules can-gw, can-raw
/// and vcan, of which the kernel loads the last two itself.
///
/// # Errors
/// [`TrialError`] if any of these is missing; the behaviour is then unknown.
///
/// # Source
/// [`cgw_csum_crc8_rel()`](https://github.com/gregkh/linux/blob/v6.1.192/net/can/gw.c#L364)
/// with the fix, mainline commit [`b9c310d72783`](https://git.kernel.org/torvalds/c/b9c310d72783).
pub fn relative_crc8_by_trial() -> Result<bool, TrialError> {
    own_netns::run(trial)?
}

fn trial() -> Result<bool, TrialError> {
    let mut client = Client::open()?;
    let mut bus = |name| -> Result<InterfaceIndex, TrialError> {
        link::create_vcan(&mut client, name)?;
        let index = link::by_name(&mut client, name)?.ok_or(TrialError::Odd)?.index;
        link::set_up(&mut client, index)?;
        Ok(index)
    };
    let (from, to) = (bus(BUSES[0])?, bus(BUSES[1])?);
    cangw::add(&mut client, &CangwJob::new(&job(), from, to))?;
    let sender = CanSocket::open(from, &Options { filters: &[], ..Options::default() })?;
    let receiver = CanSocket::open(to, &Options::default())?;

    let sent = Frame::classic(RawId(0x123), &[1, 2, 3, 4, 5, 6, 7, 8]).expect("8 bytes fit a classic frame");
    let mut bytes = [0; CANFD_MTU];
    let len = sent.to_kernel(&mut bytes);
    sender.write(&bytes[..len])?;
    if can::poll(&[&receiver], Some(PATIENCE))?.is_empty() {
        return Err(TrialError::Odd);
    }
    let len = receiver.read(&mut bytes)?;
    let received = Frame::from_kernel(&bytes[..len]).map_err(|_malformed| TrialError::Odd)?;
    verdict(&sent, &received)
}

/// Compares the received frame with the two known results.
fn verdict(sent: &Frame, received: &Frame) -> Result<bool, TrialError> {
    let mut computed = *sent;
    computed.data[7] = INIT ^ sent.data[6];
    match received.data {
        data if data == computed.data => Ok(true),
        data if data == sent.data => Ok(false),
        _ => Err(TrialError::Odd),
    }
}

const INIT: u8 = 0xFF;

/// The checksum of byte -2 goes into byte -1; with the identity table it is `INIT ^ byte`.
fn job() -> Job {
    let crc8 = Crc8Checksum {
        span: ChecksumSpan { from: -2, to: -2, result: -1 },
        init: INIT,
        final_xor: 0,
        table: std::array::from_fn(|value| value.to_le_bytes()[0]),
        profile: Crc8Profile::None,
    };
    // can-gw computes checksums only in jobs with a modification.
    let or = Operand { data: Some([0; 64]), ..Operand::NONE };
    Job {
        modifications: Modifications { or, ..Modifications::NONE },
        checksums: Checksums { crc8: Some(crc8), xor: None },
        echo: Echo::On,
        ..Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_kernel_is_told_from_the_others() {
        let sent = Frame::classic(RawId(0x123), &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let (right, _verdict) = job().apply(&sent);
        assert_ne!(right, sent);
        assert!(verdict(&sent, &right).unwrap());
        // Two bytes before the data is a reserved byte, 0; its CRC lands in the raw DLC.
        let other = Frame { len8_dlc: INIT, ..sent };
        assert!(!verdict(&sent, &other).unwrap());
        let mut odd = sent;
        odd.data[0] = 0xAA;
        assert!(matches!(verdict(&sent, &odd), Err(TrialError::Odd)));
    }
}
