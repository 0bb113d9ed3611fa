//! Starting processes that end with their parent, process groups, file locks.
