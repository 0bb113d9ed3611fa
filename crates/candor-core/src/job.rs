//! One can-gw job as a value: the common meaning of the kernel gateway and the user-space engines.

mod cangw;

pub use cangw::cangw_arguments;

use std::num::NonZeroU32;

use crate::filter::Filter;
use crate::frame::{CANFD_FDF, Frame, FrameFormat};
use crate::payload::PayloadPattern;
use crate::plan::{BusIndex, Echo, Formats, IdChange, Incoming, Plan, Route, RouteIndex, Selection, SendAs, Timestamp};
use crate::rule::{self, Checksums, Modifications, Verdict};

/// What one can-gw job does, still without interface indices; and, in `payload` and `send_as`, what only user space
/// can do beyond that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The route this job is part of.
    pub route: RouteIndex,
    /// Source bus.
    pub from: BusIndex,
    /// Destination bus.
    pub to: BusIndex,
    /// The frames it sees.
    pub format: FrameFormat,
    /// The identifiers it sees.
    pub filter: Filter,
    /// What it changes.
    pub modifications: Modifications,
    /// What it computes.
    pub checksums: Checksums,
    /// `CGW_FLAGS_CAN_ECHO`.
    pub echo: Echo,
    /// `CGW_LIM_HOPS`.
    pub hop_limit: Option<u8>,
    /// `CGW_FLAGS_CAN_SRC_TSTAMP`.
    pub timestamp: Timestamp,
    /// `CGW_FLAGS_CAN_IIF_TX_OK`.
    pub incoming: Incoming,
    /// `CGW_MOD_UID`.
    pub uid: Option<NonZeroU32>,
    /// Payloads it sees: one of these, or any if there is none. Beyond can-gw.
    pub payload: Vec<PayloadPattern>,
    /// The format that the frame gets before it is modified; `None` if it keeps its own. Beyond can-gw.
    pub send_as: Option<SendAs>,
}

impl Job {
    /// A job that carries the frames of a filter as they are.
    #[must_use]
    pub const fn plain(from: BusIndex, to: BusIndex, format: FrameFormat, filter: Filter) -> Self {
        Self {
            route: RouteIndex(0),
            from,
            to,
            format,
            filter,
            modifications: Modifications::NONE,
            checksums: Checksums::NONE,
            echo: Echo::Off,
            hop_limit: None,
            timestamp: Timestamp::Fresh,
            incoming: Incoming::Skipped,
            uid: None,
            payload: Vec::new(),
            send_as: None,
        }
    }

    /// The route that consists of this job: [`lower`] makes an equal job of it, at the place of the route.
    #[must_use]
    pub fn into_route(self, name: String) -> Route {
        Route {
            name,
            from: self.from,
            to: self.to,
            selections: vec![Selection { filter: self.filter, id: None }],
            formats: Formats::Only(self.format),
            payload: self.payload,
            send_as: self.send_as,
            modifications: self.modifications,
            checksums: self.checksums,
            echo: self.echo,
            hop_limit: self.hop_limit,
            timestamp: self.timestamp,
            incoming: self.incoming,
            max_age: None,
            when_full: crate::plan::WhenFull::DropNewest,
            uid: self.uid,
        }
    }

    /// Whether can-gw can run this job.
    #[must_use]
    pub const fn is_for_kernel(&self) -> bool {
        self.payload.is_empty() && self.send_as.is_none()
    }

    /// The format in which frames leave: operands and positions of checksums are meant for it.
    #[must_use]
    pub fn leaves_as(&self) -> FrameFormat {
        self.send_as.map_or(self.format, SendAs::format)
    }

    /// Whether this job takes a frame at all: it has the job's format, a length that the format allows, and one of the
    /// job's payloads.
    ///
    /// Other frames pass by it and are counted nowhere.
    #[must_use]
    pub fn takes(&self, frame: &Frame) -> bool {
        frame.format == self.format
            && usize::from(frame.len) <= self.format.max_len()
            && (self.payload.is_empty() || self.payload.iter().any(|pattern| pattern.matches(frame)))
    }

    /// What this job makes of a frame that it takes and that its filter matches.
    ///
    /// After [`Verdict::Delete`] the frame is as it was when can-gw gave it up.
    #[must_use]
    pub fn apply(&self, frame: &Frame) -> (Frame, Verdict) {
        let mut frame = *frame;
        let mut verdict = self.send_as.map_or(Verdict::Send, |send_as| rule::convert(&mut frame, send_as));
        if verdict == Verdict::Send {
            verdict = rule::change(&mut frame, &self.modifications, &self.checksums);
        }
        // The network layer marks every FD frame that is sent, whatever a rule has made of its flags.
        if frame.format == FrameFormat::Fd {
            frame.flags |= CANFD_FDF;
        }
        (frame, verdict)
    }
}

/// The jobs of a plan in the order of its routes; a route has one for each of its selections and formats, classic
/// first.
///
/// This is the order in which jobs of one receive list are to see a frame. The kernel puts each new job at the head of
/// its list, so they are installed last to first.
#[must_use]
pub fn lower(plan: &Plan) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, route) in plan.routes().iter().enumerate() {
        for selection in &route.selections {
            let formats = route.formats.list().iter();
            jobs.extend(formats.map(|&format| job(RouteIndex(index), route, selection, format)));
        }
    }
    jobs
}

fn job(index: RouteIndex, route: &Route, selection: &Selection, format: FrameFormat) -> Job {
    let mut modifications = route.modifications;
    match selection.id {
        Some(IdChange::Set(id)) => modifications.set.id = Some(id),
        Some(IdChange::Move { and, or }) => (modifications.and.id, modifications.or.id) = (Some(and), Some(or)),
        None => {}
    }
    Job {
        route: index,
        from: route.from,
        to: route.to,
        format,
        filter: selection.filter,
        modifications,
        checksums: route.checksums,
        echo: route.echo,
        hop_limit: route.hop_limit,
        timestamp: route.timestamp,
        incoming: route.incoming,
        uid: route.uid,
        payload: route.payload.clone(),
        send_as: route.send_as.filter(|send_as| send_as.format() != format),
    }
}
