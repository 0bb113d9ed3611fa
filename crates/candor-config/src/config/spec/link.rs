//! `[link.NAME]` as written.

use toml::de::DeTable;

use super::{ALLOW, BusSpec, DENY, IDENTIFIERS, ListSpec, MATCH, TEXTS};
use candor_core::diagnostic::Findings;
use candor_core::document::entry::{Entry, entries, quote};
use candor_core::document::keys::{Key, Keyed, Named, Shape, Table, one_or_list, read};
use candor_core::document::{Flag, Spanned, Text};
use candor_core::interface_name::MAX_INTERFACE_NAME_BYTES;
use candor_core::keys;

use crate::plan::LINK_END;

const TIME: Key = Key::new("a time with its unit, such as \"200ms\"");
const PEM: Key = Key::new("the path of a file in PEM, such as \"ca.pem\"");

keys! {
    /// `[link.NAME]`.
    pub struct LinkSpec {}
    "protocol" => protocol: Option<Text> = Key::words(&["candor", "cannelloni-tcp", "cannelloni-udp", "socketcand"])
        .required("its protocol, such as protocol = \"candor\"")
        .about("what the peer speaks: `\"candor\"`, `\"cannelloni-tcp\"`, `\"cannelloni-udp\"` or `\"socketcand\"`");
    "connect" => connect: Option<Text> = Key::new("an address, such as \"192.168.1.20:29600\"")
        .about("address of the peer, `\"HOST:PORT\"`, to which candor connects; this or `listen` is required");
    "listen" => listen: Option<Text> = Key::new("an address of this machine, such as \"127.0.0.1:29600\"")
        .about("address and port at which one peer connects; with `cannelloni-udp`, where datagrams of the peer arrive")
        .default("with `cannelloni-udp` any port");
    "interface" => interface: Option<Text> = Key::new("the name of a CAN interface, such as \"body\"")
        .shape(Shape::TextUpTo(MAX_INTERFACE_NAME_BYTES - LINK_END.len()))
        .aliases(&["device", "iface"])
        .about("name of the interface of the bus, 1 to 11 bytes. candor makes it, and at its other end an interface with `-net` \
            after the name, which `candor-link` uses")
        .default("the name of the link")
        .kernel("vxcan");
    "bus" => bus: Option<Text> = Key::new("the name of the bus at the peer, such as \"can0\"")
        .about("with `candor` and `socketcand`: name of the bus for the peer, 1 to 15 bytes; both sides must have the same")
        .default("the name of the link");
    "allow" => allow: Option<ListSpec> = ALLOW
        .about("identifiers that routes *from* this bus may match, as of a bus")
        .default("all");
    "deny" => deny: Option<ListSpec> = DENY
        .about("identifiers that no route from this bus may match, as of a bus")
        .default("none");
    "watch" => watch: Option<Vec<Text>> | one_or_list =
        Key::new("a signal such as \"ABS1.VehSpd\", a message, or a list of them")
        .shape(TEXTS)
        .aliases(&["signals"])
        .about("signals that `candor top --signals` shows, as of a bus")
        .default("none");
    "queue" => queue: Option<Spanned<u32>> = Key::new("a number of frames, such as 1000")
        .range(1, 65536)
        .help("each frame takes about 150 bytes of memory")
        .about("frames that wait for the network at most")
        .default("`1000`");
    "when-full" => when_full: Option<Text> = Key::words(&["drop-newest", "drop-oldest"])
        .about("`\"drop-oldest\"` or `\"drop-newest\"`: which frame of the last band is dropped if the queue is full")
        .default("`\"drop-oldest\"`");
    "max-age" => max_age: Option<Text> = TIME
        .about("frames that have waited longer are dropped, also while there is no connection")
        .default("`\"2s\"`");
    "flush" => flush: Option<Text> = Key::new("a time with its unit, such as \"2ms\"")
        .about("longest time for which frames are collected before they are sent together; `\"0ms\"` sends each at once")
        .default("`\"2ms\"`");
    "keep-alive" => keep_alive: Option<Text> = TIME
        .about("without frames, something else is sent this often, if the protocol has it")
        .default("`\"1s\"`");
    "time-out" => time_out: Option<Text> = TIME
        .about("a connection is given up after this time without anything of the peer, or if it reads nothing")
        .default("`\"5s\"`");
    "band" => bands: Vec<Table<LinkBandSpec>> | super::egress::tables = Key::new("")
        .shape(Shape::List(&Shape::Table(<LinkBandSpec as Keyed>::KEYS)))
        .about("a list, `[[link.NAME.band]]`, highest priority first; at most 15. Frames of a band are sent before those \
            of later bands, and frames without a band are sent last")
        .default("all frames in their order");
    "tls" => tls: Option<Table<TlsSpec>> = Key::new("a table, such as { ca = \"ca.pem\", cert = \"own.pem\", key = \"own.key\" }")
        .about("TLS 1.3 with certificates of both sides; not with `cannelloni-udp`")
        .default("none");
    "insecure" => insecure: Option<Flag> = Key::new("")
        .about("with cannelloni and socketcand: use an address that is not of this machine without TLS. Whoever reaches the \
            network can then read, forge and suppress frames")
        .default("`false`");
    "beacon" => beacon: Option<Flag> = Key::new("")
        .about("with `socketcand` and `listen`: announce the server by UDP broadcasts to port 42000 every 3 s")
        .default("`false`");

    /// `[[link.NAME.band]]`.
    pub struct LinkBandSpec {}
    "name" => name: Option<Text> = Key::new("a name, such as \"control\"")
        .required("a name of its own, such as name = \"control\"")
        .about("letters, digits, `-` and `_`");
    "match" => filter: Option<ListSpec> = MATCH
        .shape(IDENTIFIERS)
        .required("its identifiers, such as match = \"100..1FF\"")
        .about("filters, ranges and lists, as in a route");

    /// `tls`.
    pub struct TlsSpec {}
    "ca" => ca: Option<Text> = PEM
        .required("the certificates of authorities, such as ca = \"ca.pem\"")
        .about("file with the certificates of the authorities that have signed the peer's certificate");
    "cert" => cert: Option<Text> = PEM
        .required("the own certificate, such as cert = \"own.pem\"")
        .aliases(&["certificate"])
        .about("file with the own certificate and those between it and an authority of the peer");
    "key" => key: Option<Text> = PEM
        .required("the own private key, such as key = \"own.key\"")
        .about("file with the own private key, which only its owner can read; a path in `${CREDENTIALS_DIRECTORY}` for a \
            credential of systemd");
    "peer-name" => peer_name: Option<Text> = Key::new("a name, such as \"rear.example\"")
        .about("name that the certificate of the peer must have")
        .default("with `connect` its host; with `listen` any name");
}

pub(super) fn links(into: &mut Vec<Named<LinkSpec>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(table) = entry.table(key.wanted, findings) else { return false };
    let mut is_sound = true;
    for named in entries(table) {
        let wanted = "a link: [link.NAME], and below it its protocol";
        let link = named.table(wanted, findings).map(|keys| link(&named, keys, findings));
        is_sound &= link.is_some();
        into.extend(link);
    }
    is_sound
}

fn link(named: &Entry<'_>, keys: &DeTable<'_>, findings: &mut Findings) -> Named<LinkSpec> {
    let name = named.name();
    let table = read(keys, &name.span, ["A link", &format!("Link {}", quote(named.key))], findings);
    Named { name, table }
}

/// The bus of a link, as if it was written in the file.
pub(super) fn bus(link: &Named<LinkSpec>) -> Named<BusSpec> {
    let table = &link.table;
    let value = BusSpec {
        interface: Some(table.interface.clone().unwrap_or_else(|| link.name.clone())),
        allow: table.allow.clone(),
        deny: table.deny.clone(),
        watch: table.watch.clone(),
        ..BusSpec::default()
    };
    let broken = table.broken.iter().copied().filter(|key| BusSpec::KEYS.has(key)).collect();
    let table = Table { value, span: table.span.clone(), broken, is_incomplete: table.is_incomplete };
    Named { name: link.name.clone(), table }
}
