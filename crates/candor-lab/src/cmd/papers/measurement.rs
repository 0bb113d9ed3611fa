//! Cells and answers that were measured for the figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_lab::cells::State;
use candor_lab::experiment::{self, Plan};
use candor_lab::report::Cell;
use serde_json::Value;

use super::method::{Extent, KERNELS, answer, at};
use super::quantity::{Levels, Quantity, Term, figure, is_figure};
use crate::cmd::measure::status_table;

/// The cells of a plan, or the answers of a method.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Measurement {
    cells: Vec<Cell>,
    /// By name of the cell.
    records: BTreeMap<String, PathBuf>,
    /// Answers by name of the kernel.
    answers: BTreeMap<String, Value>,
    /// Into the answers, by name of a [`Term`]; empty for a plan.
    paths: BTreeMap<String, String>,
}

impl Measurement {
    /// Answers of a method, on the kernels where it has run.
    pub(super) fn of_method(paths: &BTreeMap<String, String>, folder: &Path, extent: Extent<'_>) -> Self {
        let answers =
            extent.kernels.iter().filter_map(|kernel| Some(((*kernel).to_owned(), answer(folder, extent, kernel)?)));
        Self { answers: answers.collect(), ..Self::unanswered(paths) }
    }

    /// A method that has not run.
    pub(super) fn unanswered(paths: &BTreeMap<String, String>) -> Self {
        Self { paths: paths.clone(), ..Self::default() }
    }

    /// Results of `candor-lab measure`.
    pub(super) fn read(folder: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let (results, plan) = status_table::open(folder)?;
        let found = status_table::find_all(&plan, &results)?;
        let cells = status_table::read(&found)?;
        let records = found.into_iter().filter_map(|cell| Some((cell.name, cell.record?))).collect();
        Ok(Self { cells, records, ..Self::default() })
    }

    /// A plan without any results.
    pub(super) fn planned(plan: &Plan) -> Self {
        let cell = |cell: &experiment::Cell| Cell {
            name: cell.name(plan),
            levels: cell.levels().map(|(factor, level)| (factor.to_owned(), level)).into(),
            state: None,
            measured: None,
        };
        Self { cells: plan.cells().iter().map(cell).collect(), ..Self::default() }
    }

    #[cfg(test)]
    pub(super) fn answered(paths: BTreeMap<String, String>, answers: BTreeMap<String, Value>) -> Self {
        Self { answers, paths, ..Self::default() }
    }

    /// Each cell has two frames, with latencies of `latency_ns(levels)` and three times that.
    #[cfg(test)]
    pub(super) fn filled(mut self, latency_ns: fn(&str) -> u32) -> Self {
        use candor_lab::record::Record;

        for cell in &mut self.cells {
            let latency_ns = latency_ns(&format!("{:?}", cell.levels));
            let rows = format!("0,0,1,10,{},0\n1,1,1,10,{},0\n", 10 + latency_ns, 10 + 3 * latency_ns);
            let record = Record::parse(&(crate::cmd::measure::results::HEAD.to_owned() + &rows)).unwrap();
            cell.measured = Some(candor_lab::report::Measured::of(&record));
            cell.state = Some(State::Ok);
        }
        self
    }

    /// In any state.
    pub(super) fn cell(&self, levels: &Levels, kernel: Option<&str>) -> Option<&Cell> {
        let first = self.cells.first()?;
        let wanted = |factor: &str| {
            let named = levels.0.iter().find(|(known, _)| known == factor).map(|(_, level)| level.as_str());
            let kernel = kernel.filter(|_| factor == "kernel");
            named.or(kernel).unwrap_or_else(|| first.level(factor))
        };
        self.cells.iter().find(|cell| cell.levels.iter().all(|(factor, level)| level == wanted(factor)))
    }

    /// On the kernel that the term names, or else on this one. Figures of an invalid cell are not the gateway's:
    /// `ok_only` leaves them out.
    pub(in crate::cmd) fn value(&self, term: &Term, kernel: Option<&str>, ok_only: bool) -> Option<f64> {
        let kernel = term.kernel.as_deref().or(kernel);
        if !self.paths.is_empty() {
            return at(self.answer(kernel)?, &self.path(term).ok()?)?.as_f64();
        }
        let levels = Levels::of(term.arguments.iter().map(String::as_str)).ok()?;
        let cell = self.cell(&levels, kernel).filter(|cell| !ok_only || cell.state == Some(State::Ok))?;
        figure(cell, &term.name)
    }

    /// In the order of the terms; empty unless all cells are ok.
    pub(super) fn values(&self, quantity: &Quantity, kernel: Option<&str>) -> Vec<f64> {
        let values = quantity.terms().into_iter().map(|term| self.value(term, kernel, true));
        values.collect::<Option<_>>().unwrap_or_default()
    }

    pub(super) fn path(&self, term: &Term) -> Result<String, String> {
        let path = self.paths.get(&term.name).ok_or_else(|| format!("no answer {}", term.name))?;
        let places = path.matches("{}").count();
        if places != term.arguments.len() {
            return Err(format!("{} takes {places} arguments", term.name));
        }
        Ok(term.arguments.iter().fold(path.clone(), |path, argument| path.replacen("{}", argument, 1)))
    }

    /// Refuses a term that cannot have a value.
    pub(super) fn check(&self, term: &Term) -> Result<(), String> {
        let kernel = term.kernel.as_deref();
        if let Some(kernel) = kernel.filter(|kernel| !KERNELS.contains(kernel)) {
            return Err(format!("no kernel {kernel}"));
        }
        if !self.paths.is_empty() {
            return self.path(term).map(drop);
        }
        if !is_figure(&term.name) {
            return Err(format!("no figure {} of a cell", term.name));
        }
        self.check_cell(&Levels::of(term.arguments.iter().map(String::as_str))?, kernel)
    }

    /// Refuses a cell that the plan does not contain.
    pub(super) fn check_cell(&self, levels: &Levels, kernel: Option<&str>) -> Result<(), String> {
        let factors = self.cells.first().map_or(&[][..], |cell| &cell.levels);
        if let Some((factor, _)) = levels.0.iter().find(|(factor, _)| factors.iter().all(|(known, _)| known != factor))
        {
            return Err(format!("no factor {factor} in the plan"));
        }
        let words: Vec<String> = levels.0.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
        self.cell(levels, kernel).map(drop).ok_or_else(|| format!("no cell with {}", words.join(", ")))
    }

    pub(super) fn record(&self, cell: &Cell) -> Option<&Path> {
        self.records.get(&cell.name).map(PathBuf::as_path)
    }

    pub(super) fn answer(&self, kernel: Option<&str>) -> Option<&Value> {
        self.answers.get(kernel?)
    }

    /// Numbers of cells that are ok, invalid, failed, and missing.
    pub(super) fn states(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for cell in &self.cells {
            let at = match &cell.state {
                Some(State::Invalid(_)) => 1,
                Some(State::Failed(_)) => 2,
                Some(_) => 0,
                None => 3,
            };
            counts[at] += 1;
        }
        counts
    }
}
