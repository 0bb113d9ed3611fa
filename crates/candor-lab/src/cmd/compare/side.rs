//! One side of a comparison: where its cells are.

use std::path::Path;

use candor_lab::cells::State;

use crate::cli::Level;
use crate::cmd::measure::results::Results;
use crate::cmd::measure::status_table::{self, Found};
use crate::cmd::report::{files_of, read_one};

/// Cells of A or of B.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) cells: Vec<Found>,
    /// Whether it is one record, which people hold against any other.
    pub(super) is_single: bool,
}

impl Side {
    /// Those that have these levels.
    pub(super) fn open(path: &Path, wanted: &[Level]) -> Result<Self, Box<dyn std::error::Error>> {
        let cells = if Results::are_in(path) {
            let (results, plan) = status_table::open(path)?;
            status_table::find_all(&plan, &results)?
        } else {
            records(path)?
        };
        for Level { factor, level } in wanted {
            check(path, &cells, factor, level)?;
        }
        let has = |cell: &Found| wanted.iter().all(|wanted| level(cell, &wanted.factor) == Some(&wanted.level));
        let cells: Vec<Found> = cells.into_iter().filter(has).collect();
        Ok(Self { is_single: path.is_file(), cells })
    }
}

/// Its level of a factor.
pub(super) fn level<'f>(cell: &'f Found, factor: &str) -> Option<&'f str> {
    cell.levels.iter().find(|(known, _)| known == factor).map(|(_, level)| level.as_str())
}

/// Records that belong to no plan, or were taken out of one.
fn records(path: &Path) -> Result<Vec<Found>, Box<dyn std::error::Error>> {
    let found = |file: std::path::PathBuf| {
        let levels = read_one(&file)?.header.told_levels();
        Ok(Found { name: file.display().to_string(), levels, state: Some(State::Ok), record: Some(file) })
    };
    files_of(path)?.into_iter().map(found).collect()
}

/// Says what there is instead, where no cell has this level.
fn check(path: &Path, cells: &[Found], factor: &str, wanted: &str) -> Result<(), String> {
    let mut levels: Vec<&str> = Vec::new();
    for known in cells.iter().filter_map(|cell| level(cell, factor)) {
        if known == wanted {
            return Ok(());
        }
        if !levels.contains(&known) {
            levels.push(known);
        }
    }
    let there =
        if levels.is_empty() { "it has no such factor".to_owned() } else { format!("it has {}", levels.join(", ")) };
    Err(format!("{} has no cell with {factor}={wanted}: {there}", path.display()))
}
