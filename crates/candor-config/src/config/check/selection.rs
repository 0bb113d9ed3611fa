//! Identifiers that a route matches: `match`, `errors`, and `allow` and `deny` of the route and of its bus.

use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::remap::{self, Target};
use crate::config::check::withheld::ListKind;
use crate::config::check::{Checks, JobsLeft, MAX_JOBS, conflict, number, warnings};
use crate::config::code;
use crate::config::spec::{BusSpec, ListSpec, RouteSpec};
use crate::plan::{BusIndex, Selection};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::Spanned;
use candor_core::filter::{Filter, ReceiveList};
use candor_core::frame::{CAN_EFF_MASK, CAN_ERR_FLAG, RawId};
use candor_core::ids::{IdRange, IdSet};

/// `allow` and `deny` of a bus or a route.
#[derive(Debug, Default)]
pub(super) struct Limits {
    allow: Option<Rc<IdSet>>,
    deny: Option<Rc<IdSet>>,
}

impl Limits {
    pub(super) fn of_bus(spec: &BusSpec, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Self> {
        let limits = Self::of(spec.allow.as_ref(), spec.deny.as_ref(), ids, findings);
        limits.filter(|_| !spec.is_torn)
    }

    fn of(
        allow: Option<&ListSpec>,
        deny: Option<&ListSpec>,
        ids: &mut Identifiers<'_>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut set = |list: Option<&ListSpec>| list.map_or(Some(None), |list| ids.set(list, findings).map(Some));
        let (allow, deny) = (set(allow), set(deny));
        Some(Self { allow: allow?, deny: deny? })
    }

    /// Returns true if a frame that the route matches passes both lists.
    fn leave(&self, id: RawId) -> bool {
        self.against(id).is_empty()
    }

    /// Those of the two that do not leave it.
    pub(super) fn against(&self, id: RawId) -> Vec<ListKind> {
        let is_not_allowed = self.allow.as_ref().is_some_and(|allow| !allow.contains(id));
        let is_denied = self.deny.as_ref().is_some_and(|deny| deny.contains(id));
        let against = [(ListKind::Allow, is_not_allowed), (ListKind::Deny, is_denied)];
        against.into_iter().filter(|(_, is_against)| *is_against).map(|(list, _)| list).collect()
    }

    const fn is_none(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }
}

/// `match` or `errors`, before `allow` and `deny`.
#[derive(Debug)]
pub(super) enum Taken {
    /// One filter, to be used as it is written.
    Filter(Filter),
    /// Everything else.
    Set(Rc<IdSet>),
}

impl Taken {
    /// The identifiers; `None` for error message frames, which have none.
    pub(super) fn set(&self) -> Option<Rc<IdSet>> {
        match self {
            Self::Filter(filter) => IdSet::of_filter(*filter).map(Rc::new),
            Self::Set(set) => Some(Rc::clone(set)),
        }
    }
}

/// The selection of a route and the lists of the route.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) taken: Taken,
    limits: Limits,
}

impl Wanted {
    pub(super) fn of(spec: &RouteSpec, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Self> {
        let taken = taken(spec, ids, findings);
        let limits = Limits::of(spec.allow.as_ref(), spec.deny.as_ref(), ids, findings);
        let is_broken = ["match", "errors", "allow", "deny"].iter().any(|key| spec.broken.contains(key));
        let wanted = Self { taken: taken?, limits: limits? };
        let (false, true, Some(list)) =
            (wanted.limits.is_none(), wanted.is_errors(), spec.allow.as_ref().or(spec.deny.as_ref()))
        else {
            return (!is_broken).then_some(wanted);
        };
        let why = "Error message frames have no identifier that could be allowed or denied";
        conflict(
            &list.span,
            why,
            place(spec),
            "matches error message frames",
            "write a separate route for them",
            findings,
        );
        None
    }

    /// Applies the lists of the source bus; `None` if nothing is left, which is reported.
    fn left(
        &self,
        written: &Written<'_>,
        of_bus: &Limits,
        ids: &mut Identifiers<'_>,
        findings: &mut Findings,
    ) -> Option<Left> {
        let limits = [of_bus, &self.limits];
        let all = match self.taken {
            Taken::Filter(filter) if self.is_errors() || limits.iter().all(|limits| limits.is_none()) => {
                return Some(Left::AsWritten(filter));
            }
            // One identifier is left or not.
            Taken::Filter(filter) if IdRange::of_exact(filter).is_some() => {
                let id = RawId(filter.normalise().id);
                let is_left = limits.iter().all(|limits| limits.leave(id));
                if !is_left {
                    nothing_left(written.route, false, findings);
                }
                return is_left.then_some(Left::AsWritten(filter));
            }
            _ => self.taken.set()?,
        };
        let left = ids.within_effort(&place(written.route), findings, |effort| {
            let mut left = Rc::clone(&all);
            for limits in limits {
                if let Some(allow) = &limits.allow {
                    left = Rc::new(left.intersection(allow, effort)?);
                }
                if let Some(deny) = &limits.deny {
                    left = Rc::new(left.difference(deny, effort)?);
                }
            }
            Ok(match self.taken {
                Taken::Filter(filter) if all.difference(&left, effort)?.is_empty() => Left::AsWritten(filter),
                _ => Left::Set(left),
            })
        })?;
        if matches!(&left, Left::Set(set) if set.is_empty()) {
            nothing_left(written.route, all.is_empty(), findings);
            return None;
        }
        Some(left)
    }

    /// Returns true if `match` or `errors` matches the frame.
    pub(super) fn takes(&self, id: RawId) -> bool {
        match &self.taken {
            Taken::Filter(filter) => filter.normalise().matches(id) && !self.is_errors(),
            Taken::Set(set) => set.contains(id),
        }
    }

    /// Its own lists, without those of the bus.
    pub(super) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn is_errors(&self) -> bool {
        matches!(self.taken, Taken::Filter(filter) if filter.normalise().list == ReceiveList::Error)
    }
}

/// The identifiers of a route after `allow` and `deny`.
pub(super) enum Left {
    /// All that its one filter says.
    AsWritten(Filter),
    /// These.
    Set(Rc<IdSet>),
}

impl Left {
    /// The identifiers; `None` for error message frames, which have none.
    pub(super) fn set(&self) -> Option<Rc<IdSet>> {
        match self {
            Self::AsWritten(filter) => IdSet::of_filter(*filter).map(Rc::new),
            Self::Set(set) => Some(Rc::clone(set)),
        }
    }

    /// The filters, or how many there would be if they are more than `most`.
    pub(super) fn filters(&self, most: u64) -> Result<Vec<Filter>, u64> {
        match self {
            Self::AsWritten(filter) => Ok(vec![*filter]),
            Self::Set(set) => set.filters(most),
        }
    }
}

/// A route, and what has been found out about it.
pub(super) struct Written<'r> {
    pub(super) route: &'r RouteSpec,
    pub(super) wanted: Wanted,
    pub(super) target: Option<Target>,
    /// Jobs, times payload patterns, for each filter.
    pub(super) jobs_for_each_filter: u64,
}

impl Written<'_> {
    /// The filters of the route for frames from a bus, with what becomes of their identifiers.
    pub(super) fn selections(
        &self,
        from: BusIndex,
        checks: &mut Checks<'_>,
        findings: &mut Findings,
    ) -> Option<Vec<Selection>> {
        let JobsLeft::Some(jobs_left) = checks.jobs_left else { return None };
        let of_bus = checks.limits[from.0].clone()?;
        let most = jobs_left / self.jobs_for_each_filter;
        let left = self.wanted.left(self, &of_bus, &mut checks.ids, findings)?;
        let selections = match &self.target {
            Some(target) => remap::selections(target, &left, most, &mut checks.ids, findings)?,
            None => left
                .filters(most)
                .map(|filters| filters.into_iter().map(|filter| Selection { filter, id: None }).collect::<Vec<_>>()),
        };
        match selections {
            Ok(selections) if selections.len() as u64 <= most => {
                let jobs = selections.len() as u64 * self.jobs_for_each_filter;
                checks.jobs_left = JobsLeft::Some(jobs_left - jobs);
                Some(selections)
            }
            Ok(selections) => too_many(self.route, selections.len() as u64, checks, findings),
            Err(count) => too_many(self.route, count, checks, findings),
        }
    }
}

/// Where a route says what it takes.
pub(super) fn place(spec: &RouteSpec) -> Span {
    let filter = spec.filter.as_ref().map(|list| &list.span);
    filter.or_else(|| spec.errors.as_ref().map(|errors| &errors.span)).unwrap_or(&spec.header).clone()
}

fn taken(spec: &RouteSpec, ids: &mut Identifiers<'_>, findings: &mut Findings) -> Option<Taken> {
    match (&spec.filter, &spec.errors) {
        (None, None) => Some(Taken::Filter(Filter::ALL)),
        (Some(list), None) => {
            let Some(filter) = ids.only_filter(list, findings)? else {
                return ids.set(list, findings).map(Taken::Set);
            };
            if filter.normalise().list == ReceiveList::Error {
                warnings::error_frames(&list.span, findings);
            }
            Some(Taken::Filter(filter))
        }
        (None, Some(written)) => errors(written, findings),
        (Some(list), Some(written)) => {
            let why = "A route matches data and remote frames, or error message frames, but not both";
            conflict(
                &written.span,
                why,
                list.span.clone(),
                "matches data and remote frames",
                "write a second route",
                findings,
            );
            None
        }
    }
}

fn errors(written: &Spanned<String>, findings: &mut Findings) -> Option<Taken> {
    let classes = number::hex(written, findings)?;
    if classes == 0 || classes > CAN_EFF_MASK {
        let message = "The mask of error classes must be 1 to 1FFFFFFF";
        findings.report(
            Diagnostic::error(code::RANGE, written.span.clone(), message)
                .help("1FFFFFFF matches all classes, 40 only bus-off; see the table in docs/config.md"),
        );
        return None;
    }
    warnings::error_frames(&written.span, findings);
    Some(Taken::Filter(Filter { id: 0, mask: CAN_ERR_FLAG | classes }))
}

fn too_many<T>(spec: &RouteSpec, filters: u64, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<T> {
    checks.jobs_left = JobsLeft::Exceeded;
    let filters = if filters == 1 { "1 filter".to_owned() } else { format!("{filters} filters") };
    let message = format!("With this route, which needs {filters}, the file has more than {MAX_JOBS} can-gw jobs");
    findings.report(
        Diagnostic::error(code::TOO_MANY_JOBS, place(spec), message)
            .label("the limit is reached here")
            .help("write ranges in place of single identifiers, or set `frames`, which halves the jobs of a route"),
    );
    None
}

fn nothing_left(spec: &RouteSpec, never_had_any: bool, findings: &mut Findings) {
    let diagnostic = Diagnostic::error(code::NOTHING_LEFT, place(spec), "The route matches no frame");
    findings.report(if never_had_any {
        diagnostic
            .label("this matches no identifier")
            .help("write identifiers that frames can have, or remove the route")
    } else {
        diagnostic.label("nothing is left of this").help(
            "`allow` and `deny` of the route and of its source bus remove everything; change them, or remove the route",
        )
    });
}
