//! candor.toml: text → [`spec::Spec`] (as written, with spans) → [`crate::plan::Plan`] (proven).

pub mod diagnostic;
