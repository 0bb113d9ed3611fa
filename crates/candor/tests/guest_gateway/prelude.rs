//! Names that most tests use.

pub(crate) use std::fs;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::{Child, Command, Stdio};
pub(crate) use std::time::{Duration, Instant};

pub(crate) use candor_config::config;
pub(crate) use candor_config::plan::BusIndex;
pub(crate) use candor_core::frame::{CANFD_MTU, Frame, FrameFormat, RawId};
pub(crate) use candor_core::job::Job;
pub(crate) use candor_io::can::{self, CanSocket, InterfaceIndex, Options};
pub(crate) use candor_io::signal::{self, Signal};
pub(crate) use candor_io::{errno, process};
pub(crate) use candor_netlink::cangw::{self, CangwJob};
pub(crate) use candor_netlink::client::Client;
pub(crate) use candor_netlink::link;
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::candor::{
    Candor, Ended, Guarded, Output, Run, counts_instructions, lab, lab_output, notices, output, output_of, program,
    terminate, wait_until,
};
pub(crate) use crate::frames::{
    PATIENCE, bytes_of, classic, hear, listener_on, next_frame, number_of, numbered, send, sender_on, try_send,
};
pub(crate) use crate::require::{Bus, Feature, VCAN, VCAN_AND_CANGW, is_there, jobs_between, require, skip};
pub(crate) use crate::scenario::{LEFT_RIGHT, Pair, Scenario, buses, route};
