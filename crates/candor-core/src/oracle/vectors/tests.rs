use super::*;
use crate::job::Echo;
use crate::ruleset::{Routed, RuleSet};

#[test]
fn oracle_passes_all_vectors() {
    let failed = all().into_iter().filter_map(|vector| vector.run(&mut vector.world()).err());
    assert_eq!(failed.map(|error| error.to_string()).collect::<Vec<_>>(), [""; 0]);
}

/// Vectors with jobs from interface 0 to others, on code that does not simulate a machine.
#[test]
fn engines_pass_the_vectors_of_one_hop() {
    let is_of_one_hop = |event: &Event| match event {
        Event::Add { job, answer } | Event::Delete { job, answer } => {
            let has_one_hop = job.from == BusIndex(0) && job.to != BusIndex(0);
            answer.is_ok() && has_one_hop && job.echo == Echo::On && job.uid.is_none()
        }
        Event::Send { loopback, .. } => *loopback == Loopback::On,
        Event::List(_) => true,
        Event::Detach(_) | Event::Flush | Event::Rename(..) | Event::Set(..) => false,
    };
    let is_vcan = |interface: &Interface| *interface == Interface::vcan(&interface.name);
    let is_simple = |vector: &Vector| vector.interfaces.iter().all(is_vcan) && vector.events.iter().all(is_of_one_hop);
    let mut count = 0;
    for vector in all().into_iter().filter(is_simple) {
        let mut jobs: Vec<Job> = Vec::new();
        for event in &vector.events {
            match event {
                Event::Add { job, .. } => jobs.insert(0, job.clone()),
                Event::Delete { job, .. } => jobs.retain(|other| other != job),
                Event::Send { on, frame, sees, .. } => {
                    let mut sent = Vec::new();
                    RuleSet::compile(&jobs, vector.interfaces.len()).from_bus(*on).outcomes(frame, |_, routed| {
                        if let Routed::Send { to, frame } = routed {
                            sent.push((to, *frame));
                        }
                    });
                    let expected = vector.by_interface(sees, None);
                    let delivered =
                        super::super::deliver(&jobs, *on, frame).into_iter().map(|sent| (sent.to, sent.frame));
                    let delivered = vector.by_interface(&delivered.collect::<Vec<_>>(), None);
                    assert_eq!(delivered, expected, "{}, oracle", vector.name);
                    assert_eq!(vector.by_interface(&sent, None), expected, "{}, rule set", vector.name);
                    let takes = |job: &&Job| job.takes(frame) && job.filter.normalise().matches(frame.id);
                    if let [job] = &jobs.iter().filter(takes).collect::<Vec<_>>()[..] {
                        let (frame, verdict) = job.apply(frame);
                        let sent = (verdict == crate::rule::Verdict::Send).then_some((job.to, frame));
                        assert_eq!(vector.by_interface(sent.as_slice(), None), expected, "{}, job", vector.name);
                    }
                }
                _ => {}
            }
        }
        count += 1;
    }
    assert!(count >= 50, "{count}");
}

/// Takes all jobs, and sends every frame `sends` times to every other interface, unchanged.
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

/// Vectors that every gateway passes would prove nothing.
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
