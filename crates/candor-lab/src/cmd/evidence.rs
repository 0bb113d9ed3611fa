//! `candor-lab evidence`: what decides each requirement on a gateway at a border, as a table, JSON and a page.

mod json;
mod text;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use candor_cli::gateway_file::{Content, Form, GatewayFile};
use candor_cli::signed::Keys;
use candor_cli::{Exit, Outcome, render};
use candor_config::config::{Places, code};
use candor_config::plan::{BusIndex, Plan};
use candor_core::diagnostic::Diagnostic;
use candor_lab::evidence::{Border, Judged, Requirement, Signature, Subject, Verdict, judge, requirements};
use candor_lab::report::{EvidenceLine, EvidencePage, evidence_html};
#[cfg(test)]
pub(super) use json::View;

use super::evidence_runs;
use crate::cli::EvidenceArgs;

/// A kernel that has queues in the order of arbitration.
pub(super) const WITH_BPF_QUEUES: &str = "debian-7.3";

type Failure = Box<dyn std::error::Error>;

pub(crate) fn run(args: &EvidenceArgs) -> Outcome {
    let keys = Keys::of_machine(&args.verify_key)?;
    let file = GatewayFile::read(&args.gateway)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    known(&args.outside, &loaded.plan)?;
    let plans: Vec<Plan> = loaded.plan.in_each_mode().collect();
    let (mut borders, mut refused) = (Vec::new(), None);
    for plan in &plans {
        match Border::of(plan, &args.untrusted) {
            Ok(border) => borders.push(border),
            // Frames may cross in a mode only.
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    if let Some(error) = refused.filter(|_| borders.is_empty()) {
        return Err(error.into());
    }
    let text = file.source.text().as_bytes();
    let places = borders.iter().map(|border| Places::of(text, border.plan).expect("a valid file can be parsed"));
    let places: Vec<_> = places.collect();
    let signed = signed(args, &keys)?;
    let signature = signature(&args.gateway, signed.as_ref());
    let newest = loaded.plan.has_arbitration().then_some(WITH_BPF_QUEUES);
    let kernel = args.kernel.as_deref().or(newest);
    let needs_runs = args.only.is_empty() || args.only.iter().any(|only| !only.is_for_people());
    let is_always = borders.first().is_some_and(|border| border.plan.mode().is_none());
    let runs = if args.r#static || !needs_runs || !is_always {
        None
    } else {
        Some(evidence_runs::in_guest(&args.gateway, &args.untrusted, kernel, args.timeout)?)
    };
    let subject = |(border, places)| Subject {
        border,
        places,
        outside: &args.outside,
        speaks_j1939: args.j1939,
        signature: &signature,
        // A gateway that runs is in no mode.
        runs: runs.as_ref().filter(|_| border.plan.mode().is_none()),
        max_jitter: args.max_jitter,
    };
    let subjects: Vec<Subject<'_>> = borders.iter().zip(&places).map(subject).collect();
    let judged = match &args.only[..] {
        [] => judge(&subjects, requirements().iter()),
        only => judge(&subjects, only.iter().copied()),
    };
    let trusted = loaded.plan.buses().iter().map(|bus| bus.name.clone());
    let trusted: Vec<_> = trusted.filter(|name| !args.untrusted.contains(name)).collect();
    let contents = signed.as_ref().unwrap_or(&file).contents.iter().map(|content| {
        let signer = content.signer.as_ref().map_or_else(|| "not verified".to_owned(), |signer| signer.to_string());
        (content.file.clone(), content.digest.to_string(), signer)
    });
    let contents: Vec<_> = contents.collect();
    let line = |judged| EvidenceLine {
        judged,
        findings: render::text(&file.source, &judged.opinion.findings, false),
        repeat: repeat(args, judged),
    };
    let lines: Vec<_> = judged.iter().map(line).collect();
    let kernel_release = runs.as_ref().map(|runs| runs.kernel_release.as_str());
    let page = EvidencePage {
        file: file.source.name(),
        untrusted: &args.untrusted,
        trusted: &trusted,
        contents: &contents,
        kernel_release,
        version: env!("CARGO_PKG_VERSION"),
        lines: &lines,
    };
    let object = render::object(&json::view(&page, &file.source, runs.as_ref()));
    if let Some(folder) = &args.out {
        write(folder, &[("evidence.html", &evidence_html(&page)), ("evidence.json", &object)])?;
    }
    let is_violated = judged.iter().any(|judged| judged.opinion.verdict == Verdict::Violated);
    let text = if args.json { object } else { text::of(&page, &file.source, args.out.as_deref()) };
    render::answer(&text, if is_violated { Exit::No } else { Exit::Fine })
}

/// Refuses nodes that no database names.
fn known(outside: &[String], plan: &Plan) -> Result<(), String> {
    let databases = (0..plan.buses().len()).flat_map(|bus| plan.databases(BusIndex(bus)));
    let nodes: BTreeSet<&str> = databases
        .flat_map(|database| &database.messages)
        .flat_map(|message| &message.senders)
        .map(String::as_str)
        .collect();
    match outside.iter().find(|node| !nodes.contains(node.as_str())) {
        Some(node) if nodes.is_empty() => Err(format!("--outside {node}: the file has no database that names nodes")),
        Some(node) => {
            let nodes: Vec<_> = nodes.into_iter().collect();
            Err(format!("--outside {node}: no database has this node; they have {}", nodes.join(", ")))
        }
        None => Ok(()),
    }
}

/// The file as read with the keys; `None` if there are none.
fn signed(args: &EvidenceArgs, keys: &Keys) -> Result<Option<GatewayFile>, Failure> {
    let read = || GatewayFile::read_for(&args.gateway, None, keys);
    Ok(keys.are_required().then(read).transpose()?)
}

fn signature(path: &Path, signed: Option<&GatewayFile>) -> Signature {
    let Some(file) = signed else {
        let signature = candor_cli::signed::signature_path(path);
        return match signature.exists() {
            true => Signature::NoKey { path: signature.display().to_string() },
            false => Signature::Missing,
        };
    };
    match &file.checked {
        Ok(_) => {
            let signer = |content: &Content| Some((content.file.clone(), content.signer.as_ref()?.to_string()));
            Signature::Valid { files: file.contents.iter().filter_map(signer).collect() }
        }
        Err(findings) => {
            let is_about_it = |finding: &&Diagnostic| [code::NOT_SIGNED, code::DATABASE].contains(&finding.code);
            let finding = findings.iter().find(is_about_it).or_else(|| findings.first());
            Signature::Refused { why: finding.map(|finding| finding.message.clone()).unwrap_or_default() }
        }
    }
}

/// The command that gives this verdict again.
fn repeat(args: &EvidenceArgs, judged: &Judged) -> Option<String> {
    let Requirement { id, .. } = judged.requirement;
    if judged.requirement.is_for_people() {
        return None;
    }
    let mut words = vec!["candor-lab".to_owned(), "evidence".to_owned(), args.gateway.display().to_string()];
    let mut option =
        |name: &str, values: &[String]| words.extend(values.iter().map(|value| format!("--{name} {value}")));
    option("untrusted", &args.untrusted);
    option("outside", &args.outside);
    option("verify-key", &args.verify_key);
    words.extend(args.j1939.then(|| "--j1939".to_owned()));
    words.push(format!("--only {id}"));
    if args.r#static || judged.opinion.by.is_static() {
        words.push("--static".to_owned());
    } else {
        words.extend(args.kernel.as_ref().map(|kernel| format!("--kernel {kernel}")));
        let max_jitter = || format!("--max-jitter {}us", args.max_jitter.as_secs_f64() * 1e6);
        words.extend((*id == "CGW-S-005e").then(max_jitter));
    }
    Some(words.join(" "))
}

fn write(folder: &Path, files: &[(&str, &str)]) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create the directory {}: {error}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
