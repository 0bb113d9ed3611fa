//! Selecting one of the running gateways.

use candor_engine::Running;

/// No gateway matches, or several do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    #[error("no gateway is running in this network namespace; start one: sudo candor run FILE")]
    None,
    #[error("no gateway is running {wanted}; running: {}", .others.join(", "))]
    NotThis { wanted: String, others: Vec<String> },
    #[error("several gateways are running; select one: {command} FILE; running: {}", .names.join(", "))]
    Several { command: &'static str, names: Vec<String> },
}

/// The only running gateway, or the only one that matches `wanted`.
pub(crate) fn choose<'a>(
    running: &'a [Running],
    command: &'static str,
    wanted: Option<&str>,
    fits: impl Fn(&Running, &str) -> bool,
) -> Result<&'a Running, Unclear> {
    let is_meant = |one: &&Running| wanted.is_none_or(|wanted| fits(one, wanted));
    let meant: Vec<_> = running.iter().filter(is_meant).collect();
    match (meant.as_slice(), wanted) {
        ([one], _) => Ok(one),
        ([], _) if running.is_empty() => Err(Unclear::None),
        ([], Some(wanted)) => Err(Unclear::NotThis { wanted: wanted.to_owned(), others: names(running) }),
        (_, _) => Err(Unclear::Several { command, names: names(running) }),
    }
}

fn names(running: &[Running]) -> Vec<String> {
    let name = |one: &Running| {
        let file = one.file.as_deref().unwrap_or("standard input");
        format!("{file} (process {})", one.pid)
    };
    running.iter().map(name).collect()
}
