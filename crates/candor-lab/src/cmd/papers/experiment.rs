//! A measurement for one or several figures: either a plan or a method, and where its records are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candor_lab::experiment::{self, Available, Plan, Shard};
use serde::Deserialize;
use toml::Spanned;

use super::measurement::Measurement;
use super::method::{Extent, Method, answer_file};
use crate::cli::GuestLimits;
use crate::cmd::measure::fill;
use crate::cmd::measure::results::Results;
use candor_cli::render;

type Failed = Box<dyn std::error::Error>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cmd) struct Experiment {
    pub(in crate::cmd) name: Spanned<String>,
    /// Frames per cell in the paper; `None` if the method has its own number.
    pub(super) frames: Option<u32>,
    /// `{frames}` and `{kernels}` are filled in.
    pub(super) plan: Option<String>,
    pub(in crate::cmd) method: Option<Method>,
}

impl Experiment {
    /// The plan with its numbers filled in; `None` if a method measures it.
    pub(in crate::cmd) fn plan_text(&self, extent: Extent<'_>) -> Option<String> {
        // A string of JSON is one of TOML.
        let kernels =
            extent.kernels.iter().map(|kernel| serde_json::json!(kernel).to_string()).collect::<Vec<_>>().join(", ");
        let frames = extent.frames.or(self.frames).unwrap_or_default();
        let text = self.plan.as_ref()?.replace("{frames}", &frames.to_string());
        let text = text.replace("{kernels}", &format!("[{kernels}]"));
        let factor = format!("[factor]\narch = \"{}\"", extent.arch.name());
        Some(if extent.arch.is_here() { text } else { text.replace("[factor]", &factor) })
    }

    /// The command lines of a method, one for each kernel.
    pub(in crate::cmd) fn commands(&self, extent: Extent<'_>) -> Option<String> {
        Some(self.method.as_ref()?.text(self.frames, extent))
    }

    /// Measures what is missing below `records`. Returns whether all guests succeeded.
    pub(in crate::cmd) fn measure(
        &self,
        extent: Extent<'_>,
        records: &Path,
        limits: GuestLimits,
    ) -> Result<bool, Failed> {
        let folder = self.folder(extent, records);
        if let Some(method) = &self.method {
            return method.run(self.frames, extent, &folder, limits);
        }
        let text = self.plan_text(extent).unwrap_or_default();
        let plan = plan(&text)?;
        let results = Results::open(&folder, text.as_bytes(), &plan.logs)?;
        let blocks = plan.blocks();
        let run = fill(&results, &plan, Path::new(""), Shard::WHOLE, &blocks.iter().collect::<Vec<_>>(), limits)?;
        render::err(&run.failures());
        if !run.broken.is_empty() {
            render::err("candor-lab: run the same command again to retry the missing cells\n");
        }
        Ok(run.broken.is_empty())
    }

    /// `answers` are the paths into the answers of a method.
    pub(in crate::cmd) fn read(
        &self,
        answers: &BTreeMap<String, String>,
        extent: Extent<'_>,
        records: &Path,
    ) -> Result<Measurement, Failed> {
        let folder = self.folder(extent, records);
        match self.method {
            None => Measurement::read(&folder),
            Some(_) => Ok(Measurement::of_method(answers, &folder, extent)),
        }
    }

    /// With the paper's number of frames if all of that is measured.
    pub(super) fn largest<'k>(&self, asked: Extent<'k>, records: &Path) -> Result<Extent<'k>, String> {
        let whole = Extent { frames: None, ..asked };
        Ok(if self.frames.is_none() || self.is_measured(whole, records)? { whole } else { asked })
    }

    fn is_measured(&self, extent: Extent<'_>, records: &Path) -> Result<bool, String> {
        let folder = self.folder(extent, records);
        let Some(text) = self.plan_text(extent) else {
            return Ok(extent.kernels.iter().all(|kernel| answer_file(&folder, extent, kernel).is_file()));
        };
        if !Results::are_in(&folder) {
            return Ok(false);
        }
        let plan = plan(&text)?;
        let results = Results::open(&folder, text.as_bytes(), &plan.logs);
        Ok(results.is_ok_and(|results| plan.blocks().iter().all(|block| results.has(&block.name))))
    }

    /// Results of a plan belong to one extent, unlike those of a method.
    fn folder(&self, extent: Extent<'_>, records: &Path) -> PathBuf {
        let suffix = if self.method.is_some() { String::new() } else { extent.suffix() };
        records.join(format!("{}{suffix}", self.name.get_ref()))
    }
}

pub(super) fn plan(text: &str) -> Result<Plan, String> {
    let loaded = experiment::load(text.as_bytes(), Available::default());
    Ok(loaded.map_err(|findings| format!("invalid plan: {findings:?}"))?.plan)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::data;
    use super::super::method::KERNELS;
    use super::*;

    #[test]
    fn frames_of_the_paper_are_used_once_all_kernels_have_them() {
        let papers = data::load().unwrap();
        let records = tempfile::tempdir().unwrap();
        let frames = |name: &str| {
            let mut all = papers.iter().flat_map(|paper| &paper.experiments);
            let experiment = all.find(|experiment| experiment.name.get_ref() == name).unwrap();
            let asked = Extent { frames: Some(1000), ..Extent::WHOLE };
            experiment.largest(asked, records.path()).unwrap().frames
        };
        assert_eq!(["hops-2011", "vcan-2011"].map(frames), [Some(1000); 2]);
        let answers = records.path().join("hops-2011");
        fs::create_dir(&answers).unwrap();
        for (at, kernel) in KERNELS.iter().enumerate() {
            assert_eq!(frames("hops-2011"), Some(1000), "{at}");
            fs::write(answers.join(format!("{kernel}.json")), "{}").unwrap();
        }
        assert_eq!(frames("hops-2011"), None);
        // The method has its own number of frames.
        assert_eq!(frames("streams-2014"), None);
    }
}
