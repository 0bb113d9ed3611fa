//! Bus-off controllers: reported, and restarted if the file says so (`restart-after`).
//!
//! An interface whose controller is bus-off still accepts frames, and the kernel drops them silently (without carrier
//! its qdisc is `noop`). So candor sets an interface that it will restart down at once, which makes `send()` fail and
//! the frame countable. Every driver supports down and up; a restart by netlink is not universal (slcan lacks
//! `do_set_mode`, and kernels before 2025 call it nevertheless).
//!
//! # Source
//! [`can_bus_off()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/dev/dev.c#L201), [`can_restart()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/dev/dev.c#L128),
//! [`dev_deactivate()`](https://github.com/gregkh/linux/blob/v6.1.192/net/sched/sch_generic.c#L1388).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use candor_config::plan::{BusIndex, Plan};
use candor_io::can::InterfaceIndex;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link::{self, CanState, Link};

use candor_userspace::notice::{Notice, Restart};
use candor_userspace::preflight::Interfaces;

#[derive(Debug, Default)]
pub(super) struct BusOff {
    by_interface: BTreeMap<u32, Off>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Off {
    /// The driver or an administrator restarts it; `came` is the number of accepted frames at bus-off.
    Left { came: u64 },
    /// candor has set it down and will set it up.
    Held { index: InterfaceIndex, until: Instant },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Wait,
    Leave,
    Return,
    Start,
}

impl BusOff {
    /// True if an interface is bus-off, or was at the last check.
    pub(super) fn has_work(&self, interfaces: &Interfaces) -> bool {
        !self.by_interface.is_empty() || interfaces.there().any(|(_bus, link)| is_off(link))
    }

    /// Checks all interfaces after [`Interfaces::refresh`], and removes from `notices` what candor itself caused.
    /// `handed_over` returns the number of accepted frames of a bus.
    pub(super) fn check(
        &mut self,
        (plan, interfaces): (&Plan, &Interfaces),
        handed_over: impl Fn(BusIndex) -> u64,
        client: &mut Client,
        now: Instant,
        notices: &mut Vec<Notice>,
    ) {
        let there = |index: u32| interfaces.there().any(|(_bus, link)| link.index.number() == index);
        self.by_interface.retain(|index, _off| there(*index));
        for (bus, link) in interfaces.there() {
            let interface = || link.name.clone();
            let key = link.index.number();
            let off = self.by_interface.get(&key).copied();
            if matches!(off, Some(Off::Held { .. })) {
                let own =
                    [Notice::InterfaceDown { interface: interface() }, Notice::InterfaceUp { interface: interface() }];
                notices.retain(|notice| !own.contains(notice));
            }
            match event(off, link, now) {
                Event::Wait => {}
                Event::Leave => {
                    let restart = restart(plan.bus(bus).restart_after, link);
                    let off = match restart {
                        Restart::Candor { after } => Off::Held { index: link.index, until: now + after },
                        Restart::Driver { .. } | Restart::Manual => Off::Left { came: handed_over(bus) },
                    };
                    self.by_interface.insert(key, off);
                    notices.push(Notice::BusOff { interface: interface(), restart });
                    if let Restart::Candor { .. } = restart {
                        notices.extend(failure(link, link::set_down(client, link.index)));
                    }
                }
                Event::Return => {
                    self.by_interface.remove(&key);
                    let meanwhile = match off {
                        Some(Off::Left { came }) => handed_over(bus).saturating_sub(came),
                        _ => 0,
                    };
                    notices.push(Notice::BusBack { interface: interface(), meanwhile });
                }
                Event::Start => {
                    // If it goes bus-off again, the delay is the same.
                    let again = plan.bus(bus).restart_after.unwrap_or(DEFAULT_AGAIN);
                    self.by_interface.insert(key, Off::Held { index: link.index, until: now + again });
                    notices.extend(failure(link, link::set_up(client, link.index)));
                }
            }
        }
    }

    /// Time until the next restart.
    pub(super) fn due_within(&self, now: Instant) -> Option<Duration> {
        let due = self.by_interface.values().filter_map(|off| match off {
            Off::Held { until, .. } => Some(until.saturating_duration_since(now)),
            Off::Left { .. } => None,
        });
        due.min()
    }
}

/// For a reload that removed `restart-after` while an interface was down.
const DEFAULT_AGAIN: Duration = Duration::from_secs(1);

fn is_off(link: &Link) -> bool {
    link.up && link.can.and_then(|can| can.state) == Some(CanState::BusOff)
}

fn event(off: Option<Off>, link: &Link, now: Instant) -> Event {
    let is_off = is_off(link);
    match off {
        None if is_off => Event::Leave,
        None => Event::Wait,
        Some(Off::Left { .. }) if is_off => Event::Wait,
        Some(Off::Left { .. }) => Event::Return,
        // Not down yet, or bus-off again immediately after the restart.
        Some(Off::Held { until, .. }) if is_off => {
            if now < until {
                Event::Wait
            } else {
                Event::Leave
            }
        }
        Some(Off::Held { .. }) if link.up => Event::Return,
        Some(Off::Held { until, .. }) => {
            if now < until {
                Event::Wait
            } else {
                Event::Start
            }
        }
    }
}

fn failure(link: &Link, result: Result<(), NetlinkError>) -> Option<Notice> {
    let error = result.err()?;
    Some(Notice::RestartFailed { interface: link.name.clone(), why: error.to_string() })
}

fn restart(restart_after: Option<Duration>, link: &Link) -> Restart {
    match (restart_after, link.can.and_then(|can| can.restart_ms)) {
        (Some(after), _) => Restart::Candor { after },
        (None, Some(ms)) => Restart::Driver { after: Duration::from_millis(u64::from(ms.get())) },
        (None, None) => Restart::Manual,
    }
}

/// Sets up the interfaces that candor has set down.
impl Drop for BusOff {
    fn drop(&mut self) {
        let held = self.by_interface.values().filter_map(|off| match off {
            Off::Held { index, .. } => Some(*index),
            Off::Left { .. } => None,
        });
        let held: Vec<_> = held.collect();
        if let (false, Ok(mut client)) = (held.is_empty(), Client::open()) {
            for index in held {
                // There is no caller to report an error to.
                let _ = link::set_up(&mut client, index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_netlink::link::{CanLink, Traffic};

    use super::*;

    fn link(up: bool, state: CanState) -> Link {
        let index = InterfaceIndex::new(7).unwrap();
        let can = Some(CanLink { state: Some(state), ..CanLink::default() });
        Link {
            index,
            name: "can0".into(),
            kind: None,
            up,
            echoes: true,
            mtu: 16,
            tx_queue_len: 10,
            received: Traffic::default(),
            sent: Traffic::default(),
            can,
        }
    }

    #[test]
    fn every_state_has_its_step() {
        let now = Instant::now();
        let held = |until| Some(Off::Held { index: InterfaceIndex::new(7).unwrap(), until });
        let (early, late) = (held(now + Duration::from_secs(1)), held(now));
        let left = Some(Off::Left { came: 3 });
        let (active, off, down) =
            (link(true, CanState::ErrorActive), link(true, CanState::BusOff), link(false, CanState::Stopped));
        for (before, link, expected) in [
            (None, &active, Event::Wait),
            (None, &down, Event::Wait),
            (None, &off, Event::Leave),
            (left, &off, Event::Wait),
            (left, &active, Event::Return),
            (left, &down, Event::Return),
            (early, &down, Event::Wait),
            (early, &off, Event::Wait),
            (early, &active, Event::Return),
            (late, &down, Event::Start),
            (late, &off, Event::Leave),
        ] {
            assert_eq!(event(before, link, now), expected, "{before:?} {link:?}");
        }
    }
}
