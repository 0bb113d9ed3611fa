//! Running a file without an eBPF program that the verifier of this kernel refuses.

use candor_config::plan::{Engine, Plan};

use crate::bpf::BpfError;
use candor_userspace::notice::Notice;

/// Tries until the kernel refuses no program, or until another failure. With the engine `"auto"`, the route of a refused program
/// then runs elsewhere, and `notify` says so.
pub(crate) fn without_refused<T, E>(
    plan: &mut Plan,
    notify: &mut dyn FnMut(Notice),
    program: impl Fn(&Result<T, E>) -> Option<&BpfError>,
    mut attempt: impl FnMut(&Plan, &mut dyn FnMut(Notice)) -> Result<T, E>,
) -> Result<T, E> {
    loop {
        let outcome = attempt(plan, notify);
        let refused = program(&outcome).filter(|_| plan.engine() == Engine::Auto).and_then(BpfError::refused);
        let Some((route, why)) = refused else { return outcome };
        if !plan.refuse_program(route) {
            return outcome;
        }
        notify(Notice::ProgramRefused { route: route.to_owned(), why });
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use candor_config::config;
    use candor_io::bpf::LoadError;

    use super::*;

    fn refused(route: &str, log: &str) -> BpfError {
        let source = LoadError { errno: io::Error::from(io::ErrorKind::PermissionDenied), log: log.to_owned() };
        BpfError::Load { route: route.to_owned(), source }
    }

    fn attempts(engine: &str, log: &str) -> (Result<usize, BpfError>, Vec<String>) {
        let route = |name: &str| {
            format!(
                "[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nframes = \"classic\"\nmatch = \"{name}\"\n"
            )
        };
        let file = format!("engine = \"{engine}\"\n[bus.a]\ninterface = \"a\"\n[bus.b]\ninterface = \"b\"\n");
        let file = file + &route("100") + &route("200") + &route("300");
        let mut plan = config::load(file.as_bytes()).unwrap().plan;
        let (mut notices, mut left) = (Vec::new(), vec!["100", "300"]);
        let mut count = 0;
        let outcome = without_refused(
            &mut plan,
            &mut |notice| notices.push(notice.to_string()),
            |outcome| outcome.as_ref().err(),
            |_plan, _notify| {
                count += 1;
                left.pop().map_or(Ok(count), |route| Err(refused(route, log)))
            },
        );
        (outcome, notices)
    }

    #[test]
    fn each_refused_program_is_left_out_once() {
        let (outcome, notices) = attempts("auto", "R0 !read_ok");
        assert_eq!(outcome.unwrap(), 3);
        assert!(
            notices.len() == 2 && notices[0].contains("\"300\"") && notices[1].contains("R0 !read_ok"),
            "{notices:?}"
        );
    }

    /// Without the verifier, the cause is not the program; and the engine bpf runs all routes or none.
    #[test]
    fn other_failures_are_final() {
        for (engine, log) in [("auto", ""), ("bpf", "R0 !read_ok")] {
            let (outcome, notices) = attempts(engine, log);
            assert!(matches!(outcome, Err(BpfError::Load { .. })) && notices.is_empty(), "{notices:?}");
        }
    }
}
