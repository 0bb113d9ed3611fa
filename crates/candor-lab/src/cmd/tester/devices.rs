//! The devices that a command measures, one after the other.

use std::path::{Path, PathBuf};

use candor_config::engine::Engine;
use candor_config::plan::Plan;
use candor_lab::device::{BARE_METAL, Gateway};
use candor_lab::record::baseline_of;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceUnderTest {
    /// Stem of its record.
    pub(crate) name: String,
    /// Engine, as in records.
    pub(crate) engine: String,
    /// True if it polls and so occupies a processor.
    pub(crate) spins: bool,
    /// `None` if something else forwards.
    pub(crate) gateway: Option<Gateway>,
}

/// The gateways of files, each followed by its baseline loop if `baselines`, and by its rules without an operating system if
/// `bare_metal`. Fails for equal names, or if a gateway has no baseline loop.
pub(crate) fn devices_under_test(
    files: &[(PathBuf, Plan)],
    baselines: bool,
    bare_metal: bool,
) -> Result<Vec<DeviceUnderTest>, String> {
    let mut all: Vec<DeviceUnderTest> = Vec::new();
    for (file, plan) in files {
        let name = name_of(file);
        let engine = plan.engine().name().to_owned();
        let spins = matches!(plan.engine(), Engine::User(engine) if engine.receiver().spins());
        let one = |name, engine, gateway| DeviceUnderTest { name, engine, spins, gateway: Some(gateway) };
        all.push(one(name.clone(), engine.clone(), Gateway::of_file(file)));
        if baselines && let Some(gateway) = baseline(&name, plan)? {
            all.push(one(format!("{name}-baseline"), baseline_of(&engine), gateway));
        }
        if bare_metal {
            let (name, engine) = (format!("{name}-bare-metal"), BARE_METAL.to_owned());
            all.push(DeviceUnderTest { name, engine, spins: false, gateway: Some(Gateway::bare_metal(file)) });
        }
    }
    for (index, one) in all.iter().enumerate() {
        if all[..index].iter().any(|other| other.name == one.name) {
            let name = &one.name;
            return Err(format!(
                "Two gateway files are called {name}; the second would overwrite the record of the first"
            ));
        }
    }
    Ok(all)
}

pub(super) fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

/// The baseline loop of a gateway; the engines `kernel` and `auto` have none.
fn baseline(name: &str, plan: &Plan) -> Result<Option<Gateway>, String> {
    let Engine::User(engine) = plan.engine() else { return Ok(None) };
    let [first, rest @ ..] = plan.routes() else { return Ok(None) };
    if rest.iter().any(|route| (route.from, route.to, route.echo) != (first.from, first.to, first.echo)) {
        return Err(format!("--baselines: {name} has routes between several buses, and a baseline loop has one route"));
    }
    let interface = |bus| plan.bus(bus).interface.as_str();
    Ok(Some(Gateway::baseline(engine, interface(first.from), interface(first.to), first.echo)))
}

#[cfg(test)]
mod tests {
    use candor_config::config;
    use candor_config::plan::Echo;

    use super::*;

    fn plan(engine: &str, routes: &str) -> Plan {
        let buses = "[bus.a]\ninterface = \"can2\"\n[bus.b]\ninterface = \"can3\"\n";
        config::load(format!("engine = \"{engine}\"\n{buses}{routes}").as_bytes()).unwrap().plan
    }

    const ROUTE: &str = "[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n";

    #[test]
    fn baseline_follows_each_user_space_engine() {
        let files =
            ["kernel", "auto", "mmap-write"].map(|engine| (format!("d/{engine}.toml").into(), plan(engine, ROUTE)));
        let names = |baselines| {
            devices_under_test(&files, baselines, false).unwrap().into_iter().map(|one| one.name).collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["kernel", "auto", "mmap-write"]);
        assert_eq!(names(true), ["kernel", "auto", "mmap-write", "mmap-write-baseline"]);
        let all = devices_under_test(&files, true, false).unwrap();
        assert_eq!((all[2].engine.as_str(), all[3].engine.as_str()), ("mmap-write", "baseline of mmap-write"));
        let bare = devices_under_test(&files[..1], true, true).unwrap();
        assert_eq!((bare[1].name.as_str(), bare[1].engine.as_str()), ("kernel-bare-metal", "bare-metal"));
        let Engine::User(engine) = files[2].1.engine() else { panic!("a user-space engine") };
        assert_eq!(all[3].gateway, Some(Gateway::baseline(engine, "can2", "can3", Echo::Off)));
    }

    #[test]
    fn gateway_with_several_directions_has_no_baseline() {
        let back = ROUTE.replace("\"r\"", "\"s\"").replace("\"a\"\nto = \"b\"", "\"b\"\nto = \"a\"");
        let files = [("d/both.toml".into(), plan("read-write", &format!("{ROUTE}{back}")))];
        assert_eq!(devices_under_test(&files, false, false).unwrap().len(), 1);
        assert!(devices_under_test(&files, true, false).unwrap_err().contains("both has routes between several buses"));
    }

    #[test]
    fn equal_names_are_refused() {
        let files = ["d/x.toml", "e/x.toml"].map(|file| (file.into(), plan("kernel", ROUTE)));
        assert!(devices_under_test(&files, false, false).unwrap_err().contains("called x"));
        let files = ["d/x.toml", "e/x-baseline.toml"].map(|file| (file.into(), plan("read-write", ROUTE)));
        assert!(devices_under_test(&files, true, false).is_err());
    }
}
