//! Counter tables of the text output.

use std::fmt::Display;
use std::time::Duration;

use candor_engine::{BusCounters, Drops, FrameCounters, RouteCounters};

use super::Moment;
use crate::cmd::{self, table::cells};

/// Width of the longest title, after 11 days, so that columns stay in place while the time grows.
const TITLE_WIDTH: usize = "at the end, after 999999.9 s".len();

pub(super) fn table<'a>(
    routes: impl Iterator<Item = (&'a str, &'a RouteCounters)>,
    frames: impl Iterator<Item = (&'a str, &'a FrameCounters)>,
    elapsed: Duration,
    moment: Moment,
) -> String {
    let title = match moment {
        Moment::Running => format!("after {:.1} s", elapsed.as_secs_f64()),
        Moment::End => format!("at the end, after {:.1} s", elapsed.as_secs_f64()),
    };
    let row = |name: &str, numbers: [u64; 3], drops: &Drops| {
        let reasons = drops.by_reason().into_iter().filter(|(_, frames)| *frames > 0);
        let reasons: Vec<_> = reasons.map(|(reason, frames)| format!("{reason} {frames}")).collect();
        let dropped = if reasons.is_empty() { String::new() } else { format!("dropped: {}", reasons.join(", ")) };
        [vec![name.to_owned()], numbers.map(wide).into(), vec![dropped]].concat()
    };
    let routes =
        routes.map(|(name, counted)| row(name, [counted.handled, counted.dropped, counted.deleted], &counted.drops));
    let frames = frames.map(|(name, counted)| row(name, [counted.sent, counted.drops.total(), 0], &counted.drops));
    let titles = ["handled", "dropped", "deleted"].map(wide);
    let titles = [vec![format!("{title:TITLE_WIDTH$}")], titles.into(), cells([""])].concat();
    let rows: Vec<_> = [titles].into_iter().chain(routes).chain(frames).collect();
    cmd::table::table(&rows, 1..4)
}

/// Frame accounting of the buses of user space; empty if there are none.
pub(super) fn bus_table(buses: &[BusCounters]) -> String {
    if buses.is_empty() {
        return String::new();
    }
    let row = |counted: &BusCounters| {
        let BusCounters { received, taken, unwanted, lost_in_socket, lost_in_ring, sent, refused, .. } = *counted;
        let numbers = [received, taken, unwanted, lost_in_socket + lost_in_ring, sent, refused].map(wide);
        [vec![counted.bus.clone()], numbers.into()].concat()
    };
    let titles = ["received", "taken", "unwanted", "lost", "sent", "refused"].map(wide);
    let titles = [cells(["bus"]), titles.into()].concat();
    let rows: Vec<_> = [titles].into_iter().chain(buses.iter().map(row)).collect();
    cmd::table::table(&rows, 1..7)
}

/// Wide enough that the columns of periodic tables stay in place.
fn wide(text: impl Display) -> String {
    format!("{text:>12}")
}

#[cfg(test)]
mod tests {
    use candor_engine::Drops;

    use super::*;

    #[test]
    fn aligns_the_columns_of_buses() {
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
    fn aligns_the_columns_of_routes() {
        let drops = Drops { full: 4, expired: 2, ..Drops::default() };
        let speed = RouteCounters { handled: 12_345, dropped: 6, drops, ..RouteCounters::default() };
        let rows = [("speed", &speed), ("a route with a long name for the dashboard", &RouteCounters::default())];
        let frame = FrameCounters { received: 9, sent: 7, ..FrameCounters::default() };
        let frames = || [("Dashboard", &frame)].into_iter();
        insta::assert_snapshot!(table(rows.into_iter(), frames(), Duration::from_millis(1500), Moment::End), @r"
        at the end, after 1.5 s                          handled       dropped       deleted
        speed                                              12345             6             0  dropped: full 4, expired 2
        a route with a long name for the dashboard             0             0             0
        Dashboard                                              7             0             0
        ");
        let after = |seconds| table([rows[0]].into_iter(), frames(), Duration::from_secs(seconds), Moment::End);
        let speed = |text: String| text.lines().nth(1).unwrap().to_owned();
        assert_eq!(speed(after(9)), speed(after(999_999)));
    }
}
