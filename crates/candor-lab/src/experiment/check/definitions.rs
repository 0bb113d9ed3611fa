//! `[gateway.NAME]` and `[rules.NAME]`.

use std::collections::BTreeMap;

use crate::experiment::check::levels::{Factor, suggest};
use crate::experiment::check::{default_frame, number};
use crate::experiment::parse::{GatewaySpec, RulesSpec, Spec};
use crate::experiment::rules::{Decoys, MOST_DECOYS};
use crate::experiment::{Gateway, Rules, code};
use candor_config::config;
use candor_config::engine::Engine;
use candor_core::diagnostic::{Diagnostic, Findings, Severity};
use candor_core::document::Spanned;
use candor_core::document::quote;

/// Those of the file, and the engines that its factors name.
pub(super) fn gateways(spec: &Spec, findings: &mut Findings) -> BTreeMap<String, Gateway> {
    let mut gateways = BTreeMap::new();
    for written in &spec.gateways {
        if let Some(gateway) = gateway(written, findings) {
            gateways.insert(written.name.value.clone(), gateway);
        }
    }
    let selections = spec.includes.iter().chain(&spec.excludes).flat_map(|selection| &selection.levels);
    for level in spec.factors.iter().chain(selections).filter(|levels| levels.factor == Factor::Gateway) {
        for Spanned { value: name, .. } in &level.levels {
            // A broken one is not told twice.
            let is_described = spec.gateways.iter().any(|gateway| gateway.name.value == *name);
            let known = match name.as_str() {
                "none" => Some(Gateway::None),
                "external" => Some(Gateway::External),
                name => Engine::named(name).map(Gateway::Candor),
            };
            if let (false, Some(gateway)) = (is_described, known) {
                gateways.insert(name.clone(), gateway);
            }
        }
    }
    gateways
}

fn gateway(spec: &GatewaySpec, findings: &mut Findings) -> Option<Gateway> {
    let GatewaySpec { name, engine, bare, command, stop, external } = spec;
    let place = format!("Gateway {}", quote(&name.value));
    match (engine, bare, command, external) {
        (Some(written), None, None, None) if stop.is_none() => engine_named(written, findings).map(Gateway::Candor),
        (None, Some(written), None, None) if stop.is_none() => match engine_named(written, findings)? {
            Engine::User(engine) => Some(Gateway::Baseline(engine)),
            other => {
                let message = format!("{} has no baseline", quote(other.name()));
                findings.report(
                    Diagnostic::error(code::GATEWAY, written.span.clone(), message)
                        .help("write an engine of user space, such as \"read-write\""),
                );
                None
            }
        },
        (None, None, Some(command), None) if !command.is_empty() => {
            let words = |words: &[Spanned<String>]| words.iter().map(|word| word.value.clone()).collect();
            Some(Gateway::Command { start: words(command), stop: words(stop.as_deref().unwrap_or_default()) })
        }
        (None, None, None, Some(external)) if external.value && stop.is_none() => Some(Gateway::External),
        _ => {
            findings.report(
                Diagnostic::error(code::GATEWAY, name.span.clone(), format!("{place} is not described by one key")).help(
                    "write one of engine = \"read-write\", baseline = \"read-write\" (its calls without rules), command = \
                     [\"./gateway\", \"{from}\", \"{to}\"], external = true; `stop` goes with `command`",
                ),
            );
            None
        }
    }
}

fn engine_named(written: &Spanned<String>, findings: &mut Findings) -> Option<Engine> {
    let engine = Engine::named(&written.value);
    if engine.is_none() {
        let names: Vec<_> = Engine::all().map(Engine::name).collect();
        let message = format!("There is no engine {}", quote(&written.value));
        let diagnostic =
            Diagnostic::error(config::code::ENGINE, written.span.clone(), message).help("candor engines lists them");
        findings.report(suggest(diagnostic, &written.value, &names));
    }
    engine
}

/// Those of the file, and `all`.
pub(super) fn all_rules(written: &[RulesSpec], findings: &mut Findings) -> BTreeMap<String, Rules> {
    let mut all = BTreeMap::from([("all".to_owned(), Rules::all())]);
    for spec in written {
        let masked = spec.decoys_masked.as_ref().is_some_and(|masked| masked.value);
        let decoys = spec.decoys.as_ref().map(|written| number(Some(written), 0, 1..=MOST_DECOYS, findings));
        let decoys = decoys.flatten().map(|count| Decoys { count, masked });
        let rules = match (&spec.routes, decoys) {
            (Some(routes), decoys) => Rules { routes: routes.value.clone(), decoys },
            (None, Some(decoys)) => Rules::one(decoys),
            (None, None) => Rules::all(),
        };
        // A mistake in it should be known before a guest is booted for it.
        let file = Rules { decoys: None, ..rules.clone() }.gateway_file(
            Engine::named("read-write").unwrap_or(Engine::Auto),
            ("can0", "can1"),
            true,
            &default_frame(),
        );
        if let (Some(routes), Err(wrong)) = (&spec.routes, config::load(file.as_bytes())) {
            let first = wrong.iter().find(|finding| finding.severity == Severity::Error);
            let why = first.map_or_else(String::new, |finding| finding.message.clone());
            let message = format!("The routes of rules {} are no gateway: {why}", quote(&spec.name.value));
            let help = "write [[route]] tables from \"first\" to \"second\"; the plan adds the buses and the engine";
            findings.report(Diagnostic::error(code::RULES, routes.span.clone(), message).help(help));
            continue;
        }
        all.insert(spec.name.value.clone(), rules);
    }
    all
}
