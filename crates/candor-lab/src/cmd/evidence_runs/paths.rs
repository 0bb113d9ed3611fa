//! The runs of each route from an untrusted to a trusted bus.

use std::path::Path;

use candor_config::plan::{BusIndex, Plan, RouteIndex};
use candor_core::bits::FrameBits;
use candor_core::frame::{Frame, RawId};
use candor_core::units::BitRate;
use candor_lab::border::count::{self, Counted};
use candor_lab::border::example::Numbering;
use candor_lab::border::{Bystander, Flood, Jitter, NotRun, Order, PathRun};
use candor_lab::stats::{LatencyNs, Quantile, Series};

use super::super::method;
use super::traffic::{self, Due, On, Passed};
use super::way::{Way, id_text};
use super::{Failure, gateway, inversion};

const FLOOD_NS: i64 = 500_000_000;
const WINDOW_NS: i64 = 100_000_000;
const BYSTANDER_NS: i64 = 10_000_000;
/// Without a bit rate in the file: the highest of CAN CC.
const FASTEST: BitRate = BitRate::from_bits_per_second(1_000_000).expect("a million is not 0");
/// Frames of a run of order or jitter, and how long it may take with fewer.
const MOST_FRAMES: i64 = 300;
const LEAST_FRAMES: i64 = 8;
const ENOUGH_NS: i64 = 1_500_000_000;
const JITTER_NS: i64 = 5_000_000;

pub(super) fn measure(
    file: &Path,
    plan: &Plan,
    untrusted: &[BusIndex],
) -> Result<(Vec<PathRun>, Vec<NotRun>), Failure> {
    let (mut paths, mut not_run) = (Vec::new(), Vec::new());
    for (number, route) in plan.routes().iter().enumerate() {
        if !untrusted.contains(&route.from) || untrusted.contains(&route.to) {
            continue;
        }
        match Way::of(file, plan, RouteIndex(number)) {
            Ok(way) => paths.push(way.measure()?),
            Err(because) => not_run.push(NotRun {
                route: route.name.clone(),
                from: plan.bus(route.from).name.clone(),
                to: plan.bus(route.to).name.clone(),
                because: because.to_owned(),
            }),
        }
    }
    Ok((paths, not_run))
}

impl Way<'_> {
    fn measure(&self) -> Result<PathRun, Failure> {
        let interfaces = method::create(self.plan.buses().iter().map(|bus| &bus.interface))?;
        let flood = self.flood()?;
        let period = self.permitted_ns(&flood);
        let order = self.order(&self.frames[..1], period)?;
        let order_of_several = (self.frames.len() > 1).then(|| self.order(&self.frames, period)).transpose()?;
        let jitter = self.jitter(period)?;
        drop(interfaces);
        Ok(PathRun {
            route: self.route.name.clone(),
            from: self.plan.bus(self.route.from).name.clone(),
            to: self.plan.bus(self.route.to).name.clone(),
            frame: self.frames[0].to_string(),
            leaves_as_hex: id_text(self.leaves.id),
            is_timed: self.route.timing.is_some(),
            inversion: (order.arrived_frames > 0).then(|| inversion::measure(self, period)).transpose()?,
            flood,
            order,
            order_of_several,
            jitter,
        })
    }

    /// The time of the example frame on the untrusted bus.
    fn frame_ns(&self) -> i64 {
        let bus = self.plan.bus(self.route.from);
        let bits = FrameBits::of(&self.frames[0]);
        let time = bits.wire_time_ns(bus.bitrate.unwrap_or(FASTEST), bus.data_bitrate);
        i64::try_from(time).unwrap_or(i64::MAX)
    }

    fn play(&self, schedule: &[Due]) -> Result<(Passed, gateway::Counted), Failure> {
        let names = [self.route.from, self.route.to].map(|bus| self.plan.bus(bus).interface.as_str());
        let play = || traffic::play((names[0], names[1]), schedule);
        method::as_tester(|| gateway::during(self.file, &self.route.name, play))
    }

    fn flood(&self) -> Result<Flood, Failure> {
        let period = self.frame_ns();
        let bystander = self.bystander();
        let every = |period: i64, on, frame: Frame| {
            (0..FLOOD_NS / period).map(move |number| Due { at_ns: number * period, on, frame })
        };
        let flood = every(period, On::Untrusted, self.frames[0]);
        let mut schedule: Vec<Due> = every(BYSTANDER_NS, On::Trusted, bystander).chain(flood).collect();
        schedule.sort_by_key(|due| due.at_ns);
        let (passed, counted) = self.play(&schedule)?;
        let arrived = times(&passed, self.leaves.id);
        let met = times(&passed, bystander.id);
        let due = (0..).map(|number| number * BYSTANDER_NS);
        let delays = met.iter().zip(due).map(|(at, due)| u64::try_from(at - due).unwrap_or(0));
        let late = arrived.iter().filter(|at| (FLOOD_NS / 2..FLOOD_NS).contains(*at)).count();
        let sent = |on| schedule.iter().filter(|due| due.on == on).count() as u64;
        Ok(Flood {
            time_ns: FLOOD_NS.unsigned_abs(),
            period_ns: period.unsigned_abs(),
            sent_frames: sent(On::Untrusted),
            arrived_frames: arrived.len() as u64,
            arrived_in_second_half_frames: late as u64,
            refused_frames: counted.deleted,
            window_ns: WINDOW_NS.unsigned_abs(),
            fullest_window_frames: count::fullest_window(&arrived, WINDOW_NS) as u64,
            bystander: Bystander {
                identifier_hex: id_text(bystander.id),
                period_ns: BYSTANDER_NS.unsigned_abs(),
                sent_frames: sent(On::Trusted),
                arrived_frames: met.len() as u64,
                max_delay_ns: delays.max().unwrap_or(0),
            },
        })
    }

    /// A frame of a trusted node that no run of the path sends.
    fn bystander(&self) -> Frame {
        let is_free = |id: &RawId| *id != self.leaves.id;
        let id = [RawId(0x7EF), RawId(0x7EE)].into_iter().find(is_free).unwrap_or(RawId(0x7EF));
        Frame { id, len: 8, ..Frame::EMPTY }
    }

    /// 1.25 times the time between two frames that the path permits: that of frames without a gap, or of those that passed in
    /// the second half of the flood if others did not.
    fn permitted_ns(&self, flood: &Flood) -> i64 {
        let half = FLOOD_NS / 2;
        let passed = i64::try_from(flood.arrived_in_second_half_frames).unwrap_or(i64::MAX);
        let sent = half / self.frame_ns();
        let between = if passed + passed / 10 < sent { half / passed.max(1) } else { self.frame_ns() };
        between + between / 4
    }

    fn order(&self, frames: &[Frame], period: i64) -> Result<Order, Failure> {
        let room = self.numbering.as_ref().map_or(u32::MAX, Numbering::room);
        let number = (ENOUGH_NS / period).clamp(LEAST_FRAMES, MOST_FRAMES).min(room.into());
        let schedule = self.numbered(frames, period, u32::try_from(number)?);
        let leaving: Vec<RawId> =
            schedule.iter().filter_map(|due| Some(self.forwarder.forward(&due.frame)?.id)).collect();
        let (passed, counted) = self.play(&schedule)?;
        let arrived = passed.left.iter().filter(|seen| leaving.contains(&seen.frame.id));
        let read = |frame: &Frame| self.numbering.as_ref().and_then(|numbering| numbering.read(frame));
        let found = match self.numbering {
            Some(_) => {
                let numbered = arrived.filter_map(|seen| Some((seen.frame.id, read(&seen.frame)?)));
                Counted::of(numbered)
            }
            None => Counted { arrived: arrived.count() as u64, ..Counted::default() },
        };
        let sent = schedule.len() as u64;
        Ok(Order {
            identifiers: u32::try_from(frames.len())?,
            period_ns: period.unsigned_abs(),
            sent_frames: sent,
            arrived_frames: found.arrived,
            refused_frames: counted.deleted,
            dropped_frames: counted.dropped,
            lost_frames: sent.saturating_sub(found.different() + counted.deleted),
            is_numbered: self.numbering.is_some(),
            out_of_order_frames: found.out_of_order,
            out_of_order_between_identifiers_frames: found.between_identifiers,
            duplicated_frames: found.duplicated,
        })
    }

    fn jitter(&self, period: i64) -> Result<Option<Jitter>, Failure> {
        let period = period.max(JITTER_NS);
        let number = (ENOUGH_NS / 3 / period).max(LEAST_FRAMES);
        let (passed, _) = self.play(&self.numbered(&self.frames[..1], period, u32::try_from(number)?))?;
        let came = times_of(&passed.came, self.frames[0].id);
        let left = times(&passed, self.leaves.id);
        // Frames are far apart: each that left belongs to the last that came.
        let latencies: Vec<i64> = left
            .iter()
            .filter_map(|left| Some(left - came[..came.partition_point(|came| came <= left)].last()?))
            .collect();
        let gaps = latencies.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        let max_gap_deviation_ns = gaps.max().unwrap_or(0);
        let Some(series) = Series::new(latencies.into_iter().map(LatencyNs).collect()) else { return Ok(None) };
        let at = |quantile| series.quantile(quantile).0;
        Ok(Some(Jitter {
            period_ns: period.unsigned_abs(),
            frames: series.count() as u64,
            min_ns: series.min().0,
            p50_ns: at(Quantile::P50),
            p99_ns: at(Quantile::P99),
            max_ns: series.max().0,
            max_gap_deviation_ns,
        }))
    }
}

/// When frames with this identifier left.
fn times(passed: &Passed, id: RawId) -> Vec<i64> {
    times_of(&passed.left, id)
}

fn times_of(seen: &[traffic::Seen], id: RawId) -> Vec<i64> {
    seen.iter().filter(|seen| seen.frame.id == id).map(|seen| seen.at_ns).collect()
}
