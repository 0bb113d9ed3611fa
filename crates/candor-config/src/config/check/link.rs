//! `[link.NAME]`: buses in the network.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::config::check::{Checks, value};
use crate::config::code;
use crate::config::spec::{LinkBandSpec, LinkSpec, Spec, TlsSpec, is_true};
use crate::plan::{Bus, BusIndex, LINK_END, Link, LinkBand, LinkProtocol, LinkTls};
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::keys::{Named, Table};
use candor_core::document::{Text, quote};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;
use candor_core::units::parse_duration_or_zero;

/// One band is left for frames without a band.
const MOST_BANDS: usize = 15;
/// Filters of one band: more would be too long for an argument.
const MOST_FILTERS: u64 = 2048;
const MAX_AGE: Duration = Duration::from_secs(2);
const FLUSH: Duration = Duration::from_millis(2);
const KEEP_ALIVE: Duration = Duration::from_secs(1);
const TIME_OUT: Duration = Duration::from_secs(5);

/// The links of a file; `None` after an error.
pub(super) fn links(spec: &Spec, buses: &[Bus], checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Vec<Link>> {
    let errors = findings.errors();
    // Their buses are the last ones.
    let first = buses.len() - spec.links.len();
    let links: Vec<_> = (first..)
        .zip(&spec.links)
        .map(|(at, written)| {
            names_are_free(written, at, spec, buses, findings);
            link(written, BusIndex(at), checks, findings)
        })
        .collect();
    let links = links.into_iter().collect::<Option<Vec<_>>>()?;
    (findings.errors() == errors).then_some(links)
}

/// No other bus has the name or the interface of the other end.
fn names_are_free(written: &Named<LinkSpec>, at: usize, spec: &Spec, buses: &[Bus], findings: &mut Findings) {
    let name = &written.name;
    if let Some(other) = spec.buses.specs[..at].iter().find(|bus| bus.name.value == name.value) {
        let message = format!("Link {} has the name of a bus", quote(&name.value));
        let finding =
            Diagnostic::error(code::LINK, name.span.clone(), message).also(other.name.span.clone(), "the bus");
        findings.report(finding.help("a link is a bus of the file itself: give it another name, or remove the bus"));
    }
    let place = written.interface.as_ref().unwrap_or(name);
    let interface = &buses[at].interface;
    if interface.len() + LINK_END.len() > MAX_INTERFACE_NAME_BYTES {
        let most = MAX_INTERFACE_NAME_BYTES - LINK_END.len();
        let message = format!("The interface of a link has up to {most} bytes, not {}", interface.len());
        findings.error(code::LINK, &place.span, message, "add `interface` with a shorter name");
    }
    let end = format!("{interface}{LINK_END}");
    if let Some(other) = buses.iter().find(|bus| bus.interface == end) {
        let message =
            format!("Interface {end} is the other end of this link, and belongs to bus {}", quote(&other.name));
        findings.error(code::LINK, &place.span, message, "add `interface` with another name");
    }
}

/// `None` after an error.
fn link(written: &Named<LinkSpec>, bus: BusIndex, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<Link> {
    let errors = findings.errors();
    let protocols =
        [LinkProtocol::Candor, LinkProtocol::CannelloniTcp, LinkProtocol::CannelloniUdp, LinkProtocol::Socketcand]
            .map(|protocol| (protocol.name(), protocol));
    let word = (code::LINK, "protocol", "");
    let protocol = written.protocol.as_ref().and_then(|text| value::word(text, word, &protocols, findings));
    let connect = written.connect.as_ref().filter(|text| host(text, findings).is_some());
    let listen = written.listen.as_ref().and_then(|text| address(text, findings));
    let tls = written.tls.as_ref().and_then(tls);
    if let Some(protocol) = protocol {
        sides(written, protocol, findings);
        is_safe(written, protocol, findings);
    }
    let drops = [("drop-newest", true), ("drop-oldest", false)];
    let word = (code::LINK, "`when-full`", "");
    let drops_newest = written.when_full.as_ref().and_then(|text| value::word(text, word, &drops, findings));
    let mut time =
        |text: &Option<Text>, default| text.as_ref().map_or(Some(default), |text| value::duration(text, findings));
    let (max_age, keep_alive, time_out) =
        (time(&written.max_age, MAX_AGE), time(&written.keep_alive, KEEP_ALIVE), time(&written.time_out, TIME_OUT));
    let flush = match &written.flush {
        None => Some(FLUSH),
        Some(text) => parse_duration_or_zero(&text.value)
            .map_err(|why| {
                findings.error(code::DURATION, &text.span, why.to_string(), "write a time such as \"2ms\" or \"0ms\"");
            })
            .ok(),
    };
    let bands: Vec<_> = written.bands.iter().map(|band| self::band(band, checks, findings)).collect();
    if let Some(band) = written.bands.get(MOST_BANDS) {
        let message = format!("A link has up to {MOST_BANDS} bands");
        findings.error(code::LINK, &band.span, message, "put their identifiers into one band");
    }
    let peer_bus = written.bus.as_ref().unwrap_or(&written.name);
    let is_printable = |byte: u8| byte.is_ascii_graphic() && !b"<>".contains(&byte);
    if !(1..=15).contains(&peer_bus.value.len()) || !peer_bus.value.bytes().all(is_printable) {
        let message = format!("{} cannot be the name of a bus for the peer", quote(&peer_bus.value));
        findings.error(code::LINK, &peer_bus.span, message, "add bus = \"can0\" with 1 to 15 letters, digits, - and _");
    }
    if written.is_incomplete || findings.errors() > errors {
        return None;
    }
    Some(Link {
        bus,
        protocol: protocol?,
        connect: connect.map(|text| text.value.clone()),
        listen,
        peer_bus: peer_bus.value.clone(),
        queue: written.queue.as_ref().map_or(1000, |frames| frames.value),
        drops_newest: drops_newest.unwrap_or(false),
        max_age: max_age?,
        flush: flush?,
        keep_alive: keep_alive?,
        time_out: time_out?,
        bands: bands.into_iter().collect::<Option<_>>()?,
        tls,
        beacon: is_true(&written.beacon),
    })
}

fn band(written: &Table<LinkBandSpec>, checks: &mut Checks<'_>, findings: &mut Findings) -> Option<LinkBand> {
    let list = written.filter.as_ref();
    let set = list.and_then(|list| checks.ids.set(list, findings))?;
    let filters = set.filters(MOST_FILTERS).map_err(|most| {
        let message = format!("These identifiers need {most} filters, and {MOST_FILTERS} are possible");
        findings.error(code::LINK, &written.span, message, "write ranges, or fewer identifiers");
    });
    Some(LinkBand { name: written.name.as_ref()?.value.clone(), filters: filters.ok()? })
}

fn tls(written: &Table<TlsSpec>) -> Option<LinkTls> {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone());
    Some(LinkTls {
        ca: text(&written.ca)?,
        cert: text(&written.cert)?,
        key: text(&written.key)?,
        peer_name: text(&written.peer_name),
    })
}

/// The host of `HOST:PORT`.
fn host<'t>(text: &'t Text, findings: &mut Findings) -> Option<&'t str> {
    let found = text.value.rsplit_once(':').filter(|(host, port)| {
        let is_bare = host.contains(':') && !host.starts_with('[');
        !host.is_empty() && !is_bare && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    if found.is_none() {
        let message = format!("{} is no host with a port", quote(&text.value));
        let help = "write \"HOST:PORT\", such as \"192.168.1.20:29600\" or \"[fd00::20]:29600\"";
        findings.error(code::LINK, &text.span, message, help);
    }
    found.map(|(host, _)| host)
}

fn address(text: &Text, findings: &mut Findings) -> Option<SocketAddr> {
    let found = text.value.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
    if found.is_none() {
        let message = format!("{} is no address of this machine with a port", quote(&text.value));
        let help = "write \"127.0.0.1:29600\", the address of an interface, or \"0.0.0.0:29600\" for all";
        findings.error(code::LINK, &text.span, message, help);
    }
    found
}

/// `connect` and `listen`, and keys that only one side or protocol has.
fn sides(written: &Named<LinkSpec>, protocol: LinkProtocol, findings: &mut Findings) {
    let is_udp = protocol == LinkProtocol::CannelloniUdp;
    match (&written.connect, &written.listen) {
        (None, None) if !written.is_incomplete => {
            let help = "add connect = \"HOST:PORT\" with the peer, or listen = \"127.0.0.1:29600\" to wait for it";
            findings.error(code::LINK, &written.name.span, "The link has neither `connect` nor `listen`", help);
        }
        (None, Some(listen)) if is_udp => {
            let help = "add connect = \"HOST:PORT\" with the address at which the peer receives";
            findings.error(code::LINK, &listen.span, "Datagrams need an address of the peer", help);
        }
        (Some(connect), Some(listen)) if !is_udp => {
            let finding = Diagnostic::error(code::LINK, listen.span.clone(), "`listen` does not go with `connect`");
            findings.report(finding.also(connect.span.clone(), "this side connects").help("remove one of the two"));
        }
        _ => {}
    }
    if let (Some(tls), true) = (&written.tls, is_udp) {
        let help = "use protocol = \"candor\", or a tunnel, such as WireGuard";
        findings.error(code::LINK, &tls.span, "TLS does not go with datagrams", help);
    }
    if let (Some(beacon), true) = (&written.beacon, protocol != LinkProtocol::Socketcand || written.listen.is_none()) {
        let help = "remove it; only a server of socketcand has a beacon";
        findings.error(code::LINK, &beacon.span, "`beacon` needs protocol = \"socketcand\" and `listen`", help);
    }
}

/// Nothing leaves or enters this machine unprotected, unless the file says so.
fn is_safe(written: &Named<LinkSpec>, protocol: LinkProtocol, findings: &mut Findings) {
    let is_candor = protocol == LinkProtocol::Candor;
    if let (Some(insecure), true) = (&written.insecure, is_candor) {
        let help = "remove it, and add `tls` for an address that is not of this machine";
        findings.error(code::LINK, &insecure.span, "protocol = \"candor\" has TLS and needs no `insecure`", help);
    }
    let reaches = |text: &&Text| {
        let host = text.value.rsplit_once(':').map_or(&*text.value, |(host, _)| host).trim_matches(['[', ']']);
        !(host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
    };
    let Some(place) = [&written.connect, &written.listen].into_iter().flatten().find(reaches) else { return };
    if written.tls.is_some() || written.is_incomplete {
        return;
    }
    let message =
        format!("Frames cross the network without protection: {} is not of this machine", quote(&place.value));
    if is_true(&written.insecure) && !is_candor {
        let help = "whoever reaches this network can read, forge and suppress frames; use protocol = \"candor\" with `tls`, or a tunnel";
        findings.report(Diagnostic::warning(code::INSECURE_LINK, place.span.clone(), message).help(help));
        return;
    }
    let help = match is_candor {
        true => "add tls = { ca = \"…\", cert = \"…\", key = \"…\" }",
        false => "use protocol = \"candor\" with `tls`; in a network that you trust, add insecure = true",
    };
    findings.error(code::LINK, &place.span, message, help);
}
