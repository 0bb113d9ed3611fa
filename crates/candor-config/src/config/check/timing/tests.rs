use std::time::Duration;

use crate::config::{Read, load_for};
use crate::placement::{Because, KernelAbilities, NotForBpf, Placement, Side, not_for_bpf};
use crate::plan::{Engine, OnTimeout, RouteIndex, Timing};
use crate::testing::underlined;
use candor_core::frame::CANFD_MAX_DLEN;
use candor_signals::SendMode;
use candor_signals::compose::{Composer, Time};

fn read(_path: &str) -> Result<Vec<u8>, String> {
    Ok(b"BO_ 291 ABS1: 8 N\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|0] \"km/h\" N\n".to_vec())
}

fn file(lines: &str) -> String {
    format!(
        "engine = \"auto\"\n[database]\na = \"car.dbc\"\n[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n\
         [[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{lines}\n"
    )
}

fn timing(lines: &str) -> Timing {
    let read: &mut Read<'_> = &mut read;
    let loaded = load_for(file(&format!("match = \"123\"\n{lines}")).as_bytes(), None, read);
    let plan = loaded.unwrap_or_else(|findings| panic!("{lines}: {findings:#?}")).plan;
    let placement = Placement::of(&plan, KernelAbilities::NEWEST).unwrap();
    assert_eq!((placement.side(RouteIndex(0)), placement.because(RouteIndex(0))), (Side::User, Some(Because::Timing)));
    assert_eq!(not_for_bpf(&plan.routes()[0]), Some(NotForBpf::Timing));
    plan.routes()[0].timing.clone().unwrap()
}

#[test]
fn timings_are_read() {
    let full = timing(
        "cycle = \"10ms\"\nmin-delay = \"2ms\"\non-change = \"FF 0F\"\ntimeout = \"1s\"\non-timeout = \"substitute:00 01\"",
    );
    assert_eq!((full.cycle, full.min_delay), (Some(Duration::from_millis(10)), Duration::from_millis(2)));
    assert_eq!(
        full.on_change.as_deref().map(|mask| (mask.len(), mask[..3].to_vec())),
        Some((CANFD_MAX_DLEN, vec![0xFF, 0x0F, 0]))
    );
    assert_eq!(full.timeout, Some((Duration::from_secs(1), OnTimeout::Substitute(vec![0, 1]))));
    assert_eq!(full.composition().send.mode, SendMode::Mixed);
    assert_eq!(timing("cycle = \"10ms\"").composition().send.mode, SendMode::Periodic);
    assert_eq!(timing("min-delay = \"10ms\"").composition().send.mode, SendMode::Direct);
    assert_eq!(timing("timeout = \"10ms\"").timeout, Some((Duration::from_millis(10), OnTimeout::Stop)));
    let signals = timing("on-change = [\"ABS1.VehSpd\"]").on_change.unwrap();
    assert_eq!((&signals[..2], signals[2]), (&[0xFF, 0xFF][..], 0));
    assert_eq!(timing("on-change = true").on_change, Some(vec![0xFF; CANFD_MAX_DLEN]));
}

/// Neighbouring identifiers are one filter for other routes.
#[test]
fn lists_become_single_identifiers() {
    let read: &mut Read<'_> = &mut read;
    let text = file("match = [\"3A0..3A3\", \"18FEDF55\", \"3A5\"]\nto-id = \"500..\"\ncycle = \"10ms\"");
    let plan = load_for(text.replace(", \"18FEDF55\"", "").as_bytes(), None, read).unwrap().plan;
    let mut ids: Vec<_> = plan.routes()[0].selections.iter().map(|selection| selection.filter.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["3A0:C00007FF", "3A1:C00007FF", "3A2:C00007FF", "3A3:C00007FF", "3A5:C00007FF"]);
    let jobs = crate::lower(&plan);
    let frame = candor_core::frame::Frame::classic(candor_core::frame::RawId(0x3A2), &[1]).unwrap();
    let sent: Vec<_> =
        jobs.iter().filter(|job| job.takes(&frame) && job.filter.normalise().matches(frame.id)).collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].apply(&frame).0.id.0, 0x502);
}

#[test]
fn compositions_of_all_timings_are_valid() {
    for cycle in ["", "cycle = \"10ms\"\n"] {
        for more in ["min-delay = \"5ms\"", "on-change = true", "timeout = \"1s\"\non-timeout = \"keep\""] {
            let composition = timing(&format!("{cycle}{more}")).composition();
            let mut composer = Composer::new(composition, Time::from_nanos(0)).unwrap();
            // Nothing is sent before the first frame.
            assert_eq!(composer.advance(Time::from_nanos(1)), None);
            let sent = composer.received(Time::from_nanos(2), 0, &[1, 2]).map(|sent| sent.payload.to_vec());
            assert!(sent.is_none_or(|payload| payload == [1, 2]));
        }
    }
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("cycle = \"10ms\"", "E0426", "[[route]]"),
        ("match = \"100..7FF\"\ncycle = \"10ms\"", "E0426", "\"100..7FF\""),
        ("match = \"123\"\ncycle = \"10us\"", "E0312", "\"10us\""),
        ("match = \"123\"\non-timeout = \"stop\"", "E0426", "\"stop\""),
        ("match = \"123\"\ntimeout = \"1s\"\non-timeout = \"halt\"", "E0319", "\"halt\""),
        (
            "match = \"123\"\nframes = \"classic\"\ntimeout = \"1s\"\non-timeout = \"substitute:000000000000000000\"",
            "E0406",
            "000000000000000000",
        ),
        ("match = \"123\"\non-change = \"F\"", "E0306", "\"F\""),
        ("match = \"123\"\non-change = \"ABS1.Spd\"", "E0422", "\"ABS1.Spd\""),
        ("match = \"123\"\ncycle = \"10ms\"\nmax-age = \"1s\"", "E0410", "\"1s\""),
        ("match = \"123\"\ncycle = \"10ms\"\nwhen-full = \"drop-oldest\"", "E0410", "\"drop-oldest\""),
        ("match = \"123\"\ncycle = \"10ms\"\nboth-ways = true", "E0410", "true"),
        ("match = \"123\"\ncycle = \"10ms\"\nkeep-timestamp = true", "E0408", "true"),
    ];
    for (lines, code, place) in cases {
        let text = file(lines);
        let found = load_for(text.as_bytes(), None, &mut read).unwrap_err();
        assert_eq!(underlined(&text, &found), [(code, place)], "{lines}");
    }
    // The engine of the kernel has none.
    let text = file("match = \"123\"\ncycle = \"10ms\"");
    let found = load_for(text.as_bytes(), Some(Engine::Kernel), &mut read).unwrap_err();
    assert_eq!(underlined(&text, &found), [("E0408", "\"10ms\"")]);
}
