//! `candor import cangw`.

use candor_cli::gateway_file::{plural, read_bytes};
use candor_cli::render::{self, Source};
use candor_cli::{Exit, Outcome};
use candor_config::import::{self, Reading};
use candor_config::text;

use super::{Mismatch, checked, left_out, not_imported, put};
use crate::cli::{ImportCangwArgs, ImportForm};

pub(super) fn run(args: &ImportCangwArgs) -> Outcome {
    let (name, bytes) = read_bytes(&args.file, import::MAX_BYTES)?;
    let reading = args.form.map(|form| match form {
        ImportForm::Listing => Reading::Listing,
        ImportForm::Script => Reading::Script,
    });
    let source = Source::new(name, &bytes);
    let imported = match import::cangw(&bytes, reading) {
        Ok(imported) => imported,
        Err(findings) => {
            not_imported(&source, &findings);
            return Ok(Exit::No);
        }
    };
    render::err(&render::text(&source, &imported.warnings, render::wants_colour()));
    left_out(&source, &imported.left_out);

    let plan = text::of_jobs(&imported.interfaces, &imported.jobs);
    let written =
        format!("# Made by `candor import cangw` of {}.\n{}", source.name().escape_debug(), text::write(&plan));
    let Some(loaded) = checked(&args.output, &written) else { return Ok(Exit::No) };
    if loaded.plan != plan {
        return Err(Box::new(Mismatch));
    }
    put(&args.output, &written)?;
    let order = match imported.reading {
        Reading::Listing => "a listing (first line first)",
        Reading::Script => "a script (last command first)",
    };
    let (jobs, routes) = (plural(imported.jobs.len(), "job"), plural(plan.routes().len(), "route"));
    render::err(&format!("{}: {jobs}, {routes}, read as {order}\n", source.name()));
    Ok(Exit::Fine)
}
