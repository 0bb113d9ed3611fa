//! An x86-64 processor with Kvaser PCIcan cards.

mod cpu;
mod heap;
mod interrupts;
mod kvaser;
mod output;
mod self_test;
mod shared;

use alloc::format;
use alloc::string::String;
use core::panic::PanicInfo;

use candor_bare::{Counters, Gateway, Own, Parameters, State};
use candor_sja1000::{BitTiming, Sja1000, Wiring};

use kvaser::{Channel, Place};

/// Half of the cards' crystal.
const CLOCK_HZ: u32 = 8_000_000;

/// From `start.s`: 64-bit mode, a stack, interrupts off.
#[unsafe(no_mangle)]
extern "C" fn run() -> ! {
    interrupts::set_up();
    let Some(parameters) = shared::parameters() else { self_test::run() };
    let done = parameters.and_then(|parameters| gateway(&parameters));
    if let Err(error) = done {
        fail(&error);
    }
    interrupts::halt_for_ever()
}

/// Forwards frames until it is asked to stop.
fn gateway(parameters: &Parameters) -> Result<(), String> {
    let places = parameters.cards.map(Place::from);
    let [first, second] = places;
    let cards = [start(first, parameters.bits_per_second)?, start(second, parameters.bits_per_second)?];
    let mut gateway = Gateway::new(cards, &parameters.jobs);
    let lines = parameters.cards.map(|card| card.line);
    lines.iter().for_each(|line| interrupts::route(*line));
    let mut own = Own::NONE;
    shared::publish(State::Running, gateway.counters(), &own);
    while !shared::is_asked_to_stop() {
        interrupts::wait();
        let woken = cpu::ticks();
        gateway.serve(|| own.add(cpu::ticks() - woken));
        interrupts::done();
        shared::publish(State::Running, gateway.counters(), &own);
    }
    lines.iter().for_each(|line| interrupts::mask(*line));
    let counters = *gateway.counters();
    gateway.stop();
    places.iter().for_each(|place| place.interrupts_off());
    shared::publish(State::Stopped, &counters, &own);
    Ok(())
}

/// A running controller at a place.
fn start(place: Place, bits_per_second: u32) -> Result<Sja1000<Channel>, String> {
    let timing =
        BitTiming::of(bits_per_second, CLOCK_HZ).ok_or_else(|| format!("no timing for {bits_per_second} bit/s"))?;
    let channel = place.channel().ok_or_else(|| format!("no Kvaser card at {place}"))?;
    Sja1000::start(channel, timing, Wiring::TRANSCEIVER)
        .map_err(|_silent| format!("the controller at {place} does not answer"))
}

fn fail(text: &str) {
    output::line(text);
    shared::publish(State::Failed, &Counters::default(), &Own::NONE);
    shared::describe(text);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    fail(&format!("{info}"));
    output::exit(output::Exit::Failure)
}
