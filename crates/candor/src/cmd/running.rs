//! Selecting one of the running gateways.

use candor_engine::{Owner, Running};

/// No gateway matches, or several do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    #[error("no gateway is running in this network namespace; start one: sudo candor run FILE")]
    None,
    #[error("no gateway is running; {file} is applied in the kernel: candor status shows its counters")]
    Applied { file: String },
    #[error("no gateway is running {wanted}; running: {}", .others.join(", "))]
    NotThis { wanted: String, others: Vec<String> },
    #[error("several gateways are running; select one: {command} FILE; running: {}", .names.join(", "))]
    Several { command: &'static str, names: Vec<String> },
}

impl Unclear {
    /// Names a file of `candor apply` if no gateway is running.
    pub(crate) fn or_applied<'a>(self, owners: impl Iterator<Item = &'a Owner>) -> Self {
        for owner in owners {
            if let (Self::None, Owner::Applied { file }) = (&self, owner) {
                return Self::Applied { file: file.clone() };
            }
        }
        self
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applied_file_is_named_if_no_gateway_is_running() {
        let owner = Owner::Applied { file: "/root/first.toml".into() };
        let said = Unclear::None.or_applied([&owner].into_iter()).to_string();
        assert!(said.contains("/root/first.toml is applied") && said.contains("candor status"), "{said}");
        assert_eq!(Unclear::None.or_applied([].into_iter()), Unclear::None);
    }
}
