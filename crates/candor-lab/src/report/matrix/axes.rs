//! Which factor goes down, which goes across, and which ones make a map of their own.

use super::Cell;

/// What people compare first.
const GATEWAY: &str = "gateway";
/// What they compare last: repeats differ in nothing that the plan says.
const REPEAT: &str = "repeat";

/// A factor and those of its levels that occur, in the order of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) factor: String,
    pub(super) levels: Vec<String>,
}

/// How cells are laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Axes {
    /// `None`: no factor varies.
    pub(super) rows: Option<Axis>,
    /// `None`: only one factor varies.
    pub(super) columns: Option<Axis>,
    /// The other factors that vary: each combination of their levels is a map.
    pub(super) groups: Vec<Axis>,
    /// Factors that do not vary.
    pub(super) constant: Vec<(String, String)>,
}

/// One map: cells that agree in everything but rows and columns.
#[derive(Debug)]
pub(super) struct Group<'m> {
    /// Factors and levels in which they agree and others do not.
    pub(super) levels: Vec<(&'m str, &'m str)>,
    /// With their places in the matrix.
    pub(super) cells: Vec<(usize, &'m Cell)>,
}

impl Axes {
    /// The two factors with most levels become rows and columns. The gateway wins where it has as many as another, and goes
    /// down; otherwise the longer one does, as pages are long.
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

    /// The maps, in the order in which the plan comes to them.
    pub(super) fn groups<'m>(&self, cells: &'m [Cell]) -> Vec<Group<'m>> {
        grouped(cells, |factor| self.groups.iter().any(|axis| axis.factor == factor))
    }

    /// Cells that agree in all factors but these, in the order in which the plan comes to them. What does not vary is not told.
    pub(super) fn grouped_without<'m>(&self, factors: &[&str], cells: &'m [Cell]) -> Vec<Group<'m>> {
        let varying = || self.rows.iter().chain(&self.columns).chain(&self.groups);
        grouped(cells, |factor| !factors.contains(&factor) && varying().any(|axis| axis.factor == factor))
    }

    /// What tells a cell from the others, rows and columns first.
    pub(super) fn words(&self, cell: &Cell) -> String {
        let axes = self.rows.iter().chain(&self.columns).chain(&self.groups);
        let words: Vec<String> = axes.map(|axis| words(&axis.factor, cell.level(&axis.factor))).collect();
        if words.is_empty() { cell.level(GATEWAY).to_owned() } else { words.join(" · ") }
    }
}

/// Cells that agree in the factors that are told.
fn grouped<'m>(cells: &'m [Cell], is_told: impl Fn(&str) -> bool) -> Vec<Group<'m>> {
    let mut groups: Vec<Group<'m>> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let told = cell.levels.iter().filter(|(factor, _)| is_told(factor));
        let levels: Vec<_> = told.map(|(factor, level)| (factor.as_str(), level.as_str())).collect();
        match groups.iter_mut().find(|group| group.levels == levels) {
            Some(group) => group.cells.push((index, cell)),
            None => groups.push(Group { levels, cells: vec![(index, cell)] }),
        }
    }
    groups
}

impl Group<'_> {
    /// Those levels of an axis that have a cell here.
    pub(super) fn levels_of<'a>(&self, axis: &'a Axis) -> Vec<&'a str> {
        let occurs = |level: &&str| self.cells.iter().any(|(_, cell)| cell.level(&axis.factor) == *level);
        axis.levels.iter().map(String::as_str).filter(occurs).collect()
    }
}

/// A level as it is understood without its factor.
pub(super) fn words(factor: &str, level: &str) -> String {
    match factor {
        "topology" | "testbed" | GATEWAY | "traffic" | "frame" => level.to_owned(),
        "load" if level != "none" => level.to_owned(),
        _ => format!("{factor} {level}"),
    }
}

/// All factors, in the order of the plan.
pub(super) fn factors(cells: &[Cell]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (factor, level) in cells.iter().flat_map(|cell| &cell.levels) {
        let axis = match axes.iter().position(|axis| axis.factor == *factor) {
            Some(known) => &mut axes[known],
            None => {
                axes.push(Axis { factor: factor.clone(), levels: Vec::new() });
                axes.last_mut().expect("one was pushed right before")
            }
        };
        if !axis.levels.contains(level) {
            axis.levels.push(level.clone());
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
    fn the_longest_factors_are_the_axes_and_gateways_go_down() {
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
    fn maps_are_split_by_what_is_left_and_have_no_empty_rows() {
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
