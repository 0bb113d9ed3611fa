//! `candor-lab bare-metal`: the rules of a gateway file without an operating system.

use std::time::Duration;

use candor_bare::{Counters, Own, Report};
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_io::signal::EndingSignals;
use candor_lab::bare_metal::BareMetal;

use crate::cli::BareMetalArgs;

/// A long interval, so that nothing else runs during a measurement.
const LOOK: Duration = Duration::from_secs(3600);

pub(crate) fn run(args: &BareMetalArgs) -> Outcome {
    let gateway = GatewayFile::read(&args.gateway)?;
    let Some(loaded) = gateway.gateway_or_say(Form::Text)? else { return Ok(Exit::No) };
    let signals = EndingSignals::block()?;
    let running = BareMetal::start(&loaded.plan)?;
    render::out("ready: bare-metal\n")?;
    while signals.wait(LOOK)?.is_none() {}
    let Report { counters, own, .. } = running.stop()?;
    render::out(&text(&counters, &own))?;
    Ok(Exit::Fine)
}

/// Counters of both buses, and the program's own time.
fn text(counters: &Counters, own: &Own) -> String {
    let Counters { received, sent, deleted, dropped, overruns, recoveries } = *counters;
    let mut text = format!(
        "received {} + {}, sent {} + {}, deleted {deleted}, dropped {dropped}, overruns {} + {}, bus-off {recoveries}\n",
        received[0], received[1], sent[0], sent[1], overruns[0], overruns[1]
    );
    if let Some(mean) = own.sum.checked_div(own.frames) {
        text += &format!(
            "from the interrupt to the command that sends: {} to {} ns, mean {mean} ns, {} frames\n",
            own.shortest, own.longest, own.frames
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_printed_per_bus() {
        let counters = Counters { received: [10, 1], sent: [1, 9], dropped: 1, ..Counters::default() };
        let mut own = Own::NONE;
        assert_eq!(
            text(&counters, &own),
            "received 10 + 1, sent 1 + 9, deleted 0, dropped 1, overruns 0 + 0, bus-off 0\n"
        );
        own.add(100);
        own.add(200);
        assert!(text(&counters, &own).ends_with("100 to 200 ns, mean 150 ns, 2 frames\n"));
    }
}
