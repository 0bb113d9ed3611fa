//! Frames that a program cannot send: the interface is down, or its queue is full.

use super::{Way, gateway};
use crate::metrics;
use crate::prelude::*;

/// The first frame leaves, and the queue has room for three. The next one would leave after 16 seconds.
const FULL: &str = "qdisc add dev t-right root tbf rate 8bit burst 16 limit 48";
/// Frames handled and dropped, and why, by route.
const EXPECTED: [(&str, [u64; 2], &str); 2] = [("r100", [2, 3], "down"), ("r200", [4, 6], "full")];

impl Way {
    fn lose_frames(&self) {
        let mut client = Client::open().unwrap();
        assert!(self.forwards(0x100));
        link::set_down(&mut client, self.right.near).unwrap();
        (0..3).for_each(|_| assert!(!self.forwards(0x100)));
        link::set_up(&mut client, self.right.near).unwrap();
        self.right.wait();
        while hear(&self.far, Duration::from_millis(20)).is_some() {}
        assert!(self.forwards(0x100));

        let tc = |words: &str| output(Command::new("tc").args(words.split(' '))).assert(0, &[]);
        tc(FULL);
        (0..10).for_each(|_| send(&self.sender, &classic(0x200, &[1])));
        assert!(hear(&self.far, PATIENCE).is_some());
        tc("qdisc del dev t-right root");
        assert_eq!(hear(&self.far, Duration::from_millis(20)), None);
    }
}

#[test]
#[ignore = "runs in a guest"]
fn frames_that_cannot_leave_are_counted() {
    let Some(way) = Way::new() else { return };
    let keeps = "exclusive = true\nmatch";
    for gateway in [gateway(&["100", "200"]), gateway(&["100", "200"]).replace("match", keeps)] {
        let candor = way.place.start(&gateway, "bpf");
        way.lose_frames();
        let line = |route: &str, dropped: u64, reason: &str| {
            let labels = format!("route=\"{route}\",from=\"left\",to=\"right\",side=\"bpf\"");
            format!("candor_route_dropped_frames_total{{{labels},reason=\"{reason}\"}} {dropped}\n")
        };
        wait_until("they are counted", || {
            let text = metrics::of_run_dir(way.place.run_dir.path());
            EXPECTED.iter().all(|(route, [_, dropped], reason)| text.contains(&line(route, *dropped, reason)))
        });
        let ended = candor.stop();
        for (route, [handled, dropped], _) in EXPECTED {
            assert_eq!(ended.counted(route), [handled, dropped, 0], "{route}: {ended:?}");
        }
        way.assert_clean();
    }

    let file = way.write("way.toml", &gateway(&["100", "200"]));
    way.place.candor(&["apply", &file]).assert(0, &["applied: 2 added"]);
    way.lose_frames();
    for (route, counted, _) in EXPECTED {
        assert_eq!(way.counted_by_status(route), Some(counted), "{route}");
    }
    way.place.candor(&["status"]).assert(0, &["dropped"]);
    way.place.candor(&["down"]).assert(0, &["Removed 2 eBPF filters of "]);
    way.assert_clean();
}
