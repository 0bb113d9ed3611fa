//! `candor down`: takes out what was applied.

use candor_engine::Owner;
use candor_engine::reconcile::{self, Down};
use candor_io::signal::EndingSignals;
use serde_json::json;

use crate::cli::DownArgs;
use crate::netns;
use candor_cli::Exit;
use candor_cli::Outcome;
use candor_cli::gateway_file::{identity, plural};
use candor_cli::render;

pub(crate) fn run(args: &DownArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let file = args.file.as_deref().map(identity);
    let down = {
        let _held = EndingSignals::block()?;
        reconcile::down(file.as_deref(), &mut |notice| render::err(&format!("warning: {notice}\n")))?
    };
    if args.json {
        let owners: Vec<_> = down
            .owners
            .iter()
            .map(|(owner, count)| {
                let (file, pid) = match owner {
                    Owner::Applied { file } => (Some(file), None),
                    Owner::Process { pid, .. } => (None, Some(pid)),
                };
                json!({"file": file, "pid": pid, "removed_jobs": count.removed, "missing_jobs": count.missing})
            })
            .collect();
        render::out(&format!("{:#}\n", json!({ "owners": owners })))?;
    } else {
        render::out(&text(&down, file.as_deref()))?;
    }
    Ok(Exit::Fine)
}

fn text(down: &Down, file: Option<&str>) -> String {
    let lines = down.owners.iter().map(|(owner, count)| {
        let died = if matches!(owner, Owner::Process { .. }) { ", which died" } else { "" };
        let missing = match count.missing {
            0 => String::new(),
            missing => format!("; {missing} were gone already"),
        };
        format!("Removed {} of {owner}{died}{missing}\n", plural(count.removed, "can-gw job"))
    });
    let text: String = lines.collect();
    match file {
        _ if !text.is_empty() => text,
        None => "Nothing is applied\n".into(),
        Some(file) if down.others.is_empty() => format!("{file} is not applied, nor any other file\n"),
        Some(file) => format!("{file} is not applied; there is {}\n", down.others.join(" and ")),
    }
}
