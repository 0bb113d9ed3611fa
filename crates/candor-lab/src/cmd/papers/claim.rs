//! A claim of a paper, and its verdict on each kernel.

use std::ops::Range;

use candor_lab::report::{Judgement, Seen};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error as UnitError;
use toml::Spanned;

use super::measurement::Measurement;
use super::method::series;
use super::quantity::Quantity;

/// A statement of a paper that a number can confirm or refute.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    pub(super) claim: String,
    /// With the paper's numbers.
    pub(super) published: String,
    quantity: Spanned<Quantity>,
    unit: Unit,
    /// Values that confirm the claim.
    holds: Bounds,
    #[serde(default)]
    otherwise: Otherwise,
    /// In both reasons, `{value on KERNEL}` is the claim's own number and `{QUANTITY: UNIT}` another one, whose terms
    /// name their kernels.
    holds_because: Option<Spanned<String>>,
    otherwise_because: Option<Spanned<String>>,
}

/// The verdict outside of the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Otherwise {
    /// Possibly because of the laboratory.
    #[default]
    Differs,
    /// Because the kernel has changed.
    NoLongerTrue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Bounds {
    at_least: Option<f64>,
    above: Option<f64>,
    at_most: Option<f64>,
    below: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Unit {
    Times,
    Microseconds,
    Nanoseconds,
    /// Instructions of 1 ns each.
    Instructions,
    Frames,
    /// A ratio of two numbers of frames: some of all.
    Share,
    /// A number without a unit.
    Number,
}

impl Claim {
    pub(super) fn check(&self, measured: &Measurement) -> Result<(), (Range<usize>, String)> {
        let check = |quantity: &Quantity| quantity.terms().into_iter().try_for_each(|term| measured.check(term));
        check(self.quantity.get_ref()).map_err(|message| (self.quantity.span(), message))?;
        for reason in [&self.holds_because, &self.otherwise_because].into_iter().flatten() {
            self.filled(reason.get_ref(), |quantity, _| {
                if quantity.terms().iter().any(|term| term.kernel.is_none()) {
                    return Err("a number in a reason needs a kernel".to_owned());
                }
                check(quantity).map(|()| String::new())
            })
            .map_err(|message| (reason.span(), message))?;
        }
        Ok(())
    }

    /// On each of the kernels, or once if the claim names its kernels; and the verdict of all. `None` if a named kernel
    /// was not measured.
    ///
    /// Real-time kernels are listed, but decide only claims that name them.
    pub(super) fn judge(&self, measurement: &Measurement, kernels: &[&str]) -> Option<(Vec<Seen>, Judgement)> {
        let quantity = self.quantity.get_ref();
        let one = |kernel: Option<&str>| Seen {
            kernel: kernel.map_or("", series).to_owned(),
            value: self.unit.show(quantity, measurement, kernel),
            verdict: self.verdict(&measurement.values(quantity, kernel)),
        };
        let seen: Vec<Seen> = match &quantity.kernels()[..] {
            [] => kernels.iter().map(|kernel| one(Some(kernel))).collect(),
            named if named.iter().all(|kernel| kernels.contains(kernel)) => vec![one(None)],
            _ => return None,
        };
        let verdict = seen.iter().filter(|one| !one.kernel.ends_with("-rt")).map(|one| one.verdict).max()?;
        Some((seen, verdict))
    }

    fn verdict(&self, values: &[f64]) -> Judgement {
        let Some(value) = self.quantity.get_ref().of(values) else { return Judgement::NotMeasured };
        if self.unit == Unit::Share
            && let [count, frames] = *values
            && count == 0.0
            && self.holds.all().any(|share| share > 0.0 && share * frames < 1.0)
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of frames")]
            return Judgement::NotDecidable { frames: frames as u64 };
        }
        match self.otherwise {
            _ if self.holds.contain(value) => Judgement::Holds,
            Otherwise::Differs => Judgement::Differs,
            Otherwise::NoLongerTrue => Judgement::NoLongerTrue,
        }
    }

    pub(super) fn because(&self, verdict: Judgement, measurement: &Measurement) -> String {
        let (reason, without) = match verdict {
            Judgement::Holds => (&self.holds_because, "This is as published."),
            Judgement::Differs | Judgement::NoLongerTrue => (&self.otherwise_because, "The reason is not known."),
            Judgement::NotDecidable { .. } => {
                (&None, "A single frame is already more than the share in question: measure more frames.")
            }
            Judgement::NotMeasured => (&None, "A measurement is missing or invalid."),
        };
        let Some(reason) = reason else { return without.to_owned() };
        self.filled(reason.get_ref(), |quantity, unit| Ok(unit.show(quantity, measurement, None))).unwrap_or_default()
    }

    /// A reason with its numbers filled in.
    fn filled(
        &self,
        mut text: &str,
        mut number: impl FnMut(&Quantity, Unit) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut filled = String::new();
        while let Some((before, rest)) = text.split_once('{') {
            let (place, after) = rest.split_once('}').ok_or("a brace is not closed")?;
            filled.push_str(before);
            filled.push_str(&match (place.strip_prefix("value on "), place.rsplit_once(": ")) {
                (Some(kernel), _) => number(&self.quantity.get_ref().on(kernel), self.unit)?,
                (_, Some((quantity, unit))) => {
                    let unit =
                        Unit::deserialize(unit.into_deserializer()).map_err(|wrong: UnitError| wrong.to_string())?;
                    number(&Quantity::parse(quantity)?, unit)?
                }
                _ => return Err(format!("{{{place}}} has no unit")),
            });
            text = after;
        }
        Ok(filled + text)
    }

    #[cfg(test)]
    pub(super) fn quantity(&self) -> &Quantity {
        self.quantity.get_ref()
    }
}

impl Bounds {
    fn all(self) -> impl Iterator<Item = f64> {
        [self.at_least, self.above, self.at_most, self.below].into_iter().flatten()
    }

    fn contain(self, value: f64) -> bool {
        self.at_least.is_none_or(|bound| value >= bound)
            && self.above.is_none_or(|bound| value > bound)
            && self.at_most.is_none_or(|bound| value <= bound)
            && self.below.is_none_or(|bound| value < bound)
    }
}

impl Unit {
    /// A dash if it was not measured.
    fn show(self, quantity: &Quantity, measurement: &Measurement, kernel: Option<&str>) -> String {
        let values = measurement.values(quantity, kernel);
        let Some(value) = quantity.of(&values) else { return "–".to_owned() };
        let frames = |count: f64| if count.abs() == 1.0 { "frame" } else { "frames" };
        match (self, &values[..]) {
            (Self::Share, [count, all]) => format!("{count:.0} of {all:.0} {} ({:.2} %)", frames(*all), 100.0 * value),
            (Self::Times, _) => format!("{value:.2} times"),
            (Self::Microseconds, _) => format!("{value:.1} µs"),
            (Self::Nanoseconds, _) => format!("{value:.0} ns"),
            (Self::Instructions, _) => format!("{value:.0} instructions"),
            (Self::Frames, _) => format!("{value:.0} {}", frames(value)),
            (Self::Number | Self::Share, _) => format!("{value:.5}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(bounds: &str) -> Claim {
        let text = "claim = \"\"\npublished = \"\"\nquantity = \"late / frames\"\nunit = \"share\"\n\
                    otherwise-because = \"{value on x} is {late on x: frames} of {frames on x: frames}.\"\n";
        toml::from_str(&format!("{text}holds = {{ {bounds} }}\n")).unwrap()
    }

    fn measured(late: u32, frames: u32) -> Measurement {
        let paths = ["late", "frames"].map(|name| (name.to_owned(), name.to_owned()));
        let answers = [("x".to_owned(), json!({ "late": late, "frames": frames }))];
        Measurement::answered(paths.into(), answers.into())
    }

    fn judged(bounds: &str, late: u32, frames: u32) -> String {
        claim(bounds).judge(&measured(late, frames), &["x"]).unwrap().1.to_string()
    }

    #[test]
    fn shares_scale_with_the_number_of_frames() {
        let below = "below = 0.0001";
        assert_eq!(judged(below, 0, 10_000), "holds");
        assert_eq!(judged(below, 1, 10_000), "differs", "exactly 0.01 % is not less than 0.01 %");
        assert_eq!(judged(below, 1, 10_001), "holds");
        assert_eq!(judged(below, 1, 500), "differs");
        assert_eq!(judged(below, 0, 500), "not decidable with 500 frames");
        assert_eq!(judged("at-least = 0.01", 0, 50), "not decidable with 50 frames");
        assert_eq!(judged("above = 0", 0, 50), "differs");
        assert_eq!(judged("at-most = 0", 0, 50), "holds");
    }

    #[test]
    fn reasons_name_measured_numbers() {
        let because = |late, verdict| claim("at-most = 0").because(verdict, &measured(late, 500));
        assert_eq!(because(1, Judgement::Differs), "1 of 500 frames (0.20 %) is 1 frame of 500 frames.");
        assert_eq!(because(0, Judgement::Holds), "This is as published.");
    }
}
