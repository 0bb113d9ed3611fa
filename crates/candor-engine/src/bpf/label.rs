//! Names of filters, which say who made them and from what.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use candor_bpf::gateway::{Action, Filter, Filters};
use candor_core::job::{BusIndex, RouteIndex};
use candor_egress::netlink::program::OURS;
use candor_io::can::InterfaceIndex;

/// `CLS_BPF_NAME_LEN`, without the zero at the end.
const MOST_NAME_BYTES: usize = 255;

/// The name of a filter: who made it, whether it made the ingress, from what, and for which route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// 0 for an applied file.
    pub(super) pid: u32,
    pub(super) made_ingress: bool,
    pub(super) made_from: Digest,
    pub(super) route: String,
}

/// Programs, routes and interfaces that differ have different digests. It holds as long as candor itself does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest(u64);

impl Digest {
    /// Of the filters of an even generation.
    pub(super) fn of(
        filters: &Filters,
        to: impl Fn(BusIndex) -> InterfaceIndex,
        route: impl Fn(RouteIndex) -> String,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        filters.maps.hash(&mut hasher);
        for Filter { program, action } in &filters.filters {
            program.hash(&mut hasher);
            match *action {
                Action::Send { route: of, to: bus, how } => (how, to(bus), route(of)).hash(&mut hasher),
                Action::End | Action::Nothing => action.hash(&mut hasher),
            }
        }
        Self(hasher.finish())
    }
}

impl Label {
    pub(super) fn text(&self) -> String {
        let made = if self.made_ingress { '+' } else { '-' };
        let mut text = format!("{OURS}{} {made} {:016x} {}", self.pid, self.made_from.0, self.route);
        let fits = (0..=MOST_NAME_BYTES).rev().find(|&end| text.is_char_boundary(end.min(text.len())));
        text.truncate(fits.unwrap_or_default().min(text.len()));
        text
    }

    pub(super) fn of(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix(OURS)?.splitn(4, ' ');
        let pid = words.next()?.parse().ok()?;
        let made_ingress = words.next()? == "+";
        let made_from = Digest(u64::from_str_radix(words.next()?, 16).ok()?);
        Some(Self { pid, made_ingress, made_from, route: words.next().unwrap_or_default().to_owned() })
    }
}
