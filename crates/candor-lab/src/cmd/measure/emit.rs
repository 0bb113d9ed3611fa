//! `candor-lab measure --emit`: scripts of batch systems.

use candor_cli::{Exit, Outcome, render};
use clap::ValueEnum as _;

use super::folder_of;
use crate::cli::{BatchScript, MeasureArgs};

/// Prints the script that measures the plan in shards and merges them.
pub(super) fn script(args: &MeasureArgs, system: BatchScript) -> Outcome {
    let plan = match (&args.plan, args.preset) {
        (_, Some(preset)) => format!("--preset {}", preset.name()),
        (Some(plan), None) if plan.as_os_str() == "-" => {
            return Err("--emit needs the plan as a file, which the nodes can read".into());
        }
        (Some(plan), None) => quoted(&plan.display().to_string()),
        (None, None) => return Err("No plan was given".into()),
    };
    let out = args.out.clone().unwrap_or_else(|| folder_of(args));
    let stem = out.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let shards = quoted(&out.with_extension("shards").display().to_string());
    let template = match system {
        BatchScript::Slurm => include_str!("emit/slurm.sh"),
        BatchScript::K8s => include_str!("emit/k8s.yaml"),
        BatchScript::Parallel => include_str!("emit/parallel.sh"),
    };
    let count = args.shards.unwrap_or(1).to_string();
    let text = template
        .replace("{plan}", &plan)
        .replace("{out}", &quoted(&out.display().to_string()))
        .replace("{parts}", &shards)
        .replace("{count}", &count)
        .replace("{job}", &job_name(&stem))
        .replace("{system}", system.to_possible_value().as_ref().map_or("", clap::builder::PossibleValue::get_name));
    render::answer(&text, Exit::Fine)
}

/// As a word of a shell.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-+,:=@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A name that all batch systems take: lower case, digits and hyphens.
fn job_name(stem: &str) -> String {
    let of = |character: char| if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '-' };
    let name: String = stem.chars().map(of).take(40).collect();
    match name.trim_matches('-') {
        "" => "candor".to_owned(),
        name => format!("candor-{name}"),
    }
}
