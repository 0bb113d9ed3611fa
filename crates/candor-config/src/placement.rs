//! Placement: runs each route in can-gw, in an eBPF program or in user space, with the reason.
//!
//! can-gw and candor must not forward each other's frames. Each ignores its own frames, but a frame that one of them sends
//! with echo is a received frame for the other. So a route that echo links to one in user space runs there too
//! ([`Because::Meets`]).

mod programs;

pub use programs::{NoPrograms, NotForBpf, not_for_bpf};

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use crate::lower::lower;
use crate::plan::{BusIndex, Echo, Engine, Formats, Plan, Route, RouteIndex, SendAs, Timestamp, WhenFull};
use candor_core::filter::ReceiveList;
use candor_core::frame::FrameFormat;

/// With more walked filters on one bus, user space is faster.
///
/// can-gw compares every frame of a bus with each filter that has a mask, at 7 instructions each; single identifiers are
/// looked up. User space ([`UserEngine::BEST`]) takes 6897 instructions more than can-gw with one filter, independent of
/// the number of filters. Measured from wire to wire: `docs/speed.md`.
///
/// [`UserEngine::BEST`]: crate::engine::UserEngine::BEST
pub const MAX_WALKED_FILTERS: usize = 985;

/// The largest value of the module parameter `max_hops`.
pub const MAX_MAX_HOPS: u8 = 6;

/// Features of can-gw, which depend on kernel version, privileges and module parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KernelAbilities {
    /// `None` if this process can use can-gw.
    pub missing: Option<Missing>,
    /// FD jobs (Linux 5.4). Older kernels install them as jobs for classic frames.
    pub fd_jobs: bool,
    /// A CRC8 with positions from the end stays inside the frame (fixed in March 2026, 6.1.168).
    pub relative_crc8: bool,
    /// Module parameter `max_hops`, 1 to 6.
    pub max_hops: u8,
    /// `None` if this process can attach eBPF programs that forward frames (Linux 7.0).
    pub no_programs: Option<NoPrograms>,
}

impl KernelAbilities {
    /// Features of every kernel since 5.4, with privileges and a sufficient `max_hops`.
    pub const EVERY: Self = Self {
        missing: None,
        fd_jobs: true,
        relative_crc8: false,
        max_hops: MAX_MAX_HOPS,
        no_programs: Some(NoPrograms::Old),
    };
    /// [`Self::EVERY`], with the fix of March 2026 and eBPF programs.
    pub const NEWEST: Self = Self { relative_crc8: true, no_programs: None, ..Self::EVERY };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The module can-gw is not loaded.
    Module,
    /// CAP_NET_ADMIN in the initial user namespace.
    Privilege,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// A can-gw job in the kernel.
    Kernel,
    /// An eBPF program in the kernel.
    Bpf,
    /// A user-space engine of candor.
    User,
}

/// The reason why a route is in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    /// A user-space engine was selected, in the file or by `--engine`.
    Chosen,
    Payload,
    /// It computes signals.
    Signals,
    /// It checks frames.
    Checked,
    /// It writes a checksum or a counter that can-gw cannot write.
    Protected,
    MaxAge,
    /// It sends frames at other times than it receives them.
    Timing,
    WhenFull,
    SendAs(SendAs),
    Missing(Missing),
    FdJobs,
    /// It allows more hops than the module.
    HopLimit {
        max_hops: u8,
    },
    RelativeCrc8,
    /// It takes CAN XL frames.
    Xl,
    /// can-gw would walk this many filters for every frame of its bus, some of them of this route, and be slower.
    Walks(usize),
    /// Echo links it to this route in user space.
    Meets(RouteIndex),
    /// Of the engine `"bpf"`.
    Bpf(NotForBpf),
}

/// The reason why a route is in an eBPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InBpf {
    /// The engine `"bpf"` was selected.
    Chosen,
    /// It is exclusive, which costs least in a program.
    Exclusive,
    /// can-gw cannot run it, or would be slower.
    Instead(Because),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Kernel,
    Bpf(InBpf),
    User(Because),
}

/// A feature of can-gw that user space does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelOnly {
    Timestamp,
    Hops(u8),
    /// CAN XL frames, which can-gw ignores as well.
    Xl,
    /// This route in user space sends to the same bus with another `echo`, and there is one socket per bus.
    EchoDiffers(RouteIndex),
}

/// A route that neither side can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unplaceable {
    pub route: RouteIndex,
    pub kernel: Because,
    /// `None` for the engine `"kernel"`.
    pub user: Option<KernelOnly>,
}

/// The place of each route of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    routes: Vec<Place>,
    /// Why routes that belong into programs are elsewhere.
    kept_out: HashMap<RouteIndex, NotForBpf>,
}

impl Placement {
    fn at(routes: Vec<Place>) -> Self {
        Self { routes, kept_out: HashMap::new() }
    }

    /// # Errors
    /// The first route that the engine of the plan cannot run.
    pub fn of(plan: &Plan, kernel: KernelAbilities) -> Result<Self, Unplaceable> {
        let routes = (0..plan.routes().len()).map(RouteIndex);
        let placement = match plan.engine() {
            Engine::User(_) => Self::at(routes.map(|_route| Place::User(Because::Chosen)).collect()),
            Engine::Kernel | Engine::Bpf => {
                if let Some(unplaceable) = Self::refused(plan, kernel).first() {
                    return Err(*unplaceable);
                }
                let place = if plan.engine() == Engine::Kernel { Place::Kernel } else { Place::Bpf(InBpf::Chosen) };
                Self::at(vec![place; plan.routes().len()])
            }
            Engine::Auto => {
                let needed = Self::needed(plan, kernel);
                let mut fastest = needed.clone();
                fastest.spare_long_walks(plan.routes());
                // Slow routes stay in the kernel if user space cannot run all routes linked to them.
                let settled = |placement: Self| placement.with_programs(plan, kernel).settled(plan.routes());
                return settled(fastest).or_else(|_unplaceable| settled(needed));
            }
        };
        placement.settled(plan.routes())
    }

    /// Routes that the engine `"kernel"` or `"bpf"` cannot run.
    fn refused(plan: &Plan, kernel: KernelAbilities) -> Vec<Unplaceable> {
        let refused = |(route, because): (usize, Option<Because>)| {
            Some(Unplaceable { route: RouteIndex(route), kernel: because?, user: None })
        };
        if plan.engine() == Engine::Kernel {
            let routes = plan.routes().iter().map(|route| not_for_kernel(route, kernel));
            return routes.enumerate().filter_map(refused).collect();
        }
        let mut cannot = programs::all_not_for_bpf(plan.routes());
        if let Some(why) = kernel.no_programs {
            cannot.iter_mut().for_each(|cannot| *cannot = cannot.or(Some(NotForBpf::None(why))));
        }
        if cannot.iter().all(Option::is_none) {
            let too_much = programs::too_much(plan);
            let of_bus = |route: &Route| too_much.get(&route.from).copied().map(NotForBpf::Bus);
            cannot = plan.routes().iter().map(of_bus).collect();
        }
        cannot.into_iter().map(|cannot| cannot.map(Because::Bpf)).enumerate().filter_map(refused).collect()
    }

    /// Moves routes into programs where they cost less there. Of the routes from a bus, as many as fit, in the order of the file.
    fn with_programs(mut self, plan: &Plan, kernel: KernelAbilities) -> Self {
        let before = self.routes.clone();
        let mut by_bus = BTreeMap::<BusIndex, Vec<RouteIndex>>::new();
        for (at, cannot) in programs::all_not_for_bpf(plan.routes()).into_iter().enumerate() {
            let route = &plan.routes()[at];
            let why = match self.routes[at] {
                Place::User(because) if because.is_none_of_programs() => InBpf::Instead(because),
                _ if route.is_exclusive => InBpf::Exclusive,
                _ => continue,
            };
            match (cannot, kernel.no_programs.map(NotForBpf::None)) {
                (Some(cannot), _) => drop(self.kept_out.insert(RouteIndex(at), cannot)),
                (None, Some(none)) if route.is_exclusive => drop(self.kept_out.insert(RouteIndex(at), none)),
                (None, Some(_)) => {}
                (None, None) => {
                    self.routes[at] = Place::Bpf(why);
                    by_bus.entry(route.from).or_default().push(RouteIndex(at));
                }
            }
        }
        let jobs = if by_bus.is_empty() { Vec::new() } else { lower(plan) };
        for (from, mut routes) in by_bus {
            if programs::first_that_fit(plan, &jobs, from, &routes).is_none() {
                continue;
            }
            // Those that are only faster there: all or none, because frames of the others pass both sides.
            routes.retain(|&RouteIndex(at)| {
                let only_walks = matches!(self.routes[at], Place::Bpf(InBpf::Instead(Because::Walks(_))));
                if only_walks {
                    self.routes[at] = before[at];
                }
                !only_walks
            });
            let Some((fitting, error)) = programs::first_that_fit(plan, &jobs, from, &routes) else { continue };
            for &route in &routes[fitting..] {
                self.routes[route.0] = before[route.0];
                self.kept_out.insert(route, NotForBpf::Bus(error));
            }
        }
        self
    }

    /// All routes that the engine of the plan cannot run.
    pub fn conflicts(plan: &Plan, kernel: KernelAbilities) -> Vec<Unplaceable> {
        match plan.engine() {
            Engine::Auto => {
                let mut needed = Self::needed(plan, kernel).with_programs(plan, kernel);
                needed.keep_apart(plan.routes());
                needed.beyond_user_space(plan.routes())
            }
            Engine::Kernel | Engine::Bpf => Self::refused(plan, kernel),
            Engine::User(_) => Self::of(plan, kernel).err().into_iter().collect(),
        }
    }

    fn needed(plan: &Plan, kernel: KernelAbilities) -> Self {
        let place = |route| not_for_kernel(route, kernel).map_or(Place::Kernel, Place::User);
        Self::at(plan.routes().iter().map(place).collect())
    }

    pub fn side(&self, route: RouteIndex) -> Side {
        match self.routes[route.0] {
            Place::Kernel => Side::Kernel,
            Place::Bpf(_) => Side::Bpf,
            Place::User(_) => Side::User,
        }
    }

    /// The reason why a route is in user space; `None` for others.
    pub fn because(&self, route: RouteIndex) -> Option<Because> {
        if let Place::User(because) = self.routes[route.0] { Some(because) } else { None }
    }

    /// The place of each route on a kernel with these abilities, or, if it needs eBPF programs, on the newest one. `None` if the
    /// engine cannot run them there.
    pub fn known(plan: &Plan, kernel: KernelAbilities) -> Option<Self> {
        let has_xl = plan.routes().iter().any(|route| route.formats == Formats::Xl);
        let kernel = if plan.engine() == Engine::Bpf || has_xl { KernelAbilities::NEWEST } else { kernel };
        Self::of(plan, kernel).ok()
    }

    /// The reason why a route is where it is, in words; `None` for routes in can-gw that belong there.
    pub fn reason(&self, plan: &Plan, route: RouteIndex) -> Option<String> {
        let not_in_bpf = self.not_in_bpf(plan, route);
        match self.routes[route.0] {
            Place::Kernel => not_in_bpf,
            Place::Bpf(why) => Some(why.in_words(plan)),
            Place::User(because) => {
                let and = not_in_bpf.filter(|_| because.is_none_of_programs());
                Some(because.in_words(plan) + &and.map_or_else(String::new, |cannot| format!(", and {cannot}")))
            }
        }
    }

    /// The reason why a route that belongs into an eBPF program is not in one, in words.
    pub fn not_in_bpf(&self, plan: &Plan, route: RouteIndex) -> Option<String> {
        self.kept_out.get(&route).map(|cannot| cannot.in_words(plan))
    }

    /// The reason why a route is in an eBPF program; `None` for others.
    pub fn in_bpf(&self, route: RouteIndex) -> Option<InBpf> {
        if let Place::Bpf(why) = self.routes[route.0] { Some(why) } else { None }
    }

    /// Moves routes out of the kernel if it would walk too many filters for every frame of their bus. Routes that only the
    /// kernel supports, and those without walked filters, stay.
    fn spare_long_walks(&mut self, routes: &[Route]) {
        let in_kernel = |at: &usize| self.routes[*at] == Place::Kernel;
        let mut walked = HashMap::<BusIndex, usize>::new();
        for route in (0..routes.len()).filter(in_kernel).map(|at| &routes[at]) {
            *walked.entry(route.from).or_default() += walked_filters(route);
        }
        for (place, route) in self.routes.iter_mut().zip(routes).filter(|(place, _)| **place == Place::Kernel) {
            let of_bus = walked[&route.from];
            if of_bus > MAX_WALKED_FILTERS && walked_filters(route) > 0 && not_for_user_space(route).is_none() {
                *place = Place::User(Because::Walks(of_bus));
            }
        }
    }

    /// Moves routes to the side of those that they meet.
    fn settled(mut self, routes: &[Route]) -> Result<Self, Unplaceable> {
        self.keep_apart(routes);
        self.beyond_user_space(routes).first().copied().map_or(Ok(self), Err)
    }

    /// Moves routes out of the kernel until none left there meets one in user space.
    fn keep_apart(&mut self, routes: &[Route]) {
        // Routes by the bus on which they would meet one in user space. Each bus is visited once.
        let (mut echoing_to, mut coming_from) = (HashMap::new(), HashMap::new());
        for (at, route) in routes.iter().enumerate() {
            if route.echo == Echo::On {
                echoing_to.entry(route.to).or_insert_with(Vec::new).push(at);
            }
            coming_from.entry(route.from).or_insert_with(Vec::new).push(at);
        }
        let mut ahead: VecDeque<_> =
            (0..routes.len()).filter(|&at| matches!(self.routes[at], Place::User(_))).collect();
        while let Some(user) = ahead.pop_front() {
            let mut met = echoing_to.remove(&routes[user].from).unwrap_or_default();
            if routes[user].echo == Echo::On {
                met.extend(coming_from.remove(&routes[user].to).unwrap_or_default());
            }
            for kernel in met {
                if self.routes[kernel] == Place::Kernel {
                    self.routes[kernel] = Place::User(Because::Meets(RouteIndex(user)));
                    ahead.push_back(kernel);
                }
            }
        }
    }

    /// Routes that user space cannot run, or whose `echo` differs from that of the first route to the bus.
    fn beyond_user_space(&self, routes: &[Route]) -> Vec<Unplaceable> {
        let mut first_to = HashMap::new();
        let in_user_space =
            routes.iter().enumerate().filter_map(|(at, route)| Some((at, route, self.because(RouteIndex(at))?)));
        let beyond = in_user_space.filter_map(|(at, route, kernel)| {
            let (first, echo) = *first_to.entry(route.to).or_insert((RouteIndex(at), route.echo));
            let echo_differs = || (route.echo != echo).then_some(KernelOnly::EchoDiffers(first));
            let user = not_for_user_space(route).or_else(echo_differs)?;
            Some(Unplaceable { route: RouteIndex(at), kernel, user: Some(user) })
        });
        beyond.collect()
    }
}

/// The number of filters that can-gw would compare with every frame of the bus: those with a mask, for each format.
/// Single identifiers are looked up, filters without a mask compare nothing, and error frames are rare.
pub fn walked_filters(route: &Route) -> usize {
    let is_walked = |list| matches!(list, ReceiveList::Masked | ReceiveList::Inverted);
    let walked = route.selections.iter().filter(|selection| is_walked(selection.filter.normalise().list));
    walked.count() * route.formats.list().len()
}

/// The reason why can-gw cannot run a route by itself; `None` if it can.
pub fn not_for_kernel(route: &Route, kernel: KernelAbilities) -> Option<Because> {
    let formats = route.formats.list();
    let converts = |send_as: &SendAs| formats.iter().any(|&format| format != send_as.format());
    if route.formats == Formats::Xl {
        return Some(Because::Xl);
    }
    let is_relative = route.checksums.crc8.is_some_and(|crc8| crc8.span.is_relative());
    if !route.payload.is_empty() {
        return Some(Because::Payload);
    }
    if route.computed.is_some() {
        return Some(Because::Signals);
    }
    if !route.checks.is_empty() {
        return Some(Because::Checked);
    }
    if route.protected.is_some() {
        return Some(Because::Protected);
    }
    if route.max_age.is_some() {
        return Some(Because::MaxAge);
    }
    if route.timing.is_some() {
        return Some(Because::Timing);
    }
    if route.when_full != WhenFull::DropNewest {
        return Some(Because::WhenFull);
    }
    if let Some(send_as) = route.send_as.filter(converts) {
        return Some(Because::SendAs(send_as));
    }
    // A reason that holds for all kernels is the better one.
    match kernel {
        KernelAbilities { missing: Some(missing), .. } => Some(Because::Missing(missing)),
        KernelAbilities { fd_jobs: false, .. } if formats.contains(&FrameFormat::Fd) => Some(Because::FdJobs),
        KernelAbilities { max_hops, .. } if route.hop_limit.is_some_and(|limit| limit > max_hops) => {
            Some(Because::HopLimit { max_hops })
        }
        KernelAbilities { relative_crc8: false, .. } if is_relative => Some(Because::RelativeCrc8),
        _ => None,
    }
}

/// The feature for which a route by itself needs the kernel; `None` if user space can run it.
pub fn not_for_user_space(route: &Route) -> Option<KernelOnly> {
    match route.hop_limit {
        _ if route.formats == Formats::Xl => Some(KernelOnly::Xl),
        _ if route.timestamp == Timestamp::Kept => Some(KernelOnly::Timestamp),
        Some(limit @ 2..) => Some(KernelOnly::Hops(limit)),
        _ => None,
    }
}

impl Because {
    /// True if it does not hold for eBPF programs.
    const fn is_none_of_programs(self) -> bool {
        matches!(self, Self::Payload | Self::Walks(_) | Self::RelativeCrc8 | Self::Xl | Self::Protected)
    }

    /// As [`Display`](fmt::Display), with the name of the other route.
    pub fn in_words(self, plan: &Plan) -> String {
        match self {
            Self::Meets(route) => {
                format!("echo links it to route {:?}, which runs in user space", plan.route(route).name)
            }
            Self::Bpf(cannot) => cannot.in_words(plan),
            _ => self.to_string(),
        }
    }
}

impl InBpf {
    /// Continues "in an eBPF program, because".
    pub fn in_words(self, plan: &Plan) -> String {
        match self {
            Self::Chosen => "the engine bpf was selected".to_owned(),
            Self::Exclusive => "it is exclusive, which costs least there".to_owned(),
            Self::Instead(because) => because.in_words(plan),
        }
    }
}

impl KernelOnly {
    /// As [`Display`](fmt::Display), with the name of the other route.
    pub fn in_words(self, plan: &Plan) -> String {
        match self {
            Self::EchoDiffers(route) => {
                format!("{self}, as this route and route {:?} require", plan.route(route).name)
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Because {
    /// Continues "in user space, because".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("a user-space engine was selected"),
            Self::Xl => f.write_str("can-gw ignores CAN XL frames"),
            Self::Payload => f.write_str("can-gw cannot match payloads"),
            Self::Signals => f.write_str("only user space computes signals"),
            Self::Checked => f.write_str("only user space has `guard` and `check`"),
            Self::Protected => f.write_str("can-gw does not write this checksum or counter"),
            Self::MaxAge => f.write_str("can-gw cannot drop frames by age"),
            Self::Timing => f.write_str("only user space sends frames at other times than it receives them"),
            Self::WhenFull => f.write_str("can-gw always drops the newest frame when the queue is full"),
            Self::SendAs(_) => f.write_str("can-gw cannot convert frame formats"),
            Self::Missing(Missing::Module) => f.write_str("the kernel module can-gw is not loaded"),
            Self::Missing(Missing::Privilege) => {
                f.write_str("this process lacks CAP_NET_ADMIN in the initial user namespace, which can-gw requires")
            }
            Self::FdJobs => f.write_str("can-gw of this kernel does not support FD frames (added in Linux 5.4)"),
            Self::HopLimit { max_hops } => {
                write!(f, "can-gw is loaded with max_hops={max_hops}, and the route has a higher hop limit")
            }
            Self::RelativeCrc8 => {
                f.write_str("this kernel may read and write outside the frame for a CRC8 with positions from the end")
            }
            Self::Walks(filters) => write!(
                f,
                "can-gw would compare each frame of its bus with {filters} filters, one after another; above \
                 {MAX_WALKED_FILTERS}, user space is faster"
            ),
            Self::Meets(RouteIndex(_)) => f.write_str("echo links it to a route in user space"),
            Self::Bpf(cannot) => cannot.fmt(f),
        }
    }
}

impl fmt::Display for KernelOnly {
    /// Continues "user space cannot".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timestamp => f.write_str("keep the receive timestamp"),
            Self::Hops(_) => f.write_str("count hops"),
            Self::Xl => f.write_str("forward CAN XL frames"),
            Self::EchoDiffers(_) => f.write_str("serve one bus both with and without echo"),
        }
    }
}

#[cfg(test)]
mod tests;
