//! Duration of a kernel function, by the function graph tracer.
//!
//! Only this function is instrumented (dynamic ftrace). The duration includes interrupts and the tracer itself,
//! [`Tracer::own`].
//!
//! # Source
//! [SocketCAN and queueing disciplines](https://rtime.felk.cvut.cz/can/socketcan-qdisc-final.pdf) (Sojka, Lisový, Píša, 2011),
//! section 4 and figure 4.1;
//! [`Documentation/trace/ftrace.rst`](https://github.com/gregkh/linux/blob/v6.1.192/Documentation/trace/ftrace.rst) of Linux 6.1.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use candor_io::guest;

use crate::stats::LatencyNs;

/// Mount points of tracefs; the second before Linux 4.1.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Per processor: two entries of less than 100 bytes for each call.
const BUFFER_KIB: u32 = 16 * 1024;
/// The cheapest system call: its trace shows mostly the tracer.
const LEAST: &str = "sys_getpid";

/// The machine's function graph tracer, prepared for one function and off.
#[derive(Debug)]
pub struct Tracer {
    folder: PathBuf,
    /// As in the trace, without the module.
    function: String,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("Cannot use {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("The trace lost {0} entries")]
    Lost(u64),
    #[error(
        "This kernel has no tracer function_graph (CONFIG_FUNCTION_GRAPH_TRACER); Debian's kernels do, user-mode Linux does not"
    )]
    NoGraph,
    #[error("This kernel cannot trace a function {0}: is its module loaded?")]
    NoFunction(String),
    #[error("This kernel has no tracers: {0}")]
    NoTracers(io::Error),
    #[error("Unexpected line in the trace: {0}")]
    Unreadable(String),
}

impl Tracer {
    /// # Kernel
    /// CONFIG_FUNCTION_GRAPH_TRACER and CONFIG_DYNAMIC_FTRACE. Needs root. Mounts tracefs if necessary.
    pub fn of(function: &str) -> Result<Self, TraceError> {
        let folder = folder()?;
        let known = read(&folder.join("available_tracers"))?;
        if !known.split_whitespace().any(|tracer| tracer == "function_graph") {
            return Err(TraceError::NoGraph);
        }
        let all = read(&folder.join("available_filter_functions"))?;
        let function = named(&all, function).ok_or_else(|| TraceError::NoFunction(function.to_owned()))?;
        let tracer = Self { folder, function };
        tracer.reset()?;
        tracer.write("buffer_size_kb", &BUFFER_KIB.to_string())?;
        tracer.write("set_ftrace_filter", &tracer.function)?;
        // Nested calls, even of the same function, are part of the duration.
        tracer.write("max_graph_depth", "1")?;
        tracer.write("current_tracer", "function_graph")?;
        Ok(tracer)
    }

    /// Durations of a function that does next to nothing: the tracer's own share.
    pub fn own(calls: usize) -> Result<Vec<LatencyNs>, TraceError> {
        let tracer = Self::of(LEAST)?;
        let (_, durations) = tracer.during(|| {
            for _ in 0..calls {
                // One system call each.
                std::hint::black_box(std::process::id());
            }
        })?;
        Ok(durations)
    }

    /// Traces `work` and returns the duration of each call in order, of all processes.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<LatencyNs>), TraceError> {
        self.write("trace", "")?;
        self.write("tracing_on", "1")?;
        let result = work();
        self.write("tracing_on", "0")?;
        let text = read(&self.folder.join("trace"))?;
        Ok((result, durations(&text, &self.function)?))
    }

    /// Nothing traced, nothing instrumented, as after boot.
    fn reset(&self) -> Result<(), TraceError> {
        self.write("tracing_on", "0")?;
        self.write("current_tracer", "nop")?;
        self.write("set_ftrace_filter", "")?;
        self.write("max_graph_depth", "0")
    }

    fn write(&self, name: &str, value: &str) -> Result<(), TraceError> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(|source| TraceError::File { path, source })
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // The next user resets it again.
        if self.reset().is_ok() {
            let _ = self.write("tracing_on", "1");
        }
    }
}

fn folder() -> Result<PathBuf, TraceError> {
    let is_there = |folder: &&&str| Path::new(**folder).join("current_tracer").exists();
    if let Some(folder) = FOLDERS.iter().find(is_there) {
        return Ok(PathBuf::from(folder));
    }
    guest::mount("tracefs", FOLDERS[0]).map_err(TraceError::NoTracers)?;
    Ok(PathBuf::from(FOLDERS[0]))
}

fn read(path: &Path) -> Result<String, TraceError> {
    fs::read_to_string(path).map_err(|source| TraceError::File { path: path.to_owned(), source })
}

/// Name of the function in the trace; system calls are `__do_NAME` or `__x64_NAME`.
fn named(all: &str, function: &str) -> Option<String> {
    let names = || all.lines().filter_map(|line| line.split_whitespace().next());
    let is_call =
        |name: &&str| name.strip_suffix(function).is_some_and(|start| ["__do_", "__x64_", "__arm64_"].contains(&start));
    names().find(|name| *name == function).or_else(|| names().find(is_call)).map(str::to_owned)
}

/// The durations in a trace of this function alone, such as ` 0) + 12.345 us | can_send [can]();`.
fn durations(text: &str, function: &str) -> Result<Vec<LatencyNs>, TraceError> {
    let mut all = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') || line.starts_with("---") {
            continue;
        }
        let words: Vec<_> = line.split_whitespace().collect();
        if let Some(at) = words.iter().position(|word| *word == "[LOST") {
            return Err(TraceError::Lost(words.get(at + 1).and_then(|count| count.parse().ok()).unwrap_or(1)));
        }
        // Change of task, or interrupt.
        if line.contains("=>") || line.contains("<=") || line.ends_with("==========>") {
            continue;
        }
        let unreadable = || TraceError::Unreadable(line.to_owned());
        let (before, call) = line.split_once('|').ok_or_else(unreadable)?;
        if !call.trim_start().starts_with(function) && !call.trim_start().starts_with('}') {
            return Err(unreadable());
        }
        let Some(end) = before.split_whitespace().position(|word| word == "us") else {
            // The duration follows on another line.
            if call.contains('{') { continue } else { return Err(unreadable()) }
        };
        let figure = before.split_whitespace().nth(end.wrapping_sub(1)).ok_or_else(unreadable)?;
        all.push(nanoseconds(figure).ok_or_else(unreadable)?);
    }
    Ok(all)
}

/// `12.345`; the kernel prints fewer decimals for large values.
fn nanoseconds(figure: &str) -> Option<LatencyNs> {
    let (whole, part) = figure.split_once('.')?;
    let places = u32::try_from(part.len()).ok().filter(|places| (1..=3).contains(places))?;
    let (whole, part): (i64, i64) = (whole.parse().ok()?, part.parse().ok()?);
    Some(LatencyNs(whole * 1000 + part * 10_i64.pow(3 - places)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n# |     |   |                     |   |   |   |\n \
                         0)   5.214 us    |  can_send [can]();\n 0) + 12.345 us   |  can_send [can]();\n \
                         0) # 1234.567 us |  can_send [can]();\n ------------------------------------------\n \
                         0)  tester-60    =>   kworker-7   \n ------------------------------------------\n\n \
                         0)               |  can_send [can]() {\n 0) ! 250.1 us    |  }\n";

    #[test]
    fn parses_durations() {
        let all: Vec<_> = durations(TRACE, "can_send").unwrap().into_iter().map(|duration| duration.0).collect();
        assert_eq!(all, [5_214, 12_345, 1_234_567, 250_100]);
    }

    #[test]
    fn incomplete_traces_are_errors() {
        let lost = format!("{TRACE}CPU:0 [LOST 12 EVENTS]\n");
        assert!(matches!(durations(&lost, "can_send"), Err(TraceError::Lost(12))));
        for strange in [
            " 0)   5.214 us    |  vfs_read();\n",
            " 0)   5.2141 us   |  can_send();\n",
            " 0)   x us  |  can_send();\n",
            "us\n",
        ] {
            assert!(matches!(durations(strange, "can_send"), Err(TraceError::Unreadable(_))), "{strange}");
        }
    }

    #[test]
    fn system_calls_have_kernel_names() {
        let all = "sys_ni_syscall\n__do_sys_getpid\ncan_send [can]\ncan_send_more\n";
        assert_eq!(named(all, "can_send").as_deref(), Some("can_send"));
        assert_eq!(named(all, "sys_getpid").as_deref(), Some("__do_sys_getpid"));
        assert_eq!(named(all, "sys_getppid"), None);
        assert_eq!(named("__arm64_sys_getpid\n", "sys_getpid").as_deref(), Some("__arm64_sys_getpid"));
    }
}
