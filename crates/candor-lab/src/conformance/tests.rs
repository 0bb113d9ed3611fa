use std::collections::VecDeque;

use candor_core::frame::{CAN_EFF_FLAG, FrameFormat, RawId};

use super::*;

/// Side and frame that arrive → sides and frames that leave.
type Gateway = Box<dyn FnMut(Side, Frame) -> Vec<(Side, Frame)>>;

struct Simulated {
    gateway: Gateway,
    waiting: VecDeque<Received>,
    clock: i64,
    keeps_stamps: bool,
    /// True if every frame is received repeatedly.
    circulates: bool,
    missed: u32,
}

impl Simulated {
    fn new(gateway: impl FnMut(Side, Frame) -> Vec<(Side, Frame)> + 'static) -> Self {
        let (gateway, waiting) = (Box::new(gateway), VecDeque::new());
        Self { gateway, waiting, clock: 0, keeps_stamps: false, circulates: false, missed: 0 }
    }
}

impl Bench for Simulated {
    fn send(&mut self, side: Side, frame: &Frame) -> io::Result<()> {
        let leaves = (self.gateway)(side, *frame);
        self.waiting.extend(leaves.into_iter().map(|(side, frame)| Received { side, frame }));
        Ok(())
    }

    fn receive(&mut self, _timeout: Duration) -> io::Result<Option<Received>> {
        let next = self.waiting.pop_front();
        self.waiting.extend(next.filter(|_| self.circulates));
        Ok(next)
    }

    fn pause(&mut self, _duration: Duration) {}

    fn stamps(&mut self, frame: &Frame, _timeout: Duration) -> io::Result<Option<(RealtimeNs, RealtimeNs)>> {
        if self.circulates {
            return Ok(None);
        }
        self.clock += 1000;
        self.send(Side::From, frame)?;
        let late = if self.keeps_stamps { 0 } else { 7 };
        Ok(self.waiting.pop_front().map(|_received| (RealtimeNs(self.clock), RealtimeNs(self.clock + late))))
    }

    fn missed(&mut self) -> io::Result<u32> {
        Ok(self.missed)
    }
}

fn options() -> Options {
    let (wait, lost_after) = (Duration::ZERO, Duration::from_millis(1));
    Options { fd: Wanted::Yes, error_frames: Wanted::Yes, both_ways: None, wait, lost_after, seed: 1 }
}

fn report(mut bench: Simulated, options: &Options) -> Report {
    run(&mut bench, options, &mut |_progress| Continue::Yes).unwrap()
}

fn with(verdict: Verdict, report: &Report) -> Vec<&'static str> {
    report.lines.iter().filter(|line| line.verdict == verdict).map(|line| line.name).collect()
}

fn detail<'a>(report: &'a Report, name: &str) -> &'a str {
    &report.lines.iter().find(|line| line.name == name).unwrap().detail
}

fn one_way(side: Side, frame: Frame) -> Vec<(Side, Frame)> {
    if side == Side::From && !frame.id.is_err() { vec![(Side::To, frame)] } else { Vec::new() }
}

fn both_ways(side: Side, frame: Frame) -> Vec<(Side, Frame)> {
    if frame.id.is_err() { Vec::new() } else { vec![(side.other(), frame)] }
}

fn changing(change: impl Fn(&mut Frame) + 'static) -> Simulated {
    Simulated::new(move |side, frame| {
        let mut all = one_way(side, frame);
        all.iter_mut().for_each(|(_, frame)| change(frame));
        all
    })
}

#[test]
fn correct_gateway_passes() {
    let one = report(Simulated::new(one_way), &options());
    assert_eq!((with(Verdict::No, &one), with(Verdict::NotApplicable, &one)), (vec![], vec!["reverse"]));
    let both = report(Simulated::new(both_ways), &options());
    assert_eq!((with(Verdict::No, &both), with(Verdict::NotApplicable, &both)), (vec![], vec![]));
    assert!(one.all_right() && both.all_right() && both.first_frame_after.is_some());
    assert!(both.sent > 5000, "{}", both.sent);
}

/// The same gateway as in the guest test.
#[test]
fn faults_of_a_gateway_are_described_exactly() {
    let (mut number, mut held) = (0, None);
    let broken = Simulated::new(move |side, mut frame| {
        if side == Side::To || frame.id.is_rtr() || frame.id.is_err() {
            return Vec::new();
        }
        number += 1;
        frame.len8_dlc = 0;
        let mut leaves = vec![(Side::To, frame)];
        if number % 100 == 0 {
            leaves.push((Side::To, frame));
        }
        if number % 250 == 0 {
            held = Some(frame);
            return Vec::new();
        }
        leaves.extend(held.take().map(|held| (Side::To, held)));
        leaves
    });
    let report = report(broken, &options());
    assert_eq!(with(Verdict::No, &report), ["raw-dlc", "remote", "order", "doubled"], "{report:#?}");
    assert_eq!(detail(&report, "remote"), "none of 18 arrived");
    assert!(detail(&report, "raw-dlc").starts_with("7 of 7 changed; first: 080#"), "{}", detail(&report, "raw-dlc"));
    assert!(detail(&report, "order").contains("came too late; first: number "), "{}", detail(&report, "order"));
}

#[test]
fn occasional_losses_affect_no_other_check() {
    let mut number = 0;
    let lossy = Simulated::new(move |side, frame| {
        number += 1;
        if number % 97 == 0 { Vec::new() } else { one_way(side, frame) }
    });
    let report = report(lossy, &options());
    assert_eq!(with(Verdict::No, &report), ["bursts", "losses"], "{report:#?}");
    assert!(detail(&report, "losses").contains("only when sent again"));
}

#[test]
fn changed_frames_fail_their_check() {
    for (name, bench) in [
        (
            "classic-lengths",
            changing(|frame| {
                let longer = frame.format == FrameFormat::Classic && !frame.id.is_rtr() && frame.len == 3;
                frame.len += u8::from(longer);
            }),
        ),
        ("fd-flags", changing(|frame| frame.flags &= !2)),
        ("fd-lengths", changing(|frame| frame.len = if frame.len == 48 { 32 } else { frame.len })),
        ("standard-ids", changing(|frame| frame.id = RawId(if frame.id.0 == 0x7FE { 0x7FD } else { frame.id.0 }))),
        (
            "payload-bits",
            changing(|frame| {
                let only_last = frame.format == FrameFormat::Classic && frame.data[..8] == [0, 0, 0, 0, 0, 0, 0, 1];
                frame.data[7] &= if only_last { 0xFE } else { 0xFF };
            }),
        ),
    ] {
        let report = report(bench, &options());
        assert_eq!(with(Verdict::No, &report), [name], "{report:#?}");
        assert!(detail(&report, name).contains(" became "), "{}", detail(&report, name));
    }
}

#[test]
fn truncated_extended_identifiers_fail_every_check_with_them() {
    let cutting = changing(|frame| {
        if frame.id.is_eff() {
            frame.id = RawId(frame.id.0 & !CAN_EFF_FLAG & 0x7FF);
        }
    });
    let report = report(cutting, &options());
    let wrong = with(Verdict::No, &report);
    assert!(wrong.contains(&"extended-ids") && wrong.contains(&"fd-ids"), "{wrong:?}");
    assert!(!wrong.contains(&"standard-ids") && !wrong.contains(&"losses"), "{report:#?}");
}

#[test]
fn missing_fd_fails_unless_excluded() {
    let classic = || {
        Simulated::new(|side, frame| if frame.format == FrameFormat::Fd { Vec::new() } else { both_ways(side, frame) })
    };
    let fd = ["fd-lengths", "fd-flags", "fd-ids", "fd-payload-bits"];
    let wanted = report(classic(), &options());
    assert_eq!(with(Verdict::No, &wanted), [&fd[..], &["reverse"]].concat());
    let unwanted = report(classic(), &Options { fd: Wanted::No("not asked for".into()), ..options() });
    assert_eq!((with(Verdict::No, &unwanted), with(Verdict::NotApplicable, &unwanted)), (vec![], fd.to_vec()));
    assert_eq!(detail(&unwanted, "fd-flags"), "not asked for");
}

#[test]
fn unexpected_frames_are_detected() {
    let echoing =
        report(Simulated::new(|side, frame| [one_way(side, frame), vec![(side, frame)]].concat()), &options());
    assert_eq!(with(Verdict::No, &echoing), ["returned"], "{echoing:#?}");
    let errors = report(Simulated::new(|side, frame| vec![(side.other(), frame)]), &options());
    assert_eq!(with(Verdict::No, &errors), ["error-frames"]);
    let mut number = 0;
    let chatty = Simulated::new(move |side, frame| {
        number += 1;
        let own = Frame::classic(RawId(CAN_EFF_FLAG | 0x1EAD_BEEF), b"i").unwrap();
        let own = (number % 1000 == 999).then_some((Side::To, own));
        one_way(side, frame).into_iter().chain(own).collect()
    });
    assert_eq!(with(Verdict::No, &report(chatty, &options())), ["invented"]);
}

#[test]
fn circulating_frames_do_not_hang_the_test() {
    let report = report(Simulated { circulates: true, ..Simulated::new(one_way) }, &options());
    let wrong = with(Verdict::No, &report);
    assert!(wrong.contains(&"silence") && wrong.contains(&"doubled"), "{report:#?}");
}

/// The test misses some of endless frames on any machine.
#[test]
fn flooding_gateway_is_not_a_slow_machine() {
    let flooding = Simulated::new(|side, frame| {
        let own = Frame::classic(RawId(0x7EE), b"i").unwrap();
        [one_way(side, frame), vec![(Side::To, own); 1000]].concat()
    });
    let report = report(Simulated { missed: 3, ..flooding }, &options());
    assert_eq!(with(Verdict::No, &report), ["invented", "silence"], "{report:#?}");
    assert!(detail(&report, "extended-ids").contains("the number of frames keeps growing"), "{report:#?}");
}

#[test]
fn nothing_else_is_checked_if_no_frame_crosses() {
    let silent = report(Simulated::new(|_, _| Vec::new()), &options());
    assert_eq!((silent.lines.len(), with(Verdict::No, &silent)), (1, vec!["crosses"]));
    assert_eq!(silent.first_frame_after, None);
    assert!(detail(&silent, "crosses").ends_with(" ms"), "{silent:#?}");
    let backwards = report(Simulated::new(|side, frame| vec![(side, frame)]), &options());
    assert_eq!(with(Verdict::No, &backwards), ["crosses"]);
    assert!(detail(&backwards, "crosses").ends_with(", 1 returned to their source bus"), "{backwards:#?}");
}

#[test]
fn crosses_detects_a_running_gateway() {
    assert!(crosses(&mut Simulated::new(one_way), &options()).unwrap());
    assert!(!crosses(&mut Simulated::new(|_, _| Vec::new()), &options()).unwrap());
}

#[test]
fn required_reverse_direction_must_exist() {
    let demanding = Options { both_ways: Some(Wanted::Yes), ..options() };
    assert_eq!(with(Verdict::No, &report(Simulated::new(one_way), &demanding)), ["reverse"]);
    let unwanted = Options { both_ways: Some(Wanted::No("not asked for".into())), ..options() };
    assert_eq!(with(Verdict::NotApplicable, &report(Simulated::new(both_ways), &unwanted)), ["reverse"]);
}

#[test]
fn kept_and_fresh_stamps_are_distinguished() {
    let fresh = report(Simulated::new(one_way), &options());
    assert!(detail(&fresh, "timestamps").starts_with("fresh"));
    let kept = report(Simulated { keeps_stamps: true, ..Simulated::new(one_way) }, &options());
    assert!(detail(&kept, "timestamps").starts_with("kept"));
}

#[test]
fn missed_frames_are_an_error_instead_of_a_verdict() {
    let mut slow = Simulated { missed: 3, ..Simulated::new(one_way) };
    let error = run(&mut slow, &options(), &mut |_progress| Continue::Yes).unwrap_err();
    assert!(matches!(error, ConformanceError::Missed { frames: 3 }));
}

#[test]
fn progress_callback_can_stop_the_test() {
    let stop = &mut |progress| match progress {
        Progress::Check { done: 3.., .. } => Continue::No,
        _ => Continue::Yes,
    };
    let error = run(&mut Simulated::new(one_way), &options(), stop).unwrap_err();
    assert!(matches!(error, ConformanceError::Stopped));
}
