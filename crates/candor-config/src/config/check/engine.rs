//! Features that the chosen engine does not support.

use std::collections::{BTreeMap, HashMap};

use crate::config::check::Checked;
use crate::config::check::selection::place as matched;
use crate::config::code;
use crate::config::spec::{RouteSpec, Spec, is_true};
use crate::placement::{
    self, Because, KernelAbilities, KernelOnly, MAX_WALKED_FILTERS, NotForBpf, Placement, Side, Unplaceable,
};
use crate::plan::{BusIndex, Engine, FrameSource, Plan, Route, RouteIndex, Selection};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::keys::Table;
use candor_core::document::quote;
use candor_core::filter::ReceiveList;

pub(super) fn can_run(engine: Engine, spec: &Spec, routes: &[Checked], findings: &mut Findings) {
    // The opposite direction of a route has the same errors.
    let sound = routes
        .chunk_by(|one, other| one.spec == other.spec)
        .filter_map(|of_spec| Some((&spec.routes[of_spec.first()?.spec], of_spec.first()?.route.as_ref()?)));
    match engine {
        Engine::Auto => sound.for_each(|(spec, route)| has_a_place(spec, route, findings)),
        Engine::Kernel => {
            sound.for_each(|(spec, route)| kernel_can(spec, route, findings));
            long_walks(spec, routes, findings);
            spec.routes.iter().for_each(|route| relative_crc8_in_kernel(route, findings));
        }
        Engine::Bpf => sound.for_each(|(spec, route)| programs_can(spec, route, findings)),
        Engine::User(engine) => {
            spec.routes.iter().for_each(|route| kernel_only_keys(route, findings));
            if !engine.receiver().has_stamps() {
                spec.routes.iter().for_each(|route| without_stamps(route, findings));
            }
            one_echo_for_each_bus(&spec.routes, findings);
        }
    }
}

/// Checks the routes together: `"auto"` may find no engine for one of them.
pub(super) fn has_place_for_all(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    match plan.engine() {
        Engine::Auto => {
            takes_from_routes(plan, spec, findings);
            takes_from_signals(plan, spec, findings);
            idle_exclusives(plan, spec, findings);
        }
        Engine::Bpf => {
            takes_from_signals(plan, spec, findings);
            return programs_can_together(plan, spec, findings);
        }
        Engine::Kernel | Engine::User(_) => return idle_exclusives(plan, spec, findings),
    }
    let specs = spec.by_route(plan);
    let on_any = Placement::conflicts(plan, KernelAbilities::NEWEST);
    on_any.iter().for_each(|unplaceable| together(unplaceable, &specs, findings));
    if !on_any.is_empty() {
        return;
    }
    for unplaceable in Placement::conflicts(plan, KernelAbilities::EVERY) {
        // The routes by themselves have been checked before.
        let by_itself = matches!(unplaceable.user, Some(KernelOnly::Timestamp | KernelOnly::Hops(_)));
        if by_itself && unplaceable.kernel == Because::RelativeCrc8 || unplaceable.kernel == Because::Xl {
            continue;
        }
        let place = specs.get(unplaceable.route.0).map_or(0..0, |spec| spec.span.clone());
        let message = "On some kernels, no engine can run this route";
        let reason = unplaceable.user.map(|lacks| format!("user space cannot {lacks}"));
        let reason = reason.unwrap_or_else(|| unplaceable.kernel.to_string());
        let cause = "the cause is a CRC8 with positions from the end, which is correct only on kernels with the fix of March \
                     2026 (6.1.168)";
        findings.report(Diagnostic::warning(code::RELATIVE_CRC8, place, message).help(format!("{reason}; {cause}")));
    }
}

fn kernel_can(spec: &Table<RouteSpec>, route: &Route, findings: &mut Findings) {
    let Some(because) = placement::not_for_kernel(route, KernelAbilities::NEWEST) else { return };
    let help = match because {
        Because::Xl => "write engine = \"auto\" or \"bpf\"",
        Because::Payload => {
            "write engine = \"auto\", which keeps the other routes in the kernel, or \"bpf\" or \"read-write\""
        }
        Because::Protected => {
            "write engine = \"auto\"; can-gw writes a checksum of one byte with set = { len = 8 } and without a counter, or with \
             counter = \"follow\" for one that has all values of its bits (in P01 it has not)"
        }
        _ => "write engine = \"auto\", which keeps the other routes in the kernel, or \"read-write\"",
    };
    findings.error(code::ENGINE_CANNOT, &place(spec, because), sentence(&because.to_string()), help);
}

fn programs_can(spec: &Table<RouteSpec>, route: &Route, findings: &mut Findings) {
    let Some(cannot) = placement::not_for_bpf(route) else { return };
    let help = match cannot {
        NotForBpf::ChangedFd if spec.frames.is_some() => "write exclusive = true, or engine = \"auto\"",
        NotForBpf::ChangedFd => "write frames = \"classic\", or exclusive = true, or engine = \"auto\"",
        _ => "write engine = \"auto\", which keeps the other routes where they cost least",
    };
    let place = place(spec, Because::Bpf(cannot));
    findings.error(code::ENGINE_CANNOT, &place, capital(&cannot.to_string()), help);
}

/// Routes that no program can run because of the others.
fn programs_can_together(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let specs = spec.by_route(plan);
    let mut told = Vec::new();
    for Unplaceable { route, kernel, .. } in Placement::conflicts(plan, KernelAbilities::NEWEST) {
        let (Some(spec), Because::Bpf(cannot)) = (specs.get(route.0), kernel) else { continue };
        // Once for each bus.
        let of_bus = (plan.route(route).from, cannot);
        if !told.contains(&of_bus) {
            told.push(of_bus);
            let help = "write engine = \"auto\", which runs them elsewhere";
            let message = match cannot {
                NotForBpf::Bus(why) => {
                    let bus = plan.route(route).from;
                    let routes = plan.routes().iter().filter(|route| route.from == bus).count();
                    let name = quote(&plan.bus(bus).name);
                    format!("The {routes} routes from bus {name} do not fit into eBPF programs: {why}")
                }
                _ => capital(&cannot.in_words(plan)),
            };
            findings.error(code::ENGINE_CANNOT, &place(spec, kernel), message, help);
        }
    }
}

/// Exclusive routes that run elsewhere on every machine, so that others receive their frames as well.
fn idle_exclusives(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Ok(placement) = Placement::of(plan, KernelAbilities::NEWEST) else { return };
    let specs = spec.by_route(plan);
    let routes = plan.routes().iter().enumerate().map(|(at, route)| (RouteIndex(at), route));
    for (at, _) in routes.filter(|(at, route)| route.is_exclusive && placement.side(*at) != Side::Bpf) {
        let Some(exclusive) = specs.get(at.0).and_then(|spec| spec.exclusive.as_ref()) else { continue };
        let place = if placement.side(at) == Side::User { "user space" } else { "can-gw" };
        let message = format!("`exclusive` has no effect: the route runs in {place}");
        let why = placement.not_in_bpf(plan, at).filter(|_| plan.engine() == Engine::Auto);
        let why =
            why.unwrap_or_else(|| format!("engine = \"{}\" runs no route in an eBPF program", plan.engine().name()));
        findings.report(Diagnostic::warning(code::IDLE_EXCLUSIVE, exclusive.span.clone(), message).label(why).help(
            match plan.engine() {
                Engine::Auto => "remove `exclusive`, or what an eBPF program cannot do",
                _ => "remove it, or write engine = \"auto\"",
            },
        ));
    }
}

/// Pairs of filters that are compared; a gateway with more is not checked further.
const MOST_PAIRS: usize = 4_000_000;

/// Exclusive routes whose program takes frames that a route of another engine is for.
fn takes_from_routes(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Ok(placement) = Placement::of(plan, KernelAbilities::NEWEST) else { return };
    let specs = spec.by_route(plan);
    let side = |at: usize| placement.side(RouteIndex(at));
    let mut pairs = 0;
    let takes = |at: &usize| side(*at) == Side::Bpf && plan.routes()[*at].is_exclusive;
    for at in (0..plan.routes().len()).filter(takes) {
        let exclusive = &plan.routes()[at];
        let goes_without = |other: &usize| {
            let route = &plan.routes()[*other];
            pairs += exclusive.selections.len() * route.selections.len();
            let is_possible = side(*other) != Side::Bpf && route.from == exclusive.from && pairs <= MOST_PAIRS;
            is_possible && have_common_frames(exclusive, route)
        };
        let Some(other) = (0..plan.routes().len()).find(goes_without) else { continue };
        let (Some(spec), Some(loser)) = (specs.get(at), specs.get(other)) else { continue };
        let place = spec.exclusive.as_ref().map_or(&spec.span, |exclusive| &exclusive.span).clone();
        let name = quote(&plan.routes()[other].name);
        let message = format!("Route {name} does not receive the frames that this exclusive route takes");
        findings.report(
            Diagnostic::warning(code::TAKES_FROM_ROUTE, place, message)
                .also(
                    loser.span.clone(),
                    if side(other) == Side::User {
                        "runs in user space, where only rings receive them"
                    } else {
                        "runs in can-gw, behind the program"
                    },
                )
                .help("remove `exclusive`, or exclude the common identifiers from one of the two"),
        );
    }
}

/// Exclusive routes whose program takes frames that signals are taken from, for composed frames or `watch`.
fn takes_from_signals(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    let Ok(placement) = Placement::of(plan, KernelAbilities::NEWEST) else { return };
    let specs = spec.by_route(plan);
    for (at, route) in plan.routes().iter().enumerate() {
        if !route.is_exclusive || placement.side(RouteIndex(at)) != Side::Bpf {
            continue;
        }
        let takes = |source: &FrameSource| {
            let is_taken = |selection: &Selection| selection.filter.normalise().matches(source.id);
            source.bus == route.from && route.selections.iter().any(is_taken)
        };
        let mut all = plan.compositions().enumerate();
        let loser = all.find(|(_, frame)| frame.sources.iter().any(takes));
        let (Some((number, loser)), Some(spec)) = (loser, specs.get(at)) else { continue };
        let place = spec.exclusive.as_ref().map_or(&spec.span, |exclusive| &exclusive.span).clone();
        let name = quote(&loser.name);
        let message = if number >= plan.frames().len() {
            format!("The watched signals of {name} are in frames that this exclusive route takes")
        } else {
            format!("Frame {name} is composed of frames that this exclusive route takes")
        };
        let help = "remove `exclusive`, or exclude the common identifiers from the route";
        findings.report(Diagnostic::warning(code::TAKES_FROM_ROUTE, place, message).help(help));
    }
}

/// True if some frame may match both routes; their payloads are not compared.
fn have_common_frames(one: &Route, other: &Route) -> bool {
    let formats =
        one.formats == other.formats || one.formats.list().iter().any(|format| other.formats.list().contains(format));
    let is_value = |list| matches!(list, ReceiveList::Masked | ReceiveList::Exact);
    let meet = |one: &Selection, other: &Selection| {
        let (one, other) = (one.filter.normalise(), other.filter.normalise());
        let is_error = |list| list == ReceiveList::Error;
        match (is_error(one.list), is_error(other.list)) {
            (true, true) => one.mask & other.mask != 0,
            (false, false) if is_value(one.list) && is_value(other.list) => {
                (one.id ^ other.id) & one.mask & other.mask == 0
            }
            (false, false) => true,
            _ => false,
        }
    };
    formats && one.selections.iter().any(|one| other.selections.iter().any(|other| meet(one, other)))
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Buses whose frames are compared with more filters than user space would need to be faster; reported once per bus, at
/// the route with the most filters.
fn long_walks(spec: &Spec, routes: &[Checked], findings: &mut Findings) {
    let mut by_bus = BTreeMap::<BusIndex, (usize, usize, &Table<RouteSpec>)>::new();
    for (spec, route) in routes.iter().filter_map(|checked| Some((&spec.routes[checked.spec], checked.route.as_ref()?)))
    {
        let filters = placement::walked_filters(route);
        let (all, most, place) = by_bus.entry(route.from).or_insert((0, 0, spec));
        *all += filters;
        if filters > *most {
            (*most, *place) = (filters, spec);
        }
    }
    for (all, most, spec) in by_bus.into_values().filter(|(all, ..)| *all > MAX_WALKED_FILTERS) {
        let message = format!("can-gw compares every frame of this bus with {all} filters, one after another");
        findings.report(
            Diagnostic::warning(code::MANY_JOBS, matched(spec), message)
                .label(format!("{most} of them from this route"))
                .help(format!(
                    "from about {MAX_WALKED_FILTERS} filters on, user space is faster: write engine = \"auto\""
                )),
        );
    }
}

/// Before a fix of March 2026 (6.1.168 among the stable kernels), can-gw uses the negative indices of a CRC8 unchecked,
/// and reads and writes outside the frame.
///
/// # Source
/// Mainline commit [`b9c310d72783`](https://github.com/torvalds/linux/commit/b9c310d72783).
fn relative_crc8(place: Span) -> Diagnostic {
    let message = "Some kernels read and write outside the frame for a CRC8 with positions from the end";
    Diagnostic::warning(code::RELATIVE_CRC8, place, message)
}

fn relative_crc8_in_kernel(spec: &Table<RouteSpec>, findings: &mut Findings) {
    if let Some(place) = relative_position(spec) {
        let help = "count from the start, or use engine = \"read-write\", unless the kernel has the fix of March 2026 \
                    (6.1.168)";
        findings.report(relative_crc8(place).help(help));
    }
}

fn has_a_place(spec: &Table<RouteSpec>, route: &Route, findings: &mut Findings) {
    let Some(lacks) = placement::not_for_user_space(route) else { return };
    let says = format!("user space cannot {lacks}");
    let only_kernel = only_kernel(spec, lacks);
    if placement::not_for_bpf(route).is_none() {
        return;
    }
    if let Some(because) = placement::not_for_kernel(route, KernelAbilities::NEWEST) {
        findings.report(
            Diagnostic::error(code::ENGINE_CANNOT, only_kernel, "No engine supports both of these")
                .label(says)
                .also(place(spec, because), because.to_string())
                .help("remove one of the two"),
        );
    } else if let Some(because) = placement::not_for_kernel(route, KernelAbilities::EVERY) {
        let help = format!("count from the start, unless the kernel has the fix of March 2026 (6.1.168); {says}");
        findings.report(relative_crc8(place(spec, because)).also(only_kernel, says).help(help));
    }
}

fn together(unplaceable: &Unplaceable, specs: &[&Table<RouteSpec>], findings: &mut Findings) {
    let Some(spec) = specs.get(unplaceable.route.0) else { return };
    let name = |RouteIndex(index): RouteIndex| {
        specs.get(index).and_then(|spec| spec.name.as_ref()).map_or_else(String::new, |name| quote(&name.value))
    };
    let place = unplaceable.user.map_or_else(|| echo(spec), |lacks| only_kernel(spec, lacks));
    let mut diagnostic = Diagnostic::error(code::ENGINE_CANNOT, place, "No engine can run this route");
    if let Some(lacks) = unplaceable.user {
        diagnostic = diagnostic.label(format!("user space cannot {lacks}"));
        if let KernelOnly::EchoDiffers(other) = lacks {
            let says = format!("route {} runs in user space with a different `echo`", name(other));
            diagnostic = diagnostic.also(specs.get(other.0).map_or(0..0, |spec| echo(spec)), says);
        }
    }
    if let Because::Meets(other) = unplaceable.kernel {
        let says = format!("route {} must run in user space", name(other));
        diagnostic = diagnostic.also(specs.get(other.0).map_or(0..0, |spec| spec.span.clone()), says);
    } else {
        diagnostic = diagnostic.also(self::place(spec, unplaceable.kernel), unplaceable.kernel.to_string());
    }
    findings.report(diagnostic.help(match unplaceable.user {
        Some(KernelOnly::EchoDiffers(_)) => {
            "give both routes the same `echo`, or limit one of them to what can-gw supports"
        }
        _ => "remove what user space does not support, or the echo between the two routes",
    }));
}

fn echo(spec: &Table<RouteSpec>) -> Span {
    spec.echo.as_ref().map_or(&spec.span, |echo| &echo.span).clone()
}

/// The key that only the kernel supports.
fn only_kernel(spec: &Table<RouteSpec>, lacks: KernelOnly) -> Span {
    let place = match lacks {
        KernelOnly::Timestamp => spec.keep_timestamp.as_ref().map(|keep| &keep.span),
        KernelOnly::Hops(_) => spec.hop_limit.as_ref().map(|limit| &limit.span),
        KernelOnly::Xl => spec.frames.as_ref().map(|frames| &frames.span),
        KernelOnly::EchoDiffers(_) => return echo(spec),
    };
    place.unwrap_or(&spec.span).clone()
}

/// The key that the kernel does not support.
fn place(spec: &Table<RouteSpec>, because: Because) -> Span {
    let place = match because {
        Because::Payload => {
            let payload = spec.payload.as_ref().and_then(|texts| texts.first()).map(|text| &text.span);
            payload.or_else(|| spec.mux.as_ref().map(|mux| &mux.span))
        }
        Because::SendAs(_) => spec.send_as.as_ref().map(|send_as| &send_as.span),
        Because::RelativeCrc8 => return relative_position(spec).unwrap_or_else(|| spec.span.clone()),
        Because::Xl => return only_kernel(spec, KernelOnly::Xl),
        Because::Signals => spec.change.first().map(|change| &change.name.span),
        Because::Checked | Because::Protected | Because::Bpf(NotForBpf::Checked | NotForBpf::Protected) => {
            let check = spec.check.as_ref().map(|check| &check.span);
            let guard = spec.guard.as_ref().map(|guard| &guard.span);
            let protect = spec.protect.as_ref().map(|protect| &protect.span);
            [check, guard, protect].into_iter().flatten().next()
        }
        Because::MaxAge => spec.max_age.as_ref().map(|age| &age.span),
        Because::Timing | Because::Bpf(NotForBpf::Timing) => {
            let texts = [&spec.cycle, &spec.min_delay, &spec.timeout].into_iter().flatten().map(|text| &text.span);
            texts.chain(spec.on_change.as_ref().map(|on_change| &on_change.span)).next()
        }
        Because::WhenFull => spec.when_full.as_ref().map(|policy| &policy.span),
        Because::Walks(_) => return matched(spec),
        Because::Bpf(NotForBpf::Echo) => return echo(spec),
        Because::Bpf(NotForBpf::Timestamp) => return only_kernel(spec, KernelOnly::Timestamp),
        Because::Bpf(NotForBpf::Hops(limit)) => return only_kernel(spec, KernelOnly::Hops(limit)),
        Because::Bpf(NotForBpf::Signals) => return place(spec, Because::Signals),
        Because::Bpf(NotForBpf::MaxAge) => return place(spec, Because::MaxAge),
        Because::Bpf(NotForBpf::WhenFull) => return place(spec, Because::WhenFull),
        Because::Bpf(NotForBpf::SendAs(send_as)) => return place(spec, Because::SendAs(send_as)),
        Because::Bpf(NotForBpf::ChangedFd) => {
            let operands =
                [&spec.set, &spec.and, &spec.or, &spec.xor].into_iter().flatten().map(|operand| &operand.span);
            operands.chain(spec.to_id.as_ref().map(|to_id| &to_id.span)).next()
        }
        Because::Bpf(NotForBpf::None(_) | NotForBpf::Refused | NotForBpf::Meets(_) | NotForBpf::Bus(_)) => None,
        // Reasons in this kernel or process have no key in the file.
        Because::Chosen | Because::FdJobs | Because::HopLimit { .. } | Because::Meets(_) | Because::Missing(_) => None,
    };
    place.unwrap_or(&spec.span).clone()
}

fn relative_position(spec: &Table<RouteSpec>) -> Option<Span> {
    let positions = &spec.checksum_crc8.as_ref()?.positions;
    let positions = [&positions.from, &positions.to, &positions.result];
    let negative = positions.into_iter().flatten().find(|position| position.value < 0)?;
    Some(negative.span.clone())
}

fn sentence(words: &str) -> String {
    let rest = words.strip_prefix("can-gw ").map(|rest| format!("The kernel's can-gw {rest}"));
    rest.unwrap_or_else(|| words.to_owned())
}

fn kernel_only_keys(route: &Table<RouteSpec>, findings: &mut Findings) {
    let mut refuse = |span: &Span, message: &str, help: &str| findings.error(code::ENGINE_CANNOT, span, message, help);
    if let Some(keep) = route.keep_timestamp.as_ref().filter(|keep| keep.value) {
        let message = "User-space engines cannot keep timestamps";
        refuse(&keep.span, message, "use engine = \"kernel\", or remove `keep-timestamp`");
    }
    if let Some(frames) = route.frames.as_ref().filter(|frames| frames.value == "xl") {
        let message = "User-space engines cannot forward CAN XL frames";
        refuse(&frames.span, message, "write engine = \"auto\" or \"bpf\"");
    }
    if let Some(limit) = route.hop_limit.as_ref().filter(|limit| limit.value > 1) {
        let message = "User-space engines cannot count hops: the frames they send start at 0 hops";
        refuse(&limit.span, message, "use engine = \"kernel\", or write hop-limit = 1");
    }
}

/// io_uring passes no timestamp along with a frame.
fn without_stamps(route: &Table<RouteSpec>, findings: &mut Findings) {
    if let Some(age) = &route.max_age {
        let message = "io_uring receivers get no timestamps, so they cannot enforce `max-age`";
        let help = "use another receiver, such as engine = \"mmap-adaptive\", or remove `max-age`";
        findings.error(code::ENGINE_CANNOT, &age.span, message, help);
    }
    if let Some(guard) = &route.guard {
        let timed = [&guard.rate, &guard.bit_rate, &guard.min_gap, &guard.silent].into_iter().flatten().next();
        if let Some(timed) = timed {
            let message = "io_uring receivers get no timestamps, so they cannot limit frames over time";
            let help = "use another receiver, such as engine = \"mmap-adaptive\", or remove the limit";
            findings.error(code::ENGINE_CANNOT, &timed.span, message, help);
        }
    }
}

/// There is one socket per interface, and echo is an option of the socket.
fn one_echo_for_each_bus(routes: &[Table<RouteSpec>], findings: &mut Findings) {
    let mut first_by_bus = HashMap::new();
    for route in routes {
        let back = route.from.as_ref().filter(|_| is_true(&route.both_ways));
        for to in route.to.iter().chain(back) {
            let (echo, place) = (is_true(&route.echo), echo(route));
            let (first, first_place) = first_by_bus.entry(to.value.as_str()).or_insert_with(|| (echo, place.clone()));
            if *first != echo {
                let message = format!("Routes to bus {} disagree on echo", quote(&to.value));
                let say = |echo| if echo { "with echo" } else { "without echo" };
                findings.report(
                    Diagnostic::error(code::ECHO_DISAGREES, place, message)
                        .label(say(echo))
                        .also(first_place.clone(), say(*first))
                        .help("user-space engines have one socket per bus; use the same `echo` in all of them, or engine = \"kernel\""),
                );
            }
        }
    }
}
