//! Frames in can-utils notation: `123#1122`, `12345678#R8_9`, `123##1AABB`.

/// Text that is no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Not a frame in can-utils notation")]
pub struct FrameTextError;
