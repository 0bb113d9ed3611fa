//! All frames in files for other programs.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use candor_lab::export::{Export, Form, Origin};
use candor_lab::record::Record;

use crate::cli::ReportArgs;
use candor_cli::render;

/// The files that were asked for, open.
pub(super) struct Exports(Vec<(PathBuf, Box<dyn Export>)>);

/// A file that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("Cannot write {}", path.display())]
pub(super) struct NotWritten {
    path: PathBuf,
    source: io::Error,
}

impl Exports {
    /// With a column for each of these factors.
    pub(super) fn begin(args: &ReportArgs, factors: &[String]) -> Result<Self, NotWritten> {
        let asked = [(Form::Csv, &args.csv), (Form::JsonLines, &args.jsonl), (Form::Parquet, &args.parquet)];
        let open = |(form, path): (Form, &PathBuf)| {
            let begun = File::create(path).and_then(|file| form.begin(file, factors));
            begun.map(|file| (path.clone(), file)).map_err(|source| NotWritten { path: path.clone(), source })
        };
        let asked = asked.into_iter().filter_map(|(form, path)| Some((form, path.as_ref()?)));
        asked.map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Whether none was asked for.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the frames of a record to all of them.
    pub(super) fn add(&mut self, origin: Origin<'_>, record: &Record) -> Result<(), NotWritten> {
        for (path, file) in &mut self.0 {
            file.add(origin, record).map_err(|source| NotWritten { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Makes the files whole, and tells people where they are.
    pub(super) fn finish(self, is_told: bool) -> Result<(), Box<dyn std::error::Error>> {
        for (path, file) in self.0 {
            file.finish().map_err(|source| NotWritten { path: path.clone(), source })?;
            if is_told {
                render::out(&format!("Frames: {}\n", path.display()))?;
            }
        }
        Ok(())
    }
}
