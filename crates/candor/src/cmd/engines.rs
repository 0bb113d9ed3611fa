//! `candor engines`.

use candor_cli::{Exit, Outcome, render};
use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_config::placement::{NoPrograms, NotForBpf};
use candor_engine::{Lack, UserAbilities};
use serde::Serialize;

use crate::cli::EnginesArgs;

pub(crate) fn run(args: &EnginesArgs) -> Outcome {
    let abilities = UserAbilities::find()?;
    let no_programs = candor_engine::no_programs()?;
    let rows: Vec<_> = UserEngine::all().map(|engine| (engine, abilities.lack(engine))).collect();
    if args.json {
        let engines = rows.iter().map(|(engine, lack)| EngineView::of(*engine, *lack)).collect();
        let bpf = KernelEngineView {
            runs_here: no_programs.is_none(),
            because: no_programs.map(|why| NotForBpf::None(why).to_string()),
            remedy: no_programs.map(NoPrograms::remedy),
        };
        let view = View { auto_user_engine: abilities.best().name(), bpf, engines };
        return render::answer(&render::object(&view), Exit::Fine);
    }
    render::answer(&table(&rows, abilities.best(), no_programs), Exit::Fine)
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct View {
    auto_user_engine: &'static str,
    bpf: KernelEngineView,
    engines: Vec<EngineView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KernelEngineView {
    runs_here: bool,
    because: Option<String>,
    remedy: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EngineView {
    engine: &'static str,
    runs_here: bool,
    because: Option<String>,
    remedy: Option<&'static str>,
    spins: bool,
}

impl EngineView {
    fn of(engine: UserEngine, lack: Option<Lack>) -> Self {
        Self {
            engine: engine.name(),
            runs_here: lack.is_none(),
            because: lack.map(|lack| lack.to_string()),
            remedy: lack.map(Lack::remedy),
            spins: engine.receiver().spins(),
        }
    }
}

fn table(rows: &[(UserEngine, Option<Lack>)], best: UserEngine, no_programs: Option<NoPrograms>) -> String {
    let width = rows.iter().map(|(engine, _)| engine.name().len()).max().unwrap_or_default();
    let mut text = format!("{:w$}can-gw jobs; candor doctor FILE checks what they need\n", "kernel", w = width + 4);
    let mut remedies: Vec<(String, &str)> = Vec::new();
    let says = match no_programs {
        None => "ok       eBPF programs at the ingress of interfaces".to_owned(),
        Some(why) => {
            let lack = NotForBpf::None(why).to_string();
            remedies.push((lack.clone(), why.remedy()));
            format!("missing  {lack}")
        }
    };
    text.push_str(&format!("{:w$}{says}\n\n", "bpf", w = width + 4));
    let mut receiver = None;
    for (engine, lack) in rows {
        if receiver.replace(engine.receiver()) != Some(engine.receiver()) {
            text.push_str(&format!("{}\n", receives(engine.receiver())));
        }
        let says = match lack {
            None if *engine == best => {
                format!("ok       {} (engine = \"auto\" uses this one)", sends(engine.sender()))
            }
            None => format!("ok       {}", sends(engine.sender())),
            Some(lack) => format!("missing  {lack}"),
        };
        text.push_str(&format!("  {:width$}  {says}\n", engine.name()));
        if let Some(lack) = lack
            && !remedies.iter().any(|(known, _)| *known == lack.to_string())
        {
            remedies.push((lack.to_string(), lack.remedy()));
        }
    }
    if !remedies.is_empty() {
        text.push_str("\nmissing, and how to fix it\n");
        remedies.iter().for_each(|(lack, remedy)| text.push_str(&format!("  {lack}:\n    {remedy}\n")));
    }
    text
}

const fn receives(receiver: Receiver) -> &'static str {
    match receiver {
        Receiver::Read => "read: one blocking read() per frame",
        Receiver::ReadNb => "readnb: non-blocking read() in a loop; uses a whole CPU",
        Receiver::ReadBusy => "readbusy: read with SO_BUSY_POLL, which no CAN driver supports yet: as fast as read",
        Receiver::Mmap => "mmap: a packet ring, and poll() while it is empty",
        Receiver::MmapBusy => "mmapbusy: a packet ring, polled in a loop; uses a whole CPU",
        Receiver::Mmsg => "mmsg: one recvmmsg() for all queued frames",
        Receiver::Uring => "uring: multishot receive of io_uring",
    }
}

const fn sends(sender: Sender) -> &'static str {
    match sender {
        Sender::Write => "one send() per frame",
        Sender::Mmap => "a packet ring and one send() per batch",
        Sender::Mmsg => "one sendmmsg() per batch",
        Sender::Uring => "one io_uring submission per batch",
        Sender::Adaptive => "write for a single frame, mmap for a batch",
    }
}

#[cfg(test)]
mod tests {
    use candor_io::packet::Obstacle;

    use super::*;

    #[test]
    fn each_remedy_is_printed_once() {
        let lack = Lack::Packet(Obstacle::Privilege);
        let rows: Vec<_> =
            UserEngine::all().map(|engine| (engine, engine.receiver().has_ring().then_some(lack))).collect();
        let text = table(&rows, UserEngine::PLAINEST, Some(NoPrograms::Old));
        assert_eq!(text.matches("setcap").count(), 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("  read-write         ok       one send() per frame (engine = \"auto\" uses this one)"));
    }
}
