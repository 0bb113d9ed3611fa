//! Who can change the configuration.

use super::{By, Opinion, Verdict};

/// The signatures of the gateway file and its databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// There is no signature, and no key was given.
    Missing,
    /// There is a signature, and no key to verify it was given.
    NoKey { path: String },
    /// A file has no signature of an accepted key; why.
    Refused { why: String },
    /// Each file, and who signed it.
    Valid { files: Vec<(String, String)> },
}

pub(super) fn judge(signature: &Signature) -> Opinion {
    let violated = |why: &str, help: &str| Opinion::new(Verdict::Violated, By::File, format!("{why}: {help}"));
    match signature {
        Signature::Missing => violated(
            "whoever can write the file changes what crosses, because it is not signed",
            "sign it (minisign -Sm FILE), start the gateway with --verify-key, and give --verify-key here",
        ),
        Signature::NoKey { path } => {
            let reason = format!("{path} was not verified: give the public key with --verify-key");
            Opinion::new(Verdict::NotJudged, By::Nothing, reason)
        }
        Signature::Refused { why } => {
            violated(why, "who may sign must see what is in the file, and only then sign it (minisign -Sm FILE)")
        }
        Signature::Valid { files } => {
            let reason = "the file and its databases are signed; candor takes no configuration from a bus, and with \
                          --verify-key or /etc/candor/keys.d only signed files";
            let figures = files.iter().map(|(file, signer)| (file.clone(), signer.clone())).collect();
            Opinion::new(Verdict::Holds, By::File, reason).with(figures, Vec::new())
        }
    }
}
