//! Routes as can-gw jobs, and back.

use candor_core::frame::FrameFormat;
use candor_core::job::{Job, RouteIndex};

use crate::plan::{Formats, IdChange, Plan, Route, Selection};

impl Route {
    /// The route of a job; [`lower`] makes an equal job of it.
    pub fn of_job(job: Job, name: String) -> Self {
        Self {
            selections: vec![Selection { filter: job.filter, id: None }],
            formats: if job.is_xl { Formats::Xl } else { Formats::Only(job.format) },
            payload: job.payload,
            send_as: job.send_as,
            checked: job.checked,
            computed: job.computed,
            protected: job.protected,
            modifications: job.modifications,
            checksums: job.checksums,
            echo: job.echo,
            hop_limit: job.hop_limit,
            timestamp: job.timestamp,
            incoming: job.incoming,
            uid: job.uid,
            ..Self::new(name, job.from, job.to)
        }
    }
}

/// The jobs of a plan in the order of its routes: one for each selection and format, classic first.
///
/// This is the order of delivery within a receive list. The kernel adds each new job at the head of its list, so jobs are
/// installed in reverse.
pub fn lower(plan: &Plan) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, route) in plan.routes().iter().enumerate() {
        for selection in &route.selections {
            let job = |format| job(RouteIndex(index), route, selection, format);
            if route.formats == Formats::Xl {
                jobs.push(Job { is_xl: true, ..job(FrameFormat::Classic) });
            } else {
                jobs.extend(route.formats.list().iter().copied().map(job));
            }
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
        is_xl: false,
        filter: selection.filter,
        checked: route.checked.clone(),
        computed: route.computed.clone(),
        modifications,
        checksums: route.checksums,
        protected: route.protected.clone(),
        echo: route.echo,
        hop_limit: route.hop_limit,
        timestamp: route.timestamp,
        incoming: route.incoming,
        uid: route.uid,
        payload: route.payload.clone(),
        send_as: route.send_as.filter(|send_as| send_as.format() != format),
    }
}
