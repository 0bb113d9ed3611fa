//! The client with a fake kernel.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;

use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::BusIndex;
use candor_core::job::Job;
use candor_io::can::InterfaceIndex;

use super::*;
use crate::cangw::{self, CangwError, CangwJob};
use crate::codec::{NLM_F_MULTI, NLMSG_DONE, NLMSG_ERROR};

const RTM_NEWROUTE: u16 = 24;

/// Gives prepared datagrams, one list of them for each request; a sequence number of 0 in them becomes the request's.
#[derive(Debug, Default)]
struct FakeKernel {
    scenes: Mutex<VecDeque<Vec<Vec<u8>>>>,
    now: Mutex<VecDeque<Vec<u8>>>,
}

impl Transport for FakeKernel {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        let scene = self.scenes.lock().unwrap().pop_front().expect("no further request");
        self.now.lock().unwrap().extend(scene.into_iter().map(|mut datagram| {
            answer(&mut datagram, &message[8..12]);
            datagram
        }));
        Ok(())
    }

    fn recv(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        *buffer = self.now.lock().unwrap().pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        Ok(())
    }
}

fn answer(datagram: &mut [u8], sequence: &[u8]) {
    let mut at = 0;
    while at < datagram.len() {
        let len = u32::from_ne_bytes(datagram[at..at + 4].try_into().unwrap()) as usize;
        if datagram[at + 8..at + 12] == [0; 4] {
            datagram[at + 8..at + 12].copy_from_slice(sequence);
        }
        at += len.next_multiple_of(4);
    }
}

fn client(scenes: Vec<Vec<Vec<u8>>>) -> Client {
    Client::over(Box::new(FakeKernel { scenes: Mutex::new(scenes.into()), ..FakeKernel::default() }))
}

fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
    let mut writer = MessageWriter::new(kind, flags);
    writer.header(payload);
    writer.finish(0)
}

fn done() -> Vec<u8> {
    message(NLMSG_DONE, NLM_F_MULTI, &0_i32.to_ne_bytes())
}

fn error(Errno(errno): Errno) -> Vec<u8> {
    message(NLMSG_ERROR, 0, &[(-errno).to_ne_bytes().to_vec(), vec![0; 16]].concat())
}

fn job(id: u32) -> CangwJob {
    let index = |number| InterfaceIndex::new(number).unwrap();
    let filter = Filter { id, mask: 0xC000_07FF };
    CangwJob::new(&Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, filter), index(3), index(4))
}

fn listed(id: u32) -> Vec<u8> {
    message(RTM_NEWROUTE, NLM_F_MULTI, &job(id).to_bytes())
}

/// A dump in datagrams of this many jobs.
fn pages(ids: impl IntoIterator<Item = u32>, page: usize) -> Vec<Vec<u8>> {
    let all: Vec<_> = ids.into_iter().map(listed).collect();
    all.chunks(page).map(<[_]>::concat).chain([done()]).collect()
}

fn ids(jobs: &[CangwJob]) -> Vec<u32> {
    jobs.iter().map(|job| job.filter.id).collect()
}

#[test]
fn a_dump_of_many_pages_is_read_whole() {
    let all = || pages(0..1000, 93);
    let jobs = cangw::dump(&mut client(vec![all(), all()])).unwrap();
    assert_eq!(ids(&jobs), (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_dump_that_changes_while_it_is_read_is_read_again() {
    // A job was deleted between two pages, so the cursor skipped another one; then two readings agree.
    let inconsistent = || pages([1, 2, 4, 5], 2);
    let consistent = || pages([1, 3, 4, 5], 2);
    assert_eq!(ids(&cangw::dump(&mut client(vec![inconsistent(), consistent(), consistent()])).unwrap()), [1, 3, 4, 5]);
    // As many jobs, in another order, are another list too.
    let turned = || pages([3, 1, 4, 5], 2);
    assert_eq!(ids(&cangw::dump(&mut client(vec![turned(), consistent(), turned(), turned()])).unwrap()), [3, 1, 4, 5]);
}

#[test]
fn counters_that_move_are_no_change() {
    let counted = |handled: u32| {
        let mut writer = MessageWriter::new(RTM_NEWROUTE, NLM_F_MULTI);
        writer.header(&job(1).to_bytes()).attribute(7, &handled.to_ne_bytes());
        vec![writer.finish(0), done()]
    };
    let jobs = cangw::dump(&mut client(vec![counted(5), counted(6)])).unwrap();
    assert_eq!(jobs[0].counters.handled, 6, "the later reading counts");
}

#[test]
fn a_list_that_never_rests_is_told() {
    let scenes = (0..40).map(|number| pages([number], 1)).collect();
    assert!(matches!(cangw::dump(&mut client(scenes)), Err(CangwError::Restless)));
}

#[test]
fn a_dump_that_the_kernel_calls_interrupted_is_repeated() {
    let interrupted = vec![message(RTM_NEWROUTE, NLM_F_MULTI | NLM_F_DUMP_INTR, &job(9).to_bytes()), done()];
    let consistent = || pages([1], 1);
    assert_eq!(ids(&cangw::dump(&mut client(vec![interrupted, consistent(), consistent()])).unwrap()), [1]);
}

/// Without can-gw the kernel lists the routes of all other families.
#[test]
fn foreign_routes_mean_that_the_module_is_missing() {
    let ip = || message(RTM_NEWROUTE, NLM_F_MULTI, &[2, 24, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0]);
    assert!(matches!(cangw::dump(&mut client(vec![vec![ip(), done()]])), Err(CangwError::ModuleMissing)));
    // Also between jobs, and where the header is cut off.
    for odd in [ip(), message(RTM_NEWROUTE, NLM_F_MULTI, &[29]), message(20, NLM_F_MULTI, &job(1).to_bytes())] {
        let scene = vec![[listed(1), odd, listed(2)].concat(), done()];
        assert!(matches!(cangw::dump(&mut client(vec![scene])), Err(CangwError::ModuleMissing)));
    }
    assert!(matches!(cangw::dump(&mut client(vec![vec![error(Errno::EOPNOTSUPP)]])), Err(CangwError::ModuleMissing)));
}

#[test]
fn answers_to_somebody_else_are_passed_over() {
    let late = {
        let mut writer = MessageWriter::new(NLMSG_ERROR, 0);
        writer.header(&(-1_i32).to_ne_bytes());
        writer.finish(77)
    };
    let mut client = client(vec![vec![late, error(Errno(0))], vec![error(Errno::ENODEV)]]);
    cangw::add(&mut client, &job(1)).unwrap();
    assert!(matches!(cangw::add(&mut client, &job(1)), Err(CangwError::NoSuchInterface)));
}

#[test]
fn a_damaged_answer_is_an_error_and_the_next_request_is_answered() {
    let damaged = message(RTM_NEWROUTE, NLM_F_MULTI, &[29, 1, 0, 0, 200, 0, 9, 0]);
    let scenes = vec![vec![damaged, listed(2), done()], pages([1], 1), pages([1], 1)];
    let mut client = client(scenes);
    assert!(matches!(cangw::dump(&mut client), Err(CangwError::Netlink(NetlinkError::Decode(_)))));
    assert_eq!(ids(&cangw::dump(&mut client).unwrap()), [1]);
}

#[test]
fn silence_is_an_error() {
    let error = cangw::add(&mut client(vec![vec![]]), &job(1)).unwrap_err();
    assert!(matches!(error, CangwError::Netlink(NetlinkError::Socket(_))), "{error:?}");
}

/// The text of extended acknowledgements is passed on, with and without the echoed request.
#[test]
fn the_kernels_own_words_are_kept() {
    let text = |capped: bool| {
        let flags = NLM_F_ACK_TLVS | if capped { NLM_F_CAPPED } else { 0 };
        let mut writer = MessageWriter::new(NLMSG_ERROR, flags);
        let echoed: u32 = if capped { 60 } else { 20 };
        writer.header(&(-5_i32).to_ne_bytes()).header(&echoed.to_ne_bytes()).header(&[0; 12]);
        if !capped {
            writer.header(&[1, 2, 3, 4]);
        }
        writer.text(1, "no time");
        writer.finish(0)
    };
    for capped in [true, false] {
        let error = cangw::add(&mut client(vec![vec![text(capped)]]), &job(1)).unwrap_err();
        assert!(error.to_string().ends_with("(no time)"), "{error}");
    }
}
