//! Causes of errors.

use std::error::Error;
use std::iter;

/// An error and its causes in one line.
#[must_use]
pub fn in_full(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{what}")]
    struct Step {
        what: &'static str,
        source: Option<Box<Self>>,
    }

    #[test]
    fn causes_follow_the_error() {
        let step = |what, source| Step { what, source: Option::map(source, Box::new) };
        assert_eq!(in_full(&step("no frame", None)), "no frame");
        let all = step("no gateway", Some(step("no socket", Some(step("no module", None)))));
        assert_eq!(in_full(&all), "no gateway: no socket: no module");
    }
}
