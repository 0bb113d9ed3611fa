//! Queues in the order of arbitration: loads their programs, and gives them to an interface.
//!
//! The kind is registered only while the interface gets it. Afterwards the queueing discipline alone holds the programs
//! and maps: deleting it, or the interface, frees them, and nothing is left when this process ends.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt as _;

use candor_bpf::btf::{BtfError, Types};
use candor_bpf::queue::{self, Queue};
pub use candor_bpf::queue::{Layout, Options, Statistics, key, oracle};
use candor_io::bpf::{self, Described, LoadError, Map, MapKind};
use candor_io::can::InterfaceIndex;
use candor_io::errno::EEXIST;
use candor_netlink::client::Client;

use crate::arbitration::Arbitration;
use crate::handle::Handle;
use crate::tree::Qdisc;

use super::error::{QueueError, TcError};
use super::list::qdiscs;
use super::request;

const STATE_NAME: &CStr = c"candor_queue";
const NAMESPACE: &str = "/proc/thread-self/ns/net";
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Errno without a name in user space: the kernel has no such operations.
const ENOTSUPP: i32 = 524;
/// Major numbers of handles, of which one is not in use.
const HANDLES: [u16; 2] = [0xCA00, 0xCA01];
/// Attempts while another process registers the same kind, and the pause between them.
const ATTEMPTS: usize = 50;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

/// An installed queue: its statistics can be read as long as this lives; the queue itself does not depend on it.
#[derive(Debug)]
pub struct Installed {
    state: Map,
}

impl Installed {
    /// # Errors
    /// An error of `bpf()`.
    pub fn statistics(&self) -> io::Result<Statistics> {
        let state = self.state.get(&0_u32.to_ne_bytes())?;
        Statistics::read(&state).ok_or_else(|| io::Error::other("the state of a queue is too short"))
    }
}

/// The statistics of the queue of an interface of this network namespace, made by any process; `None` if there is none.
///
/// # Kernel
/// Needs CAP_SYS_ADMIN in the initial user namespace.
///
/// # Errors
/// `EPERM` without it.
pub fn statistics(interface: InterfaceIndex) -> io::Result<Option<Statistics>> {
    let namespace = std::fs::metadata(NAMESPACE)?.ino();
    let all = Map::find(STATE_NAME)?.into_iter().map(|state| Installed { state });
    let mut all = all.filter_map(|queue| queue.statistics().ok());
    Ok(all.find(|queue| queue.owner == namespace << 32 | u64::from(interface.number())))
}

/// What the programs for this kernel must know about it.
///
/// # Errors
/// [`QueueError::Unsupported`].
pub fn layout() -> Result<Layout, QueueError> {
    let bytes = std::fs::read(KERNEL_TYPES)
        .map_err(|error| QueueError::Unsupported(format!("{KERNEL_TYPES} cannot be read: {error}")))?;
    let layout = Types::read(&bytes).and_then(|types| Layout::read(&types));
    layout.map_err(|error: BtfError| QueueError::Unsupported(error.to_string()))
}

/// Makes a queue in the order of arbitration at the place of `qdisc`, whose discipline it is; frames that wait in the one
/// before are lost. Without a handle it gets a free one.
///
/// # Kernel
/// Linux 6.16 with `CONFIG_NET_SCH_BPF`, and only at the root. Needs CAP_BPF and CAP_PERFMON in the initial user namespace, and
/// CAP_NET_ADMIN. With the handle of a queue with the same options the kernel changes nothing.
///
/// # Errors
/// [`TcError`]; the former queue stays.
pub fn install(
    client: &mut Client,
    interface: InterfaceIndex,
    qdisc: &Qdisc,
    arbitration: &Arbitration,
    layout: &Layout,
) -> Result<Installed, TcError> {
    let queue = queue::compile(&arbitration.options(), layout).map_err(QueueError::from)?;
    let types = queue::slot_types();
    let loaded = bpf::load_types(&types.bytes).map_err(system("load types"))?;
    let described = Described { types: loaded.as_fd(), key: types.key.0, value: types.value.0 };
    let maps = maps(&queue, described)?;
    let none = Described { key: 0, value: 0, ..described };
    let operations = operations(arbitration.name(), &queue, layout, &maps, none)?;
    let registered = register(&operations)?;
    let handle = if qdisc.handle == Handle::NONE { free_handle(client, interface)? } else { qdisc.handle };
    request::send_qdisc(client, interface, &Qdisc { handle, ..qdisc.clone() })?;
    drop(registered);
    let state = maps.into_iter().next().expect("the state is the first map");
    Ok(Installed { state })
}

/// Only one process can have registered a name.
fn register(operations: &Map) -> Result<std::os::fd::OwnedFd, QueueError> {
    let mut attempts = 0;
    loop {
        match bpf::register(operations) {
            Err(error) if error.raw_os_error() == Some(EEXIST) && attempts < ATTEMPTS => attempts += 1,
            outcome => return outcome.map_err(system("register the kind")),
        }
        std::thread::sleep(PAUSE);
    }
}

/// A handle that the interface does not have: the kernel does not replace a queueing discipline by one of the same kind and
/// handle, but changes it, and this kind ignores that.
fn free_handle(client: &mut Client, interface: InterfaceIndex) -> Result<Handle, TcError> {
    let all = qdiscs(client)?;
    let taken = |handle| all.iter().any(|listed| listed.interface == interface && listed.qdisc.handle == handle);
    let mut handles = HANDLES.map(|major| Handle::new(major, 0)).into_iter();
    Ok(handles.find(|handle| !taken(*handle)).unwrap_or(Handle::NONE))
}

fn maps(queue: &Queue, described: Described<'_>) -> Result<Vec<Map>, QueueError> {
    let map = |map: &queue::Map| {
        let size = |bytes: usize| u32::try_from(bytes).map_err(io::Error::other);
        match map {
            queue::Map::State(value) => {
                let map = Map::new(STATE_NAME, MapKind::Array, 4, size(value.len())?, 1, None)?;
                map.set(&0_u32.to_ne_bytes(), value)?;
                Ok(map)
            }
            queue::Map::Slots(count) => {
                Map::new(c"candor_slots", MapKind::Array, 4, queue::SLOT_BYTES, *count, Some(described))
            }
            queue::Map::Sockets(count) => Map::new(c"candor_sockets", MapKind::Hash, 8, 8, *count, None),
        }
    };
    queue.maps.iter().map(map).collect::<io::Result<_>>().map_err(system("create a map"))
}

/// The map of `struct Qdisc_ops` with all programs.
fn operations(
    name: &str,
    queue: &Queue,
    layout: &Layout,
    maps: &[Map],
    types: Described<'_>,
) -> Result<Map, QueueError> {
    let license = CString::new(queue::LICENSE).expect("a text without zeros");
    let mut value = vec![0; layout.value_bytes];
    let mut put = |offset: usize, bytes: &[u8]| {
        let at = layout.operations_offset + offset;
        value[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(layout.name_offset, name.as_bytes());
    // The map takes a reference to each program.
    let mut loaded = Vec::new();
    for ((operation, program), member) in queue.programs.iter().zip(layout.members) {
        let name = CString::new(format!("arb_{}", operation.name())).expect("a text without zeros");
        let instructions = program.with_maps(|map| maps[map.0].descriptor().as_raw_fd());
        let position = u32::try_from(member.position).expect("a structure has few members");
        let program = bpf::load_operation(&name, &license, &instructions, layout.operations.0, position)
            .map_err(|error| refused(operation.name(), error))?;
        // A function is given as the descriptor of its program, in the size of an address.
        let descriptor = u64::try_from(program.as_raw_fd()).expect("descriptors are not negative");
        put(member.offset, &descriptor.to_ne_bytes());
        loaded.push(program);
    }
    let size = u32::try_from(value.len()).expect("a structure is small");
    let map = Map::new(c"candor_arb", MapKind::Operations(layout.value.0), 4, size, 1, Some(types));
    let map = map.map_err(system("create the map of operations"))?;
    map.set(&0_u32.to_ne_bytes(), &value).map_err(system("fill the map of operations"))?;
    Ok(map)
}

fn refused(program: &'static str, source: LoadError) -> QueueError {
    match source.errno.raw_os_error() {
        Some(ENOTSUPP) => QueueError::Unsupported("Qdisc_ops takes no programs".to_owned()),
        _ => QueueError::Program { program, source },
    }
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> QueueError {
    move |source| QueueError::System { what, source }
}
