//! The compiled form of the jobs: what user-space engines run.
