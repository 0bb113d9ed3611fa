//! One constant, or one for each value of a counter.

use crate::counter::FoundCounter;
use crate::field;
use crate::frames::{self, Frames};

/// The constants of a hypothesis that explain most frames of the sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Grouped {
    One(u64),
    /// For each value of the counter from its smallest on. `None`: not in the sample.
    List(Vec<Option<u64>>),
}

/// The constants, if they explain most frames of the sample. `values` are those of its frames.
pub(crate) fn grouped(frames: &Frames, counter: Option<&FoundCounter>, values: &[u64]) -> Option<Grouped> {
    let Some(counter) = counter else {
        let (constant, count) = frames::majority(values)?;
        return frames::is_most(count, values.len()).then_some(Grouped::One(constant));
    };
    let groups = groups(frames, counter, values);
    let (mut matched, mut of, mut constants) = (0, 0, Vec::with_capacity(groups.len()));
    for group in &groups {
        let constant = frames::majority(group);
        constants.push(constant.map(|(constant, _)| constant));
        // One frame of each group proves nothing.
        matched += constant.map_or(0, |(_, count)| count - 1);
        of += group.len().saturating_sub(1);
    }
    let is_list = constants.iter().flatten().any(|one| constants.iter().flatten().next() != Some(one));
    (is_list && of >= 8 && frames::is_most(matched, of)).then_some(Grouped::List(constants))
}

fn groups(frames: &Frames, counter: &FoundCounter, values: &[u64]) -> Vec<Vec<u64>> {
    let (min, max) = (counter.counter.min, counter.counter.max);
    let mut groups = vec![Vec::new(); (max - min) as usize + 1];
    for (at, value) in frames.sample.iter().zip(values) {
        let number = field::value(counter.counter.place, frames.get(*at));
        let number = usize::try_from(number.wrapping_sub(min.into())).unwrap_or(usize::MAX);
        if let Some(group) = groups.get_mut(number) {
            group.push(*value);
        }
    }
    groups
}
