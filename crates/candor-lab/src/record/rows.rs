//! The rows of a record file: which columns each version has, and how a sample stands in them.

use std::fmt::Write as _;

use super::{Disposition, Inside, Sample};

/// A version of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Without moments and dispositions.
    One,
    /// What is written where only the ends of the way have stamps.
    Two,
    /// With the stamps within the tester's machine.
    Three,
}

impl Version {
    /// The one that these samples need.
    pub(super) fn of(samples: &[Sample]) -> Self {
        let is_told = samples.iter().any(|sample| sample.inside != Inside::default());
        if is_told { Self::Three } else { Self::Two }
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::One, Self::Two, Self::Three].into_iter().find(|version| version.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Three => "3",
        }
    }

    /// The head of the table.
    pub(super) const fn columns(self) -> &'static str {
        match self {
            Self::One => "sequence,tag,sent_ns,monitor_ns,far_ns,wire_ns",
            Self::Two => "sequence,tag,due_ns,sent_ns,monitor_ns,far_ns,wire_ns,disposition",
            Self::Three => {
                "sequence,tag,due_ns,sent_ns,queued_ns,handed_ns,monitor_ns,far_ns,read_ns,wire_ns,disposition"
            }
        }
    }

    /// Writes a row. Nothing is written in version 1 any more; its row is that of version 2.
    pub(super) fn write(self, sample: &Sample, text: &mut String) {
        let stamp = |stamp: Option<i64>| stamp.map_or_else(String::new, |stamp| stamp.to_string());
        let Sample { sequence, tag, due_ns, sent_ns, wire_ns, disposition, inside, .. } = sample;
        let (monitor, far, disposition) = (stamp(sample.monitor_ns), stamp(sample.far_ns), disposition.name());
        let row = match self {
            Self::One | Self::Two => {
                format!("{sequence},{tag},{due_ns},{sent_ns},{monitor},{far},{wire_ns},{disposition}")
            }
            Self::Three => {
                let [queued, handed, read] = [inside.queued_ns, inside.handed_ns, inside.read_ns].map(stamp);
                format!(
                    "{sequence},{tag},{due_ns},{sent_ns},{queued},{handed},{monitor},{far},{read},{wire_ns},{disposition}"
                )
            }
        };
        writeln!(text, "{row}").expect("writing to a String cannot fail");
    }

    /// Reads a row; `None` if it is none of this version.
    pub(super) fn parse(self, text: &str) -> Option<Sample> {
        let mut fields = text.split(',');
        let mut next = || fields.next();
        let stamp = |field: &str| -> Option<Option<i64>> {
            if field.is_empty() { Some(None) } else { field.parse().ok().map(Some) }
        };
        let (sequence, tag) = (next()?.parse().ok()?, next()?.parse().ok()?);
        let due_ns = if self == Self::One { None } else { Some(next()?.parse().ok()?) };
        let sent_ns = next()?.parse().ok()?;
        let mut inside = Inside::default();
        if self == Self::Three {
            (inside.queued_ns, inside.handed_ns) = (stamp(next()?)?, stamp(next()?)?);
        }
        let (monitor_ns, far_ns) = (stamp(next()?)?, stamp(next()?)?);
        if self == Self::Three {
            inside.read_ns = stamp(next()?)?;
        }
        let wire_ns = next()?.parse().ok()?;
        let disposition = match self {
            Self::One => Disposition::of_stamps(monitor_ns, far_ns),
            Self::Two | Self::Three => {
                next().and_then(|name| Disposition::ALL.into_iter().find(|disposition| disposition.name() == name))?
            }
        };
        let due_ns = due_ns.unwrap_or(sent_ns);
        let sample = Sample { sequence, tag, due_ns, sent_ns, monitor_ns, far_ns, inside, wire_ns, disposition };
        next().is_none().then_some(sample)
    }
}
