use super::*;
use crate::config;

/// Two buses and these routes, each a line of the form `FROM TO KEYS`.
fn plan(engine: &str, routes: &[&str]) -> Plan {
    let mut file = format!("engine = \"{engine}\"\n");
    for bus in ["a", "b", "c"] {
        file += &format!("[bus.{bus}]\ninterface = \"vcan-{bus}\"\n");
    }
    for (index, route) in routes.iter().enumerate() {
        let mut words = route.splitn(3, ' ');
        let (from, to) = (words.next().unwrap(), words.next().unwrap());
        let keys = words.next().unwrap_or_default().replace("; ", "\n");
        file += &format!("[[route]]\nname = \"r{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n");
    }
    config::load(file.as_bytes()).unwrap_or_else(|findings| panic!("{findings:#?}\n{file}")).plan
}

/// Makes one route look at data bytes.
fn with_payload(mut plan: Plan, route: usize) -> Plan {
    let mut mask = [0; 64];
    mask[0] = 0xFF;
    plan.routes[route].payload.push(crate::payload::PayloadPattern { mask, value: [0; 64] });
    plan
}

fn reasons(plan: &Plan) -> Vec<Option<Because>> {
    Placement::of(plan, KernelAbilities::EVERY).unwrap().routes
}

#[test]
fn what_can_gw_can_express_is_in_the_kernel() {
    let plan = with_payload(plan("auto", &["a b", "a c"]), 1);
    assert_eq!(reasons(&plan), [None, Some(Because::Payload)]);
    assert_eq!(reasons(&plan.with_engine(Engine::ReadWrite)), [Some(Because::Chosen); 2]);
}

#[test]
fn routes_that_meet_with_echo_stay_together() {
    let alone = with_payload(plan("auto", &["a b echo = true", "b a"]), 1);
    assert_eq!(reasons(&alone), [Some(Because::Meets(RouteIndex(1))), Some(Because::Payload)]);
    let silent = with_payload(plan("auto", &["a b", "b a"]), 1);
    assert_eq!(reasons(&silent), [None, Some(Because::Payload)]);
    let chain = with_payload(plan("auto", &["a b echo = true", "b c echo = true", "c a"]), 2);
    assert_eq!(
        reasons(&chain),
        [Some(Because::Meets(RouteIndex(1))), Some(Because::Meets(RouteIndex(2))), Some(Because::Payload)]
    );
}

#[test]
fn a_route_that_no_side_can_run_is_refused() {
    let plan = with_payload(plan("auto", &["a b keep-timestamp = true"]), 0);
    let refused = Placement::of(&plan, KernelAbilities::EVERY).unwrap_err();
    assert_eq!((refused.kernel, refused.user), (Because::Payload, Some(KernelOnly::Timestamp)));
    let refused = Placement::of(&plan.with_engine(Engine::Kernel), KernelAbilities::EVERY).unwrap_err();
    assert_eq!((refused.kernel, refused.user), (Because::Payload, None));
}

#[test]
fn a_relative_crc8_depends_on_the_kernel() {
    let keys = "set = { id = \"1\" }; checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }";
    let plan = plan("auto", &[&format!("a b {keys}")]);
    assert_eq!(reasons(&plan), [Some(Because::RelativeCrc8)]);
    let fixed = Placement::of(&plan, KernelAbilities { relative_crc8: true, ..KernelAbilities::EVERY }).unwrap();
    assert_eq!(fixed.side(RouteIndex(0)), Side::Kernel);
}

#[test]
fn what_this_kernel_lacks_is_in_user_space() {
    let plan = with_payload(plan("auto", &["a b", "a b frames = \"classic\"", "b c"]), 2);
    let of = |kernel| Placement::of(&plan, kernel).unwrap().routes;
    let old = KernelAbilities { fd_jobs: false, ..KernelAbilities::EVERY };
    assert_eq!(of(old), [Some(Because::FdJobs), None, Some(Because::Payload)]);
    for missing in [Missing::Module, Missing::Privilege] {
        let because = Some(Because::Missing(missing));
        let without = KernelAbilities { missing: Some(missing), ..KernelAbilities::EVERY };
        assert_eq!(of(without), [because, because, Some(Because::Payload)]);
    }
}

#[test]
fn hops_beyond_those_of_the_module_are_refused_with_both_reasons() {
    let plan = plan("auto", &["a b hop-limit = 1", "b c hop-limit = 3"]);
    let module = |max_hops| Placement::of(&plan, KernelAbilities { max_hops, ..KernelAbilities::EVERY });
    assert_eq!(module(3).unwrap().routes, [None, None]);
    let refused = module(2).unwrap_err();
    let expected = (RouteIndex(1), Because::HopLimit { max_hops: 2 }, Some(KernelOnly::Hops(3)));
    assert_eq!((refused.route, refused.kernel, refused.user), expected);
}
