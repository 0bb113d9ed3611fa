//! `--verify-key`.

use candor_cli::signed::{Keys, KeysError};
use clap::Args;

/// The keys with which a gateway file must be signed.
#[derive(Args, Clone, Debug)]
pub(crate) struct VerifyArgs {
    /// Take the file only if it, and every database in it, is signed with this minisign key: the file of the public key, or the
    /// key itself (repeatable). The signature of FILE is FILE.minisig.
    #[arg(long = "verify-key", value_name = "KEY")]
    keys: Vec<String>,
}

impl VerifyArgs {
    /// For commands that change nothing.
    pub(crate) fn keys(&self) -> Result<Keys, KeysError> {
        Keys::of_options(&self.keys)
    }

    /// For commands that change which frames cross: those of the machine limit them.
    pub(crate) fn keys_of_machine(&self) -> Result<Keys, KeysError> {
        Keys::of_machine(&self.keys)
    }
}
