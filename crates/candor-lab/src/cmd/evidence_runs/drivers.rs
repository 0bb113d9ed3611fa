//! Order of frames through the drivers of the laboratory.

use std::thread;
use std::time::Duration;

use candor_bus::Order;
use candor_config::wire::WireModel;
use candor_core::frame::{Frame, RawId};
use candor_io::packet::TapDirection;
use candor_lab::border::DriverOrder;
use candor_lab::border::count::Counted;
use candor_lab::job::Topology;
use candor_lab::tap::Tap;
use candor_lab::tester as interfaces;
use candor_netlink::client::Client;
use candor_netlink::link;
use candor_wire::Settings;

use super::super::method::{self, Failed};
use super::super::wire::adapters::{Adapters, Kind};
use super::super::wire::virtual_buses::VirtualBuses;
use super::{Failure, traffic};
use crate::cli::BusSpec;

const IDENTIFIERS: [u32; 8] = [0x700, 0x600, 0x500, 0x400, 0x300, 0x200, 0x100, 0x000];
const FRAMES: u32 = 400;
/// More than the buffer of a socket holds.
const QUEUE_FRAMES: u32 = 1000;
const ROOM_AGAIN: Duration = Duration::from_millis(1);
const LOOK: Duration = Duration::from_millis(20);
const LOOKS: u32 = 100;

pub(super) fn measure() -> Result<Vec<DriverOrder>, Failure> {
    let mut all = Vec::new();
    if std::env::var("CANDOR_TOPOLOGY").is_ok_and(|topology| topology == Topology::Kvaser.name()) {
        all.push(order("kvaser_pci", "can0", "can1")?);
        give_names_away()?;
    }
    let name = "driver0".to_owned();
    let created = method::create([&name].into_iter())?;
    all.push(order("vcan", &name, &name)?);
    drop(created);
    for model in [WireModel::GsUsb, WireModel::Ucan] {
        let buses: [BusSpec; 1] = ["driver:1M:driver0,driver1".parse()?];
        let kinds = [Kind::choose(Some(model), None, &buses[0])?];
        let adapters = Adapters::of(&buses, &kinds, &[])?;
        let settings = |_: &BusSpec| Settings { seed: 1, order: Order::Fifo, rates: None };
        let virtual_buses = VirtualBuses::build(&buses, &kinds, &adapters, settings, false)?;
        let measured = order(kinds[0].driver(), &name, "driver1");
        virtual_buses.dismantle()?;
        all.push(measured?);
    }
    Ok(all)
}

/// The cards of the guest have names that gateway files use.
fn give_names_away() -> Result<(), Failure> {
    let mut client = Client::open()?;
    for (number, name) in Topology::Kvaser.interfaces().iter().enumerate() {
        let card = interfaces::find(&mut client, name)?;
        link::set_down(&mut client, card.index)?;
        link::rename(&mut client, card.index, &format!("card{number}"))?;
    }
    Ok(())
}

fn order(driver: &str, send: &str, receive: &str) -> Result<DriverOrder, Failure> {
    let mut client = Client::open()?;
    let link = interfaces::find(&mut client, send)?;
    link::set_tx_queue_len(&mut client, link.index, QUEUE_FRAMES)?;
    let mut tap = Tap::open(&mut client, receive, TapDirection::Incoming, 2 * FRAMES as usize)?;
    let mut arrived = Vec::new();
    method::as_tester(|| {
        let socket = traffic::open(send)?;
        for (number, id) in (0..FRAMES).zip(IDENTIFIERS.iter().cycle()) {
            let frame = Frame::classic(RawId(*id), &number.to_be_bytes())?;
            // The buffer of a socket holds fewer frames than the queue.
            while !traffic::send(&socket, &frame)? {
                thread::sleep(ROOM_AGAIN);
            }
        }
        Ok::<_, Failed>(())
    })?;
    for _ in 0..LOOKS {
        thread::sleep(LOOK);
        tap.read(|seen| {
            let number = seen.frame.payload().first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
            arrived.extend(number.map(|number| (seen.frame.id, number)));
        })?;
        if arrived.len() >= FRAMES as usize {
            break;
        }
    }
    let counted = Counted::of(arrived);
    Ok(DriverOrder {
        driver: driver.to_owned(),
        identifiers: u32::try_from(IDENTIFIERS.len())?,
        sent_frames: FRAMES.into(),
        received_frames: counted.arrived,
        out_of_order_frames: counted.out_of_order,
        out_of_order_between_identifiers_frames: counted.between_identifiers,
        duplicated_frames: counted.duplicated,
    })
}
