//! Modes: routes that exist only for a time.

use std::time::Duration;

use candor_core::frame::Frame;
use candor_core::job::BusIndex;

use super::{Plan, Route};

/// A mode of a gateway. At most one lasts at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    pub name: String,
    /// Time after which it is left, 1 s to 24 h.
    pub lasts: Duration,
    /// The frame that enters it.
    pub enter: Option<ModeFrame>,
    /// The frame that leaves it.
    pub leave: Option<ModeFrame>,
    pub announce: Option<Announcement>,
}

/// A data frame that enters or leaves a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeFrame {
    pub from: BusIndex,
    pub frame: Frame,
}

impl ModeFrame {
    /// True for a frame with the same identifier, format and payload, in the form of the kernel.
    pub fn is(&self, bytes: &[u8]) -> bool {
        let Ok(frame) = Frame::from_kernel(bytes) else { return false };
        (frame.id, frame.format, frame.payload()) == (self.frame.id, self.frame.format, self.frame.payload())
    }
}

/// Frames that say that a mode lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Each bus once.
    pub to: Vec<BusIndex>,
    pub frame: Frame,
    /// 10 ms to 1 min.
    pub every: Duration,
    /// Sent once when the mode is left.
    pub at_end: Option<Frame>,
}

/// The modes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    list: Vec<Mode>,
    current: Option<usize>,
    /// The routes of the file; empty without modes. Those of the current mode are in the plan, too.
    routes: Vec<Route>,
}

impl Modes {
    /// Every route of a file with modes, also those that do not exist now.
    pub(super) fn routes(&self) -> &[Route] {
        &self.routes
    }

    pub(super) fn routes_mut(&mut self) -> &mut [Route] {
        &mut self.routes
    }

    /// True if a mode is entered or left by a frame of a bus, or announced there.
    pub(super) fn uses(&self, bus: BusIndex) -> bool {
        self.list.iter().any(|mode| {
            let frames = [&mode.enter, &mode.leave].into_iter().flatten();
            let is_announced = mode.announce.as_ref().is_some_and(|announce| announce.to.contains(&bus));
            is_announced || frames.into_iter().any(|frame: &ModeFrame| frame.from == bus)
        })
    }
}

impl Plan {
    /// In the order of the file.
    pub fn modes(&self) -> &[Mode] {
        &self.modes.list
    }

    /// The mode whose routes are in this plan; `None` for the routes that always exist.
    pub fn mode(&self) -> Option<&Mode> {
        self.modes.list.get(self.modes.current?)
    }

    /// The plan with the routes that always exist and those of this mode, in the order of the file; `None` if there is
    /// no such mode.
    #[must_use]
    pub fn in_mode(&self, name: &str) -> Option<Self> {
        let at = self.modes.list.iter().position(|mode| mode.name == name)?;
        Some(self.switched(Some(at)))
    }

    /// The plan with the routes that always exist.
    #[must_use]
    pub fn in_no_mode(&self) -> Self {
        self.switched(None)
    }

    /// True for the name of a route that exists only in a mode, be it the current one or not.
    pub fn has_in_a_mode(&self, route: &str) -> bool {
        self.modes.routes.iter().any(|known| known.mode.is_some() && known.name == route)
    }

    /// The plan in no mode, and then in each mode.
    pub fn in_each_mode(&self) -> impl Iterator<Item = Self> + '_ {
        std::iter::once(None).chain((0..self.modes.list.len()).map(Some)).map(|current| self.switched(current))
    }

    /// A plan with the routes of all modes as one that is in no mode.
    pub(crate) fn with_modes(mut self, list: Vec<Mode>) -> Self {
        if list.is_empty() {
            return self;
        }
        let routes = std::mem::take(&mut self.routes);
        self.modes = Modes { list, current: None, routes };
        self.switched(None)
    }

    fn switched(&self, current: Option<usize>) -> Self {
        if self.modes.list.is_empty() {
            return self.clone();
        }
        let name = current.and_then(|at| self.modes.list.get(at)).map(|mode| &mode.name);
        let is_there = |route: &&Route| route.mode.is_none() || route.mode.as_ref() == name;
        let routes = self.modes.routes.iter().filter(is_there).cloned().collect();
        let modes = Modes { current, ..self.modes.clone() };
        Self { routes, modes, ..self.clone() }
    }
}
