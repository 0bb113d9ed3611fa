//! Jobs of this process in a kernel that is played.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use candor_config::plan::{BusIndex, Engine};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Transport;
use candor_netlink::codec::MessageWriter;

use super::*;
use candor_userspace::run_dir::RunDir;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const CGW_HANDLED: u16 = 7;

/// Answers each request with the next list of messages, and notes what was asked. Without a list it is silent.
#[derive(Clone, Debug, Default)]
struct FakeKernel {
    answers: Arc<Mutex<VecDeque<Vec<MessageWriter>>>>,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Transport for FakeKernel {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        self.asked.lock().unwrap().push(message.to_vec());
        Ok(())
    }

    fn recv(&self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let asked = self.asked.lock().unwrap();
        let sequence = u32::from_ne_bytes(asked.last().unwrap()[8..12].try_into().unwrap());
        let answer = self.answers.lock().unwrap().pop_front().filter(|messages| !messages.is_empty());
        let answer = answer.ok_or(io::ErrorKind::WouldBlock)?;
        *buffer = answer.into_iter().flat_map(|message| message.finish(sequence)).collect();
        Ok(())
    }
}

impl FakeKernel {
    fn installed(&self, folder: &tempfile::TempDir) -> Installed {
        let run_dir = RunDir::open_at(folder.path().to_owned(), &mut |_notice| {}).unwrap();
        let entry = run_dir.announce(Engine::Kernel, Vec::new()).unwrap();
        Installed { client: Client::over(Box::new(self.clone())), jobs: VecDeque::new(), entry }
    }

    fn answer(&self, messages: Vec<MessageWriter>) {
        self.answers.lock().unwrap().push_back(messages);
    }
}

fn message(kind: u16, payload: &[u8]) -> MessageWriter {
    let mut writer = MessageWriter::new(kind, 0);
    writer.header(payload);
    writer
}

fn confirmation() -> Vec<MessageWriter> {
    vec![message(NLMSG_ERROR, &[0; 20])]
}

fn silence() -> Vec<MessageWriter> {
    Vec::new()
}

fn job() -> CangwJob {
    let index = |number| InterfaceIndex::new(number).unwrap();
    let job = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter { id: 1, mask: 0x7FF });
    CangwJob::new(&job, index(3), index(4))
}

#[test]
fn a_job_whose_confirmation_was_lost_is_taken_out_too() {
    let (kernel, folder) = (FakeKernel::default(), tempfile::tempdir().unwrap());
    let mut installed = kernel.installed(&folder);
    kernel.answer(silence());
    installed.add(&job()).unwrap_err();
    let before = kernel.asked.lock().unwrap().len();
    kernel.answer(confirmation());
    assert_eq!(installed.remove_all().unwrap(), (1, 0));
    let asked = kernel.asked.lock().unwrap();
    let kinds: Vec<_> = asked[before..].iter().map(|message| u16::from_ne_bytes([message[4], message[5]])).collect();
    assert_eq!(kinds, [RTM_DELROUTE]);
}

#[test]
fn the_newest_jobs_of_the_kernel_go_first() {
    let (kernel, folder) = (FakeKernel::default(), tempfile::tempdir().unwrap());
    let mut installed = kernel.installed(&folder);
    let jobs = [1, 2, 3].map(|id| CangwJob { filter: Filter { id, mask: 0x7FF }, ..job() });
    for job in jobs.iter().rev() {
        kernel.answer(confirmation());
        installed.add(job).unwrap();
    }
    assert_eq!(installed.jobs().copied().collect::<Vec<_>>(), jobs);
    let before = kernel.asked.lock().unwrap().len();
    jobs.iter().for_each(|_job| kernel.answer(confirmation()));
    assert_eq!(installed.remove_all().unwrap(), (3, 0));
    let asked = kernel.asked.lock().unwrap();
    for (message, job) in asked[before..].iter().zip(&jobs) {
        assert!(message.ends_with(&job.to_bytes()), "{message:?}");
    }
}

#[test]
fn of_equal_jobs_the_one_that_goes_on_is_followed() {
    let (kernel, folder) = (FakeKernel::default(), tempfile::tempdir().unwrap());
    let mut installed = kernel.installed(&folder);
    installed.take_over(&[job()]);
    // Another program added one job before ours, and one after it.
    let list = [3_u32, 1007, 90_000].map(|handled| {
        let mut writer = message(RTM_NEWROUTE, &job().to_bytes());
        writer.attribute(CGW_HANDLED, &handled.to_ne_bytes());
        writer
    });
    let dump: Vec<_> = list.into_iter().chain([message(NLMSG_DONE, &[0; 4])]).collect();
    for last in [1000, 1010] {
        kernel.answer(dump.clone());
        kernel.answer(dump.clone());
        let followed =
            candor_userspace::counters::Followed::since(JobCounters { handled: last, ..JobCounters::default() });
        let listed = installed.list(|_position, now| followed.growth(now)).unwrap();
        assert_eq!(listed[0].unwrap().handled, 1007, "after {last}");
    }
    kernel.answer(confirmation());
}
