use super::*;
use crate::plan::SendAs;
use crate::safety::hazards;
use crate::testing::{pair, pattern, plan, route};
use candor_core::filter::Filter;
use candor_core::rule::Operand;

const INDEX: RouteIndex = RouteIndex(0);

fn found(route: Route) -> Vec<Hazard> {
    hazards(&plan(2, vec![route]))
}

fn id(id: u32) -> Operand {
    Operand { id: Some(id), ..Operand::NONE }
}

fn len(len: u8) -> Operand {
    Operand { len: Some(len), ..Operand::NONE }
}

fn kind(id: u32, format: FrameFormat) -> Kind {
    Kind { id: RawId(id), format, is_xl: false }
}

fn malformed(taken: u32, sent: u32, format: FrameFormat, what: Malformed) -> Hazard {
    Hazard::MalformedId { route: INDEX, taken: kind(taken, format), sent: kind(sent, format), what }
}

#[test]
fn finds_malformed_identifiers() {
    let (classic, fd) = (Formats::Only(FrameFormat::Classic), Formats::Only(FrameFormat::Fd));
    let changed = |formats, change: fn(&mut Route)| {
        let mut route = Route { formats, ..route("r", 0, 1, Filter::ALL) };
        change(&mut route);
        found(route)
    };
    let high = |taken, sent| malformed(taken, sent, FrameFormat::Classic, Malformed::HighBits);
    // SET of 29 bits without EFF, AND that takes EFF away and leaves the bits, OR of a high bit, XOR of EFF.
    assert_eq!(changed(classic, |route| route.modifications.set = id(0x12345)), [high(0, 0x12345)]);
    assert_eq!(changed(classic, |route| route.modifications.and = id(0xFFF)), [high(0x8000_0800, 0x800)]);
    assert_eq!(changed(classic, |route| route.modifications.or = id(0x800)), [high(0, 0x800)]);
    assert_eq!(changed(classic, |route| route.modifications.xor = id(0x8000_0000)), [high(0x8000_0800, 0x800)]);
    let error = malformed(0, 0x2000_0000, FrameFormat::Classic, Malformed::Error);
    assert_eq!(changed(classic, |route| route.modifications.or = id(0x2000_0000)), [error]);
    let remote = malformed(0, 0x4000_0456, FrameFormat::Fd, Malformed::RemoteFd);
    assert_eq!(changed(fd, |route| route.modifications.set = id(0x4000_0456)), [remote]);
    // Sound ones: SET with EFF, AND that leaves 11 bits, OR of EFF, a high bit where EFF is set too.
    assert_eq!(changed(classic, |route| route.modifications.set = id(0x8001_2345)), []);
    assert_eq!(changed(classic, |route| route.modifications.and = id(0x7FF)), []);
    assert_eq!(changed(classic, |route| route.modifications.or = id(0x8000_0800)), []);
    assert_eq!(changed(fd, |route| route.modifications.xor = id(0x7FF)), []);
}

#[test]
fn considers_only_matched_frames() {
    let flipped = |filter| {
        let mut route = route("r", 0, 1, filter);
        route.modifications.xor = id(0x8000_0000);
        found(route)
    };
    let exact = |id| flipped(crate::testing::exact(id));
    assert_eq!(exact(0x8000_07FF), []);
    assert_eq!(exact(0x8000_0800), [malformed(0x8000_0800, 0x800, FrameFormat::Classic, Malformed::HighBits)]);
}

#[test]
fn finds_routes_that_match_no_frame() {
    let fd = Formats::Only(FrameFormat::Fd);
    let none = [Hazard::NoFrame(INDEX)];
    let remote = Filter { id: 0x4000_0123, mask: 0xC000_07FF };
    assert_eq!(found(Route { formats: fd, ..route("r", 0, 1, remote) }), none);
    assert_eq!(found(route("r", 0, 1, remote)), []);
    let errors = Filter { id: 0, mask: 0x2000_01FF };
    assert_eq!(found(Route { formats: fd, ..route("r", 0, 1, errors) }), none);
    assert_eq!(found(route("r", 0, 1, errors)), []);
    assert_eq!(found(route("r", 0, 1, Filter { id: 0x2000_0000, mask: 0 })), none);

    let classic = Formats::Only(FrameFormat::Classic);
    let long = |formats, send_as| {
        found(Route { formats, send_as, payload: vec![pattern(8, 0xFF, 0)], ..route("r", 0, 1, Filter::ALL) })
    };
    assert_eq!(long(classic, None), none);
    assert_eq!(long(fd, None), []);
    assert_eq!(long(fd, Some(SendAs::Classic)), none);
    assert_eq!(found(Route { payload: vec![pattern(0, 1, 0)], ..route("r", 0, 1, remote) }), none);
}

#[test]
fn finds_invalid_lengths() {
    let of = |formats, change: fn(&mut Route)| {
        let mut route = Route { formats, ..route("r", 0, 1, Filter::ALL) };
        change(&mut route);
        found(route)
    };
    let (classic, fd) = (Formats::Only(FrameFormat::Classic), Formats::Only(FrameFormat::Fd));
    let deletes = |came, becomes, is_all| Hazard::LengthDeletes { route: INDEX, came, becomes, is_all };
    assert_eq!(of(classic, |route| route.modifications.set = len(16)), [deletes(0, 16, true)]);
    assert_eq!(of(classic, |route| route.modifications.or = len(16)), [deletes(0, 16, true)]);
    assert_eq!(of(classic, |route| route.modifications.xor = len(15)), []);
    // A raw DLC of 9 to 15 is a length of 8, and a later operation repairs what an earlier one did.
    assert_eq!(of(classic, |route| route.modifications.or = len(8)), []);
    let repaired = |route: &mut Route| (route.modifications.or, route.modifications.set) = (len(16), len(4));
    assert_eq!(of(classic, repaired), []);
    let odd = |came, becomes| Hazard::OddLength { route: INDEX, came, becomes };
    assert_eq!(of(fd, |route| route.modifications.or = len(33)), [deletes(64, 97, false), odd(0, 33)]);
    assert_eq!(of(fd, |route| route.modifications.set = len(12)), []);
    assert_eq!(of(fd, |route| route.modifications.and = len(0x7C)), []);
    assert_eq!(of(fd, |route| route.modifications.and = len(0x1F)), []);
    // Frames of up to 8 bytes are left, and become 9 to 15.
    let converted = |route: &mut Route| (route.send_as, route.modifications.or) = (Some(SendAs::Classic), len(8));
    assert_eq!(of(fd, converted), []);
}

#[test]
fn considers_only_lengths_that_payload_patterns_allow() {
    // OR of 48 makes 60 of 12; the lengths that can carry byte 40 stay as they are.
    let mut route = Route { formats: Formats::Only(FrameFormat::Fd), ..route("r", 0, 1, Filter::ALL) };
    route.modifications.and = len(0x70);
    route.modifications.or = len(48);
    route.modifications.xor = len(0);
    assert_eq!(found(route.clone()), [Hazard::LengthDeletes { route: INDEX, came: 64, becomes: 112, is_all: false }]);
    route.modifications.and = len(0x3F);
    assert_eq!(found(route.clone()), [Hazard::OddLength { route: INDEX, came: 1, becomes: 49 }]);
    route.payload = vec![pattern(40, 0xFF, 0)];
    assert_eq!(found(route), []);
}

#[test]
fn finds_fd_frames_on_classic_buses() {
    let rate = |text: &str| Some(text.parse().unwrap());
    let (classic, fd) = ((rate("500kbit/s"), None), (rate("500kbit/s"), rate("2Mbit/s")));
    let unknown = (None, None);
    let found = |route: Route, from, to| {
        let mut plan = plan(2, vec![route]);
        for (bus, (bitrate, data_bitrate)) in plan.buses.iter_mut().zip([from, to]) {
            (bus.bitrate, bus.data_bitrate) = (bitrate, data_bitrate);
        }
        hazards(&plan)
    };
    let all = || route("r", 0, 1, Filter::ALL);
    let only = |format| Route { formats: Formats::Only(format), ..all() };
    let (from, to) = (|| Hazard::FdFromClassicBus(INDEX), || Hazard::FdToClassicBus(INDEX));
    assert_eq!(found(all(), fd, classic), [to()]);
    assert_eq!(found(only(FrameFormat::Fd), unknown, classic), [to()]);
    assert_eq!(found(only(FrameFormat::Fd), classic, fd), [from()]);
    assert_eq!(found(only(FrameFormat::Fd), classic, classic), [from(), to()]);
    let send_as = |send_as| Route { send_as: Some(send_as), ..all() };
    assert_eq!(found(send_as(SendAs::Fd { bit_rate_switch: false }), classic, classic), [to()]);
    for (sound, from, to) in [
        (all(), fd, fd),
        (all(), classic, classic),
        (all(), unknown, classic),
        (all(), fd, unknown),
        (only(FrameFormat::Classic), fd, classic),
        (send_as(SendAs::Classic), fd, classic),
        // There are neither remote frames nor error message frames of FD.
        (route("r", 0, 1, Filter { id: 0x4000_0123, mask: 0xC000_07FF }), fd, classic),
        (route("r", 0, 1, Filter { id: 0, mask: 0x2000_01FF }), fd, classic),
    ] {
        assert_eq!(found(sound.clone(), from, to), [], "{sound:?}");
    }
    // Only FD frames are that long, though the route does not say so.
    assert_eq!(found(Route { payload: vec![pattern(8, 0xFF, 0)], ..all() }, classic, fd), [from()]);
}

#[test]
fn reports_hop_limits_and_timestamps() {
    let limited = |echo| found(Route { hop_limit: Some(2), echo, ..route("r", 0, 1, Filter::ALL) });
    assert_eq!(limited(Echo::Off), [Hazard::HopLimitIsIdle(INDEX)]);
    assert_eq!(limited(Echo::On), [Hazard::NeedsMaxHops { route: INDEX, limit: 2 }]);
    assert_eq!(found(Route { hop_limit: Some(1), ..route("r", 0, 1, Filter::ALL) }), []);
    // The near end of a vxcan pair has its echo as other interfaces have, and there the hops count.
    let mut gateway = plan(3, vec![Route { hop_limit: Some(2), echo: Echo::On, ..route("r", 0, 1, Filter::ALL) }]);
    pair(&mut gateway, 1, 2);
    assert_eq!(hazards(&gateway), [Hazard::NeedsMaxHops { route: INDEX, limit: 2 }]);
    let kept = Route { timestamp: Timestamp::Kept, ..route("r", 0, 1, Filter::ALL) };
    assert_eq!(found(kept), [Hazard::KeepsTimestamp(INDEX)]);
}
