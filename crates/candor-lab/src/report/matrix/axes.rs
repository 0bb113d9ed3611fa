//! Layout of the cells: factors for rows, columns and separate maps.

use super::Cell;

pub(super) const KERNEL: &str = "kernel";

/// Name of the factor that is compared first.
pub(super) const GATEWAY: &str = "gateway";
/// Compared last: repeats do not differ in the plan.
const REPEAT: &str = "repeat";

/// A factor and the levels that occur, in the order of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) factor: String,
    pub(super) levels: Vec<String>,
}

/// Layout of the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Axes {
    /// `None`: no factor varies.
    pub(super) rows: Option<Axis>,
    /// `None`: only one factor varies.
    pub(super) columns: Option<Axis>,
    /// Other varying factors: each combination of their levels is a map.
    pub(super) groups: Vec<Axis>,
    /// Factors that do not vary.
    pub(super) constant: Vec<(String, String)>,
}

/// A map: cells that differ only in rows and columns.
#[derive(Debug)]
pub(super) struct Group<'m> {
    /// Common factors and levels.
    pub(super) levels: Vec<(&'m str, &'m str)>,
    /// With their index in the matrix.
    pub(super) cells: Vec<(usize, &'m Cell)>,
}

impl Axes {
    /// The two factors with the most levels become rows and columns. In a tie the gateway wins, and goes down;
    /// otherwise the longer factor does.
    pub(super) fn of(cells: &[Cell]) -> Self {
        let (mut varying, constant): (Vec<Axis>, Vec<Axis>) =
            factors(cells).into_iter().partition(|axis| axis.levels.len() > 1);
        let constant = constant.into_iter().filter_map(|axis| Some((axis.factor, axis.levels.into_iter().next()?)));
        let mut axes = Self { constant: constant.collect(), ..Self::default() };
        let mut take_longest = || {
            let rank = |axis: &Axis| (axis.factor != REPEAT, axis.levels.len(), axis.factor == GATEWAY);
            let best = varying.iter().map(rank).max()?;
            Some(varying.remove(varying.iter().position(|axis| rank(axis) == best)?))
        };
        (axes.rows, axes.columns) = (take_longest(), take_longest());
        if axes.columns.as_ref().is_some_and(|axis| axis.factor == GATEWAY) {
            std::mem::swap(&mut axes.rows, &mut axes.columns);
        }
        axes.groups = varying;
        axes
    }

    /// In the order of the plan.
    pub(super) fn groups<'m>(&self, cells: &'m [Cell]) -> Vec<Group<'m>> {
        grouped(cells, |factor| self.groups.iter().any(|axis| axis.factor == factor))
    }

    /// Cells that agree in all factors but these, in the order of the plan. Constant factors are omitted.
    pub(super) fn grouped_without<'m>(&self, factors: &[&str], cells: &'m [Cell]) -> Vec<Group<'m>> {
        let varying = || self.rows.iter().chain(&self.columns).chain(&self.groups);
        grouped(cells, |factor| !factors.contains(&factor) && varying().any(|axis| axis.factor == factor))
    }

    /// Identifies a cell, rows and columns first.
    pub(super) fn words(&self, cell: &Cell) -> String {
        let axes = self.rows.iter().chain(&self.columns).chain(&self.groups);
        let words: Vec<String> = axes.map(|axis| words(&axis.factor, cell.level(&axis.factor))).collect();
        if words.is_empty() { cell.level(GATEWAY).to_owned() } else { words.join(" · ") }
    }
}

/// Cells that agree in these factors.
fn grouped<'m>(cells: &'m [Cell], is_shown: impl Fn(&str) -> bool) -> Vec<Group<'m>> {
    let mut groups: Vec<Group<'m>> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let shown = cell.levels.iter().filter(|(factor, _)| is_shown(factor));
        let levels: Vec<_> = shown.map(|(factor, level)| (factor.as_str(), level.as_str())).collect();
        match groups.iter_mut().find(|group| group.levels == levels) {
            Some(group) => group.cells.push((index, cell)),
            None => groups.push(Group { levels, cells: vec![(index, cell)] }),
        }
    }
    groups
}

impl Group<'_> {
    /// Levels of an axis that occur here.
    pub(super) fn levels_of<'a>(&self, axis: &'a Axis) -> Vec<&'a str> {
        let occurs = |level: &&str| self.cells.iter().any(|(_, cell)| cell.level(&axis.factor) == *level);
        axis.levels.iter().map(String::as_str).filter(occurs).collect()
    }
}

/// A level, with its factor if it is unclear without.
pub(super) fn words(factor: &str, level: &str) -> String {
    match factor {
        "topology" | "testbed" | GATEWAY | "traffic" | "frame" => level.to_owned(),
        "load" if level != "none" => level.to_owned(),
        _ => format!("{factor} {level}"),
    }
}

/// In the order of the plan.
pub(super) fn factors(cells: &[Cell]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (factor, level) in cells.iter().flat_map(|cell| &cell.levels) {
        match axes.iter_mut().find(|axis| axis.factor == *factor) {
            Some(axis) if axis.levels.contains(level) => {}
            Some(axis) => axis.levels.push(level.clone()),
            None => axes.push(Axis { factor: factor.clone(), levels: vec![level.clone()] }),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::super::tests::crossed;
    use super::*;

    fn chosen(factors: &[(&str, &[&str])]) -> (Option<String>, Option<String>, Vec<String>) {
        let axes = Axes::of(&crossed(factors));
        let name = |axis: Axis| axis.factor;
        (axes.rows.map(name), axes.columns.map(name), axes.groups.into_iter().map(name).collect())
    }

    fn named(rows: &str, columns: &str, groups: &[&str]) -> (Option<String>, Option<String>, Vec<String>) {
        let some = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        (some(rows), some(columns), groups.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn longest_factors_are_the_axes_and_gateways_go_down() {
        let load: (&str, &[&str]) = ("load", &["none", "cpu", "memory"]);
        let two: &[&str] = &["a", "b"];
        assert_eq!(
            chosen(&[("topology", two), ("gateway", two), load, ("kernel", &["one"])]),
            named("gateway", "load", &["topology"])
        );
        let rules: (&str, &[&str]) = ("rules", &["1", "2", "3", "4"]);
        assert_eq!(chosen(&[("gateway", two), rules, load]), named("rules", "load", &["gateway"]));
        assert_eq!(chosen(&[("gateway", two), ("repeat", &["1", "2", "3"])]), named("gateway", "repeat", &[]));
    }

    #[test]
    fn few_factors_make_a_list_or_a_single_cell() {
        assert_eq!(chosen(&[("load", &["a", "b"])]), named("load", "", &[]));
        assert_eq!(chosen(&[("load", &["a"])]), named("", "", &[]));
        assert_eq!(Axes::of(&[]), Axes::default());
    }

    #[test]
    fn other_factors_split_maps_without_empty_rows() {
        let mut cells = crossed(&[("topology", &["t", "u"]), ("gateway", &["a", "b"]), ("load", &["x", "y", "z"])]);
        cells.retain(|cell| cell.level("topology") == "t" || cell.level("gateway") == "a");
        let axes = Axes::of(&cells);
        let groups = axes.groups(&cells);
        let levels: Vec<_> = groups.iter().map(|group| group.levels.clone()).collect();
        assert_eq!(levels, [[("topology", "t")], [("topology", "u")]]);
        assert_eq!(groups[1].levels_of(axes.rows.as_ref().unwrap()), ["a"]);
        assert_eq!(axes.words(&cells[0]), "a · x · t");
    }
}
