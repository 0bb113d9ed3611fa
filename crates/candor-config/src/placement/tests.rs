use super::*;
use crate::plan::UserEngine;
use crate::testing::{loaded, pattern};

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
    loaded(&file)
}

/// Adds a payload pattern to one route.
fn with_payload(mut plan: Plan, route: usize) -> Plan {
    plan.routes[route].payload.push(pattern(0, 0xFF, 0));
    plan
}

fn in_user_space(placement: &Placement) -> Vec<Option<Because>> {
    (0..placement.routes.len()).map(|route| placement.because(RouteIndex(route))).collect()
}

fn reasons(plan: &Plan) -> Vec<Option<Because>> {
    in_user_space(&Placement::of(plan, KernelAbilities::EVERY).unwrap())
}

#[test]
fn routes_that_can_gw_supports_are_in_the_kernel() {
    let plan = with_payload(plan("auto", &["a b", "a c"]), 1);
    assert_eq!(reasons(&plan), [None, Some(Because::Payload)]);
    assert_eq!(reasons(&plan.with_engine(Engine::User(UserEngine::PLAINEST))), [Some(Because::Chosen); 2]);
}

#[test]
fn routes_linked_by_echo_stay_together() {
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
fn rejects_a_route_that_no_side_supports() {
    let plan = with_payload(plan("auto", &["a b keep-timestamp = true"]), 0);
    let refused = Placement::of(&plan, KernelAbilities::EVERY).unwrap_err();
    assert_eq!((refused.kernel, refused.user), (Because::Payload, Some(KernelOnly::Timestamp)));
    let refused = Placement::of(&plan.with_engine(Engine::Kernel), KernelAbilities::EVERY).unwrap_err();
    assert_eq!((refused.kernel, refused.user), (Because::Payload, None));
}

#[test]
fn reports_all_conflicts() {
    let sound = plan("auto", &["a b", "c b echo = true", "a b echo = true", "c b", "b c keep-timestamp = true"]);
    let plan = (0..5).fold(sound, with_payload);
    let found = Placement::conflicts(&plan, KernelAbilities::EVERY);
    let said: Vec<_> = found.iter().map(|unplaceable| (unplaceable.route.0, unplaceable.user.unwrap())).collect();
    let differs = KernelOnly::EchoDiffers(RouteIndex(0));
    assert_eq!(said, [(1, differs), (2, differs), (4, KernelOnly::Timestamp)]);
    assert_eq!(Placement::of(&plan, KernelAbilities::EVERY).unwrap_err(), found[0]);
}

#[test]
fn relative_crc8_depends_on_the_kernel() {
    let keys = "set = { id = \"1\" }; checksum-crc8 = { from = 0, to = -2, result = -1, polynomial = \"1D\" }";
    let plan = plan("auto", &[&format!("a b {keys}")]);
    assert_eq!(reasons(&plan), [Some(Because::RelativeCrc8)]);
    let fixed = Placement::of(&plan, KernelAbilities::NEWEST).unwrap();
    assert_eq!(fixed.side(RouteIndex(0)), Side::Kernel);
}

#[test]
fn routes_that_this_kernel_lacks_are_in_user_space() {
    let plan = with_payload(plan("auto", &["a b", "a b frames = \"classic\"", "b c"]), 2);
    let of = |kernel| in_user_space(&Placement::of(&plan, kernel).unwrap());
    let old = KernelAbilities { fd_jobs: false, ..KernelAbilities::EVERY };
    assert_eq!(of(old), [Some(Because::FdJobs), None, Some(Because::Payload)]);
    for missing in [Missing::Module, Missing::Privilege] {
        let because = Some(Because::Missing(missing));
        let without = KernelAbilities { missing: Some(missing), ..KernelAbilities::EVERY };
        assert_eq!(of(without), [because, because, Some(Because::Payload)]);
    }
}

#[test]
fn rejects_more_hops_than_the_module_with_both_reasons() {
    let plan = plan("auto", &["a b hop-limit = 1", "b c hop-limit = 3"]);
    let module = |max_hops| Placement::of(&plan, KernelAbilities { max_hops, ..KernelAbilities::EVERY });
    assert_eq!(in_user_space(&module(3).unwrap()), [None, None]);
    let refused = module(2).unwrap_err();
    let expected = (RouteIndex(1), Because::HopLimit { max_hops: 2 }, Some(KernelOnly::Hops(3)));
    assert_eq!((refused.route, refused.kernel, refused.user), expected);
}

/// `count` routes between `a` and `b` with these filters, then others.
fn crowd(count: usize, filter: impl Fn(usize) -> String, others: &[&str]) -> Plan {
    let crowd: Vec<String> =
        (0..count).map(|at| format!("a b frames = \"classic\"; match = \"{}\"", filter(at))).collect();
    plan("auto", &[&crowd.iter().map(String::as_str).collect::<Vec<_>>()[..], others].concat())
}

fn masked(at: usize) -> String {
    format!("{:08X}:9FFFFF00", at << 8)
}

#[test]
fn counts_walked_filters_of_all_routes_of_a_bus() {
    let others = [
        "a c match = \"123\"",
        "b c match = \"00000000:9FFFFF00\"",
        "a c frames = \"classic\"; match = \"123~C00007FF\"",
    ];
    let few = reasons(&crowd(MAX_WALKED_FILTERS - 1, masked, &others));
    assert_eq!(few.iter().flatten().count(), 0, "the limit");
    let many = reasons(&crowd(MAX_WALKED_FILTERS, masked, &others));
    let walks = Some(Because::Walks(MAX_WALKED_FILTERS + 1));
    let (crowd, others) = many.split_at(MAX_WALKED_FILTERS);
    assert!(crowd.iter().all(|because| *because == walks));
    assert_eq!(others, [None, None, walks], "filters that are looked up, or of another bus, stay");
}

#[test]
fn single_identifiers_are_not_walked() {
    let many = crowd(2 * MAX_WALKED_FILTERS, |at| format!("{at:08X}"), &[]);
    assert_eq!(reasons(&many).iter().flatten().count(), 0);
}

#[test]
fn both_formats_walk_a_filter_twice() {
    let both = plan("auto", &["a b match = \"00000000:9FFFFF00\"", "a b frames = \"fd\"; match = \"123\""]);
    assert_eq!(both.routes().iter().map(walked_filters).collect::<Vec<_>>(), [2, 0]);
}

/// Many filters are slow, but not an error.
#[test]
fn kernel_only_routes_stay_in_the_kernel_with_many_filters() {
    let keeping =
        crowd(MAX_WALKED_FILTERS, masked, &["a b keep-timestamp = true; frames = \"classic\"; match = \"1~7FF\""]);
    let placed = reasons(&keeping);
    assert_eq!(placed.last(), Some(&None));
    assert_eq!(placed[0], Some(Because::Walks(MAX_WALKED_FILTERS + 1)));
    let echo = ["c a echo = true; keep-timestamp = true"];
    assert_eq!(reasons(&crowd(MAX_WALKED_FILTERS + 1, masked, &echo)).iter().flatten().count(), 0, "linked by echo");
}

#[test]
fn reason_of_a_long_walk_has_numbers() {
    let expected = "can-gw would compare each frame of its bus with 2400 filters, one after another; above 985, user space is faster";
    assert_eq!(Because::Walks(2400).to_string(), expected);
}

fn sides(plan: &Plan) -> Vec<Side> {
    let placement = Placement::of(plan, KernelAbilities::NEWEST).unwrap();
    (0..plan.routes().len()).map(|route| placement.side(RouteIndex(route))).collect()
}

#[test]
fn programs_run_what_costs_least_there() {
    let routes = ["a b exclusive = true", "a c", "c b payload = \"01\"", "c b keep-timestamp = true; exclusive = true"];
    let plan = plan("auto", &routes);
    assert_eq!(sides(&plan), [Side::Bpf, Side::Kernel, Side::Bpf, Side::Kernel]);
    let placement = Placement::of(&plan, KernelAbilities::NEWEST).unwrap();
    assert_eq!(placement.in_bpf(RouteIndex(0)), Some(InBpf::Exclusive));
    assert_eq!(placement.in_bpf(RouteIndex(2)), Some(InBpf::Instead(Because::Payload)));
    // Before Linux 7.0.
    assert_eq!(reasons(&plan), [None, None, Some(Because::Payload), None]);
    let walks = crowd(MAX_WALKED_FILTERS + 1, masked, &[]);
    assert!(sides(&walks).iter().all(|side| *side == Side::User), "each is a step, and there are too many");
    let echo = self::plan("auto", &["a b echo = true", "b c exclusive = true"]);
    assert_eq!(sides(&echo), [Side::Kernel; 2], "a program would take echoes for received frames");
}

/// As many exclusive routes as fit, and none of those that would only be faster.
#[test]
fn routes_that_do_not_fit_stay_with_a_reason() {
    let many: Vec<_> = (0..40)
        .map(|id| {
            format!("a b frames = \"classic\"; match = \"{id:03X}\"; exclusive = true; to-id = \"{:03X}\"", id + 0x100)
        })
        .collect();
    let mut routes: Vec<_> = many.iter().map(String::as_str).collect();
    routes.push("b a exclusive = true");
    let plan = plan("auto", &routes);
    let placement = Placement::of(&plan, KernelAbilities::NEWEST).unwrap();
    let sides = sides(&plan);
    assert!(sides[..31].iter().chain([&sides[40]]).all(|side| *side == Side::Bpf), "{sides:?}");
    assert!(sides[31..40].iter().all(|side| *side == Side::Kernel), "{sides:?}");
    let why = placement.not_in_bpf(&plan, RouteIndex(31)).unwrap();
    assert!(why.ends_with("frames of one bus would pass 32 steps, and a program has at most 31"), "{why}");
    assert_eq!(placement.not_in_bpf(&plan, RouteIndex(0)), None);
}

#[test]
fn a_program_that_the_kernel_refuses_is_not_tried_again() {
    let mut plan = plan("auto", &["a b exclusive = true", "a c payload = \"01\"", "b a exclusive = true"]);
    let name = |at: usize| format!("r{at}");
    assert_eq!(sides(&plan), [Side::Bpf; 3]);
    assert!(!plan.refuse_program("unknown"));
    for at in [0, 1] {
        assert!(plan.refuse_program(&name(at)) && !plan.refuse_program(&name(at)));
    }
    assert_eq!(sides(&plan), [Side::Kernel, Side::User, Side::Bpf]);
    let placement = Placement::of(&plan, KernelAbilities::NEWEST).unwrap();
    assert_eq!(placement.not_in_bpf(&plan, RouteIndex(0)).as_deref(), Some("the kernel refused its eBPF program"));
    let refused = Placement::of(&plan.with_engine(Engine::Bpf), KernelAbilities::NEWEST).unwrap_err();
    assert_eq!(refused.kernel, Because::Bpf(NotForBpf::Refused));
}

#[test]
fn the_engine_bpf_names_what_it_cannot_do() {
    let cannot = |routes: &[&str]| {
        let plan = plan("auto", routes).with_engine(Engine::Bpf);
        Placement::of(&plan, KernelAbilities::NEWEST).map(|_| ()).map_err(|refused| refused.kernel)
    };
    assert_eq!(cannot(&["a b", "b a exclusive = true; set = { id = \"1\" }"]), Ok(()));
    for (keys, expected) in [
        ("echo = true", NotForBpf::Echo),
        ("keep-timestamp = true", NotForBpf::Timestamp),
        ("max-age = \"1ms\"", NotForBpf::MaxAge),
        ("when-full = \"drop-oldest\"", NotForBpf::WhenFull),
        ("send-as = \"fd\"", NotForBpf::SendAs(SendAs::Fd { bit_rate_switch: false })),
        ("set = { id = \"1\" }", NotForBpf::ChangedFd),
    ] {
        assert_eq!(cannot(&[&format!("a b {keys}")]), Err(Because::Bpf(expected)), "{keys}");
    }
    let many: Vec<_> = (0..40).map(|id| format!("a b frames = \"classic\"; match = \"{id:03X}\"")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let too_many = NotForBpf::Bus(candor_bpf::gateway::CompileError::Steps { steps: 40 });
    assert_eq!(cannot(&many), Err(Because::Bpf(too_many)));
    let old = Placement::of(&plan("auto", &["a b"]).with_engine(Engine::Bpf), KernelAbilities::EVERY).unwrap_err();
    assert_eq!(old.kernel, Because::Bpf(NotForBpf::None(NoPrograms::Old)));
}
