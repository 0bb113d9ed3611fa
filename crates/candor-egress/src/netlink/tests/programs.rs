//! Filters that are programs.
//!
//! The bytes are written by hand after `pkt_cls.h`; `tc` sends the same for `bpf object-pinned FILE`, with a name of its own.

use std::io::{PipeReader, pipe};
use std::os::fd::{AsFd as _, AsRawFd as _};

use crate::control_group::{ControlGroup, GroupId, GroupName};
use crate::filter::{Classifier, ETH_P_ALL};

use super::*;

fn of(classifier: Classifier) -> Filter {
    let (parent, class) = (Handle::new(1, 0), Some(Handle::new(1, 2)));
    Filter { parent, preference: 3, protocol: ETH_P_ALL, handle: 1, classifier, class, actions: Vec::new() }
}

fn by_service() -> Filter {
    let id = Some(GroupId { level: 2, id: 0x1F3 });
    of(Classifier::ControlGroups(vec![ControlGroup { name: GroupName::unit("a.service").ok(), id }]))
}

#[cfg(target_endian = "little")]
#[test]
fn encodes_program_descriptor_and_label() {
    // Any descriptor does: the kernel is not asked.
    let (descriptor, _): (PipeReader, _) = pipe().unwrap();
    let message = filter_message(interface(), &by_service(), &names(), Some(descriptor.as_fd()), Mode::Make).unwrap();
    let number = u8::try_from(descriptor.as_raw_fd()).unwrap();
    let attributes = &message.payload()[20..];
    let mut expected = vec![8, 0, 1, 0];
    expected.extend(b"bpf\0");
    expected.extend([56, 0, 2, 0, 8, 0, 3, 0, 2, 0, 1, 0, 8, 0, 6, 0, number, 0, 0, 0, 34, 0, 7, 0]);
    expected.extend(b"candor cgroup 2:1f3 a.service\0\0\0");
    assert_eq!(attributes, expected);
}

/// Filters as 6.1 reports them.
fn reported(name: &str, more: &[(u16, u32)]) -> Classifier {
    let mut message = Header { interface: 7, handle: Handle(1), ..Default::default() }.message(RTM_NEWTFILTER, 0);
    message.text(TCA_KIND, "bpf").nested(TCA_OPTIONS, |options| {
        options.attribute(3, &0x1_0002_u32.to_ne_bytes()).text(7, name);
        // Number and digest of the program.
        options.attribute(11, &77_u32.to_ne_bytes()).attribute(10, &[9; 8]);
        for (kind, value) in more {
            options.attribute(*kind, &value.to_ne_bytes());
        }
    });
    read_filter(message, Handle::new(1, 0)).unwrap().classifier
}

#[test]
fn recognizes_only_programs_of_candor() {
    let name = "candor cgroup 2:1f3 a.service";
    // Not in hardware (`TCA_CLS_FLAGS_NOT_IN_HW`), as for every filter of an interface that has none.
    assert_eq!(reported(name, &[(9, 8)]), by_service().classifier);
    let is_kept =
        |classifier| matches!(classifier, Classifier::Other { kind, options } if kind == "bpf" && !options.is_empty());
    assert!(is_kept(reported("a.o:[classifier]", &[])));
    assert!(is_kept(reported(name, &[(8, 1)])), "what it returns is an action");
    assert!(is_kept(reported(name, &[(9, 2)])), "it runs in hardware only");
    assert!(is_kept(reported(name, &[(5, 0)])), "it is a program of the old kind");
}
