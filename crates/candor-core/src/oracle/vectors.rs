//! Test vectors of observed can-gw behaviour, as scripts that run on any gateway.
//!
//! A [`Vector`] has interfaces, jobs, frames that a local socket sends, the frames that the sockets of every interface
//! receive, and the counters of the jobs. `docs/can-gw.md` refers to vectors by name; `vectors.txt` contains them. The
//! tests of this crate run them on the oracle's [`World`], guest tests on real kernels.

mod script;

pub use script::all;

use super::{Errno, Interface, Kernel, Loopback, State, World};
use crate::frame::{CANFD_MTU, Frame};
use crate::job::{BusIndex, Job, Timestamp};

/// One statement about can-gw as a script.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Name, as in `docs/can-gw.md`.
    pub name: &'static str,
    /// The behaviour that it tests, as a title.
    pub shows: &'static str,
    /// Kernels that behave in this way.
    pub kernel: Kernel,
    /// Required interfaces, in the order of their indices.
    pub interfaces: Vec<Interface>,
    /// Events with their expected results.
    pub events: Vec<Event>,
}

/// An action and its expected result.
#[derive(Clone, Debug)]
pub enum Event {
    /// A job is added.
    Add {
        /// Filter, interfaces and changes of the job.
        job: Job,
        /// Expected answer of the kernel.
        answer: Result<(), Errno>,
    },
    /// A job is deleted.
    Delete {
        /// Filter, interfaces and changes of the job.
        job: Job,
        /// Expected answer of the kernel.
        answer: Result<(), Errno>,
    },
    /// An interface is removed.
    Detach(BusIndex),
    /// All jobs are deleted.
    Flush,
    /// The jobs are listed.
    List(Vec<Expected>),
    /// An interface is renamed.
    Rename(BusIndex, &'static str),
    /// A local socket sends a frame.
    Send {
        /// Interface of the socket.
        on: BusIndex,
        /// The frame that a socket sends.
        frame: Frame,
        /// Loopback to other local sockets and can-gw.
        loopback: Loopback,
        /// Expected frames on the sockets of each interface, without the sent frame on its own interface. The order
        /// between interfaces is not checked.
        sees: Vec<(BusIndex, Frame)>,
        /// Expected timestamp of the last of these: kept means equal to that of the sent frame. `None`: not checked.
        stamp: Option<Timestamp>,
    },
    /// An interface is set up or down.
    Set(BusIndex, State),
}

/// A job as the kernel must list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Source bus, then destination bus.
    pub way: (BusIndex, BusIndex),
    /// The identifier of its filter.
    pub filter_id: u32,
    /// Counters: handled, dropped, deleted.
    pub counted: [u32; 3],
}

/// A gateway that vectors can run on: a model, a kernel, a program.
pub trait Gateway {
    /// Adds a job.
    ///
    /// # Errors
    /// The kernel's error.
    fn add(&mut self, job: &Job) -> Result<(), Errno>;
    /// Deletes a job.
    ///
    /// # Errors
    /// The kernel's error.
    fn delete(&mut self, job: &Job) -> Result<(), Errno>;
    /// Removes an interface, and with it the jobs that use it.
    fn detach(&mut self, interface: BusIndex);
    /// Deletes all jobs, including those of others.
    fn flush(&mut self);
    /// Lists the jobs, newest first.
    fn list(&mut self) -> Vec<Expected>;
    /// Gives an interface another name; its index stays.
    fn rename(&mut self, interface: BusIndex, name: &str);
    /// Sends a frame from a local socket. Returns the frames that sockets on every interface receive because of it,
    /// without the sent frame on its own interface, each with its timestamp if that is known.
    fn send(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)>;
    /// Sets an interface up or down.
    fn set(&mut self, interface: BusIndex, state: State);
}

/// The first difference between a gateway and a vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}, event {event} ({shows}): expected {expected}, got {got}")]
pub struct Mismatch {
    /// Name of the vector.
    pub name: &'static str,
    /// Title of the vector.
    pub shows: &'static str,
    /// Position in its events.
    pub event: usize,
    /// Text of the expected result.
    pub expected: String,
    /// Text of the actual result.
    pub got: String,
}

impl Vector {
    /// A world with the vector's kernel and interfaces, without jobs.
    #[must_use]
    pub fn world(&self) -> World {
        let mut world = World::new(self.kernel);
        for interface in &self.interfaces {
            world.attach(interface.clone());
        }
        world
    }

    /// Returns true if vcan interfaces are sufficient: no full queue, no pair, no driver with its own echo.
    #[must_use]
    pub fn needs_vcan_only(&self) -> bool {
        self.interfaces.iter().all(|interface| {
            let vcan = Interface::vcan(&interface.name);
            Interface { mtu: vcan.mtu, state: vcan.state, ..interface.clone() } == vcan
        })
    }

    /// Runs the vector on a gateway that has its interfaces and no job.
    ///
    /// # Errors
    /// The first difference.
    pub fn run(&self, gateway: &mut impl Gateway) -> Result<(), Mismatch> {
        for (position, event) in self.events.iter().enumerate() {
            let (expected, got) = self.step(event, gateway);
            if expected != got {
                return Err(Mismatch { name: self.name, shows: self.shows, event: position, expected, got });
            }
        }
        Ok(())
    }

    /// Returns the expected and the actual result of an event as text.
    fn step(&self, event: &Event, gateway: &mut impl Gateway) -> (String, String) {
        match event {
            Event::Add { job, answer } => return (format!("{answer:?}"), format!("{:?}", gateway.add(job))),
            Event::Delete { job, answer } => return (format!("{answer:?}"), format!("{:?}", gateway.delete(job))),
            Event::List(expected) => return (format!("{expected:?}"), format!("{:?}", gateway.list())),
            Event::Send { on, frame, loopback, sees, stamp } => {
                let seen = gateway.send(*on, frame, *loopback);
                let last = seen.last().and_then(|(_, _, stamp)| *stamp);
                let frames: Vec<_> = seen.into_iter().map(|(on, frame, _)| (on, frame)).collect();
                // A timestamp that the gateway does not know is not compared.
                let stamps = stamp.zip(last).map_or((None, None), |(expected, got)| (Some(expected), Some(got)));
                return (self.by_interface(sees, stamps.0), self.by_interface(&frames, stamps.1));
            }
            Event::Detach(interface) => gateway.detach(*interface),
            Event::Flush => gateway.flush(),
            Event::Rename(interface, name) => gateway.rename(*interface, name),
            Event::Set(interface, state) => gateway.set(*interface, *state),
        }
        Default::default()
    }

    fn by_interface(&self, frames: &[(BusIndex, Frame)], stamp: Option<Timestamp>) -> String {
        let on = |index: usize| -> Vec<String> {
            frames.iter().filter(|(bus, _)| bus.0 == index).map(|(_, frame)| bytes(frame)).collect()
        };
        let seen: Vec<_> = (0..self.interfaces.len()).map(on).collect();
        stamp.map_or_else(|| format!("{seen:?}"), |stamp| format!("{seen:?} {stamp:?}"))
    }
}

/// All bytes that the kernel keeps of a frame.
fn bytes(frame: &Frame) -> String {
    let mut bytes = [0; CANFD_MTU];
    let len = frame.to_kernel(&mut bytes);
    let data: String = bytes[4..len].iter().map(|byte| format!("{byte:02X}")).collect();
    format!("{:08X} {data}", frame.id.0)
}

impl Gateway for World {
    fn add(&mut self, job: &Job) -> Result<(), Errno> {
        Self::add(self, job).map(drop)
    }

    fn delete(&mut self, job: &Job) -> Result<(), Errno> {
        Self::delete(self, job).map(drop)
    }

    fn detach(&mut self, interface: BusIndex) {
        Self::detach(self, interface);
    }

    fn flush(&mut self) {
        Self::flush(self);
    }

    fn list(&mut self) -> Vec<Expected> {
        let listed = Self::list(self).into_iter();
        let expected = listed.map(|listed| Expected {
            way: (listed.job.from, listed.job.to),
            filter_id: listed.job.filter.id,
            counted: [listed.handled, listed.dropped, listed.deleted],
        });
        expected.collect()
    }

    fn rename(&mut self, interface: BusIndex, name: &str) {
        if let Some(interface) = self.interface(interface) {
            interface.name = name.into();
        }
    }

    fn send(&mut self, on: BusIndex, frame: &Frame, loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)> {
        // After an error no socket receives anything.
        let seen = self.send_locally(on, frame, loopback).map(|outcome| outcome.seen).unwrap_or_default();
        let itself = match loopback {
            Loopback::Off => None,
            Loopback::On => seen.iter().position(|seen| seen.on == on),
        };
        let others = seen.into_iter().enumerate().filter(|(position, _)| Some(*position) != itself);
        others.map(|(_, seen)| (seen.on, seen.frame, Some(seen.stamp))).collect()
    }

    fn set(&mut self, interface: BusIndex, state: State) {
        if let Some(interface) = self.interface(interface) {
            interface.state = state;
        }
    }
}

#[cfg(test)]
mod tests;
