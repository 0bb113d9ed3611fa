//! CAN XL frames, which only programs forward.

use super::{Way, filters};
use crate::prelude::*;
use crate::sockets::xl;

const XL_MTU: u32 = 2060;

impl Way {
    fn for_xl() -> Option<Self> {
        let mut way = Self::new()?;
        [way.left(), way.right.near, way.right.far].into_iter().for_each(|end| set_mtu(end, XL_MTU));
        way.right.wait();
        (way.sender, way.far) = (way.place.sender("left"), listener_on(way.right.far));
        [&way.sender, &way.far].iter().for_each(|socket| socket.enable_xl().unwrap());
        Some(way)
    }

    /// The first words of the CAN XL frames that arrive of these, and of those that others on the left bus get.
    fn pass_xl(&self, words: &[u32]) -> [Vec<u32>; 2] {
        let witness = self.place.listener("left");
        witness.enable_xl().unwrap();
        words.iter().for_each(|word| self.sender.write(&xl(*word)).unwrap());
        [&self.far, &witness].map(|socket| std::iter::from_fn(|| hear_xl(socket)).collect())
    }
}

fn set_mtu(interface: InterfaceIndex, mtu: u32) {
    let mut client = Client::open().unwrap();
    link::set_down(&mut client, interface).unwrap();
    link::set_mtu(&mut client, interface, mtu).unwrap();
    link::set_up(&mut client, interface).unwrap();
}

fn hear_xl(socket: &CanSocket) -> Option<u32> {
    if can::poll(&[socket], Some(Duration::from_millis(50))).unwrap().is_empty() {
        return None;
    }
    let mut bytes = [0; CANFD_MTU];
    assert_eq!(socket.read(&mut bytes).unwrap(), CANFD_MTU);
    let word = u32::from_ne_bytes(*bytes.first_chunk().unwrap());
    assert_eq!(bytes, xl(word)[..CANFD_MTU], "unchanged");
    Some(word)
}

fn gateway(keys: &str) -> String {
    LEFT_RIGHT.to_owned() + &route("xl", "left", "right", &format!("frames = \"xl\"\n{keys}"))
}

#[test]
#[ignore = "runs in a guest"]
fn xl_frames_pass_by_priority_and_network() {
    const WORDS: [u32; 6] = [0x123, 0x124, 0x5_0123, 0x5_07FF, 0x85_0124, 0];
    let Some(way) = Way::for_xl() else { return };
    let cases: [(&str, &[u32], &[u32]); 7] = [
        ("", &WORDS, &WORDS),
        ("exclusive = true", &WORDS, &[]),
        ("match = \"123\"\nexclusive = true", &[0x123, 0x5_0123], &[0x124, 0x5_07FF, 0x85_0124, 0]),
        ("match = [\"100..123\", \"700..7FF\"]", &[0x123, 0x5_0123, 0x5_07FF], &WORDS),
        ("vcid = \"05\"", &[0x5_0123, 0x5_07FF], &WORDS),
        ("match = \"100..1FF\"\nvcid = \"85\"", &[0x85_0124], &WORDS),
        ("deny = [\"123\", \"000\"]\nexclusive = true", &[0x124, 0x5_07FF, 0x85_0124], &[0x123, 0x5_0123, 0]),
    ];
    for (keys, forwarded, left) in cases {
        let candor = way.place.start(&gateway(keys), "auto");
        assert_eq!(way.pass_xl(&WORDS), [forwarded, left], "{keys}");
        // Other frames, whose identifier would match, are none of theirs.
        assert!(!way.forwards(0x123), "{keys}");
        assert_eq!(candor.end(Signal::Terminate).counted("xl"), [forwarded.len() as u64, 0, 0], "{keys}");
        way.assert_clean();
    }
}

/// Beside routes for other frames, applied, and reported as what they are.
#[test]
#[ignore = "runs in a guest"]
fn xl_routes_live_beside_others() {
    let Some(way) = Way::for_xl() else { return };
    let both = gateway("match = \"123\"") + &route("other", "left", "right", "match = \"100\"");
    let file = way.place.file("both.toml", &format!("engine = \"bpf\"\n{both}"));
    way.place.candor(&["apply", &file]).assert(0, &["applied: 3 added"]);
    assert_eq!(filters(way.left()).len(), 3);
    assert!(way.forwards(0x100) && !way.forwards(0x123));
    assert_eq!(way.pass_xl(&[0x123, 0x100])[0], [0x123]);
    let status = way.place.candor(&["status", "--json"]).json();
    let jobs = status["owners"][0]["jobs"].as_array().unwrap();
    let mut of_format: Vec<_> =
        jobs.iter().map(|job| (job["format"].as_str().unwrap(), job["handled"].as_u64())).collect();
    of_format.sort_unstable();
    assert_eq!(of_format, [("classic", Some(1)), ("fd", Some(0)), ("xl", Some(1))]);
    way.place.candor(&["plan", &file]).assert(0, &["no difference, 3 jobs in the kernel"]);
    way.place.candor(&["down"]).assert(0, &["Removed 3 eBPF filters of "]);
    way.assert_clean();
}

#[test]
#[ignore = "runs in a guest"]
fn an_interface_without_room_for_xl_is_named() {
    let Some(way) = Way::new() else { return };
    set_mtu(way.right.near, 72);
    let candor = way.place.start(&gateway(""), "bpf");
    let words = "Route \"xl\" forwards CAN XL frames, and t-right is not for these (its MTU is below 76)";
    assert!(notices(&candor.before_ready).iter().any(|notice| notice.starts_with(words)), "{:?}", candor.before_ready);
    candor.end(Signal::Terminate);
    way.assert_clean();
}
