//! Numbers by name: figures of cells, numbers in the answers of methods, and values computed from them.
//!
//! ```text
//!  QUANTITY  TERM | TERM / TERM | TERM - TERM | spread TERM          spread: largest of the alternatives A|B|C by the smallest
//!  TERM      NAME[(ARGUMENT, …)][ on KERNEL]                         p50(gateway=read-write, rules=fifo) on debian-6.1
//! ```
//!
//! Arguments of a cell are levels of factors; other factors have the level of the plan's first cell.

use candor_lab::report::Cell;
use serde::Deserialize;

/// Levels of factors that identify a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Levels(pub(super) Vec<(String, String)>);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(in crate::cmd) struct Term {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) kernel: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Quantity {
    One(Term),
    Ratio(Term, Term),
    Difference(Term, Term),
    Spread(Vec<Term>),
}

macro_rules! from_text {
    ($($Type:ty: $parse:expr;)+) => { $(
        impl TryFrom<String> for $Type {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                $parse(&text)
            }
        }
    )+ };
}

from_text! {
    Levels: |text: &str| Levels::of(text.split(", ").filter(|level| !level.is_empty()));
    Term: Term::parse;
    Quantity: Quantity::parse;
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

    /// One term for each alternative `A|B|C` in an argument.
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

    /// Computed from the values of its terms.
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

/// Figures of a cell besides its latencies.
const COUNTS: [&str; 2] = ["lost", "frames"];

pub(super) const LATENCIES: [&str; 5] = ["min", "p50", "p90", "p99", "max"];

pub(super) fn is_figure(name: &str) -> bool {
    LATENCIES.contains(&name) || COUNTS.contains(&name)
}

/// A figure of a cell in µs, or a number of frames. `None` if no frame arrived.
pub(super) fn figure(cell: &Cell, name: &str) -> Option<f64> {
    let measured = cell.measured.as_ref()?;
    match name {
        "lost" => Some(measured.lost() as f64),
        "frames" => Some(measured.frames as f64),
        _ => Some(measured.figures?.named(name)?.microseconds()),
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
