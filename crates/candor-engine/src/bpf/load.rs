//! Programs and their maps in the kernel.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use candor_bpf::assembler::MapIndex;
use candor_bpf::gateway::{Action, Filter, Filters, Map, idle};
use candor_core::job::{Computed, CounterInByte, Job, RouteIndex};
use candor_io::bpf::{self, MapKind};
use candor_io::clock;

use super::error::BpfError;
use candor_userspace::latency::{CLASSES, Latencies};

/// Name of all maps.
const MAP: &std::ffi::CStr = c"candor_route";

/// Programs in the kernel.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) programs: Vec<OwnedFd>,
    pub(super) idle: OwnedFd,
    pub(super) deleted: Option<DeletedFrames>,
    pub(super) latencies: Option<MeasuredLatencies>,
}

/// Frames that each step deleted.
#[derive(Debug)]
pub(super) struct DeletedFrames {
    pub(super) map: bpf::Map,
    /// By step: the name of its route, and the frames at the last reading.
    pub(super) steps: Vec<(String, u64)>,
}

/// Latencies of the frames of each step.
#[derive(Debug)]
pub(super) struct MeasuredLatencies {
    pub(super) tai_ahead: bpf::Map,
    pub(super) map: bpf::Map,
    /// By step: the name of its route, and its latencies at the last reading.
    pub(super) steps: Vec<(String, Latencies)>,
}

impl MeasuredLatencies {
    /// The clocks may differ since a time service has set TAI.
    pub(super) fn tell_time(&self) -> std::io::Result<()> {
        self.tai_ahead.set(&[0; 4], &clock::tai_ahead_ns()?.to_ne_bytes())
    }

    pub(super) fn read(&mut self) {
        let Ok(bytes) = self.map.get(&[0; 4]) else { return };
        let (numbers, _) = bytes.as_chunks::<8>();
        let numbers: Vec<_> = numbers.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect();
        for ((_, latencies), step) in self.steps.iter_mut().zip(numbers.chunks_exact(1 + CLASSES)) {
            latencies.sum = Duration::from_nanos(step[0]);
            latencies.classes.copy_from_slice(&step[1..]);
        }
    }
}

/// The own counter of a protection, which goes on in other programs and in user space.
#[derive(Debug)]
pub(super) struct OwnCounter {
    protected: Computed,
    counter: CounterInByte,
    map: bpf::Map,
}

impl OwnCounter {
    /// Makes those that are missing for these jobs.
    pub(super) fn make_for(jobs: &[Job], known: &mut Vec<Self>) -> Result<(), BpfError> {
        for protected in jobs.iter().filter_map(|job| job.protected.as_ref()) {
            let counter = protected.steps().and_then(|steps| steps.counter).filter(|counter| counter.is_own);
            let Some((counter, next)) = counter.zip(protected.next()) else { continue };
            if known.iter().any(|known| known.protected.is(protected)) {
                continue;
            }
            let map = bpf::Map::new(MAP, MapKind::Array, 4, 8, 1, None).map_err(BpfError::Map)?;
            let taken = u64::from(next.load(Ordering::Relaxed)) - u64::from(counter.min);
            map.set(&[0; 4], &taken.to_ne_bytes()).map_err(BpfError::Map)?;
            known.push(Self { protected: protected.clone(), counter, map });
        }
        Ok(())
    }

    /// True if it is that of a job.
    pub(super) fn is_of(&self, job: &Job) -> bool {
        job.protected.as_ref().is_some_and(|protected| protected.is(&self.protected))
    }

    /// User space goes on with the next number.
    pub(super) fn hand_over(&self) {
        let CounterInByte { min, max, .. } = self.counter;
        let taken = self.map.get(&[0; 4]).ok().and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?)));
        if let (Some(taken), Some(next)) = (taken, self.protected.next()) {
            let rest = u32::try_from(taken % (u64::from(max - min) + 1)).unwrap_or_default();
            next.store(u32::from(min) + rest, Ordering::Relaxed);
        }
    }

    fn of_route<'a>(known: &'a [Self], jobs: &[Job], route: RouteIndex) -> Option<&'a bpf::Map> {
        let mut of_route = jobs.iter().filter(|job| job.route == route);
        let own = of_route.find_map(|job| known.iter().find(|known| known.is_of(job)))?;
        Some(&own.map)
    }
}

/// Loads the programs of these filters, with their maps. The counters are those of the jobs.
pub(super) fn load(
    filters: &Filters,
    (jobs, counters): (&[Job], &[OwnCounter]),
    route_of: impl Fn(&Filter) -> String,
) -> Result<Loaded, BpfError> {
    let made = filters.maps.iter().map(make).collect::<std::io::Result<Vec<_>>>().map_err(BpfError::Map)?;
    let shared = |map: &Map| match map {
        Map::Counter(route) => OwnCounter::of_route(counters, jobs, *route),
        _ => None,
    };
    let maps: Vec<_> =
        made.iter().zip(&filters.maps).map(|(made, map)| made.as_ref().or_else(|| shared(map))).collect();
    let descriptor = |MapIndex(at): MapIndex| maps[at].expect("each own counter has a map").descriptor().as_raw_fd();
    let load = |filter: &Filter| load_one(filter, route_of(filter), descriptor);
    let programs = filters.filters.iter().map(load).collect::<Result<_, _>>()?;
    let idle = load(&idle())?;
    let sends = |filter: &&Filter| matches!(filter.action, Action::Send { .. });
    let steps = || filters.filters.iter().filter(sends).map(&route_of);
    let (mut deleted, mut tai_ahead, mut latencies) = (None, None, None);
    for (made, map) in made.into_iter().zip(&filters.maps) {
        let Some(made) = made else { continue };
        match map {
            Map::Deleted(_) => {
                deleted = Some(DeletedFrames { map: made, steps: steps().map(|route| (route, 0)).collect() })
            }
            Map::TaiAhead => tai_ahead = Some(made),
            Map::Latencies { .. } => latencies = Some(made),
            Map::Array(_) | Map::Hash(_) | Map::Counter(_) => {}
        }
    }
    let latencies = tai_ahead.zip(latencies).map(|(tai_ahead, map)| {
        let steps = steps().map(|route| (route, Latencies::default())).collect();
        MeasuredLatencies { tai_ahead, map, steps }
    });
    if let Some(latencies) = &latencies {
        latencies.tell_time().map_err(BpfError::Map)?;
    }
    Ok(Loaded { programs, idle, deleted, latencies })
}

pub(super) fn load_one(filter: &Filter, route: String, map: impl Fn(MapIndex) -> i32) -> Result<OwnedFd, BpfError> {
    let program = filter.program.with_maps(map);
    bpf::load_classifier(c"candor_route", &program).map_err(|source| BpfError::Load { route, source })
}

/// A map of the kernel with its content; `None` for one that several programs share.
fn make(map: &Map) -> std::io::Result<Option<bpf::Map>> {
    let bytes = |len: usize| u32::try_from(len).map_err(std::io::Error::other);
    match map {
        Map::Array(value) => {
            let made = bpf::Map::new(MAP, MapKind::Array, 4, bytes(value.len())?, 1, None)?;
            made.set(&[0; 4], value)?;
            Ok(Some(made))
        }
        Map::Hash(entries) => {
            let made = bpf::Map::new(MAP, MapKind::Hash, 4, 4, bytes(entries.len().max(1))?, None)?;
            for (id, steps) in entries {
                made.set(&id.to_ne_bytes(), &steps.to_ne_bytes())?;
            }
            Ok(Some(made))
        }
        Map::Deleted(_) | Map::TaiAhead | Map::Latencies { .. } => {
            let bytes = bytes(map.counter_bytes().unwrap_or_default())?;
            bpf::Map::new(MAP, MapKind::Array, 4, bytes, 1, None).map(Some)
        }
        Map::Counter(_) => Ok(None),
    }
}
