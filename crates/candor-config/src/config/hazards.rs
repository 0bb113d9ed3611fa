//! Reports the hazards of [`crate::safety`] at the keys of the file.

mod spans;

use std::collections::HashMap;
use std::mem::discriminant;

use crate::config::code;
use crate::config::spec::Spec;
use crate::plan::{BusIndex, Plan, RouteIndex};
use crate::safety::{self, Hazard, Kind, Malformed, Share};
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::quote;
use candor_core::frame::FrameFormat;
use spans::Spans;

pub(super) fn report(plan: &Plan, spec: &Spec, findings: &mut Findings) {
    // The hazards of a file with errors may differ from those of the corrected one.
    if findings.is_incomplete || findings.has_errors() {
        return;
    }
    let words = Words { plan, spans: Spans::of(spec, plan) };
    let mut last_of = HashMap::new();
    for hazard in safety::hazards(plan) {
        // There may be one for each route; text is formatted only for those that are listed.
        let kind = discriminant(&hazard);
        if has_one_code(&hazard)
            && last_of.get(&kind).is_some_and(|&(severity, code)| findings.passes_over(severity, code))
        {
            continue;
        }
        let diagnostic = words.of(&hazard);
        last_of.insert(kind, (diagnostic.severity, diagnostic.code));
        let is_reported =
            diagnostic.code == code::NO_FRAME && findings.has(code::NEVER_MATCHES, &diagnostic.primary.span);
        if !is_reported {
            findings.report(diagnostic);
        }
    }
}

/// Returns true if hazards of this kind always have the same code and are always reported.
const fn has_one_code(hazard: &Hazard) -> bool {
    !matches!(hazard, Hazard::Circulates { .. } | Hazard::NoFrame(_) | Hazard::SentBesideComposed { .. })
}

struct Words<'s> {
    plan: &'s Plan,
    spans: Spans<'s>,
}

impl Words<'_> {
    fn of(&self, hazard: &Hazard) -> Diagnostic {
        match *hazard {
            Hazard::ArrivesAgain { ref routes, ref other, bus, example } => {
                self.arrives_again(routes, other, bus, example)
            }
            Hazard::ComposedOfItself { frame, ref routes } => self.composed_of_itself(frame, routes),
            Hazard::Circulates { ref routes, frame, is_certain } => self.circulates(routes, Some(frame), is_certain),
            Hazard::MayCirculate { ref routes } => self.circulates(routes, None, false),
            Hazard::FdFromClassicBus(route) => {
                let from = self.plan.route(route).from;
                let message = format!("No FD frames are received from bus {} if it is a classic bus", self.bus(from));
                let frames = self.spans.key(route, |route| route.frames.as_ref().map(|written| &written.span));
                self.fd(frames, from, message).label(format!("route {} matches FD frames only", self.route(route)))
            }
            Hazard::FdToClassicBus(route) => {
                let to = self.plan.route(route).to;
                let message = format!("FD frames to bus {} are dropped if it is a classic bus", self.bus(to));
                let send_as = self.spans.send_as(route);
                self.fd(send_as, to, message).label(format!("route {} sends FD frames", self.route(route)))
            }
            Hazard::HopLimitIsIdle(route) => {
                let message = format!("The hop limit of route {} has no effect", self.route(route));
                let help = "hops are counted only where a frame meets another route through echo, and this route has no \
                            echo; add echo = true, or remove `hop-limit`";
                Diagnostic::warning(code::HOP_LIMIT_IS_IDLE, self.hop_limit(route), message).help(help)
            }
            Hazard::IdentifiersMeet { ref routes, first, sent } => self.identifiers_meet(routes, first, sent),
            Hazard::KeepsTimestamp(route) => {
                let (to, name) = (self.to(route), self.route(route));
                let message =
                    format!("Before Linux 7.2, the qdisc `fq` on bus {to} would drop every frame of route {name}");
                let help = "it reads the timestamp as the time at which to send the frame; `candor run` reports it where \
                            kernel and interface would do so";
                let place = self.spans.key(route, |route| route.keep_timestamp.as_ref().map(|written| &written.span));
                Diagnostic::note(code::KEEPS_TIMESTAMP, place, message).help(help)
            }
            Hazard::LengthDeletes { route, came, becomes, is_all } => {
                let which = if is_all { "every frame".to_owned() } else { format!("frames of {}", bytes(came)) };
                let message = format!("Route {} deletes {which}: the length becomes {becomes}", self.route(route));
                Diagnostic::warning(code::LENGTH, self.spans.length(route), message)
                    .help("choose operands whose result is a valid length")
            }
            Hazard::OddLength { route, came, becomes } => {
                let came = bytes(came);
                let message = format!("Frames of {came} are sent with {becomes} bytes, which is not a CAN FD length");
                let help =
                    "a controller uses the next longer one; CAN FD lengths are 0 to 8, 12, 16, 20, 24, 32, 48 and 64";
                Diagnostic::warning(code::LENGTH, self.spans.length(route), message).help(help)
            }
            Hazard::MalformedId { route, taken, sent, what } => self.malformed(route, taken, sent, what),
            Hazard::NeedsMaxHops { route, limit } => {
                let message = format!("Route {} needs can-gw with max_hops={limit} or more", self.route(route));
                let reload = format!("sudo modprobe -r can-gw && sudo modprobe can-gw max_hops={limit}");
                Diagnostic::note(code::NEEDS_MAX_HOPS, self.hop_limit(route), message)
                    .help(format!("the default is 1; reload the module: {reload}"))
            }
            Hazard::NoFrame(route) => {
                let message = format!("Route {} matches no frame", self.route(route));
                let help = "no frame has the format, the identifiers and the payloads of this route: FD frames are never \
                            remote frames, remote frames carry no payload, classic frames have at most 8 bytes";
                Diagnostic::warning(code::NO_FRAME, self.spans.taken(route), message).help(help)
            }
            Hazard::NotCompared => {
                let message = "The file is too large to compare all routes with each other";
                Diagnostic::note(code::NOT_COMPARED, 0..0, message)
                    .help("routes that were not compared may send frames twice or in a loop")
            }
            Hazard::Repeated { route, first } => {
                let message = "This route duplicates another one: every frame it matches is sent twice";
                Diagnostic::warning(code::SAME_ROUTE, self.spans.header(route), message)
                    .also(self.spans.header(first), "first defined here")
                    .help("the kernel does not detect this; remove one of the two")
            }
            Hazard::SameIdentifier { route, first, sent } => self.same_identifier(route, first, sent),
            Hazard::SentBesideComposed { route, frame, is_meant } => self.beside_composed(route, frame, is_meant),
            Hazard::SentInTwoForms { route, first, example } => {
                let to = self.to(route);
                let message = format!("Two routes send frame {example} to bus {to}, with different content");
                let help = "a frame follows every route that matches it, there is no first match; if one route is meant for \
                            all other frames, exclude this one there: deny = [\"…\"]";
                self.pair(code::SENT_IN_TWO_FORMS, route, first, message).help(help)
            }
            Hazard::SentTwice { route, first, share, example } => {
                let (this, that) = (self.route(route), self.route(first));
                let message = match share {
                    Share::AllOfThis => format!("Route {that} also sends every frame of route {this}"),
                    Share::AllOfFirst => format!("Route {this} also sends every frame of route {that}"),
                    Share::Some => format!("Routes {that} and {this} both send frames such as {example}"),
                };
                let help = "a frame follows every route that matches it, there is no first match; narrow or remove one of \
                            the routes";
                self.pair(code::SENT_TWICE, route, first, message).help(help)
            }
        }
    }

    fn arrives_again(&self, routes: &[RouteIndex], other: &[RouteIndex], bus: BusIndex, example: Kind) -> Diagnostic {
        let last = routes.last().copied().unwrap_or(RouteIndex(0));
        let message = match other {
            [] => format!("Frame {example} returns to bus {}, where it came from", self.bus(bus)),
            other => {
                let (bus, other, path) = (self.bus(bus), self.path(other), self.path(routes));
                format!("Frame {example} reaches bus {bus} twice: via {other} and via {path}")
            }
        };
        let diagnostic = Diagnostic::warning(code::ARRIVES_AGAIN, self.to_key(last), message)
            .label(format!("via {}", self.path(routes)));
        let others = other.iter().chain(routes).copied().filter(|&route| route != last);
        others
            .fold(diagnostic, |diagnostic, route| diagnostic.also(self.spans.header(route), "on this path"))
            .help("narrow one of the routes, so that only one path is left for each frame")
    }

    fn circulates(&self, routes: &[RouteIndex], frame: Option<Kind>, is_certain: bool) -> Diagnostic {
        /// More labels would hide the loop.
        const MOST_PLACES: usize = 8;
        let frame = frame.map_or_else(|| "Frames".to_owned(), |frame| format!("Frames such as {frame}"));
        let path = self.path(routes);
        let first = routes.first().map_or(0..0, |&route| self.to_key(route));
        let mut diagnostic = if is_certain {
            Diagnostic::error(code::CIRCULATES, first, format!("{frame} loop forever: {path}"))
        } else {
            Diagnostic::warning(code::MAY_CIRCULATE, first, format!("{frame} may loop forever: {path}"))
        };
        let pairs = routes.iter().filter_map(|&route| {
            let to = self.plan.route(route).to;
            Some((route, to, self.plan.bus(to).vxcan_peer?))
        });
        for (at, (route, to, peer)) in pairs.enumerate().take(MOST_PLACES) {
            let label = format!("frames sent to {} are received on {}", self.bus(to), self.bus(peer));
            diagnostic = if at == 0 && Some(&route) == routes.first() {
                diagnostic.label(label)
            } else {
                diagnostic.also(self.to_key(route), label)
            };
        }
        diagnostic.help(
            "a vxcan pair clears the hop count, so one frame keeps a CPU busy; narrow one of the routes, so that the \
             ring is open",
        )
    }

    fn fd(&self, place: Span, bus: BusIndex, message: String) -> Diagnostic {
        Diagnostic::warning(code::FD_ON_CLASSIC_BUS, place, message)
            .also(self.spans.bus(bus), "has `bitrate`, but no `data-bitrate`")
            .help("add data-bitrate = \"…\" if it is a CAN FD bus, or write frames = \"classic\" in the route")
    }

    fn malformed(&self, route: RouteIndex, taken: Kind, sent: Kind, what: Malformed) -> Diagnostic {
        let id = sent.id.0;
        let (problem, help) = match what {
            Malformed::Error => ("an error message frame", "omit bit 20000000, or clear it with `and`"),
            Malformed::HighBits => (
                "more than 11 bits without bit 80000000 (29-bit format)",
                "set bit 80000000 for a 29-bit identifier, or clear the bits above 7FF; controllers send the low 11 \
                 bits only",
            ),
            Malformed::RemoteFd => {
                ("an FD remote frame", "CAN FD has no remote frames; omit bit 40000000, or write frames = \"classic\"")
            }
        };
        let message = format!("Route {} turns frame {taken} into can_id {id:08X}: {problem}", self.route(route));
        Diagnostic::warning(code::MALFORMED_ID, self.spans.identifier(route), message).help(help)
    }

    fn same_identifier(&self, route: RouteIndex, first: RouteIndex, sent: Kind) -> Diagnostic {
        let message = format!("Two messages with identifier {sent} may be sent to bus {}", self.to(route));
        Diagnostic::warning(code::SAME_IDENTIFIER, self.spans.identifier(route), message)
            .label(self.route_and_bus(route))
            .also(self.spans.identifier(first), self.route_and_bus(first))
            .help(
                "receivers cannot tell them apart; give each identifier one source: narrow `match`, use `allow` or \
                 `deny`, or change one identifier with `to-id`",
            )
    }

    fn identifiers_meet(&self, routes: &[RouteIndex], first: RouteIndex, sent: Kind) -> Diagnostic {
        let route = routes.first().copied().unwrap_or(first);
        let who = match routes.len() {
            1 => "Two routes".to_owned(),
            others => format!("{} routes", others + 1),
        };
        let message = format!("{who} may send the same identifiers to bus {}, such as {sent}", self.to(route));
        Diagnostic::note(code::IDENTIFIERS_MEET, self.spans.taken(route), message)
            .label(self.route_and_bus(route))
            .also(self.spans.taken(first), self.route_and_bus(first))
            .help(
                "on a CAN bus every identifier has one sender; list the identifiers that come from each bus with `allow`, \
                 exclude some from a route (`deny`), or move them (`to-id`)",
            )
    }

    fn beside_composed(&self, route: RouteIndex, frame: usize, is_meant: bool) -> Diagnostic {
        let (composed, name) = (&self.plan.frames()[frame], self.route(route));
        let message = format!("Route {name} may send the identifier of frame {}, too", quote(&composed.name));
        let diagnostic = if is_meant {
            Diagnostic::warning(code::SAME_IDENTIFIER, self.spans.identifier(route), message)
        } else {
            Diagnostic::note(code::IDENTIFIERS_MEET, self.spans.taken(route), message)
        };
        let id = Kind { id: composed.id, format: FrameFormat::Classic, is_xl: false };
        let help = if is_meant {
            format!("on a CAN bus every identifier has one sender; take {id} out of the route, or remove the frame")
        } else {
            format!("on a CAN bus every identifier has one sender; exclude this one from the route: deny = [\"{id}\"]")
        };
        diagnostic.label(self.route_and_bus(route)).also(self.spans.frame(frame), "composed here").help(help)
    }

    fn composed_of_itself(&self, frame: usize, routes: &[RouteIndex]) -> Diagnostic {
        let name = quote(&self.plan.frames()[frame].name);
        let via = if routes.is_empty() { "a vxcan pair".to_owned() } else { self.path(routes) };
        let message = format!("Frame {name} comes back as one that it is composed of: via {via}");
        let diagnostic = Diagnostic::warning(code::MAY_CIRCULATE, self.spans.frame(frame), message);
        routes
            .iter()
            .fold(diagnostic, |diagnostic, &route| diagnostic.also(self.spans.header(route), "on this path"))
            .help("it may be sent again and again; exclude its identifier from a route (`deny`), or write echo = false")
    }

    /// Two routes and what each matches.
    fn pair(&self, code: &'static str, route: RouteIndex, first: RouteIndex, message: String) -> Diagnostic {
        Diagnostic::warning(code, self.spans.taken(route), message)
            .label(format!("matched by route {}", self.route(route)))
            .also(self.spans.taken(first), format!("and by route {}", self.route(first)))
    }

    fn hop_limit(&self, route: RouteIndex) -> Span {
        self.spans.key(route, |route| route.hop_limit.as_ref().map(|written| &written.span))
    }

    fn to_key(&self, route: RouteIndex) -> Span {
        self.spans.key(route, |route| route.to.as_ref().map(|written| &written.span))
    }

    fn route(&self, route: RouteIndex) -> String {
        quote(&self.plan.route(route).name)
    }

    fn route_and_bus(&self, route: RouteIndex) -> String {
        format!("by route {}, from bus {}", self.route(route), self.bus(self.plan.route(route).from))
    }

    fn bus(&self, bus: BusIndex) -> String {
        quote(&self.plan.bus(bus).name)
    }

    fn to(&self, route: RouteIndex) -> String {
        self.bus(self.plan.route(route).to)
    }

    /// The routes of a path; the middle of a long one is omitted.
    fn path(&self, routes: &[RouteIndex]) -> String {
        const MOST_ROUTES: usize = 6;
        let names: Vec<_> = match routes {
            [first @ .., last] if routes.len() > MOST_ROUTES => {
                let first = first[..MOST_ROUTES - 2].iter().map(|&route| self.route(route));
                first.chain(["…".to_owned(), self.route(*last)]).collect()
            }
            routes => routes.iter().map(|&route| self.route(route)).collect(),
        };
        names.join(" → ")
    }
}

fn bytes(count: u8) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}

#[cfg(test)]
mod tests;
