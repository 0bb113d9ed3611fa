//! One file per command. Each returns how to exit, or an error that `main` prints with its causes.

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod egress;
pub(crate) mod engines;
pub(crate) mod explain;
pub(crate) mod import;
mod job_text;
pub(crate) mod lab;
#[cfg(test)]
mod links;
pub(crate) mod plan;
pub(crate) mod reload;
pub(crate) mod run;
mod running;
pub(crate) mod show;
pub(crate) mod status;
mod time_text;
pub(crate) mod top;
