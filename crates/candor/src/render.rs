//! What people read: error chains, diagnostics with their source lines, tables.

/// Prints an error and everything that caused it to standard error.
pub(crate) fn error_chain(error: &dyn std::error::Error) {
    eprintln!("candor: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}
