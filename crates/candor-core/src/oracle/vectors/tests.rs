//! Vectors that no gateway fails would prove nothing.

use super::*;

/// Takes all jobs, and sends every frame so often to every other interface, as it is.
struct Wrong {
    interfaces: usize,
    sends: usize,
    jobs: Vec<Job>,
}

impl Gateway for Wrong {
    fn add(&mut self, job: &Job) -> Result<(), Errno> {
        self.jobs.push(job.clone());
        Ok(())
    }

    fn delete(&mut self, _job: &Job) -> Result<(), Errno> {
        if self.jobs.is_empty() {
            return Err(Errno::Einval);
        }
        self.jobs.remove(0);
        Ok(())
    }

    fn detach(&mut self, _interface: BusIndex) {}

    fn flush(&mut self) {}

    fn list(&mut self) -> Vec<Expected> {
        let expected = |job: &Job| Expected { way: (job.from, job.to), filter_id: job.filter.id, counted: [0; 3] };
        self.jobs.iter().map(expected).collect()
    }

    fn rename(&mut self, _interface: BusIndex, _name: &str) {
        self.jobs.clear();
    }

    fn send(&mut self, on: BusIndex, frame: &Frame, _loopback: Loopback) -> Vec<(BusIndex, Frame, Option<Timestamp>)> {
        let others = (0..self.interfaces).map(BusIndex).filter(|&to| to != on);
        others.flat_map(|to| std::iter::repeat_n((to, *frame, None), self.sends)).collect()
    }

    fn set(&mut self, _interface: BusIndex, _state: State) {}
}

#[test]
fn wrong_gateways_pass_no_vector() {
    for sends in [0, 2] {
        let passes = |vector: &Vector| {
            vector.run(&mut Wrong { interfaces: vector.interfaces.len(), sends, jobs: Vec::new() }).is_ok()
        };
        let passed: Vec<_> = all().into_iter().filter(passes).map(|vector| vector.name).collect();
        assert_eq!(passed, [""; 0], "each frame {sends} times");
    }
}
