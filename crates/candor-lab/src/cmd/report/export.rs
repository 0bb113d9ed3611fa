//! All frames as files for other programs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use candor_lab::export::{Export, Form, Origin};
use candor_lab::record::Record;

use crate::cli::ReportArgs;
use candor_cli::render;

pub(super) struct Exports(Vec<(PathBuf, Box<dyn Export>)>);

fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("Cannot write {}: {error}", path.display())
}

impl Exports {
    /// With a column for each of these factors.
    pub(super) fn begin(args: &ReportArgs, factors: &[String]) -> Result<Self, String> {
        let asked = [(Form::Csv, &args.csv), (Form::JsonLines, &args.jsonl), (Form::Parquet, &args.parquet)];
        let open = |(form, path): (Form, &PathBuf)| {
            let begun = File::create(path).and_then(|file| form.begin(file, factors));
            begun.map(|file| (path.clone(), file)).map_err(failed(path))
        };
        let asked = asked.into_iter().filter_map(|(form, path)| Some((form, path.as_ref()?)));
        asked.map(open).collect::<Result<_, _>>().map(Self)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, origin: Origin<'_>, record: &Record) -> Result<(), String> {
        for (path, file) in &mut self.0 {
            file.add(origin, record).map_err(failed(path))?;
        }
        Ok(())
    }

    pub(super) fn finish(self, is_shown: bool) -> Result<(), Box<dyn std::error::Error>> {
        for (path, file) in self.0 {
            file.finish().map_err(failed(&path))?;
            if is_shown {
                render::out(&format!("Frames: {}\n", path.display()))?;
            }
        }
        Ok(())
    }
}
