//! Bus load, computed from the counters of the interfaces.

use std::collections::HashMap;

use candor_config::plan::Bus;
use candor_core::bits::Occupancy;
use candor_core::frame::{CANFD_MTU, FrameFormat};
use candor_netlink::link::{Link, Traffic};

/// Occupied time of each bus since the first update, by name.
#[derive(Debug, Default)]
pub(super) struct Loads(HashMap<String, Load>);

#[derive(Debug)]
struct Load {
    /// Frames and payload bytes of the interface at the last update.
    counted: (u64, u64),
    busy: Occupancy,
}

impl Loads {
    /// Adds what the interface has counted since the last update and returns the occupied time so far; `None` if the bit rate is
    /// unknown. The bit rate of the controller takes precedence over that of the file.
    pub(super) fn follow(&mut self, bus: &Bus, link: &Link) -> Option<Occupancy> {
        let can = link.can?;
        let (nominal, data) = match can.bitrate {
            Some(nominal) => (nominal, can.data_bitrate),
            None => (bus.bitrate?, bus.data_bitrate),
        };
        let format = if link.mtu as usize >= CANFD_MTU { FrameFormat::Fd } else { FrameFormat::Classic };
        // vcan counts echoed frames as received, too.
        let received = if link.kind.as_deref() == Some("vcan") { Traffic::default() } else { link.received };
        let now = (received.frames + link.sent.frames, received.bytes + link.sent.bytes);
        let load = self.0.entry(bus.name.clone()).or_insert_with(|| Load { counted: now, busy: Occupancy::default() });
        // A new interface of the same name counts from 0.
        let before = if now.0 < load.counted.0 { (0, 0) } else { load.counted };
        let grown = Occupancy::of(now.0 - before.0, now.1.saturating_sub(before.1), format, nominal, data);
        load.counted = now;
        load.busy.least_ns += grown.least_ns;
        load.busy.most_ns = load.busy.most_ns.saturating_add(grown.most_ns);
        Some(load.busy)
    }
}

#[cfg(test)]
mod tests {
    use candor_config::config;
    use candor_core::units::BitRate;
    use candor_netlink::link::CanLink;

    use super::*;
    use crate::cmd::test_links as links;

    fn link(bitrate: u32, frames: u64) -> Link {
        Link {
            received: Traffic { frames: frames - frames / 4, bytes: frames, ..Traffic::default() },
            sent: Traffic { frames: frames / 4, ..Traffic::default() },
            can: Some(CanLink { bitrate: BitRate::from_bits_per_second(bitrate), ..CanLink::default() }),
            ..links::controller("can0")
        }
    }

    fn bus(keys: &str) -> Bus {
        let text = format!(
            "[bus.a]\ninterface = \"can0\"\n{keys}\n[bus.b]\ninterface = \"can1\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\n\
             to = \"b\"\n"
        );
        config::load(text.as_bytes()).unwrap().plan.buses()[0].clone()
    }

    #[test]
    fn busy_time_grows_with_the_counters() {
        let (mut loads, bus) = (Loads::default(), bus(""));
        let mut follow = |bitrate, frames| {
            let Occupancy { least_ns, most_ns } = loads.follow(&bus, &link(bitrate, frames)).unwrap();
            (least_ns, most_ns)
        };
        assert_eq!(follow(1_000_000, 500), (0, 0), "earlier traffic is not counted");
        // A byte for each frame: 55 to 90 bits.
        assert_eq!(follow(1_000_000, 600), (5_500_000, 9_000_000));
        // Half as fast, each bit lasts twice as long; what was before stays.
        assert_eq!(follow(500_000, 700), (16_500_000, 27_000_000));
        // The interface was exchanged.
        assert_eq!(follow(1_000_000, 100), (22_000_000, 36_000_000));
    }

    #[test]
    fn without_a_bit_rate_there_is_no_load() {
        let mut loads = Loads::default();
        assert_eq!(loads.follow(&bus(""), &link(0, 100)), None);
        let said = bus("bitrate = \"500kbit/s\"");
        let vcan = |frames| Link { kind: Some("vcan".into()), ..link(0, frames) };
        assert_eq!(loads.follow(&said, &vcan(100)), Some(Occupancy::default()), "the file knows");
        // 25 frames that were sent, and what else was received is their echo.
        let busy = loads.follow(&said, &vcan(200)).unwrap();
        assert_eq!(busy, Occupancy { least_ns: 25 * 47 * 2000, most_ns: 25 * 80 * 2000 });
    }
}
