//! What the decoder promises for any bytes at all: held by a fuzzer, by its corpus, and by property tests.

use super::{CangwJob, ExactJob};
use crate::codec::{MessageWriter, Messages};

/// Reads a datagram as if the kernel had sent it and checks what must hold whatever it is.
///
/// # Panics
/// If a promise is broken: what was read is written and read again as the same, a job is known again by its bytes, and
/// counters are no part of them.
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
