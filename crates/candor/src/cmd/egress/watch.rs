//! `candor egress watch`: reports changes by other programs, and interfaces that disappear or return.

use std::time::{Duration, Instant};

use candor_egress::kernel::{Here, Keeper, Mend};
use candor_io::netlink::LinkWatch;
use candor_io::signal::EndingSignals;

use super::json::NewsView;
use super::{WantedFile, by_interface, news};
use crate::cli::EgressWatchArgs;
use candor_cli::gateway_file::{Form, plural};
use candor_cli::{Exit, Outcome, render};

/// Period of checks for changes without a notification of the kernel.
const INTERVAL: Duration = Duration::from_secs(10);
/// There is no notification when a service restarts, and until the next check its frames are not matched.
const INTERVAL_OF_GROUPS: Duration = Duration::from_secs(1);
/// A change is many requests, so a tree is incomplete after the first.
const SETTLE: Duration = Duration::from_millis(200);

pub(super) fn run(args: &EgressWatchArgs) -> Outcome {
    let read = WantedFile::read(&args.wanted, Form::running(args.wanted.kernel.json))?;
    let Some(WantedFile { file, wanted }) = read else { return Ok(Exit::No) };
    let signals = EndingSignals::block()?;
    let watch = LinkWatch::start()?;
    if !args.wanted.kernel.json {
        let interfaces = plural(wanted.len(), "interface");
        render::err(&format!("{}: watching {interfaces}; Ctrl-C ends it\n", file.source.name()));
    }
    let mut keeper = Keeper::watch(Here::default(), by_interface(wanted));
    let mend = if args.mend { Mend::Yes } else { Mend::No };
    loop {
        watch.drain();
        for one in keeper.look(mend, Instant::now()) {
            render::out(&if args.wanted.kernel.json { render::line(&NewsView::from(&one)) } else { news::text(&one) })?;
        }
        let interval = if keeper.has_groups() { INTERVAL_OF_GROUPS } else { INTERVAL };
        if signals.wait(interval)?.is_some() {
            break;
        }
        if signals.wait(SETTLE)?.is_some() {
            break;
        }
    }
    Ok(if keeper.is_well() { Exit::Fine } else { Exit::No })
}
