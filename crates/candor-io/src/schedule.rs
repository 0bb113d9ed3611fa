//! Scheduling policy, memory locking.
