use super::*;
use crate::filter::Filter;
use crate::frame::FrameFormat;
use crate::rule::{Modifications, Operand};

fn job(filter: &str) -> Job {
    Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, Filter::parse(filter).unwrap())
}

fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

fn jobs_that_fire(jobs: &[Job], text: &str) -> Vec<usize> {
    deliver(jobs, BusIndex(0), &frame(text)).into_iter().map(|delivery| delivery.job).collect()
}

#[test]
fn lists_go_before_the_order_of_jobs() {
    let jobs = ["123", "456~7FF", "123:7FF", "000:000", "123", "120:7F0", "0:0"].map(job);
    assert_eq!(jobs_that_fire(&jobs, "123#"), [3, 6, 2, 5, 1, 0, 4]);
    assert_eq!(jobs_that_fire(&jobs, "123#R"), [3, 6, 2, 5, 1], "single identifiers are for data frames");
    assert_eq!(jobs_that_fire(&jobs, "00000123#"), [3, 6, 2, 5, 1]);
    assert_eq!(jobs_that_fire(&jobs, "456#"), [3, 6]);
}

#[test]
fn every_matching_job_gets_the_frame_as_it_came() {
    let or = Operand { id: Some(0x400), ..Operand::default() };
    let changing = Job { modifications: Modifications { or, ..Modifications::default() }, ..job("0:0") };
    let jobs = [changing, Job { to: BusIndex(2), ..job("0:0") }];
    let sent = deliver(&jobs, BusIndex(0), &frame("123#11"));
    let expected = [
        Delivery { job: 0, to: BusIndex(1), frame: frame("523#11") },
        Delivery { job: 1, to: BusIndex(2), frame: frame("123#11") },
    ];
    assert_eq!(sent, expected);
}

#[test]
fn jobs_see_their_own_format_and_bus_only() {
    let fd = Job { format: FrameFormat::Fd, ..job("0:0") };
    let elsewhere = Job { from: BusIndex(2), ..job("0:0") };
    let jobs = [job("0:0"), fd, elsewhere];
    assert_eq!(jobs_that_fire(&jobs, "123#11"), [0]);
    assert_eq!(jobs_that_fire(&jobs, "123##111"), [1]);
    assert_eq!(jobs_that_fire(&jobs, "20000004#0000000000000000"), [0; 0], "error frames are not routed");
    let too_long = Frame { len: 9, ..frame("123#11") };
    assert_eq!(deliver(&jobs, BusIndex(0), &too_long), []);
}

#[test]
fn fd_frames_are_sent_with_their_mark() {
    let fd = Job { format: FrameFormat::Fd, ..job("0:0") };
    let unmarked = Frame { flags: 0, ..frame("123##011") };
    assert_eq!(deliver(&[fd], BusIndex(0), &unmarked)[0].frame, frame("123##011"));
}

#[test]
fn deleted_frames_are_counted() {
    let set = Operand { len: Some(0x10), ..Operand::default() };
    let deleting = Job { modifications: Modifications { set, ..Modifications::default() }, ..job("0:0") };
    let jobs = [deleting, job("123")];
    let frames = [(BusIndex(0), frame("123#11")), (BusIndex(0), frame("124#11")), (BusIndex(1), frame("123#11"))];
    let counted = count(&jobs, &frames);
    assert_eq!(counted, [JobCounters { handled: 0, deleted: 2 }, JobCounters { handled: 1, deleted: 0 }]);
    assert_eq!(deliver(&jobs, BusIndex(0), &frame("123#11")).len(), 1);
}
