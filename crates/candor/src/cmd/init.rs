//! `candor init`: proposes a first gateway file for the CAN interfaces of this machine.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use candor_cli::gateway_file::plural;
use candor_cli::{Exit, Outcome, render};
use candor_config::config;
use candor_core::frame::{CAN_EFF_FLAG, CANFD_MTU, Frame};
use candor_core::units::BitRate;
use candor_io::can::{self, CanSocket, InterfaceIndex, Options};
use candor_io::signal::EndingSignals;
use candor_netlink::client::{Client, Errno, NetlinkError};
use candor_netlink::link::{self, Link};

use super::import::put;
use super::{doctor, egress};
use crate::cli::InitArgs;
use crate::netns;

/// Nominal bit rates in bit/s, the most frequent ones first.
const BIT_RATES: [u32; 11] =
    [500_000, 250_000, 1_000_000, 125_000, 800_000, 100_000, 83_333, 50_000, 33_333, 20_000, 10_000];

/// Frames that prove a bit rate. The CRC of one can be right by accident.
const PROOF: u64 = 2;

/// Identifiers that the file lists per bus.
const MOST_IDS: usize = 16;

pub(crate) fn run(args: &InitArgs) -> Outcome {
    netns::enter(&args.netns)?;
    let mut client = Client::open()?;
    let links = link::list(&mut client)?;
    let mut found: Vec<_> = match &args.interface[..] {
        [] => links.iter().filter(|link| link.can.is_some()).map(Found::new).collect(),
        names => names.iter().map(|name| named(&links, name).map(Found::new)).collect::<Result<_, _>>()?,
    };
    if found.is_empty() {
        render::err(&egress::no_interface(&can::support()));
        return Ok(Exit::No);
    }
    listen_to_all(&mut found, args.listen)?;
    for one in found.iter_mut().filter(|one| !one.is_up && one.is_controller()) {
        find_bit_rate(&mut client, one, args.listen / 4)?;
    }
    render::err(&table(&found));
    let text = gateway_file(&found);
    let loaded =
        config::load(text.as_bytes()).map_err(|_findings| "the proposed file is not valid: please report this")?;
    put(&args.output, &text)?;
    render::err(&doctor::remedies(&loaded.plan)?);
    let name = args.output.output.as_ref().map_or_else(|| "FILE".to_owned(), |path| path.display().to_string());
    render::err(&format!("Next: candor check {name}, then sudo candor run {name}\n"));
    Ok(Exit::Fine)
}

pub(super) fn named<'a>(links: &'a [Link], name: &str) -> Result<&'a Link, String> {
    match links.iter().find(|link| link.name == name) {
        None => Err(format!("no interface {name}; ip -br link lists the interfaces")),
        Some(link) if link.can.is_none() => {
            Err(format!("{name} is not a CAN interface; ip -br link show type can lists those"))
        }
        Some(link) => Ok(link),
    }
}

pub(super) fn no_socket(interface: &str, error: &std::io::Error) -> String {
    format!("cannot listen on {interface}: {error}; is can-raw loaded? sudo modprobe can-raw")
}

/// An interface, and what arrived on it.
struct Found {
    name: String,
    index: InterfaceIndex,
    kind: String,
    is_up: bool,
    /// Nominal, and of CAN FD data.
    rates: (Option<BitRate>, Option<BitRate>),
    received: Received,
    /// The reason why the bit rate is unknown.
    note: Option<String>,
}

impl Found {
    fn new(link: &Link) -> Self {
        Self {
            name: link.name.clone(),
            index: link.index,
            kind: link.kind.clone().unwrap_or_else(|| "-".to_owned()),
            is_up: link.up,
            rates: link.can.map_or((None, None), |can| (can.bitrate, can.data_bitrate)),
            received: Received::default(),
            note: None,
        }
    }

    fn is_controller(&self) -> bool {
        self.kind == "can"
    }
}

#[derive(Default)]
struct Received {
    frames: u64,
    ids: BTreeSet<u32>,
    /// True if CAN FD frames were among them.
    has_fd: bool,
}

impl Received {
    fn drain(&mut self, socket: &CanSocket) -> std::io::Result<()> {
        let mut buffer = [0; CANFD_MTU];
        while let Some(len) = socket.read_waiting(&mut buffer)? {
            self.frames += 1;
            self.has_fd |= len == CANFD_MTU;
            self.ids.extend(Frame::from_kernel(&buffer[..len]).map(|frame| frame.id.0));
        }
        Ok(())
    }
}

/// Listens on all interfaces that are up, at the same time.
fn listen_to_all(found: &mut [Found], time: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let up: Vec<_> = found.iter_mut().filter(|one| one.is_up).collect();
    let names: Vec<_> = up.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    render::err(&format!("Listening on {} for {time:?} …\n", names.join(", ")));
    let mut sockets = Vec::new();
    for one in up {
        let socket = CanSocket::open(one.index, &Options::default()).map_err(|error| no_socket(&one.name, &error))?;
        sockets.push((socket, &mut one.received));
    }
    listen(&mut sockets, time, |_| false)?;
    Ok(())
}

fn listen(
    sockets: &mut [(CanSocket, &mut Received)],
    time: Duration,
    is_enough: impl Fn(&Received) -> bool,
) -> std::io::Result<()> {
    let end = Instant::now() + time;
    while Instant::now() < end && !sockets.iter().all(|(_, received)| is_enough(received)) {
        for (socket, received) in sockets.iter_mut() {
            received.drain(socket)?;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Tries bit rates on an interface that is down, in listen-only mode. Leaves it down, with the bit rate that it found or its own.
fn find_bit_rate(client: &mut Client, found: &mut Found, time: Duration) -> Result<(), Box<dyn std::error::Error>> {
    let (name, index) = (&found.name, found.index);
    render::err(&format!("Trying {} bit rates on {name}, listen-only …\n", BIT_RATES.len()));
    if let Err(error) = link::set_can_listen_only(client, index, true) {
        found.note = Some(match error {
            error if error.errno() == Some(Errno::EPERM) => "bit rate not tried: needs root".to_owned(),
            error => format!("bit rate not tried: listen-only mode: {error}"),
        });
        return Ok(());
    }
    // Whatever happens in between, the controller gets its mode back, and its bit rate if none is found.
    let _held = EndingSignals::block()?;
    let tried = try_bit_rates(client, index, time);
    if !matches!(tried, Ok(Some(_)))
        && let (Some(nominal), data) = found.rates
    {
        link::set_can_bitrates(client, index, nominal, data)?;
    }
    link::set_can_listen_only(client, index, false)?;
    match tried? {
        Some((rate, received)) => (found.rates, found.received) = ((Some(rate), None), received),
        None => {
            let note = "no frame at any common bit rate: is the bus connected, and does a node send?";
            found.note = Some(note.to_owned());
        }
    }
    Ok(())
}

/// The first bit rate at which frames arrive.
fn try_bit_rates(
    client: &mut Client,
    index: InterfaceIndex,
    time: Duration,
) -> Result<Option<(BitRate, Received)>, Box<dyn std::error::Error>> {
    for rate in BIT_RATES.into_iter().filter_map(BitRate::from_bits_per_second) {
        match at(client, index, rate, time) {
            // The clock of this controller cannot generate it.
            Err(error) if error.is::<NetlinkError>() => {}
            received => {
                let received = received?;
                if received.frames >= PROOF {
                    return Ok(Some((rate, received)));
                }
            }
        }
    }
    Ok(None)
}

/// The traffic on an interface at this bit rate.
fn at(
    client: &mut Client,
    index: InterfaceIndex,
    rate: BitRate,
    time: Duration,
) -> Result<Received, Box<dyn std::error::Error>> {
    let mut received = Received::default();
    link::set_can_bitrate(client, index, rate)?;
    link::set_up(client, index)?;
    let socket = CanSocket::open(index, &Options::default());
    let listened =
        socket.and_then(|socket| listen(&mut [(socket, &mut received)], time, |received| received.frames >= PROOF));
    link::set_down(client, index)?;
    listened?;
    Ok(received)
}

fn table(found: &[Found]) -> String {
    let mut text = String::new();
    for one in found {
        let rate = match one.rates {
            (Some(rate), Some(data)) => format!("{rate}, data {data}"),
            (Some(rate), None) => rate.to_string(),
            (None, _) if one.is_controller() => "no bit rate".to_owned(),
            (None, _) => "virtual".to_owned(),
        };
        let received = match (&one.note, one.received.frames) {
            (Some(note), _) => note.clone(),
            (None, 0) => "silent".to_owned(),
            (None, frames) => {
                let fd = if one.received.has_fd { ", with CAN FD" } else { "" };
                let frames = plural(usize::try_from(frames).unwrap_or(usize::MAX), "frame");
                let ids = plural(one.received.ids.len(), "identifier");
                format!("{frames}, {ids}{fd}")
            }
        };
        let up = if one.is_up { "up" } else { "down" };
        text += &format!("{:<10}  {:<6}  {up:<4}  {rate:<26}  {received}\n", one.name, one.kind);
    }
    text + "\n"
}

/// A bus for each interface, and routes in both directions between the first two. A single one is joined to a virtual
/// interface: a gateway needs two buses.
fn gateway_file(found: &[Found]) -> String {
    let mut text = "# Made by `candor init`. `candor check` checks it, `candor run` runs it.\n".to_owned();
    for one in found {
        let name = &one.name;
        text += &format!("\n[bus.{name}]\ninterface = \"{name}\"\n");
        let (rate, data) = one.rates;
        text += &rate.map(|rate| format!("bitrate = \"{rate}\"\n")).unwrap_or_default();
        text += &data.map(|rate| format!("data-bitrate = \"{rate}\"\n")).unwrap_or_default();
        let received = &one.received;
        if received.frames > 0 {
            let more = if received.ids.len() > MOST_IDS { ", …" } else { "" };
            let ids: Vec<_> = received.ids.iter().take(MOST_IDS).map(|id| id_text(*id)).collect();
            text += &format!("# {} identifiers received: {}{more}\n", received.ids.len(), ids.join(", "));
        }
    }
    let [first, others @ ..] = found else { return text };
    let (from, to) = (&first.name, others.first().map_or_else(|| virtual_name(first), |second| second.name.clone()));
    if others.is_empty() {
        text += &format!(
            "\n# A gateway needs two buses: programs on {to} see the frames of {from} until a second bus takes this place.\n\
             # sudo ip link add {to} type vcan\n[bus.{to}]\ninterface = \"{to}\"\n"
        );
    }
    text += &format!(
        "\n# Every frame in both directions. match = [\"123\", \"200..2FF\"] forwards only these identifiers.\n\
         [[route]]\nname = \"{from}-{to}\"\nfrom = \"{from}\"\nto = \"{to}\"\nboth-ways = true\n"
    );
    // Programs on a virtual interface see sent frames only so.
    if found.iter().take(2).any(|one| !one.is_controller()) || others.is_empty() {
        text += "echo = true\n";
    }
    text
}

fn virtual_name(other: &Found) -> String {
    if other.name == "vcan0" { "vcan1" } else { "vcan0" }.to_owned()
}

fn id_text(raw: u32) -> String {
    if raw & CAN_EFF_FLAG == 0 { format!("{:03X}", raw & 0x7FF) } else { format!("{:08X}", raw & 0x1FFF_FFFF) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposes_a_valid_file() {
        let received = Received { frames: 40, ids: (0..20).chain([0x9234_5678]).collect(), has_fd: false };
        let found = |name: &str, kind: &str, rates, received| Found {
            name: name.to_owned(),
            index: InterfaceIndex::new(1).unwrap(),
            kind: kind.to_owned(),
            is_up: true,
            rates,
            received,
            note: None,
        };
        let rate = BitRate::from_bits_per_second(500_000);
        let found =
            [found("can0", "can", (rate, None), received), found("vcan0", "vcan", (None, None), Received::default())];
        let both = gateway_file(&found);
        let one = gateway_file(&found[..1]);
        let virtual_one = gateway_file(&found[1..]);
        for text in [&both, &one, &virtual_one] {
            assert!(config::load(text.as_bytes()).is_ok(), "{text}");
        }
        assert!(virtual_one.contains("[bus.vcan1]"), "{virtual_one}");
        insta::assert_snapshot!(both + "\n" + &table(&found) + "\nOf can0 alone:\n" + &one);
    }
}
