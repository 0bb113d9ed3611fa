use proptest::prelude::*;

use candor_bpf::assembler::Instruction;

use super::*;
use crate::arbitrary::any::control_groups;

fn at(level: u16, id: u64) -> ControlGroup {
    ControlGroup { name: None, id: Some(GroupId { level, id }) }
}

#[test]
fn accepts_names_of_directories_and_units() {
    for path in ["/a", "/system.slice/can-logger.service", "/sys/fs/cgroup/user.slice/a b,c"] {
        assert_eq!(GroupName::path(path), Ok(GroupName::Path(path.to_owned())));
    }
    let long = format!("/{}", "a".repeat(256));
    for (path, error) in [
        ("", NameError::NoPath),
        ("a/b", NameError::NoPath),
        ("/", NameError::Root),
        ("//", NameError::NoDirectory),
        ("/a/", NameError::NoDirectory),
        ("/a/../b", NameError::NoDirectory),
        ("/a\nb", NameError::NoDirectory),
        (&long, NameError::NoDirectory),
    ] {
        assert_eq!(GroupName::path(path), Err(error), "{path}");
    }
    for unit in ["can-logger.service", "a@b\\x2dc.service", "session-2.scope", "user.slice"] {
        assert_eq!(GroupName::unit(unit), Ok(GroupName::Unit(unit.to_owned())));
    }
    for (unit, error) in [
        ("", NameError::NoUnit),
        ("a/b.service", NameError::NoUnit),
        ("can logger.service", NameError::NoUnit),
        ("can-logger", NameError::NoKind),
        (".service", NameError::NoKind),
        ("sleep.target", NameError::NoKind),
    ] {
        assert_eq!(GroupName::unit(unit), Err(error), "{unit}");
    }
}

/// As `bpftool prog dump xlated` shows it of the program of a C compiler.
#[cfg(target_endian = "little")]
#[test]
fn program_checks_each_group() {
    let program = program(&[at(2, 0x1_2345_6789), ControlGroup { name: None, id: None }, at(1, 7)]);
    let expected: [Instruction; 17] = [
        [0xBF, 0x16, 0, 0, 0, 0, 0, 0],
        [0xBF, 0x61, 0, 0, 0, 0, 0, 0],
        [0xB7, 0x02, 0, 0, 2, 0, 0, 0],
        [0x85, 0x00, 0, 0, 83, 0, 0, 0],
        [0x18, 0x01, 0, 0, 0x89, 0x67, 0x45, 0x23],
        [0x00, 0x00, 0, 0, 1, 0, 0, 0],
        [0x1D, 0x10, 8, 0, 0, 0, 0, 0],
        [0xBF, 0x61, 0, 0, 0, 0, 0, 0],
        [0xB7, 0x02, 0, 0, 1, 0, 0, 0],
        [0x85, 0x00, 0, 0, 83, 0, 0, 0],
        [0x18, 0x01, 0, 0, 7, 0, 0, 0],
        [0x00, 0x00, 0, 0, 0, 0, 0, 0],
        [0x1D, 0x10, 2, 0, 0, 0, 0, 0],
        [0xB7, 0x00, 0, 0, 0, 0, 0, 0],
        [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        [0xB7, 0x00, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x95, 0x00, 0, 0, 0, 0, 0, 0],
    ];
    assert_eq!(program, expected);
}

#[test]
fn program_without_groups_matches_nothing() {
    let empty = program(&[ControlGroup { name: None, id: None }]);
    assert_eq!(empty.len(), 2, "the kernel refuses a program with instructions that nothing leads to");
    assert_eq!(empty, program(&[]));
}

#[test]
fn label_describes_the_program() {
    let service = ControlGroup { name: GroupName::unit("can-logger.service").ok(), ..at(2, 0x1F3) };
    let gone = ControlGroup::named(GroupName::path("/custom").unwrap());
    let groups = [service, gone];
    let text = label(&groups);
    assert_eq!(text, "candor cgroup 2:1f3,- can-logger.service,/custom");
    assert_eq!(labelled(&text).unwrap(), groups);
    assert_eq!(words(&groups), "bpf unit can-logger.service or cgroup /custom");
}

#[test]
fn labels_of_other_programs_are_rejected() {
    for text in [
        "",
        "a.o:[classifier]",
        "candor cgroup ",
        "candor cgroup 2:1F3",
        "candor cgroup 02:1",
        "candor cgroup 2:1 a.service,b.service",
        "candor cgroup 2:1 ",
        "candor cgroup 2:1 no-unit",
        "candor cgroup 2:+1",
        "candor cgroup 1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1,1:1",
    ] {
        assert_eq!(labelled(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn labels_round_trip(groups in control_groups()) {
        let text = label(&groups);
        prop_assert!(text.len() <= 255);
        let read = labelled(&text).unwrap();
        let ids = |groups: &[ControlGroup]| groups.iter().map(|group| group.id).collect::<Vec<_>>();
        prop_assert_eq!(ids(&read), ids(&groups));
        prop_assert!(read == groups || read.iter().all(|group| group.name.is_none()));
        prop_assert_eq!(label(&read).len() <= text.len(), true);
    }

    #[test]
    fn accepted_labels_are_canonical(text in "(candor cgroup )?[-0-9a-f:, ]{0,20}[a-z/.]{0,12}") {
        if let Some(groups) = labelled(&text) {
            prop_assert_eq!(label(&groups), text);
        }
    }
}
