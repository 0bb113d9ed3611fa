//! Queues in the order of arbitration: loads their programs, and makes them the root of an interface.
//!
//! The kind is registered only while the interface gets it. Afterwards the queueing discipline alone holds the programs
//! and maps: deleting it, or the interface, frees them, and nothing is left when this process ends.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use candor_bpf::btf::{BtfError, Types};
use candor_bpf::queue::{self, CompileError, Queue};
pub use candor_bpf::queue::{Layout, Options, Statistics, key, oracle};
use candor_io::bpf::{self, Described, LoadError, Map, MapKind};
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

use crate::discipline::Discipline;
use crate::handle::Handle;
use crate::netlink::{self, TcError, qdiscs};
use crate::tree::Qdisc;

/// Name of the kind, as `tc qdisc show` prints it.
pub const KIND: &str = "candor";
/// Major numbers of handles. Only one of them is in use.
const HANDLES: [u16; 2] = [0xCA00, 0xCA01];
const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Errno without a name in user space: the kernel has no such operations.
const ENOTSUPP: i32 = 524;

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error(transparent)]
    Compile(#[from] CompileError),
    #[error("The kernel rejected the program {program} of the queue: {errno} ({why})", why = last_line(.log))]
    Program { program: &'static str, errno: io::Error, log: String },
    #[error(transparent)]
    Queue(#[from] TcError),
    #[error("Cannot {what} for a queue in the order of arbitration: {source}")]
    System { what: &'static str, source: io::Error },
    #[error(
        "This kernel has no queues in BPF: {0}. They need Linux 6.16 with CONFIG_NET_SCH_BPF and CONFIG_DEBUG_INFO_BTF"
    )]
    Unsupported(String),
}

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

/// What this kernel's programs look like.
///
/// # Errors
/// [`InstallError::Unsupported`].
pub fn layout() -> Result<Layout, InstallError> {
    let bytes = std::fs::read(KERNEL_TYPES)
        .map_err(|error| InstallError::Unsupported(format!("{KERNEL_TYPES} cannot be read ({error})")))?;
    let layout = Types::read(&bytes).and_then(|types| Layout::read(&types));
    layout.map_err(|error: BtfError| InstallError::Unsupported(error.to_string()))
}

/// Makes a queue in the order of arbitration the root of an interface; frames that wait in the one before are lost.
///
/// # Kernel
/// Linux 6.16 with `CONFIG_NET_SCH_BPF`. Needs CAP_BPF and CAP_PERFMON in the initial user namespace, and CAP_NET_ADMIN.
///
/// # Errors
/// [`InstallError`]; the former queue stays.
pub fn install(
    client: &mut Client,
    interface: InterfaceIndex,
    options: &Options,
    layout: &Layout,
) -> Result<Installed, InstallError> {
    let queue = queue::compile(options, layout)?;
    let types = queue::slot_types();
    let loaded = bpf::load_types(&types.bytes).map_err(system("load types"))?;
    let described = Described { types: loaded.as_fd(), key: types.key.0, value: types.value.0 };
    let maps = maps(&queue, described)?;
    let operations = operations(&queue, layout, &maps, Described { key: 0, value: 0, ..described })?;
    let registered = bpf::register(&operations).map_err(system("register the kind"))?;
    let discipline = Discipline::Other { kind: KIND.to_owned(), options: Vec::new() };
    let handle = free_handle(client, interface)?;
    let qdisc = Qdisc { handle, parent: Handle::ROOT, stab: None, discipline };
    netlink::replace_qdisc(client, interface, &qdisc)?;
    drop(registered);
    let state = maps.into_iter().next().expect("the state is the first map");
    Ok(Installed { state })
}

fn maps(queue: &Queue, described: Described<'_>) -> Result<Vec<Map>, InstallError> {
    let map = |map: &queue::Map| {
        let size = |bytes: usize| u32::try_from(bytes).map_err(io::Error::other);
        match map {
            queue::Map::State(value) => {
                let map = Map::new(c"candor_queue", MapKind::Array, 4, size(value.len())?, 1, None)?;
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

/// A handle that the interface does not have: the kernel does not replace a queueing discipline by one of the same kind and
/// handle, but changes it, and this kind ignores that.
fn free_handle(client: &mut Client, interface: InterfaceIndex) -> Result<Handle, TcError> {
    let all = qdiscs(client)?;
    let taken = |handle| all.iter().any(|listed| listed.interface == interface && listed.qdisc.handle == handle);
    let mut handles = HANDLES.map(|major| Handle::new(major, 0)).into_iter();
    Ok(handles.find(|handle| !taken(*handle)).unwrap_or(Handle::NONE))
}

/// The map of `struct Qdisc_ops` with all programs.
fn operations(queue: &Queue, layout: &Layout, maps: &[Map], types: Described<'_>) -> Result<Map, InstallError> {
    let license = CString::new(queue::LICENSE).expect("a text without zeros");
    let mut value = vec![0; layout.value_bytes];
    let mut put = |offset: usize, bytes: &[u8]| {
        let at = layout.operations_offset + offset;
        value[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(layout.name_offset, KIND.as_bytes());
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
    let map = Map::new(c"candor", MapKind::Operations(layout.value.0), 4, size, 1, Some(types));
    let map = map.map_err(system("create the map of operations"))?;
    map.set(&0_u32.to_ne_bytes(), &value).map_err(system("fill the map of operations"))?;
    Ok(map)
}

fn refused(program: &'static str, LoadError { source, log }: LoadError) -> InstallError {
    match source.raw_os_error() {
        Some(ENOTSUPP) => InstallError::Unsupported("Qdisc_ops takes no programs".to_owned()),
        _ => InstallError::Program { program, errno: source, log },
    }
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> InstallError {
    move |source| InstallError::System { what, source }
}

/// What the verifier says last is why.
fn last_line(log: &str) -> &str {
    log.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or("no reason given")
}
