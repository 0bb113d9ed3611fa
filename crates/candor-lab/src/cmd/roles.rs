//! Roles of the program in and around a guest, and on the machine of a gateway: started by candor-lab, not by users.

use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use candor_cli::{Exit, Outcome, render};
use candor_io::process;
use candor_lab::experiment::load::Load;
use candor_lab::experiment::name_of;
use candor_lab::guard::{self, Settings};
use candor_lab::{init, supervisor};

use crate::cli::{GuardArgs, LabHoldArgs};

/// A directory is removed when its tester is silent for this time.
const SILENCE: Duration = Duration::from_secs(60);

/// In a guest, the kernel starts the program without a command: as init, or as modprobe.
pub(crate) fn called_by_kernel() -> Option<ExitCode> {
    let result: Outcome = if init::is_init() {
        init::run().map(|()| Exit::Fine).map_err(Into::into)
    } else if init::is_modprobe() {
        init::modprobe().map(|()| Exit::Fine).map_err(Into::into)
    } else {
        return None;
    };
    let exit = result.unwrap_or_else(|error| {
        render::error_chain("candor-lab", &*error);
        Exit::No
    });
    Some(exit.into())
}

pub(crate) fn guard(args: &GuardArgs) -> Outcome {
    let settings = Settings {
        deadline: Duration::from_secs(args.seconds),
        command: &args.command,
        remove: args.remove.as_deref(),
        one_processor: args.one_processor,
    };
    Ok(Exit::Guest(guard::run(&settings)?.status()))
}

pub(crate) fn load(words: &[String]) -> Outcome {
    let load: Load = words.join(" ").parse()?;
    candor_lab::load::be(load, &std::env::current_exe()?, || render::out("ready\n"))?;
    Ok(Exit::Fine)
}

pub(crate) fn relay() -> Outcome {
    candor_lab::load::relay()?;
    Ok(Exit::Fine)
}

pub(crate) fn supervise() -> Outcome {
    // Ctrl-C is for the tester, whose end closes the connection. A session leader has no terminal already.
    let _leads_already = process::start_session();
    supervisor::run(&std::env::current_exe()?, io::stdin(), io::stdout())?;
    Ok(Exit::Fine)
}

pub(crate) fn hold(args: &LabHoldArgs) -> Outcome {
    let program = std::env::current_exe()?;
    // The directory is removed at the end, so it must be the one that was created for this program.
    if program.parent() != Some(&fs::canonicalize(&args.folder)?) {
        let folder = args.folder.display();
        return Err(format!("candor-lab hold removes the directory that candor was copied to, not {folder}").into());
    }
    let _leads_already = process::start_session();
    // The sender of this program verifies by its hash that it is complete.
    render::out(&format!("holds {}\n", name_of(&fs::read(&program)?)))?;
    supervisor::hold(&args.folder, io::stdin(), SILENCE)?;
    Ok(Exit::Fine)
}
