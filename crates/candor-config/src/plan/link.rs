//! Buses whose interface is a peer in the network.

use std::net::SocketAddr;
use std::time::Duration;

use super::{BusIndex, Plan};
use candor_core::filter::Filter;

/// What the interface at the other end has after the name of the interface of the bus.
pub const LINK_END: &str = "-net";

/// A bus at which `candor-link` is the other end of the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub bus: BusIndex,
    pub protocol: LinkProtocol,
    /// `HOST:PORT`.
    pub connect: Option<String>,
    pub listen: Option<SocketAddr>,
    /// Name of the bus for the peer.
    pub peer_bus: String,
    /// Frames that wait for the network at most.
    pub queue: u32,
    pub drops_newest: bool,
    pub max_age: Duration,
    pub flush: Duration,
    pub keep_alive: Duration,
    pub time_out: Duration,
    /// Highest priority first.
    pub bands: Vec<LinkBand>,
    pub tls: Option<LinkTls>,
    pub beacon: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkProtocol {
    Candor,
    CannelloniTcp,
    CannelloniUdp,
    Socketcand,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkBand {
    pub name: String,
    pub filters: Vec<Filter>,
}

/// Paths as written, and the name in the certificate of the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTls {
    pub ca: String,
    pub cert: String,
    pub key: String,
    pub peer_name: Option<String>,
}

impl LinkProtocol {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Candor => "candor",
            Self::CannelloniTcp => "cannelloni-tcp",
            Self::CannelloniUdp => "cannelloni-udp",
            Self::Socketcand => "socketcand",
        }
    }
}

impl Link {
    /// The arguments of `candor-link open` for this link of a plan, without files of TLS.
    pub fn arguments(&self, plan: &Plan) -> Vec<String> {
        let interface = &plan.bus(self.bus).interface;
        let ms = |time: Duration| format!("{}us", time.as_micros());
        let mut arguments = Vec::new();
        let mut add = |option: &str, value: String| arguments.extend([format!("--{option}"), value]);
        add("protocol", self.protocol.name().to_owned());
        add("interface", format!("{interface}{LINK_END}"));
        self.connect.iter().for_each(|to| add("connect", to.clone()));
        self.listen.iter().for_each(|at| add("listen", at.to_string()));
        add("bus", self.peer_bus.clone());
        add("queue", self.queue.to_string());
        add("when-full", if self.drops_newest { "drop-newest" } else { "drop-oldest" }.to_owned());
        let times = [
            ("max-age", self.max_age),
            ("flush", self.flush),
            ("keep-alive", self.keep_alive),
            ("time-out", self.time_out),
        ];
        times.into_iter().for_each(|(option, time)| add(option, ms(time)));
        for band in &self.bands {
            let filters: Vec<_> = band.filters.iter().map(ToString::to_string).collect();
            add("band", filters.join(","));
        }
        self.tls.iter().filter_map(|tls| tls.peer_name.clone()).for_each(|name| add("peer-name", name));
        // Routes of modes, too: they begin and end while the link runs.
        let routes: Vec<_> = plan.routes().iter().chain(plan.modes.routes()).collect();
        let others = || plan.links.iter().filter(|other| other.bus != self.bus);
        let leads = |from: BusIndex, to: BusIndex| routes.iter().any(|route| (route.from, route.to) == (from, to));
        for other in others().filter(|other| leads(other.bus, self.bus)) {
            add("from", plan.bus(other.bus).name.clone());
        }
        if others().any(|other| leads(self.bus, other.bus)) {
            arguments.push("--onward".to_owned());
        }
        if self.beacon {
            arguments.push("--beacon".to_owned());
        }
        arguments
    }

    /// The address in the file, with what it is for.
    pub fn address(&self) -> String {
        match (&self.connect, self.listen) {
            (Some(to), _) => format!("connects to {to}"),
            (None, Some(at)) => format!("listens at {at}"),
            (None, None) => String::new(),
        }
    }
}

impl Plan {
    /// Buses in the network, in the order of the file.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The link of a bus.
    pub fn link(&self, bus: BusIndex) -> Option<&Link> {
        self.links.iter().find(|link| link.bus == bus)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{code, load};

    const ROUTES: &str = "[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"far\"\nboth-ways = true\n";

    fn codes(link: &str) -> Vec<&'static str> {
        let text = format!("[bus.a]\ninterface = \"can0\"\n[link.far]\n{link}\n{ROUTES}");
        match load(text.as_bytes()) {
            Ok(loaded) => loaded.warnings.iter().map(|finding| finding.code).collect(),
            Err(findings) => findings.iter().map(|finding| finding.code).collect(),
        }
    }

    #[test]
    fn an_address_outside_needs_tls_or_consent() {
        let tls = "tls = { ca = \"a\", cert = \"b\", key = \"c\" }";
        for (link, expected) in [
            ("protocol = \"candor\"\nlisten = \"127.0.0.1:1\"", [].as_slice()),
            ("protocol = \"candor\"\nconnect = \"localhost:1\"", &[]),
            ("protocol = \"candor\"\nconnect = \"[::1]:1\"", &[]),
            ("protocol = \"candor\"\nlisten = \"0.0.0.0:1\"", &[code::LINK]),
            ("protocol = \"candor\"\nlisten = \"0.0.0.0:1\"\ninsecure = true", &[code::LINK, code::LINK]),
            (&format!("protocol = \"candor\"\nlisten = \"0.0.0.0:1\"\n{tls}"), &[]),
            ("protocol = \"socketcand\"\nconnect = \"bench:1\"", &[code::LINK]),
            ("protocol = \"socketcand\"\nconnect = \"bench:1\"\ninsecure = true", &[code::INSECURE_LINK]),
            ("protocol = \"cannelloni-udp\"\nlisten = \"127.0.0.1:1\"\nconnect = \"10.0.0.1:1\"", &[code::LINK]),
        ] {
            assert_eq!(codes(link), expected, "{link}");
        }
    }

    #[test]
    fn keys_of_a_link_fit_together() {
        let candor = "protocol = \"candor\"\n";
        for link in [
            "protocol = \"candor\"",
            "protocol = \"cannelloni-udp\"\nlisten = \"127.0.0.1:1\"",
            "protocol = \"cannelloni-udp\"\nconnect = \"127.0.0.1:1\"\ntls = { ca = \"a\", cert = \"b\", key = \"c\" }",
            &format!("{candor}listen = \"127.0.0.1:1\"\nconnect = \"127.0.0.1:2\""),
            &format!("{candor}listen = \"127.0.0.1\""),
            &format!("{candor}connect = \"::1:7\""),
            &format!("{candor}listen = \"127.0.0.1:1\"\nbeacon = true"),
            &format!("{candor}listen = \"127.0.0.1:1\"\nbus = \"a<b\""),
            &format!("{candor}listen = \"127.0.0.1:1\"\ninterface = \"elevenbytes2\""),
        ] {
            let found = codes(link);
            assert!(!found.is_empty() && found.iter().all(|code| code.starts_with('E')), "{link}: {found:?}");
        }
        let twice = "[bus.a]\ninterface = \"can0\"\n[link.a]\nprotocol = \"candor\"\nlisten = \"127.0.0.1:1\"\n";
        assert!(load(twice.as_bytes()).unwrap_err().iter().any(|finding| finding.code == code::LINK));
    }

    #[test]
    fn arguments_have_every_key() {
        let link = "protocol = \"candor\"\nconnect = \"gw.example:29600\"\nbus = \"body\"\nqueue = 64\nwhen-full = \"drop-newest\"\n\
                    max-age = \"200ms\"\nflush = \"0ms\"\ntls = { ca = \"a\", cert = \"b\", key = \"c\", peer-name = \"two\" }\n\
                    [[link.far.band]]\nname = \"first\"\nmatch = [\"100..103\", \"18FEF100\"]\n\
                    [link.near]\nprotocol = \"candor\"\nlisten = \"127.0.0.1:1\"\n\
                    [[route]]\nname = \"on\"\nfrom = \"near\"\nto = \"far\"";
        let text = format!("[bus.a]\ninterface = \"can0\"\n[link.far]\n{link}\n{ROUTES}");
        let plan = load(text.as_bytes()).unwrap().plan;
        let all: Vec<_> = plan.links().iter().map(|link| link.arguments(&plan).join(" ")).collect();
        assert_eq!(
            all,
            [
                "--protocol candor --interface far-net --connect gw.example:29600 --bus body --queue 64 --when-full \
                 drop-newest --max-age 200000us --flush 0us --keep-alive 1000000us --time-out 5000000us --band \
                 100:C00007FC,98FEF100:DFFFFFFF --peer-name two --from near",
                "--protocol candor --interface near-net --listen 127.0.0.1:1 --bus near --queue 1000 --when-full \
                 drop-oldest --max-age 2000000us --flush 2000us --keep-alive 1000000us --time-out 5000000us --onward",
            ]
        );
    }
}
