//! Kernels in their order, and what the last one made slower.

use candor_lab::kernel::is_path;

use super::is_real_time;

/// All values of a kernel, in the order of the plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) kernel: String,
    pub(super) version: String,
    /// Medians; `None` if it was not measured.
    pub(super) instructions: Vec<Option<u64>>,
}

/// The plain kernels, or the real-time ones, or all if one of them is the user's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// In the order of the kernels; not empty.
    pub(super) points: Vec<Point>,
}

impl Line {
    pub(super) fn all(points: Vec<Point>) -> Vec<Self> {
        if points.iter().any(|point| is_path(&point.kernel)) {
            return vec![Self { points }];
        }
        let (real_time, plain): (Vec<_>, Vec<_>) = points.into_iter().partition(|point| is_real_time(&point.kernel));
        [plain, real_time].into_iter().filter(|points| !points.is_empty()).map(|points| Self { points }).collect()
    }

    pub(super) fn is_real_time(&self) -> bool {
        self.points.iter().all(|point| is_real_time(&point.kernel))
    }

    /// A row's value on the kernel at this position, as a multiple of that on the first.
    pub(super) fn ratio(&self, row: usize, at: usize) -> Option<f64> {
        Some(self.points[at].instructions[row]? as f64 / self.points[0].instructions[row]? as f64)
    }

    /// The last kernel, and the one before it.
    pub(super) fn last(&self) -> Option<[&Point; 2]> {
        let [.., before, last] = &self.points[..] else { return None };
        Some([last, before])
    }
}

/// True if a line of these kernels has two of them.
pub(super) fn has_pair<'a>(kernels: impl Iterator<Item = &'a str>) -> bool {
    let point = |kernel: &str| Point { kernel: kernel.to_owned(), version: String::new(), instructions: Vec::new() };
    Line::all(kernels.map(point).collect()).iter().any(|line| line.last().is_some())
}

/// A measurement that is slower on the last kernel than allowed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slower<'a> {
    pub(super) name: &'a str,
    /// The last kernel, and the one before it.
    pub(super) kernels: [&'a str; 2],
    pub(super) instructions: [u64; 2],
}

impl Slower<'_> {
    /// How much slower, as a share.
    pub(super) fn by(&self) -> f64 {
        let [now, then] = self.instructions;
        (now as f64 - then as f64) / then as f64
    }
}

/// What the last kernel of each line does more slowly than the one before it, by more than this share.
pub(super) fn slower<'a>(names: &[&'a str], lines: &'a [Line], share: f64) -> Vec<Slower<'a>> {
    let of_pair = |[last, before]: [&'a Point; 2]| {
        let rows = names.iter().zip(last.instructions.iter().zip(&before.instructions));
        let slower = rows.filter_map(move |(name, (now, then))| {
            let kernels = [last.kernel.as_str(), before.kernel.as_str()];
            let slower = Slower { name, kernels, instructions: [(*now)?, (*then)?] };
            (slower.by() > share).then_some(slower)
        });
        slower.collect::<Vec<_>>()
    };
    lines.iter().filter_map(Line::last).flat_map(of_pair).collect()
}

/// A measurement that cannot be compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NotCompared<'a> {
    pub(super) name: &'a str,
    /// Where it was not measured: the last kernel, or the one before it.
    pub(super) kernel: &'a str,
}

/// What is missing on the last kernel of each line, or on the one before it.
pub(super) fn not_compared<'a>(names: &[&'a str], lines: &'a [Line]) -> Vec<NotCompared<'a>> {
    let on = |point: &'a Point| {
        let rows = names.iter().zip(&point.instructions).filter(|(_, count)| count.is_none());
        rows.map(|(name, _)| NotCompared { name, kernel: &point.kernel }).collect::<Vec<_>>()
    };
    lines.iter().filter_map(Line::last).flatten().flat_map(on).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn point(kernel: &str, instructions: [u64; 2]) -> Point {
        // 0: not measured.
        let value = |count: u64| (count > 0).then_some(count);
        let instructions = instructions.map(value).to_vec();
        Point { kernel: kernel.to_owned(), version: format!("{kernel}.1-1"), instructions }
    }

    #[test]
    fn real_time_kernels_are_a_line_of_their_own() {
        let points = ["a", "a-rt", "b", "b-rt"].map(|kernel| point(kernel, [1, 1]));
        let lines = Line::all(points.to_vec());
        let kernels = |line: &Line| line.points.iter().map(|point| point.kernel.clone()).collect::<Vec<_>>();
        assert_eq!(lines.iter().map(kernels).collect::<Vec<_>>(), [["a", "b"], ["a-rt", "b-rt"]]);
        assert_eq!([lines[0].is_real_time(), lines[1].is_real_time()], [false, true]);
        assert_eq!(Line::all(points[..1].to_vec()).len(), 1);
        // The user's kernel may be either.
        let own = ["a-rt", "../linux-rt"];
        assert_eq!(Line::all(own.map(|kernel| point(kernel, [1, 1])).to_vec()).len(), 1);
        let has_pair = |kernels: &[&str]| has_pair(kernels.iter().copied());
        assert_eq!([&["a", "a-rt"][..], &["a", "b"], &own].map(has_pair), [false, true, true]);
    }

    #[test]
    fn gate_compares_the_last_kernel_with_the_one_before() {
        let names = ["x", "y"];
        let slower = |points: &[Point], share| -> Vec<String> {
            let lines = Line::all(points.to_vec());
            let text = |one: &Slower<'_>| format!("{} on {}: {:.2}", one.name, one.kernels[0], one.by());
            slower(&names, &lines, share).iter().map(text).collect()
        };
        // What an earlier kernel made slower is not the last one's.
        let points = [point("a", [100, 100]), point("b", [200, 100]), point("c", [203, 102])];
        assert_eq!(slower(&points, 0.01), ["x on c: 0.01", "y on c: 0.02"]);
        assert!(slower(&points, 0.02).is_empty(), "exactly 2 % is not above 2 %");
        assert_eq!(slower(&points[..2], 0.02), ["x on b: 1.00"]);
        assert!(slower(&points[..1], 0.02).is_empty());
        let real_time = [point("a", [100, 100]), point("a-rt", [100, 0]), point("b-rt", [110, 100])];
        assert_eq!(slower(&real_time, 0.02), ["x on b-rt: 0.10"]);
        let lines = Line::all(real_time.to_vec());
        assert_eq!(not_compared(&names, &lines), [NotCompared { name: "y", kernel: "a-rt" }]);
        // An earlier kernel is not compared.
        let points = [point("a", [0, 0]), point("b", [1, 1]), point("c", [1, 1])];
        assert!(not_compared(&names, &Line::all(points.to_vec())).is_empty());
    }
}
