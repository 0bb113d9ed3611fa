//! Numbers by name: figures of cells, numbers in the answers of methods, and what is computed from two of them.
//!
//! ```text
//!  QUANTITY  TERM | TERM / TERM | TERM - TERM | spread TERM          the spread: largest of the alternatives A|B|C by the smallest
//!  TERM      NAME[(ARGUMENT, …)][ on KERNEL]                         p50(gateway=read-write, rules=fifo) on debian-6.1
//! ```
//!
//! Arguments of a cell are levels of factors; for other factors it has the level of the plan's first cell.

use candor_lab::report::Cell;
use serde::Deserialize;

use super::measurement::Measurement;

/// Levels of factors that identify a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Levels(pub(super) Vec<(String, String)>);

/// One number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Term {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) kernel: Option<String>,
}

/// One number, or what is computed from several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Quantity {
    One(Term),
    Ratio(Term, Term),
    Difference(Term, Term),
    Spread(Vec<Term>),
}

impl TryFrom<String> for Levels {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::of(text.split(", ").filter(|level| !level.is_empty()))
    }
}

impl TryFrom<String> for Term {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl TryFrom<String> for Quantity {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl Levels {
    pub(super) fn of<'a>(levels: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let level = |text: &str| match text.split_once('=') {
            Some((factor, level)) => Ok((factor.to_owned(), level.to_owned())),
            None => Err(format!("{text:?} is not of the form FACTOR=LEVEL")),
        };
        levels.map(level).collect::<Result<_, _>>().map(Self)
    }
}

impl Term {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (number, kernel) = text.rsplit_once(" on ").map_or((text, None), |(number, kernel)| (number, Some(kernel)));
        let (name, arguments) = match number.split_once('(') {
            None => (number, Vec::new()),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or_else(|| format!("{text:?} has no closing parenthesis"))?;
                (name, inside.split(", ").map(str::to_owned).collect())
            }
        };
        Ok(Self { name: name.to_owned(), arguments, kernel: kernel.map(str::to_owned) })
    }

    /// One for each alternative `A|B|C` in an argument.
    fn alternatives(&self) -> Vec<Self> {
        let Some(at) = self.arguments.iter().position(|argument| argument.contains('|')) else {
            return vec![self.clone()];
        };
        let (factor, levels) = self.arguments[at].split_once('=').unwrap_or_default();
        let one = |level| {
            let mut one = self.clone();
            one.arguments[at] = format!("{factor}={level}");
            one
        };
        levels.split('|').map(one).collect()
    }
}

impl Quantity {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(all) = text.strip_prefix("spread ") {
            return Ok(Self::Spread(Term::parse(all)?.alternatives()));
        }
        Ok(match (text.split_once(" / "), text.split_once(" - ")) {
            (Some((one, other)), _) => Self::Ratio(Term::parse(one)?, Term::parse(other)?),
            (_, Some((one, other))) => Self::Difference(Term::parse(one)?, Term::parse(other)?),
            _ => Self::One(Term::parse(text)?),
        })
    }

    pub(super) fn terms(&self) -> Vec<&Term> {
        match self {
            Self::One(one) => vec![one],
            Self::Ratio(one, other) | Self::Difference(one, other) => vec![one, other],
            Self::Spread(all) => all.iter().collect(),
        }
    }

    /// Kernels that it names itself.
    pub(super) fn kernels(&self) -> Vec<&str> {
        self.terms().into_iter().filter_map(|term| term.kernel.as_deref()).collect()
    }

    /// The same on this kernel.
    pub(super) fn on(&self, kernel: &str) -> Self {
        let mut on_kernel = self.clone();
        let terms = match &mut on_kernel {
            Self::One(one) => vec![one],
            Self::Ratio(one, other) | Self::Difference(one, other) => vec![one, other],
            Self::Spread(all) => all.iter_mut().collect(),
        };
        terms.into_iter().for_each(|term| term.kernel = Some(kernel.to_owned()));
        on_kernel
    }

    /// Of cells that are ok, in the order of the terms. `None` if one of them was not measured.
    pub(super) fn values(&self, measurement: &Measurement, kernel: Option<&str>) -> Option<Vec<f64>> {
        self.terms().into_iter().map(|term| measurement.value(term, kernel, true)).collect()
    }

    /// Computed from the [`values`](Self::values) of its terms.
    pub(super) fn of(&self, values: &[f64]) -> Option<f64> {
        let ratio = |one: f64, other: f64| (other != 0.0).then(|| one / other);
        match (self, values) {
            (Self::Ratio(..), [one, other]) => ratio(*one, *other),
            (Self::Difference(..), [one, other]) => Some(one - other),
            (Self::Spread(_), all) => {
                ratio(all.iter().copied().reduce(f64::max)?, all.iter().copied().reduce(f64::min)?)
            }
            (_, values) => values.first().copied(),
        }
    }
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellFigure {
    Min,
    P50,
    P90,
    P99,
    Max,
    /// Frames that did not arrive.
    Lost,
    Frames,
}

impl CellFigure {
    pub(super) const LATENCIES: [Self; 5] = [Self::Min, Self::P50, Self::P90, Self::P99, Self::Max];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::LATENCIES.into_iter().chain([Self::Lost, Self::Frames]).find(|figure| figure.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::Lost => "lost",
            Self::Frames => "frames",
        }
    }

    /// In µs, or a number of frames. `None` if no frame arrived.
    pub(super) fn of(self, cell: &Cell) -> Option<f64> {
        let measured = cell.measured.as_ref()?;
        let number = |count: usize| u32::try_from(count).ok().map(f64::from);
        let latency = match self {
            Self::Min => measured.figures?.min,
            Self::P50 => measured.figures?.p50,
            Self::P90 => measured.figures?.p90,
            Self::P99 => measured.figures?.p99,
            Self::Max => measured.figures?.max,
            Self::Lost => return number(measured.lost()),
            Self::Frames => return number(measured.frames),
        };
        Some(latency.microseconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_have_arguments_and_a_kernel() {
        let term = Term::parse("p50(gateway=read-write, load=cpu 20) on debian-6.1").unwrap();
        assert_eq!((&term.name[..], term.kernel.as_deref()), ("p50", Some("debian-6.1")));
        assert_eq!(term.arguments, ["gateway=read-write", "load=cpu 20"]);
        assert_eq!(Term::parse("r_squared").unwrap().arguments, [""; 0]);
        assert!(Term::parse("p50(gateway=kernel").is_err());
    }

    #[test]
    fn quantities_are_computed_from_terms() {
        let names = |text: &str| {
            let quantity = Quantity::parse(text).unwrap();
            quantity.terms().into_iter().map(|term| term.arguments.join(", ")).collect::<Vec<_>>()
        };
        assert!(matches!(Quantity::parse("max / min").unwrap(), Quantity::Ratio(..)));
        assert!(matches!(Quantity::parse("lost(a-b, 1) - lost(c, 1)").unwrap(), Quantity::Difference(..)));
        assert_eq!(names("spread p50(load=none, rules=a|b)"), ["load=none, rules=a", "load=none, rules=b"]);
        assert_eq!(Quantity::parse("p50 on x / p50 on y").unwrap().kernels(), ["x", "y"]);
    }
}
