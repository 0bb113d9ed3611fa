//! Arguments of `candor bounds`.

use std::path::PathBuf;

use candor_cli::assumed::AssumedArgs;
use clap::Args;

/// Compute how late each message can be, on its bus and through the gateway.
///
/// The traffic is that of the traffic tables of a gateway file, and messages with a cycle time of its databases. Frames that
/// routes forward are sent by the queue of [egress.BUS]. Each bus needs its bitrate. Computes only, and needs no privilege and no
/// CAN. docs/bounds.md says what the bounds assume.
///
/// Exit status: 0 all deadlines hold, 1 a deadline can be missed or the gateway file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor bounds car.toml --latency 200us
  candor bounds car.toml --latency 180us --quantile 0.999 --controller 3
  candor bounds car.toml --latency 200us --propose
  candor bounds car.toml --latency 200us --faults 30/s
  candor bounds car.toml --latency 200us --errors 1 --json
  candor learn traffic drive.log --gateway car.toml >> car.toml")]
pub(crate) struct BoundsArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) assumed: AssumedArgs,
    /// Also compute the growth of traffic, the bit rates and the latency that still hold.
    #[arg(long)]
    pub(crate) limits: bool,
    /// Propose bands for the queues of this machine, and other identifiers for buses whose deadlines do not hold.
    #[arg(long)]
    pub(crate) propose: bool,
    /// Faults that destroy a frame, on each bus, at random: also the probability that a frame of a message misses its deadline.
    #[arg(long, value_name = "NUMBER/s|NUMBER/ms", value_parser = fault_rate)]
    pub(crate) faults: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Per second.
fn fault_rate(text: &str) -> Result<f64, String> {
    let help = || "write a number and its unit, such as 0.03/ms, 30/s, 5/min or 1/h".to_owned();
    let (number, unit) = text.split_once('/').ok_or_else(help)?;
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(help()),
    };
    let number: f64 = number.trim().parse().map_err(|_not| help())?;
    let rate = number / seconds;
    if rate.is_finite() && (0.0..=1e9).contains(&rate) { Ok(rate) } else { Err(help()) }
}

#[cfg(test)]
mod tests {
    use super::fault_rate;

    #[test]
    fn fault_rates_have_units() {
        let near = |text: &str, rate: f64| fault_rate(text).is_ok_and(|found| (found - rate).abs() < 1e-9);
        assert!(near("0.03/ms", 30.0) && near("30/s", 30.0) && near("6/min", 0.1) && near("0/s", 0.0));
        assert!(["30", "30/d", "-1/s", "x/s", "inf/s", "/s"].iter().all(|text| fault_rate(text).is_err()));
    }
}
