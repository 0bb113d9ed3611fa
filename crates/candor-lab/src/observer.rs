/// Progress of the laboratory. All methods are empty by default.
pub trait Observer {
    fn stage(&mut self, _stage: &str) {}

    /// A sentence for the user, without a full stop.
    fn notice(&mut self, _text: &str) {}

    /// The last call for a download has `bytes == total`.
    fn fetched(&mut self, _what: &str, _bytes: u64, _total: u64) {}

    /// The command has started in the guest.
    fn started(&mut self) {}

    fn stdout(&mut self, _bytes: &[u8]) {}

    fn stderr(&mut self, _bytes: &[u8]) {}

    /// A file from `$CANDOR_OUT` has been stored.
    fn file(&mut self, _name: &str, _bytes: u64) {}
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
