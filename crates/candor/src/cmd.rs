//! One file per command. Each returns how to exit, or an error that `main` prints with its causes.

pub(crate) mod apply;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod egress;
pub(crate) mod engines;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod guest;
pub(crate) mod import;
pub(crate) mod lab;
#[cfg(test)]
mod links;
pub(crate) mod measure;
pub(crate) mod papers;
pub(crate) mod plan;
pub(crate) mod reload;
pub(crate) mod report;
pub(crate) mod run;
mod running;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod tester;
pub(crate) mod top;
pub(crate) mod wire;

use crate::exit::Exit;

/// What a command function returns.
pub(crate) type Outcome = Result<Exit, Box<dyn std::error::Error>>;
