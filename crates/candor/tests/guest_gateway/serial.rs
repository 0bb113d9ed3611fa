//! A CAN adapter on a serial line: slcan over a pseudo terminal whose other end the test holds.

use std::fs::File;

use nix::pty::openpty;
use nix::unistd::ttyname;

use crate::prelude::*;

pub(crate) const SERIAL: &[Feature] = &[Feature::Root, Feature::Slcan, Feature::Vcan];

#[derive(Debug)]
pub(crate) struct Serial {
    /// The test's end. The kernel waits for room on the line, so the test must read.
    pub(crate) line: File,
    /// Keeps the line discipline attached until its standard input ends.
    attached: Child,
}

impl Serial {
    pub(crate) fn attach(name: &str) -> Self {
        let pair = openpty(None, None).unwrap();
        let mut attach = Command::new("slcan_attach");
        attach.args(["-w", "-n", name]).arg(ttyname(&pair.slave).unwrap()).stdin(Stdio::piped()).stdout(Stdio::null());
        Self { line: File::from(pair.master), attached: attach.spawn().unwrap() }
    }

    pub(crate) fn detach(&mut self) {
        drop(self.attached.stdin.take());
        let _ = self.attached.wait();
    }
}

pub(crate) fn set_up(name: &str) -> InterfaceIndex {
    let client = &mut Client::open().unwrap();
    wait_until("slcan_attach creates the interface", || link::by_name(client, name).unwrap().is_some());
    let index = link::by_name(client, name).unwrap().unwrap().index;
    link::set_up(client, index).unwrap();
    index
}
