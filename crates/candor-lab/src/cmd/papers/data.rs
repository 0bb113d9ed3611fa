//! The papers as data: `papers/*.toml` contain every figure, its claims, and the plan or command that measures it.
//!
//! Every reference to a cell or to a number of an answer is checked when the files are read.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::claim::Claim;
use super::experiment::{Experiment, plan};
use super::measurement::Measurement;
use super::method::{Extent, KERNELS};
use super::quantity::{Levels, Term};

const FILES: [(&str, &str); 4] = [
    ("papers/gateway-2011.toml", include_str!("../../../papers/gateway-2011.toml")),
    ("papers/queueing-2011.toml", include_str!("../../../papers/queueing-2011.toml")),
    ("papers/canid-2012.toml", include_str!("../../../papers/canid-2012.toml")),
    ("papers/calls-2014.toml", include_str!("../../../papers/calls-2014.toml")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paper {
    pub(super) name: String,
    /// Paths into the JSON answers of the methods, by name of a [`Term`].
    #[serde(default)]
    pub(super) answers: BTreeMap<String, String>,
    #[serde(rename = "experiment")]
    pub(super) experiments: Vec<Experiment>,
    #[serde(rename = "figure")]
    pub(super) figures: Vec<Figure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Argument of `candor-lab papers`, and stem of the page's file.
    pub(super) id: String,
    /// As numbered in the paper.
    pub(super) number: String,
    pub(super) title: String,
    /// The measurement, and its differences from the paper's.
    pub(super) setup: String,
    pub(super) experiment: Spanned<String>,
    /// Rows of the table with all figures of a cell.
    #[serde(default)]
    pub(super) cells: Vec<(String, Spanned<Levels>)>,
    /// Unit of `numbers`.
    #[serde(default)]
    pub(super) unit: String,
    /// Rows of the table with one number per kernel.
    #[serde(default)]
    pub(super) numbers: Vec<(String, Spanned<Term>)>,
    #[serde(rename = "claim")]
    pub(super) claims: Vec<Claim>,
    #[serde(rename = "picture", default)]
    pub(super) pictures: Vec<Drawing>,
}

/// Profiles of cells on one kernel, the profile of one cell on every kernel, or curves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Drawing {
    pub(super) title: String,
    #[serde(default = "oldest")]
    pub(super) kernel: String,
    #[serde(default)]
    pub(super) profiles: Vec<(String, Spanned<Levels>)>,
    pub(super) every_kernel: Option<Spanned<Levels>>,
    #[serde(default)]
    pub(super) x_label: String,
    #[serde(default)]
    pub(super) y_label: String,
    /// Divisor of the numbers.
    #[serde(default = "one")]
    pub(super) per: f64,
    /// For curves without their own.
    #[serde(default)]
    pub(super) x: Vec<f64>,
    #[serde(default)]
    pub(super) curves: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) name: String,
    /// A term that contains `{x}`.
    of: Spanned<String>,
    #[serde(default)]
    x: Vec<f64>,
}

fn oldest() -> String {
    KERNELS[0].to_owned()
}

const fn one() -> f64 {
    1.0
}

/// In the order of publication.
pub(super) fn load() -> Result<Vec<Paper>, String> {
    FILES.iter().map(|(file, text)| Paper::parse(file, text)).collect()
}

/// Parts of the papers that cannot be repeated here, and their substitutes.
pub(super) fn missing() -> Result<Vec<(String, String)>, String> {
    let mut file: BTreeMap<String, Vec<(String, String)>> =
        toml::from_str(include_str!("../../../papers/missing.toml"))
            .map_err(|error| format!("papers/missing.toml: {error}"))?;
    file.remove("missing").ok_or_else(|| "papers/missing.toml: no missing".to_owned())
}

/// Place in the file, and message.
type Wrong = (Range<usize>, String);

impl Paper {
    fn parse(file: &str, text: &str) -> Result<Self, String> {
        let line = |(place, message): Wrong| {
            let line = text.get(..place.start).unwrap_or_default().matches('\n').count() + 1;
            format!("{file}:{line}: {message}")
        };
        let paper: Self = toml::from_str(text)
            .map_err(|error| line((error.span().unwrap_or_default(), error.message().to_owned())))?;
        paper.check().map_err(line)?;
        Ok(paper)
    }

    pub(super) fn experiment(&self, figure: &Figure) -> Option<&Experiment> {
        self.experiments.iter().find(|experiment| experiment.name.get_ref() == figure.experiment.get_ref())
    }

    fn check(&self) -> Result<(), Wrong> {
        for experiment in &self.experiments {
            if experiment.plan.is_some() == experiment.method.is_some() {
                return Err((experiment.name.span(), "an experiment needs either a plan or a method".to_owned()));
            }
        }
        for figure in &self.figures {
            let wrong = |message| (figure.experiment.span(), message);
            let experiment = self
                .experiment(figure)
                .ok_or_else(|| wrong(format!("no experiment {}", figure.experiment.get_ref())))?;
            let measured = match experiment.plan_text(Extent::WHOLE) {
                Some(text) => Measurement::planned(&plan(&text).map_err(wrong)?),
                None => Measurement::unanswered(&self.answers),
            };
            figure.check(&measured)?;
        }
        Ok(())
    }
}

impl Figure {
    fn check(&self, measured: &Measurement) -> Result<(), Wrong> {
        for levels in self.pictures.iter().flat_map(Drawing::cells).chain(self.cells.iter().map(|(_, cell)| cell)) {
            measured.check_cell(levels.get_ref(), None).map_err(|message| (levels.span(), message))?;
        }
        for (_, term) in &self.numbers {
            measured.check(term.get_ref()).map_err(|message| (term.span(), message))?;
        }
        for (picture, line) in self.pictures.iter().flat_map(|one| one.curves.iter().map(move |line| (one, line))) {
            let points =
                line.points(picture).and_then(|points| points.iter().try_for_each(|(_, term)| measured.check(term)));
            points.map_err(|message| (line.of.span(), message))?;
        }
        self.claims.iter().try_for_each(|claim| claim.check(measured))
    }
}

impl Drawing {
    /// Cells with a latency profile.
    fn cells(&self) -> impl Iterator<Item = &Spanned<Levels>> {
        self.profiles.iter().map(|(_, cell)| cell).chain(&self.every_kernel)
    }
}

impl Line {
    pub(super) fn points(&self, picture: &Drawing) -> Result<Vec<(f64, Term)>, String> {
        let all = if self.x.is_empty() { &picture.x } else { &self.x };
        all.iter().map(|x| Ok((*x, Term::parse(&self.of.get_ref().replace("{x}", &x.to_string()))?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use candor_lab::arch::Arch;
    use candor_lab::experiment::{self, Available};

    use super::*;

    #[test]
    fn all_files_load() {
        let papers = load().unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(papers.len(), FILES.len());
        assert!(papers.iter().flat_map(|paper| &paper.figures).all(|figure| !figure.claims.is_empty()));
        assert!(!missing().unwrap().is_empty());
    }

    #[test]
    fn plans_load_without_warnings() {
        for experiment in load().unwrap().iter().flat_map(|paper| &paper.experiments) {
            for extent in [Extent::WHOLE, Extent::QUICK, Extent { arch: Arch::Arm64, ..Extent::WHOLE }] {
                let Some(text) = experiment.plan_text(extent) else { continue };
                let loaded = experiment::load(text.as_bytes(), Available::default());
                let loaded = loaded.unwrap_or_else(|wrong| panic!("{}: {wrong:#?}", experiment.name.get_ref()));
                assert_eq!(loaded.warnings, [], "{}", experiment.name.get_ref());
                assert!(loaded.plan.cells().iter().all(|cell| cell.conditions.arch.unwrap_or_default() == extent.arch));
            }
        }
    }

    #[test]
    fn mistakes_are_reported_with_file_and_line() {
        let (file, text) = FILES[0];
        for (right, wrong, message) in [
            ("rules=masked-{x}", "rules=masked-{x}0", "no cell with rules=masked-10"),
            ("max / min", "max / mean", "no figure mean of a cell"),
            ("max / min", "max on old / min", "no kernel old"),
            ("p50(rules=exact-2048) / p50", "p50(rule=exact-2048) / p50", "no factor rule"),
            ("pass\"]", "passes\"]", "no answer passes"),
            ("\"rest / pass\"", "\"rest(1) / pass\"", "rest takes 0 arguments"),
            ("experiment = \"flood-2011\"", "experiment = \"flood\"", "no experiment flood"),
            ("unit = \"times\"", "unit = \"time\"", "unknown variant `time`"),
            ("published = ", "publisht = ", "unknown field `publisht`"),
        ] {
            let at = text.find(right).unwrap_or_else(|| panic!("{right}"));
            let error = Paper::parse(file, &text.replacen(right, wrong, 1)).unwrap_err();
            let line = text[..at].matches('\n').count() + 1;
            assert!(error.starts_with(&format!("{file}:{line}: ")) && error.contains(message), "{line}: {error}");
        }
    }
}
