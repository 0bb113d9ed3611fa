//! Programs and their maps in the kernel.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use candor_bpf::assembler::MapIndex;
use candor_bpf::gateway::{Action, Filter, Filters, Map, idle};
use candor_io::bpf::{self, MapKind};
use candor_io::clock;

use super::error::BpfError;
use crate::latency::{CLASSES, Latencies};

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

/// Loads the programs of these filters, with their maps.
pub(super) fn load(filters: &Filters, route_of: impl Fn(&Filter) -> String) -> Result<Loaded, BpfError> {
    let maps = filters.maps.iter().map(make).collect::<std::io::Result<Vec<_>>>().map_err(BpfError::Map)?;
    let descriptor = |MapIndex(at): MapIndex| maps[at].descriptor().as_raw_fd();
    let load = |filter: &Filter| load_one(filter, route_of(filter), descriptor);
    let programs = filters.filters.iter().map(load).collect::<Result<_, _>>()?;
    let idle = load(&idle())?;
    let sends = |filter: &&Filter| matches!(filter.action, Action::Send { .. });
    let steps = || filters.filters.iter().filter(sends).map(&route_of);
    let (mut deleted, mut tai_ahead, mut latencies) = (None, None, None);
    for (made, map) in maps.into_iter().zip(&filters.maps) {
        match map {
            Map::Deleted(_) => {
                deleted = Some(DeletedFrames { map: made, steps: steps().map(|route| (route, 0)).collect() })
            }
            Map::TaiAhead => tai_ahead = Some(made),
            Map::Latencies { .. } => latencies = Some(made),
            Map::Array(_) | Map::Hash(_) => {}
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

/// A map of the kernel with its content.
fn make(map: &Map) -> std::io::Result<bpf::Map> {
    let bytes = |len: usize| u32::try_from(len).map_err(std::io::Error::other);
    match map {
        Map::Array(value) => {
            let made = bpf::Map::new(MAP, MapKind::Array, 4, bytes(value.len())?, 1, None)?;
            made.set(&[0; 4], value)?;
            Ok(made)
        }
        Map::Hash(entries) => {
            let made = bpf::Map::new(MAP, MapKind::Hash, 4, 4, bytes(entries.len().max(1))?, None)?;
            for (id, steps) in entries {
                made.set(&id.to_ne_bytes(), &steps.to_ne_bytes())?;
            }
            Ok(made)
        }
        Map::Deleted(_) | Map::TaiAhead | Map::Latencies { .. } => {
            bpf::Map::new(MAP, MapKind::Array, 4, bytes(map.counter_bytes().unwrap_or_default())?, 1, None)
        }
    }
}
