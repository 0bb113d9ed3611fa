//! Counter tables of the text output.

use std::fmt::Write as _;
use std::time::Duration;

use candor_engine::{BusCounters, RouteCounters};

use super::Moment;

pub(super) fn table<'a>(
    rows: impl Iterator<Item = (&'a str, &'a RouteCounters)>,
    elapsed: Duration,
    moment: Moment,
) -> String {
    let title = match moment {
        Moment::Running => format!("after {:.1} s", elapsed.as_secs_f64()),
        Moment::End => format!("at the end, after {:.1} s", elapsed.as_secs_f64()),
    };
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).chain([title.len()]).max().unwrap_or_default();
    let mut text = format!("{title:width$}  {:>12}  {:>12}  {:>12}\n", "handled", "dropped", "deleted");
    for (name, RouteCounters { handled, dropped, deleted, drops, .. }) in rows {
        let _ = write!(text, "{name:width$}  {handled:>12}  {dropped:>12}  {deleted:>12}");
        let reasons = drops.by_reason().into_iter().filter(|(_, frames)| *frames > 0);
        let reasons: Vec<_> = reasons.map(|(reason, frames)| format!("{reason} {frames}")).collect();
        let _ = writeln!(text, "{}{}", if reasons.is_empty() { "" } else { "  dropped: " }, reasons.join(", "));
    }
    text
}

/// Frame accounting of the buses of user space; empty if there are none.
pub(super) fn bus_table(buses: &[BusCounters]) -> String {
    if buses.is_empty() {
        return String::new();
    }
    let width = buses.iter().map(|bus| bus.bus.chars().count()).chain([3]).max().unwrap_or_default();
    let mut text = String::new();
    let columns = ["received", "taken", "unwanted", "lost", "sent", "refused"];
    let _ = write!(text, "{:width$}", "bus");
    for column in columns {
        let _ = write!(text, "  {column:>12}");
    }
    text.push('\n');
    for BusCounters { bus, received, taken, unwanted, lost_in_socket, lost_in_ring, sent, refused, .. } in buses {
        let lost = lost_in_socket + lost_in_ring;
        let _ = write!(text, "{bus:width$}");
        for number in [*received, *taken, *unwanted, lost, *sent, *refused] {
            let _ = write!(text, "  {number:>12}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use candor_engine::Drops;

    use super::*;

    #[test]
    fn the_table_of_buses_lines_up() {
        let left = BusCounters {
            bus: "left".into(),
            received: 120_000,
            taken: 100_000,
            unwanted: 20_000,
            lost_in_socket: 1,
            lost_in_ring: 2,
            ..BusCounters::default()
        };
        let right = BusCounters { bus: "r".into(), sent: 99_990, refused: 10, ..BusCounters::default() };
        insta::assert_snapshot!(bus_table(&[left, right]), @r"
        bus       received         taken      unwanted          lost          sent       refused
        left        120000        100000         20000             3             0             0
        r                0             0             0             0         99990            10
        ");
        assert_eq!(bus_table(&[]), "");
    }

    #[test]
    fn the_table_lines_up() {
        let drops = Drops { full: 4, expired: 2, ..Drops::default() };
        let speed = RouteCounters { handled: 12_345, dropped: 6, drops, ..RouteCounters::default() };
        let rows = [("speed", &speed), ("a route with a long name for the dashboard", &RouteCounters::default())];
        insta::assert_snapshot!(table(rows.into_iter(), Duration::from_millis(1500), Moment::End), @r"
        at the end, after 1.5 s                          handled       dropped       deleted
        speed                                              12345             6             0  dropped: full 4, expired 2
        a route with a long name for the dashboard             0             0             0
        ");
    }
}
