//! `candor-lab profile`: the functions in which the instructions of one frame are spent.

mod guest;
pub(super) mod view;

use std::fs;
use std::path::{Path, PathBuf};

use candor_cli::gateway_file::Form;
use candor_cli::{Exit, Outcome, render};
use candor_config::engine::Engine;
use candor_lab::job::Topology;

use super::{bench, tester};
use crate::cli::{Against, ProfileArgs};
use guest::{Subject, What};
use view::View;

type Failed = Box<dyn std::error::Error>;

pub(crate) fn run(args: &ProfileArgs) -> Outcome {
    if args.gateways.len() > 1 && (args.svg.is_some() || args.folded.is_some()) {
        return Err("--svg and --folded are for a single gateway".into());
    }
    // Errors are reported before a guest boots.
    bench::check_frame(&args.frame, args.topology)?;
    if args.frame.payload().len() < 2 {
        return Err(format!("--frame {} has no room for a number of two bytes; add data bytes", args.frame).into());
    }
    let form = Form::once(args.json);
    let Some(gateways) = args
        .gateways
        .iter()
        .map(|name| what(name, GATEWAYS, args.topology, form))
        .collect::<Result<Option<Vec<_>>, _>>()?
    else {
        return Ok(Exit::No);
    };
    let lab = candor_lab::guest::guest_lab()?;
    let (kernel, modules) = (&args.kernel, &args.module);
    let subject = |what: What| Subject { what, kernel: kernel.clone(), modules: modules.clone(), lab: lab.clone() };
    let mut views = Vec::new();
    for gateway in gateways {
        let one = subject(gateway);
        let Some(against) = against(args, &one, form)? else { return Ok(Exit::No) };
        let profile = guest::profile(args, &one)?;
        let view = match against {
            Other::None => View::of(profile, None),
            Other::Measured(other) => View::of(profile, Some(guest::profile(args, &other)?)),
            Other::Read(other) => View::of(profile, Some(*other)),
        };
        views.push(view);
    }
    if let [view] = &views[..] {
        let write = |file: &Path, bytes: &[u8]| {
            fs::write(file, bytes).map_err(|error| format!("Cannot write {}: {error}", file.display()))
        };
        args.svg.iter().try_for_each(|file| write(file, &view.flame_graph()?).map_err(Failed::from))?;
        args.folded.iter().try_for_each(|file| write(file, (view.folded().join("\n") + "\n").as_bytes()))?;
    }
    let text = if args.json {
        match &views[..] {
            [view] => render::object(view),
            _ => render::object(&views),
        }
    } else {
        views.iter().map(|view| view.text(args.top)).collect::<Vec<_>>().join("\n")
    };
    render::answer(&text, Exit::Fine)
}

/// What `--against` names.
enum Other {
    None,
    Measured(Subject),
    Read(Box<view::Measured>),
}

/// `None` if it is a gateway file that is not valid, which has been reported.
fn against(args: &ProfileArgs, one: &Subject, form: Form) -> Result<Option<Other>, Failed> {
    Ok(Some(match &args.against {
        None => Other::None,
        Some(Against::Kernel(kernel)) => {
            Other::Measured(Subject { kernel: Some(kernel.clone()), modules: Vec::new(), ..one.clone() })
        }
        Some(Against::Build(folder)) => Other::Measured(Subject { lab: folder.join("candor-lab"), ..one.clone() }),
        Some(Against::Gateway(name)) => match what(name, OTHERS, args.topology, form)? {
            Some(what) => Other::Measured(Subject { what, ..one.clone() }),
            None => return Ok(None),
        },
        Some(Against::Profile(file)) => {
            let text = fs::read_to_string(file).map_err(|error| format!("Cannot read {}: {error}", file.display()))?;
            let view: View = serde_json::from_str(&text).map_err(|error| {
                format!(
                    "{} is not a profile of one gateway, as candor-lab profile --json writes it: {error}",
                    file.display()
                )
            })?;
            Other::Read(Box::new(view.profile))
        }
    }))
}

/// What GATEWAY may be.
const GATEWAYS: &str =
    "a gateway is kernel or another engine (candor engines lists them), baseline:ENGINE, or a gateway file (.toml)";
/// What `--against` may be.
const OTHERS: &str = "--against takes a kernel (candor-lab kernels lists them; your own is a .deb or a directory), an engine \
    (candor engines lists them), baseline:ENGINE, a gateway file (.toml), a directory with candor and candor-lab, or a profile (.json)";

/// The gateway that a word of the command line names; `None` if its file is not valid, which has been reported. `possible`
/// tells what else the word may be.
fn what(name: &str, possible: &str, topology: Topology, form: Form) -> Result<Option<What>, Failed> {
    if let Some(name) = name.strip_prefix("baseline:") {
        let engine = Engine::named(name).and_then(Engine::of_user_space);
        let engine = engine.ok_or_else(|| format!("There is no engine {name}; candor engines lists them"))?;
        return Ok(Some(What::Baseline(engine)));
    }
    if let Some(engine @ (Engine::Bpf | Engine::Kernel | Engine::User(_))) = Engine::named(name) {
        return Ok(Some(What::Engine(engine)));
    }
    let file = PathBuf::from(name);
    if !file.exists() {
        return Err(format!("There is no file or engine {name}: {possible}").into());
    }
    let is_toml = || fs::read_to_string(&file).is_ok_and(|text| text.parse::<toml::Table>().is_ok());
    if file.extension().is_none_or(|extension| extension != "toml") && !is_toml() {
        return Err(format!("{name} is not a gateway file: {possible}").into());
    }
    let Some(files) = tester::read(std::slice::from_ref(&file), form)? else { return Ok(None) };
    bench::check_interfaces(&files, topology)?;
    let text = fs::read_to_string(&file).map_err(|error| format!("Cannot read {name}: {error}"))?;
    Ok(files.first().map(|(_, plan)| What::File { name: name.to_owned(), engine: plan.engine(), text }))
}
