//! Frames of a series, and their rows in a file.

use crate::stats::LatencyNs;

/// Of each version, from 1.
pub(super) const COLUMNS: [&str; 3] = [
    "sequence,tag,sent_ns,monitor_ns,far_ns,wire_ns",
    "sequence,tag,due_ns,sent_ns,monitor_ns,far_ns,wire_ns,disposition",
    "sequence,tag,due_ns,sent_ns,queued_ns,handed_ns,monitor_ns,far_ns,read_ns,wire_ns,disposition",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Position in the series.
    pub sequence: u32,
    /// The number in the first two bytes.
    pub tag: u16,
    /// Due time relative to the start; in a closed loop the send time.
    pub due_ns: i64,
    /// Before the send call, relative to the start.
    pub sent_ns: i64,
    /// Receive timestamp on the first bus.
    pub monitor_ns: Option<i64>,
    /// Receive timestamp on the second bus.
    pub far_ns: Option<i64>,
    pub inside: Inside,
    /// Frame time on the far bus, which is not part of the latency.
    pub wire_ns: u32,
    pub disposition: Disposition,
}

/// Timestamps within the tester's machine, relative to the start; `None` if unknown or not requested
/// ([`Plan::stages`](crate::experiment::Plan::stages)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Before the queue of the sending interface.
    pub queued_ns: Option<i64>,
    /// At the driver of the sending interface.
    pub handed_ns: Option<i64>,
    /// In the tester's program, from the second bus.
    pub read_ns: Option<i64>,
}

/// Outcome of a frame that was to be sent; exactly one applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disposition {
    /// Arrived in time, in order and as expected.
    Ok,
    /// Arrived after the timeout.
    Late,
    /// Overtaken by a later frame.
    Reordered,
    /// Arrived with other content than the rules produce.
    Altered,
    /// The sending interface had no space for it.
    Refused,
    /// Sent, but seen neither by the monitor nor on the far side.
    Unseen,
    /// Seen by the monitor, but not on the far side.
    Lost,
    /// Seen by the monitor and dropped by the gateway's rules, as expected.
    Filtered,
}

impl Disposition {
    /// In the order of output.
    pub const ALL: [Self; 8] =
        [Self::Ok, Self::Late, Self::Reordered, Self::Altered, Self::Refused, Self::Unseen, Self::Lost, Self::Filtered];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Late => "late",
            Self::Reordered => "reordered",
            Self::Altered => "altered",
            Self::Refused => "refused",
            Self::Unseen => "unseen",
            Self::Lost => "lost",
            Self::Filtered => "filtered",
        }
    }

    /// Did not pass the gateway in time, for any reason.
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Refused | Self::Unseen | Self::Lost | Self::Late)
    }

    pub const fn of_stamps(monitor_ns: Option<i64>, far_ns: Option<i64>) -> Self {
        match (monitor_ns, far_ns) {
            (_, Some(_)) => Self::Ok,
            (Some(_), None) => Self::Lost,
            (None, None) => Self::Unseen,
        }
    }
}

impl Sample {
    /// Expected, but not arrived.
    pub fn is_missing(&self) -> bool {
        self.far_ns.is_none() && self.disposition != Disposition::Filtered
    }

    /// Latency of the gateway: far timestamp − monitor timestamp − frame time; `None` for a lost frame.
    ///
    /// # Source
    /// [Timing Analysis of a Linux-Based CAN-to-CAN Gateway](https://lwn.net/images/conf/rtlws-2011/proc/Sojka.pdf)
    /// (2011), section 2.1, figure 2.
    pub fn latency(&self) -> Option<LatencyNs> {
        let between = self.far_ns?.checked_sub(self.monitor_ns?)?;
        Some(LatencyNs(between.checked_sub(i64::from(self.wire_ns))?))
    }

    /// Time since the due time, without frame time on the far bus; `None` for a lost frame.
    pub fn response(&self) -> Option<LatencyNs> {
        let since_due = self.far_ns?.checked_sub(self.due_ns)?;
        Some(LatencyNs(since_due.checked_sub(i64::from(self.wire_ns))?))
    }

    pub(super) fn row(&self, columns: &str) -> String {
        let stamp = |stamp: Option<i64>| stamp.map_or_else(String::new, |stamp| stamp.to_string());
        let field = |column: &str| match column {
            "sequence" => self.sequence.to_string(),
            "tag" => self.tag.to_string(),
            "due_ns" => self.due_ns.to_string(),
            "sent_ns" => self.sent_ns.to_string(),
            "queued_ns" => stamp(self.inside.queued_ns),
            "handed_ns" => stamp(self.inside.handed_ns),
            "monitor_ns" => stamp(self.monitor_ns),
            "far_ns" => stamp(self.far_ns),
            "read_ns" => stamp(self.inside.read_ns),
            "wire_ns" => self.wire_ns.to_string(),
            _ => self.disposition.name().to_owned(),
        };
        columns.split(',').map(field).collect::<Vec<_>>().join(",")
    }

    /// `None` if the row does not fit the columns.
    pub(super) fn parse(columns: &str, row: &str) -> Option<Self> {
        let fields: Vec<&str> = row.split(',').collect();
        let names: Vec<&str> = columns.split(',').collect();
        let field = |name: &str| names.iter().position(|known| *known == name).map(|at| fields[at]);
        let number = |name: &str| field(name)?.parse::<i64>().ok();
        let stamp = |name: &str| match field(name) {
            None | Some("") => Some(None),
            Some(text) => text.parse().ok().map(Some),
        };
        if fields.len() != names.len() {
            return None;
        }
        let (monitor_ns, far_ns) = (stamp("monitor_ns")?, stamp("far_ns")?);
        let sent_ns = number("sent_ns")?;
        Some(Self {
            sequence: field("sequence")?.parse().ok()?,
            tag: field("tag")?.parse().ok()?,
            due_ns: if names.contains(&"due_ns") { number("due_ns")? } else { sent_ns },
            sent_ns,
            monitor_ns,
            far_ns,
            inside: Inside {
                queued_ns: stamp("queued_ns")?,
                handed_ns: stamp("handed_ns")?,
                read_ns: stamp("read_ns")?,
            },
            wire_ns: field("wire_ns")?.parse().ok()?,
            disposition: match field("disposition") {
                None => Disposition::of_stamps(monitor_ns, far_ns),
                Some(name) => Disposition::ALL.into_iter().find(|known| known.name() == name)?,
            },
        })
    }
}
