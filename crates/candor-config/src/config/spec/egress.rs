//! `[egress.BUS]` as written.

use crate::config::spec::ListSpec;
use candor_core::diagnostic::Span;
use candor_core::document::Spanned;

/// `[egress.BUS]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressSpec {
    /// BUS.
    pub bus: Spanned<String>,
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `queue`.
    pub queue: Option<Spanned<i64>>,
    /// `[[egress.BUS.band]]`, in the order of the file.
    pub bands: Vec<BandSpec>,
    /// `[[egress.BUS.limit]]`, in the order of the file.
    pub limits: Vec<LimitSpec>,
    /// `tree`.
    pub tree: Option<TreeSpec>,
}

impl Default for EgressSpec {
    fn default() -> Self {
        let bus = Spanned { value: String::new(), span: 0..0 };
        Self { bus, is_torn: false, queue: None, bands: Vec::new(), limits: Vec::new(), tree: None }
    }
}

/// `tree`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSpec {
    /// The text.
    pub text: Spanned<String>,
    /// Where it begins in the file, if it stands there as it is.
    pub at: Option<usize>,
}

/// `[[egress.BUS.band]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BandSpec {
    /// Its header.
    pub header: Span,
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `name`.
    pub name: Option<Spanned<String>>,
    /// `take`.
    pub take: Vec<SelectionSpec>,
    /// The selection whose keys stand in the band itself.
    pub own: SelectionSpec,
    /// `fair`.
    pub fair: Option<Spanned<String>>,
    /// `rate`.
    pub rate: Option<Spanned<String>>,
    /// `share`.
    pub share: Option<Spanned<i64>>,
    /// `queue`.
    pub queue: Option<Spanned<i64>>,
    /// `when-full`.
    pub when_full: Option<Spanned<String>>,
    /// `max-age`.
    pub max_age: Option<Spanned<String>>,
}

/// `[[egress.BUS.limit]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSpec {
    /// Its header.
    pub header: Span,
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `take`.
    pub take: Vec<SelectionSpec>,
    /// The selection whose keys stand in the limit itself.
    pub own: SelectionSpec,
    /// `rate`.
    pub rate: Option<Spanned<String>>,
    /// `burst`.
    pub burst: Option<Spanned<i64>>,
}

/// Which frames belong to a band, or are limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectionSpec {
    /// Its place.
    pub span: Span,
    /// Whether a key is of the wrong type and not here.
    pub is_torn: bool,
    /// `match`.
    pub filter: Option<ListSpec>,
    /// `kind`.
    pub kind: Option<Spanned<String>>,
    /// `length`, a number or a range.
    pub length: Option<Spanned<String>>,
    /// `j1939`.
    pub j1939: Option<J1939Spec>,
    /// `from`.
    pub from: Option<Vec<Spanned<String>>>,
    /// `socket-priority`.
    pub socket_priority: Option<Vec<Spanned<i64>>>,
    /// `mark`.
    pub mark: Option<Vec<Spanned<String>>>,
    /// `cgroup`.
    pub cgroup: Option<Vec<Spanned<String>>>,
    /// `unit`.
    pub unit: Option<Vec<Spanned<String>>>,
}

impl SelectionSpec {
    /// Whether nothing is chosen by it.
    pub(in crate::config) const fn is_empty(&self) -> bool {
        !self.is_by_frame() && self.cgroup.is_none() && self.unit.is_none()
    }

    /// Whether it looks at what a frame itself has.
    pub(in crate::config) const fn is_by_frame(&self) -> bool {
        self.filter.is_some()
            || self.kind.is_some()
            || self.length.is_some()
            || self.j1939.is_some()
            || self.from.is_some()
            || self.socket_priority.is_some()
            || self.mark.is_some()
    }
}

/// `j1939`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct J1939Spec {
    /// The whole table.
    pub span: Span,
    /// `priority`.
    pub priority: Option<Vec<Spanned<i64>>>,
    /// `pgn`.
    pub pgn: Option<Vec<Spanned<String>>>,
}
