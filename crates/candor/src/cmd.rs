//! One module per command.

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
pub(crate) mod plan;
pub(crate) mod reload;
pub(crate) mod run;
mod running;
#[cfg(test)]
mod schema;
pub(crate) mod show;
pub(crate) mod status;
#[cfg(test)]
mod test_links;
mod time_text;
pub(crate) mod top;
