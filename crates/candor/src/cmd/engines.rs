//! `candor engines`: what this kernel and this user can run, and what is missing for the rest.

use candor_config::engine::{Receiver, Sender, UserEngine};
use candor_engine::{Lack, UserAbilities};
use serde_json::json;

use crate::cli::EnginesArgs;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::render;

pub(crate) fn run(args: &EnginesArgs) -> Outcome {
    let abilities = UserAbilities::find()?;
    let rows: Vec<_> = UserEngine::all().map(|engine| (engine, abilities.lack(engine))).collect();
    if args.json {
        let engines: Vec<_> = rows.iter().map(|(engine, lack)| in_json(*engine, *lack)).collect();
        let best = abilities.best().name();
        render::out(&format!("{:#}\n", json!({ "auto_user_engine": best, "engines": engines })))?;
    } else {
        render::out(&table(&rows, abilities.best()))?;
    }
    Ok(Exit::Fine)
}

fn in_json(engine: UserEngine, lack: Option<Lack>) -> serde_json::Value {
    json!({
        "engine": engine.name(),
        "runs_here": lack.is_none(),
        "because": lack.map(|lack| lack.to_string()),
        "remedy": lack.map(Lack::remedy),
        "spins": engine.receiver().spins(),
    })
}

fn table(rows: &[(UserEngine, Option<Lack>)], best: UserEngine) -> String {
    let mut text =
        String::from("kernel             can-gw jobs; candor check FILE and candor run FILE say what it lacks\n\n");
    let width = rows.iter().map(|(engine, _)| engine.name().len()).max().unwrap_or_default();
    let mut remedies: Vec<(String, &str)> = Vec::new();
    let mut receiver = None;
    for (engine, lack) in rows {
        if receiver.replace(engine.receiver()) != Some(engine.receiver()) {
            text.push_str(&format!("{}\n", receives(engine.receiver())));
        }
        let says = match lack {
            None if *engine == best => {
                format!("ok       {} (engine = \"auto\" takes this one)", sends(engine.sender()))
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
        text.push_str("\nwhat is missing, and what to type\n");
        remedies.iter().for_each(|(lack, remedy)| text.push_str(&format!("  {lack}:\n    {remedy}\n")));
    }
    text
}

const fn receives(receiver: Receiver) -> &'static str {
    match receiver {
        Receiver::Read => "read: a read() that waits for each frame",
        Receiver::ReadNb => "readnb: a read() that does not wait, again and again; takes a whole processor",
        Receiver::ReadBusy => "readbusy: read with SO_BUSY_POLL, which no CAN driver honours so far: as fast as read",
        Receiver::Mmap => "mmap: a ring that the kernel fills, and poll() while it is empty",
        Receiver::MmapBusy => "mmapbusy: a ring that is looked at again and again; takes a whole processor",
        Receiver::Mmsg => "mmsg: one recvmmsg() for all frames that wait",
        Receiver::Uring => "uring: a receive of io_uring that stays",
    }
}

const fn sends(sender: Sender) -> &'static str {
    match sender {
        Sender::Write => "one send() for each frame",
        Sender::Mmap => "a ring and one send() for all that wait",
        Sender::Mmsg => "one sendmmsg() for all that wait",
        Sender::Uring => "one submission for all that wait",
        Sender::Adaptive => "write for one frame, mmap for more",
    }
}

#[cfg(test)]
mod tests {
    use candor_io::packet::Obstacle;

    use super::*;

    #[test]
    fn what_is_missing_is_said_once_with_its_remedy() {
        let lack = Lack::Packet(Obstacle::Privilege);
        let rows: Vec<_> =
            UserEngine::all().map(|engine| (engine, engine.receiver().has_ring().then_some(lack))).collect();
        let text = table(&rows, UserEngine::PLAINEST);
        assert_eq!(text.matches("setcap").count(), 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(
            text.contains("  read-write         ok       one send() for each frame (engine = \"auto\" takes this one)")
        );
    }
}
