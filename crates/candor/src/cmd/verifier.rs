//! What the verifier of the kernel says about a refused eBPF program.

use std::error::Error;

use candor_cli::{Outcome, render};
use candor_io::bpf::LoadError;

use crate::cli::VerboseArgs;

/// Prints the log of the verifier with `--verbose`, and otherwise that there is one.
pub(crate) fn say(verbose: VerboseArgs, outcome: Outcome) -> Outcome {
    if let Some(log) = outcome.as_ref().err().and_then(|error| log(&**error)) {
        let hint = || format!("the verifier says {} lines; --verbose prints them\n", log.lines().count());
        render::err(&if verbose.is_on { format!("{log}\n") } else { hint() });
    }
    outcome
}

/// The log that an error or one of its causes has.
fn log<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e str> {
    let mut causes = std::iter::successors(Some(error), |error| Error::source(*error));
    let log = causes.find_map(|error| error.downcast_ref::<LoadError>())?.log.as_str();
    (!log.is_empty()).then_some(log)
}

#[cfg(test)]
mod tests {
    use std::io;

    use candor_engine::BpfError;

    use super::*;

    #[test]
    fn the_log_of_a_cause_is_found() {
        let refused = |log: &str| {
            let source = LoadError { errno: io::Error::from_raw_os_error(libc::EACCES), log: log.to_owned() };
            candor_engine::GatewayError::from(BpfError::Load { route: "speed".to_owned(), source })
        };
        assert_eq!(log(&refused("0: (95) exit\nR0 !read_ok")), Some("0: (95) exit\nR0 !read_ok"));
        assert_eq!(log(&refused("")), None);
        assert_eq!(log(&io::Error::other("else")), None);
    }
}
