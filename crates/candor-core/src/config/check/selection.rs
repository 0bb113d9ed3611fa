//! Which identifiers a route takes: `match`, `errors`, and the `allow` and `deny` of the route and of its bus.

use std::rc::Rc;

use crate::config::check::identifiers::Identifiers;
use crate::config::check::{conflict, number, warnings};
use crate::config::code;
use crate::config::diagnostic::{Diagnostic, Findings, Span};
use crate::config::spec::{BusSpec, ListSpec, RouteSpec, Spanned};
use crate::filter::{Filter, ReceiveList};
use crate::frame::{CAN_EFF_MASK, CAN_ERR_FLAG};
use crate::ids::IdSet;
use crate::plan::Selection;

/// What `allow` and `deny` of a bus or a route leave.
#[derive(Default)]
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

    const fn is_none(&self) -> bool {
        self.allow.is_none() && self.deny.is_none()
    }
}

/// What `match` or `errors` say, before anything is taken away.
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

    pub(super) fn is_errors(&self) -> bool {
        matches!(self, Self::Filter(filter) if filter.normalise().list == ReceiveList::Error)
    }
}

/// What a route takes, and what of it is left.
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
            (wanted.limits.is_none(), wanted.taken.is_errors(), spec.allow.as_ref().or(spec.deny.as_ref()))
        else {
            return (!is_broken).then_some(wanted);
        };
        let why = "Error message frames have no identifier that could be allowed or denied";
        conflict(
            &list.span,
            why,
            place(spec),
            "asks for error message frames",
            "write a route of its own for them",
            findings,
        );
        None
    }

    /// What is left of it for frames from a bus: the set, and whether it is all that `match` says.
    pub(super) fn left(
        &self,
        spec: &RouteSpec,
        of_bus: &Limits,
        ids: &mut Identifiers<'_>,
        findings: &mut Findings,
    ) -> Option<(Rc<IdSet>, IsWhole)> {
        let all = self.taken.set()?;
        if of_bus.is_none() && self.limits.is_none() {
            return Some((all, IsWhole(true)));
        }
        let (left, is_whole) = ids.within_effort(&place(spec), findings, |effort| {
            let mut left = (*all).clone();
            for limits in [of_bus, &self.limits] {
                if let Some(allow) = &limits.allow {
                    left = left.intersection(allow, effort)?;
                }
                if let Some(deny) = &limits.deny {
                    left = left.difference(deny, effort)?;
                }
            }
            let is_whole = all.difference(&left, effort)?.is_empty();
            Ok((left, is_whole))
        })?;
        if left.is_empty() {
            nothing_left(spec, all.is_empty(), findings);
            return None;
        }
        Some((Rc::new(left), IsWhole(is_whole)))
    }
}

/// Whether nothing has been taken away.
#[derive(Clone, Copy)]
pub(super) struct IsWhole(pub(super) bool);

/// The filters for a set, as many as the file may still have.
pub(super) fn selections(
    wanted: &Wanted,
    (left, is_whole): &(Rc<IdSet>, IsWhole),
    most: u64,
) -> Result<Vec<Selection>, u64> {
    let plain = |filter| Selection { filter, id: None };
    match wanted.taken {
        Taken::Filter(filter) if is_whole.0 => Ok(vec![plain(filter)]),
        _ => Ok(left.filters(most)?.into_iter().map(plain).collect()),
    }
}

/// The one filter of a route for error message frames, which nothing can be taken away from.
pub(super) fn as_it_is(taken: &Taken) -> Vec<Selection> {
    match taken {
        Taken::Filter(filter) => vec![Selection { filter: *filter, id: None }],
        Taken::Set(_) => Vec::new(),
    }
}

/// Where a route says what it takes.
pub(super) fn place(spec: &RouteSpec) -> Span {
    let filter = spec.filter.as_ref().map(|list| &list.span);
    filter.or(spec.errors.as_ref().map(|errors| &errors.span)).unwrap_or(&spec.header).clone()
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
            let why = "A route takes data and remote frames or error message frames, not both";
            conflict(
                &written.span,
                why,
                list.span.clone(),
                "takes frames with identifiers",
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
                .help("1FFFFFFF is for all of them, 40 for bus-off alone; docs/config.md has a table"),
        );
        return None;
    }
    warnings::error_frames(&written.span, findings);
    Some(Taken::Filter(Filter { id: 0, mask: CAN_ERR_FLAG | classes }))
}

fn nothing_left(spec: &RouteSpec, never_had_any: bool, findings: &mut Findings) {
    let diagnostic = Diagnostic::error(code::NOTHING_LEFT, place(spec), "The route takes no frame");
    findings.report(if never_had_any {
        diagnostic.label("no identifier is in here")
    } else {
        diagnostic
            .label("nothing of this is left")
            .help("`allow` and `deny` of the route and of the bus that it comes from take everything away; change them or remove the route")
    });
}
