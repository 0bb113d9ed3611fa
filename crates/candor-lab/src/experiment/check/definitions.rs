//! `[gateway.NAME]`, `[rules.NAME]`, `[bench]` and `[ssh]`.

use std::collections::BTreeMap;

use super::default_frame;
use crate::device::BARE_METAL;
use crate::experiment::cells::Factor;
use crate::experiment::code::{self, error};
use crate::experiment::parse::{GatewaySpec, RulesSpec, Spec};
use crate::experiment::rules::Decoys;
use crate::experiment::{Bench, Gateway, Rules, Ssh, Wire};
use candor_config::config::{self, Loaded};
use candor_config::engine::Engine;
use candor_core::diagnostic::{Diagnostic, Findings, Severity, Span};
use candor_core::document::{Text, quote};

/// Those of the file, and the engines named as levels.
pub(super) fn gateways(spec: &Spec, findings: &mut Findings) -> BTreeMap<String, Gateway> {
    let mut gateways = BTreeMap::new();
    for written in &spec.gateways {
        gateways.extend(gateway(written, findings).map(|gateway| (written.name.value.clone(), gateway)));
    }
    let selections = spec.includes.iter().chain(&spec.excludes).flat_map(|selection| &selection.levels);
    let levels = spec.factors.iter().chain(selections).filter(|levels| levels.factor == Factor::Gateway);
    for name in levels.flat_map(|levels| &levels.levels).map(|level| &level.value) {
        // A broken one is not reported twice.
        let is_described = spec.gateways.iter().any(|gateway| gateway.name.value == *name);
        let known = match name.as_str() {
            "none" => Some(Gateway::None),
            "external" => Some(Gateway::External),
            BARE_METAL => Some(Gateway::BareMetal),
            name => Engine::named(name).map(Gateway::Candor),
        };
        gateways.extend(known.filter(|_| !is_described).map(|gateway| (name.clone(), gateway)));
    }
    gateways
}

fn gateway(spec: &GatewaySpec, findings: &mut Findings) -> Option<Gateway> {
    let GatewaySpec { name, is_broken, engine, baseline, command, stop, external } = spec;
    match (engine, baseline, command, external) {
        _ if *is_broken => None,
        (Some(engine), None, None, None) if stop.is_none() => Some(Gateway::Candor(engine.value)),
        (None, Some(engine), None, None) if stop.is_none() => match engine.value {
            Engine::User(engine) => Some(Gateway::Baseline(engine)),
            other => {
                let message = format!("{} has no baseline", quote(other.name()));
                let help = "write a user-space engine, such as \"read-write\"";
                error(findings, code::GATEWAY, &engine.span, message, help)
            }
        },
        (None, None, Some(command), None) if !command.is_empty() => {
            let words = |words: &[Text]| words.iter().map(|word| word.value.clone()).collect();
            Some(Gateway::Command { start: words(command), stop: words(stop.as_deref().unwrap_or_default()) })
        }
        (None, None, None, Some(external)) if external.value && stop.is_none() => Some(Gateway::External),
        _ => {
            let message = format!("Gateway {} must be described by exactly one key", quote(&name.value));
            let help = "write one of engine = \"read-write\", baseline = \"read-write\" (its calls without rules), command = \
                        [\"./gateway\", \"{from}\", \"{to}\"], external = true; `stop` belongs to `command`";
            error(findings, code::GATEWAY, &name.span, message, help)
        }
    }
}

/// Those of the file, and `all`.
pub(super) fn all_rules(written: &[RulesSpec], findings: &mut Findings) -> BTreeMap<String, Rules> {
    let mut all = BTreeMap::from([("all".to_owned(), Rules::all())]);
    for spec in written {
        let masks = spec.decoys_masked.as_ref().map_or(0, |masks| masks.value);
        let classic_only = spec.classic_only.as_ref().is_some_and(|only| only.value);
        let decoys = spec.decoys.as_ref().map(|decoys| Decoys { count: decoys.value, masks, classic_only });
        let rules = match (&spec.routes, decoys) {
            (Some(routes), decoys) => Rules { routes: routes.value.clone(), decoys, database: None },
            (None, Some(decoys)) => Rules::one(decoys),
            (None, None) => Rules::all(),
        };
        let is_exclusive = spec.exclusive.as_ref().is_some_and(|exclusive| exclusive.value);
        let rules = if is_exclusive { rules.exclusive() } else { rules };
        let database = spec.database.as_ref().map(|text| text.value.clone());
        let rules = Rules { database, ..rules };
        // Before a guest is booted for it.
        let file = Rules { decoys: None, ..rules.clone() }.gateway_file(
            Engine::named("read-write").unwrap_or(Engine::Auto),
            ("can0", "can1"),
            true,
            &default_frame(),
        );
        if let (Some(routes), Err(wrong)) = (&spec.routes, loaded(&file, rules.database.as_deref())) {
            let first = wrong.iter().find(|finding| finding.severity == Severity::Error);
            let why = first.map_or_else(String::new, |finding| finding.message.clone());
            let message = format!("The routes of rules {} are not a gateway: {why}", quote(&spec.name.value));
            let help = "write [[route]] tables from \"first\" to \"second\"; the plan adds the buses and the engine";
            error::<()>(findings, code::RULES, &routes.span, message, help);
            continue;
        }
        all.insert(spec.name.value.clone(), rules);
    }
    all
}

/// A gateway file whose database is this one.
fn loaded(file: &str, database: Option<&str>) -> Result<Loaded, Vec<Diagnostic>> {
    let mut read = |_: &str| database.map(Into::into).ok_or_else(|| "there is no `database`".to_owned());
    config::load_for(file.as_bytes(), None, &mut read)
}

pub(super) const BENCH_EXAMPLE: &str = "write [bench] with send = \"can0\", receive = \"can1\" (the tester's) and, for a gateway \
                                        that candor starts, from = \"can2\", to = \"can3\"";

/// `None` if there is none, or if it is invalid.
pub(super) fn bench(spec: &Spec, findings: &mut Findings) -> Option<Bench> {
    let written = spec.bench.as_ref().filter(|bench| !bench.is_broken)?;
    let mut wrong = |span: &Span, message: &str, help: &str| error(findings, code::BENCH, span, message, help);
    let (Some(send), Some(receive)) = (&written.send, &written.receive) else {
        return wrong(&written.key, "The tester needs an interface to send and one to receive", BENCH_EXAMPLE);
    };
    if send.value == receive.value {
        let message = "On one interface, the gateway's frames cannot be distinguished from the tester's";
        return wrong(&receive.span, message, "write the tester's interface on the second bus");
    }
    let gateway = match (&written.from, &written.to) {
        (None, None) => None,
        (Some(from), Some(to)) if from.value != to.value => Some((from.value.clone(), to.value.clone())),
        (Some(_), Some(to)) => {
            return wrong(&to.span, "A gateway has two interfaces", "write the one on the second bus");
        }
        _ => {
            let help = "write both: the gateway's interface on the first bus, and that on the second";
            return wrong(&written.key, "`from` and `to` belong together", help);
        }
    };
    let wire = match (&written.wire_bitrate, &written.wire_data_bitrate) {
        (None, None) => None,
        (None, Some(data)) => {
            let help = "write wire-bitrate, too: that of the arbitration phase";
            return wrong(&data.span, "A data bit rate needs a bit rate of the arbitration phase", help);
        }
        (Some(nominal), data) => Some(Wire { nominal: nominal.value, data: data.as_ref().map(|data| data.value) }),
    };
    let monitor = written.monitor.as_ref().unwrap_or(send).value.clone();
    Some(Bench { send: send.value.clone(), monitor, receive: receive.value.clone(), gateway, wire })
}

/// `None` if there is none, or if it is invalid.
pub(super) fn ssh(spec: &Spec, findings: &mut Findings) -> Option<Ssh> {
    let written = spec.ssh.as_ref().filter(|ssh| !ssh.is_broken)?;
    let help = "write host = \"root@board\", or a name of ssh's own configuration";
    let Some(Text { value: host, span }) = &written.host else {
        return error(findings, code::BENCH, &written.key, "The board has no name", help);
    };
    // It follows options of a command line: a leading dash would make it one of them.
    if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
        return error(findings, code::BENCH, span, format!("{} is not a board", quote(host)), help);
    }
    Some(Ssh {
        host: host.clone(),
        options: written.options.iter().map(|option| option.value.clone()).collect(),
        candor: written.candor.as_ref().map(|path| path.value.clone()),
        sudo: written.sudo.as_ref().is_some_and(|sudo| sudo.value),
    })
}
