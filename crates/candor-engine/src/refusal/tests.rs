use candor_core::filter::Filter;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, XorChecksum};
use candor_io::can::InterfaceIndex;
use candor_netlink::client::{Errno, NetlinkError};
use candor_netlink::link::{CanLink, Link, Traffic};

use super::*;

fn index(number: u32) -> InterfaceIndex {
    InterfaceIndex::new(number).unwrap()
}

fn link(number: u32, name: &str, is_can: bool) -> Link {
    let can = is_can.then(CanLink::default);
    Link {
        index: index(number),
        name: name.into(),
        kind: None,
        up: true,
        echoes: false,
        mtu: 72,
        tx_queue_len: 0,
        received: Traffic::default(),
        sent: Traffic::default(),
        can,
    }
}

/// A machine with two CAN interfaces and an Ethernet one on which all is well.
fn machine() -> Facts {
    Facts {
        links: vec![link(1, "can0", true), link(2, "can1", true), link(3, "eth0", false)],
        jobs: Vec::new(),
        max_hops: Some(1),
        in_user_namespace: false,
        may_configure: Some(true),
        fd_jobs: Some(true),
    }
}

fn job() -> CangwJob {
    CangwJob::plain(index(1), index(2), Filter::ALL)
}

fn xor(from: i8, to: i8, result: i8) -> Checksums {
    Checksums { crc8: None, xor: Some(XorChecksum { span: ChecksumSpan { from, to, result }, init: 0 }) }
}

fn crc8(from: i8, to: i8, result: i8) -> Checksums {
    let span = ChecksumSpan { from, to, result };
    let crc8 = Crc8Checksum { span, init: 0, final_xor: 0, table: [0; 256], profile: Crc8Profile::None };
    Checksums { crc8: Some(crc8), xor: None }
}

#[test]
fn every_refusal_has_its_causes_in_order() {
    let outside = |checksum, position, buffer_bytes| Cause::ChecksumOutside { checksum, position, buffer_bytes };
    let of_uid = CangwJob { uid: 7, source: index(2), destination: index(1), ..job() };
    let gone = |end, index| Cause::InterfaceGone { end, index };
    let fd = JobFlags::FD;
    let cases: Vec<(CangwError, CangwJob, Facts, Vec<Cause>)> = vec![
        (
            CangwError::InvalidJob,
            CangwJob { hop_limit: 3, ..job() },
            machine(),
            vec![Cause::HopLimit { limit: 3, max_hops: 1 }],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { hop_limit: 3, ..job() },
            Facts { max_hops: None, ..machine() },
            vec![Cause::HopLimitUnknown { limit: 3 }],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { checksums: xor(0, 8, 7), hop_limit: 1, ..job() },
            machine(),
            vec![outside("XOR", 8, 8)],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { checksums: xor(-9, 1, 2), ..job() },
            machine(),
            vec![outside("XOR", -9, 8)],
        ),
        (CangwError::InvalidJob, CangwJob { checksums: crc8(-8, 7, 0), ..job() }, machine(), vec![Cause::Unknown]),
        (
            CangwError::InvalidJob,
            CangwJob { checksums: crc8(0, 1, 64), flags: fd, ..job() },
            machine(),
            vec![outside("CRC8", 64, 64)],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { uid: 7, hop_limit: 2, ..job() },
            Facts { jobs: vec![of_uid], ..machine() },
            vec![
                Cause::HopLimit { limit: 2, max_hops: 1 },
                Cause::UidElsewhere { uid: 7, from: "can1".into(), to: "can0".into() },
            ],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { destination: index(1), ..job() },
            machine(),
            vec![Cause::SameInterface { interface: "can0".into() }],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { destination: index(1), flags: JobFlags::INCOMING_INTERFACE, ..job() },
            machine(),
            vec![Cause::Unknown],
        ),
        (
            CangwError::InvalidJob,
            CangwJob { flags: fd, ..job() },
            Facts { fd_jobs: Some(false), ..machine() },
            vec![Cause::OldKernel],
        ),
        (CangwError::NoSuchInterface, CangwJob { source: index(9), ..job() }, machine(), vec![gone("source", 9)]),
        (
            CangwError::NoSuchInterface,
            CangwJob { source: index(8), destination: index(9), ..job() },
            machine(),
            vec![gone("source", 8), gone("destination", 9)],
        ),
        (
            CangwError::NoSuchInterface,
            CangwJob { destination: index(3), ..job() },
            machine(),
            vec![Cause::NotCan { interface: "eth0".into() }],
        ),
        (CangwError::NoSuchInterface, job(), machine(), vec![Cause::Unknown]),
        (CangwError::NotPermitted, job(), machine(), vec![Cause::SecurityModule]),
        (CangwError::NotPermitted, job(), Facts { may_configure: Some(false), ..machine() }, vec![Cause::NoCapability]),
        (CangwError::NotPermitted, job(), Facts { may_configure: None, ..machine() }, vec![Cause::NoCapability]),
        (
            CangwError::NotPermitted,
            job(),
            Facts { in_user_namespace: true, ..machine() },
            vec![Cause::UserNamespace, Cause::NoCapability],
        ),
        (CangwError::ModuleMissing, job(), machine(), vec![Cause::NoModule]),
        (CangwError::OutOfMemory, job(), machine(), vec![Cause::Memory]),
        (CangwError::Netlink(NetlinkError::Refused { errno: Errno::EBUSY, text: None }), job(), machine(), vec![]),
    ];
    for (error, job, facts, expected) in cases {
        assert_eq!(causes(&error, &job, &facts), expected, "{error} {job:?}");
        // Each says something that can be typed or looked at, in one line.
        for cause in expected {
            let text = cause.to_string();
            assert!(text.len() > 20 && !text.contains('\n'), "{text}");
        }
    }
}

#[test]
fn several_causes_are_numbered() {
    let refusal = |error, causes: &[Cause]| Refusal { error, causes: causes.to_vec() }.to_string();
    assert_eq!(
        refusal(CangwError::NoSuchInterface, &[Cause::NotCan { interface: "eth0".into() }]),
        "an interface of the job does not exist or is not a CAN interface: eth0 is not a CAN interface; see: ip -details link \
         show eth0"
    );
    let two = [Cause::HopLimit { limit: 2, max_hops: 1 }, Cause::SameInterface { interface: "can0".into() }];
    assert_eq!(
        refusal(CangwError::InvalidJob, &two),
        "can-gw rejects a value of the job (EINVAL)\n    1. hop limit 2 exceeds max_hops=1 of can-gw; reload it: sudo modprobe -r \
         can-gw && sudo modprobe can-gw max_hops=2\n    2. source and destination are both can0; set back-to-incoming = true if \
         that is intended"
    );
    let busy = NetlinkError::Refused { errno: Errno::EBUSY, text: None };
    assert_eq!(refusal(CangwError::Netlink(busy), &[]), "the kernel refused: the interface is busy");
}
