//! Steps: what happens to a frame, one after another.
//!
//! A step stands for jobs that do the same and of which at most one matches a frame. Steps are in the order of delivery of
//! their jobs, so the filters of all steps, each run or skipped, send the same frames in the same order as the jobs do.

use std::collections::{BTreeSet, HashMap, HashSet};

use candor_core::filter::{Normalised, ReceiveList};
use candor_core::job::{BusIndex, Incoming, Job, RouteIndex};

use super::{CompileError, How, Kind};

/// One bit of a word each, of which one is for the generation.
pub const MAX_STEPS: usize = 31;
/// The steps of a set that is too large are counted up to here.
pub(super) const MOST_COUNTED: usize = 1000;

/// Jobs that do the same with different frames.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Numbers of the jobs, at least one.
    pub(super) jobs: Vec<usize>,
    /// Takes its frames away from everybody else.
    pub(super) is_exclusive: bool,
    /// A frame of this step may be one of a later step as well.
    pub(super) is_shared: bool,
}

impl Step {
    /// A frame that a later step may need is only copied.
    pub(super) const fn how(&self) -> How {
        if self.is_exclusive && !self.is_shared { How::Redirect } else { How::Mirror }
    }

    /// Its frames go on to later steps, and after those to nobody.
    pub(super) const fn needs_end(&self) -> bool {
        self.is_exclusive && self.is_shared
    }
}

pub(super) fn steps(
    jobs: &[Job],
    from: BusIndex,
    kind: Kind,
    is_exclusive: impl Fn(RouteIndex) -> bool,
) -> Result<Vec<Step>, CompileError> {
    let fires =
        |job: &Job| job.from == from && Kind::of(job) == kind && (job.to != from || job.incoming == Incoming::Allowed);
    let mut order: Vec<usize> = (0..jobs.len()).filter(|&job| fires(&jobs[job])).collect();
    if order.iter().any(|&job| jobs[job].leaves_as() != jobs[job].format) {
        return Err(CompileError::Format);
    }
    let is_plain = |job: &Job| !job.modifies() && job.payload.is_empty();
    if kind == Kind::Xl && !order.iter().all(|&job| is_plain(&jobs[job])) {
        return Err(CompileError::Xl);
    }
    let is_too_much = |job: &Job| job.protected.as_ref().is_some_and(|protected| protected.steps().is_none());
    if order.iter().any(|&job| is_too_much(&jobs[job])) {
        return Err(CompileError::Protection);
    }
    // In the order of delivery.
    candor_core::order::sort_by_key(&mut order, |&job| jobs[job].filter.normalise().list);
    let mut steps: Vec<Step> = Vec::new();
    let mut overlaps = Overlaps::new(order.iter().map(|&job| jobs[job].filter.normalise()));
    // The first step of a run of jobs that do the same, and are not interrupted by another job to the same bus.
    let mut run_to = HashMap::<BusIndex, usize>::new();
    for job in order {
        let filter = jobs[job].filter.normalise();
        let run =
            run_to.get(&jobs[job].to).copied().filter(|&first| does_the_same(&jobs[steps[first].jobs[0]], &jobs[job]));
        let first = run.unwrap_or(steps.len());
        run_to.insert(jobs[job].to, first);
        // A frame of two jobs of a run is sent twice.
        let same_run = |step: &usize| does_the_same(&jobs[steps[*step].jobs[0]], &jobs[job]);
        let free = (first..steps.len()).filter(same_run).find(|&step| !overlaps.any(step, filter));
        let step = free.unwrap_or(steps.len());
        if step == steps.len() {
            steps.push(Step { jobs: Vec::new(), is_exclusive: is_exclusive(jobs[job].route), is_shared: false });
        }
        steps[step].jobs.push(job);
        overlaps.add(step, filter);
        if steps.len() > MOST_COUNTED {
            break;
        }
    }
    if steps.len() > MAX_STEPS {
        return Err(CompileError::Steps { steps: steps.len() });
    }
    for step in 0..steps.len() {
        let mut filters = steps[step].jobs.iter().map(|&job| jobs[job].filter.normalise());
        steps[step].is_shared = filters.any(|filter| (step + 1..steps.len()).any(|later| overlaps.any(later, filter)));
    }
    Ok(steps)
}

/// Differ in the filter only.
fn does_the_same(one: &Job, other: &Job) -> bool {
    *one == Job { filter: one.filter, ..other.clone() }
}

/// Filters by step, to find those that some frame may match together with another filter.
struct Overlaps {
    /// Every mask of a filter.
    masks: Vec<u32>,
    /// By step and two masks: the identifiers of filters with the first mask, as far as the second one compares them.
    found: HashMap<(usize, u32, u32), HashSet<u32>>,
    /// Steps with a filter that is not for single values, and whether it is for error frames.
    others: HashMap<usize, [bool; 2]>,
    steps: HashMap<usize, BTreeSet<u32>>,
}

impl Overlaps {
    fn new(filters: impl Iterator<Item = Normalised>) -> Self {
        let mut masks: Vec<u32> = filters.filter(|filter| compares_values(*filter)).map(|filter| filter.mask).collect();
        candor_core::order::sort(&mut masks);
        masks.dedup();
        Self { masks, found: HashMap::new(), others: HashMap::new(), steps: HashMap::new() }
    }

    fn add(&mut self, step: usize, filter: Normalised) {
        if !compares_values(filter) {
            self.others.entry(step).or_default()[usize::from(filter.list == ReceiveList::Error)] = true;
            return;
        }
        self.steps.entry(step).or_default().insert(filter.mask);
        for &mask in &self.masks {
            self.found.entry((step, filter.mask, mask)).or_default().insert(filter.id & mask);
        }
    }

    /// True if a frame may match this filter and one of the step.
    fn any(&self, step: usize, filter: Normalised) -> bool {
        let [all, errors] = self.others.get(&step).copied().unwrap_or_default();
        if filter.list == ReceiveList::Error {
            return errors;
        }
        let Some(masks) = self.steps.get(&step) else { return all };
        if all || !compares_values(filter) {
            return true;
        }
        masks.iter().any(|&mask| {
            self.found.get(&(step, mask, filter.mask)).is_some_and(|ids| ids.contains(&(filter.id & mask)))
        })
    }
}

/// True for filters that match one value of some bits.
fn compares_values(filter: Normalised) -> bool {
    matches!(filter.list, ReceiveList::Masked | ReceiveList::Exact)
}
