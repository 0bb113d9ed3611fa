//! Invariants of the decoder for arbitrary bytes, checked by a fuzzer, its corpus, and property tests.

use super::{CangwJob, ExactJob};
use crate::codec::{MessageWriter, Messages};

/// Decodes a datagram of the kernel and checks the invariants.
///
/// # Panics
/// If an invariant is violated: encoding and decoding again gives the same job, a job is identified by its bytes, and
/// counters are not part of them.
pub fn check(datagram: &[u8]) {
    for message in Messages::new(datagram).flatten() {
        let (job, exact) = (CangwJob::decode(&message), ExactJob::decode(&message));
        let (Ok(job), Ok(exact)) = (job, exact) else { continue };
        assert_eq!(exact.job(), &job);
        let again = CangwJob::from_bytes(&job.to_bytes()).expect("what was written can be read");
        assert!(again.is_same_job(&job), "{job:?}\n{again:?}");
        let known = ExactJob::from_bytes(exact.bytes()).expect("what was written can be read");
        assert!(known.is_same_job(&exact) && known.job().is_same_job(&job), "{exact:?}\n{known:?}");
        assert_eq!(known.job().counters, Default::default());
        assert!(!exact.is_plain() || ExactJob::from(job).is_same_job(&exact));
        let mut writer = MessageWriter::new(message.kind, message.flags);
        exact.encode(&mut writer);
        assert_eq!(writer.payload(), exact.bytes());
    }
}
