//! Follows a frame through the jobs of a gateway, and the sent frames that are received again.

use super::{
    Deleted, Dropped, End, Gateway, Interface, LinkState, MAX_DEPTH, MAX_FOLLOWED, Next, Outcome, Trace, Visit, Way,
    trace,
};
use crate::placement::Side;
use crate::plan::{BusIndex, Echo, Incoming};
use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_MTU, CANFD_MTU, Frame, FrameFormat};
use candor_core::job::Job;

/// The visits of a frame; true if later visits were cut.
pub(super) fn follow(gateway: &Gateway<'_>, on: BusIndex, frame: &Frame) -> (Vec<Visit>, bool) {
    let mut follower = Follower { gateway, left: MAX_FOLLOWED, is_cut: false };
    let arrival = Arrival { on, frame: *frame, hops: 0, origin: on, sender: None, depth: 0 };
    let visits = follower.visits(&arrival);
    (visits, follower.is_cut)
}

/// Returns true if the job matches a frame received on its bus.
pub(super) fn takes(job: &Job, frame: &Frame) -> bool {
    job.takes(frame) && job.filter.normalise().matches(frame.id)
}

/// A frame to be routed, as received on a bus.
struct Arrival {
    on: BusIndex,
    frame: Frame,
    hops: u8,
    /// The bus on which this machine first received it.
    origin: BusIndex,
    /// Side that sent the frame; `None` for other programs.
    sender: Option<Side>,
    depth: usize,
}

struct Follower<'a> {
    gateway: &'a Gateway<'a>,
    /// Remaining visits before the search is cut.
    left: usize,
    is_cut: bool,
}

impl Follower<'_> {
    fn visits(&mut self, arrival: &Arrival) -> Vec<Visit> {
        let mut visits = Vec::new();
        let mut is_taken = false;
        for (side, list, job) in self.offered(arrival) {
            if arrival.is_own(side) || is_taken && side != Side::Bpf {
                continue;
            }
            if arrival.depth > 0 {
                if self.left == 0 {
                    self.is_cut = true;
                    break;
                }
                self.left -= 1;
            }
            let visit = self.visit(arrival, job, side, list);
            let is_exclusive = side == Side::Bpf && self.gateway.exclusive.get(job) == Some(&true);
            is_taken |= is_exclusive && matches!(visit.outcome, Outcome::Sent(_) | Outcome::Dropped(_));
            visits.push(visit);
        }
        visits
    }

    /// The jobs that match a frame, in order of delivery.
    fn offered(&self, arrival: &Arrival) -> Vec<(Side, ReceiveList, usize)> {
        let jobs = self.gateway.jobs.iter().zip(self.gateway.sides).enumerate();
        let matching = jobs.filter(|(_, (job, _))| job.from == arrival.on && takes(job, &arrival.frame));
        let mut offered: Vec<_> = matching.map(|(at, (job, side))| (*side, job.filter.normalise().list, at)).collect();
        let rank = |side| match side {
            Side::Bpf => 0,
            Side::Kernel => 1,
            Side::User => 2,
        };
        candor_core::order::sort_by_key(&mut offered, |(side, list, _)| (rank(*side), *list));
        offered
    }

    fn visit(&mut self, arrival: &Arrival, at: usize, side: Side, list: ReceiveList) -> Visit {
        let job = &self.gateway.jobs[at];
        let (steps, outcome) = match self.refused(arrival, job, side) {
            Some(outcome) => (Vec::new(), outcome),
            None => {
                let Trace { steps, end } = trace(job, &arrival.frame);
                let outcome = match end {
                    End::Deleted(why) => Outcome::Deleted(why),
                    End::Leaves(frame) => self.not_sent(job.to, &frame).map_or(Outcome::Sent(frame), Outcome::Dropped),
                };
                (steps, outcome)
            }
        };
        let next = match outcome {
            Outcome::Sent(frame) => [self.vxcan(arrival, job, side, frame), self.echo(arrival, job, side, frame)],
            _ => [None, None],
        };
        let next = next.into_iter().flatten().collect();
        Visit { job: at, side, list, steps, outcome, next }
    }

    /// Checks of can-gw before it modifies the frame, in this order; a program knows nothing of hops and of the first interface.
    fn refused(&self, arrival: &Arrival, job: &Job, side: Side) -> Option<Outcome> {
        let max_hops = self.gateway.machine.max_hops;
        match side {
            Side::Bpf => {
                let is_down = self.gateway.machine.interface(job.to).link == Some(LinkState::Down);
                return if job.to == arrival.on && job.incoming == Incoming::Skipped {
                    Some(Outcome::BackToIncoming)
                } else {
                    is_down.then_some(Outcome::Dropped(Dropped::Down))
                };
            }
            Side::Kernel => {}
            Side::User => return None,
        }
        if arrival.hops >= max_hops {
            return Some(Outcome::Deleted(Deleted::Hops { hops: arrival.hops, max_hops }));
        }
        if self.gateway.machine.interface(job.to).link == Some(LinkState::Down) {
            return Some(Outcome::Dropped(Dropped::Down));
        }
        (job.incoming == Incoming::Skipped && job.to == arrival.origin).then_some(Outcome::BackToIncoming)
    }

    fn not_sent(&self, to: BusIndex, frame: &Frame) -> Option<Dropped> {
        let frame_bytes = match frame.format {
            FrameFormat::Classic => CAN_MTU,
            FrameFormat::Fd => CANFD_MTU,
        };
        let Interface { mtu_bytes, link, .. } = self.gateway.machine.interface(to);
        match mtu_bytes {
            Some(mtu_bytes) if mtu_bytes < frame_bytes => Some(Dropped::Mtu { frame_bytes, mtu_bytes }),
            _ => (link == Some(LinkState::Down)).then_some(Dropped::Down),
        }
    }

    /// Jobs that receive the echo of a sent frame.
    fn echo(&mut self, arrival: &Arrival, job: &Job, side: Side, frame: Frame) -> Option<Next> {
        let max_hops = self.gateway.machine.max_hops;
        let hops = match (side, arrival.hops, job.hop_limit) {
            (Side::User | Side::Bpf, ..) => 0,
            (Side::Kernel, 0, Some(limit)) => max_hops.saturating_sub(limit) + 1,
            (Side::Kernel, hops, _) => hops + 1,
        };
        let sender = Some(side);
        let again = Arrival { on: job.to, frame, hops, sender, ..arrival.after(job, side) };
        (job.echo == Echo::On).then(|| self.next(Way::Echo, &again)).flatten()
    }

    /// Jobs that receive a frame at the other end of a vxcan pair.
    ///
    /// # Source
    /// [`vxcan_xmit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vxcan.c#L37) in Linux 6.1:
    /// the [hop counter is cleared](https://github.com/gregkh/linux/blob/v6.1.192/drivers/net/can/vxcan.c#L67), the first interface is not.
    fn vxcan(&mut self, arrival: &Arrival, job: &Job, side: Side, frame: Frame) -> Option<Next> {
        let on = self.gateway.machine.interface(job.to).peer?;
        if self.gateway.machine.interface(on).link == Some(LinkState::Down) {
            return None;
        }
        self.next(Way::Vxcan, &Arrival { on, frame, hops: 0, sender: None, ..arrival.after(job, side) })
    }

    fn next(&mut self, by: Way, again: &Arrival) -> Option<Next> {
        let offered = self.offered(again);
        if offered.is_empty() {
            return None;
        }
        if again.depth > MAX_DEPTH {
            self.is_cut = true;
            return None;
        }
        let own = offered.iter().filter(|(side, ..)| again.is_own(*side)).map(|(.., at)| *at).collect();
        Some(Next { by, on: again.on, own, visits: self.visits(again) })
    }
}

impl Arrival {
    /// Returns true if this side sent the frame itself, and so does not receive it.
    fn is_own(&self, side: Side) -> bool {
        (side, self.sender) == (Side::User, Some(Side::User))
    }

    /// The frame after a job, wherever it is received.
    fn after(&self, job: &Job, side: Side) -> Self {
        let origin = if side == Side::User { job.to } else { self.origin };
        Self { origin, depth: self.depth + 1, ..*self }
    }
}
