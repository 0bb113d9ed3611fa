//! What a laboratory tells while it works.

/// Hears what happens. Every method has an empty default.
pub trait Observer {
    /// A new stage begins, in words for a person.
    fn stage(&mut self, _stage: &str) {}

    /// A download has got this far. The last call for a download has `bytes == total`.
    fn fetched(&mut self, _what: &str, _bytes: u64, _total: u64) {}

    /// The command has been started in the guest.
    fn started(&mut self) {}

    /// The command wrote to its standard output.
    fn stdout(&mut self, _bytes: &[u8]) {}

    /// The command wrote to its standard error.
    fn stderr(&mut self, _bytes: &[u8]) {}

    /// A file that the command left in `$CANDOR_OUT` has been stored.
    fn file(&mut self, _name: &str, _bytes: u64) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
