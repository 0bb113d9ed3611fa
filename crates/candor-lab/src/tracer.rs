//! How long a function of the kernel takes, as the kernel's function graph tracer sees it.
//!
//! Only this function is instrumented (dynamic ftrace), so that nothing else becomes slower. Interrupts that come meanwhile are
//! part of the time, and so is the tracer itself, [`Tracer::own`].
//!
//! # Source
//! SocketCAN and queueing disciplines (Sojka, Lisový, Píša, 2011), section 4 and figure 4.1; Documentation/trace/ftrace.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::stats::LatencyNs;
use candor_io::guest;

/// Where the file system of the tracer is, and since when not there (before 4.1).
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Room for what is traced, on each processor: two entries of less than 100 bytes for each call.
const BUFFER_KIB: u32 = 16 * 1024;
/// The system call that does least: what a trace of it shows is mostly the tracer.
const LEAST: &str = "sys_getpid";

/// A tracer that stands ready for one function, and is off. It is the only one of its machine.
#[derive(Debug)]
pub struct Tracer {
    folder: PathBuf,
    /// As the trace has it, without the module.
    function: String,
}

/// A function that cannot be traced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A file of the tracer cannot be used.
    #[error("Cannot use {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Calls that the trace has no place for.
    #[error("The trace lost {0} entries")]
    Lost(u64),
    /// The kernel has no such tracer.
    #[error(
        "This kernel has no tracer function_graph (CONFIG_FUNCTION_GRAPH_TRACER); those of Debian do, user-mode Linux does not"
    )]
    NoGraph,
    /// The kernel has no such function, or does not know it by that name.
    #[error("This kernel has no function {0} that can be traced: is its module loaded?")]
    NoFunction(String),
    /// There is no tracer at all.
    #[error("This kernel has no tracers: {0}")]
    NoTracers(io::Error),
    /// Something of the trace that is no duration.
    #[error("The trace says what candor does not understand: {0}")]
    Unreadable(String),
}

impl Tracer {
    /// Prepares the tracer for this function.
    ///
    /// # Kernel
    /// CONFIG_FUNCTION_GRAPH_TRACER and CONFIG_DYNAMIC_FTRACE. Needs root. Mounts tracefs if nobody has.
    ///
    /// # Errors
    /// [`TraceError`]: what the kernel lacks.
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
        // Calls within the call are part of its time, also if they are of the same function.
        tracer.write("max_graph_depth", "1")?;
        tracer.write("current_tracer", "function_graph")?;
        Ok(tracer)
    }

    /// What the tracer shows of a function that does next to nothing: at least so much of every duration is its own.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn own(calls: usize) -> Result<Vec<LatencyNs>, TraceError> {
        let tracer = Self::of(LEAST)?;
        let (_, durations) = tracer.during(|| {
            for _ in 0..calls {
                // A system call each; its answer is known.
                std::hint::black_box(std::process::id());
            }
        })?;
        Ok(durations)
    }

    /// Traces what happens meanwhile, and gives the duration of each call, in their order. The calls of all processes count.
    ///
    /// # Errors
    /// If calls are missing, or what the kernel says.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> Result<(T, Vec<LatencyNs>), TraceError> {
        self.write("trace", "")?;
        self.write("tracing_on", "1")?;
        let result = work();
        self.write("tracing_on", "0")?;
        let text = read(&self.folder.join("trace"))?;
        Ok((result, durations(&text, &self.function)?))
    }

    /// As the kernel starts: nothing is traced, nothing instrumented.
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
        // Whoever traces next does it again; a kernel that refuses has said so before.
        if self.reset().is_ok() {
            let _ = self.write("tracing_on", "1");
        }
    }
}

/// Where the tracer is. What is not mounted is mounted.
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

/// The function of the kernel that has this name; system calls stand there as `__do_NAME` or `__x64_NAME`.
fn named(all: &str, function: &str) -> Option<String> {
    let names = || all.lines().filter_map(|line| line.split_whitespace().next());
    let is_call = |name: &&str| name.strip_suffix(function).is_some_and(|start| ["__do_", "__x64_"].contains(&start));
    names().find(|name| *name == function).or_else(|| names().find(is_call)).map(str::to_owned)
}

/// The durations of a trace of this function alone, such as ` 0) + 12.345 us | can_send [can]();`.
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
        // Which task or which interrupt it goes on with.
        if line.contains("=>") || line.contains("<=") || line.ends_with("==========>") {
            continue;
        }
        let unreadable = || TraceError::Unreadable(line.to_owned());
        let (before, call) = line.split_once('|').ok_or_else(unreadable)?;
        if !call.trim_start().starts_with(function) && !call.trim_start().starts_with('}') {
            return Err(unreadable());
        }
        let Some(end) = before.split_whitespace().position(|word| word == "us") else {
            // It begins here and ends in another line, because something stands between.
            if call.contains('{') { continue } else { return Err(unreadable()) }
        };
        let figure = before.split_whitespace().nth(end.wrapping_sub(1)).ok_or_else(unreadable)?;
        all.push(nanoseconds(figure).ok_or_else(unreadable)?);
    }
    Ok(all)
}

/// `12.345`; the kernel leaves digits out where there are many before the point.
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
    fn every_call_of_a_trace_has_its_time() {
        let all: Vec<_> = durations(TRACE, "can_send").unwrap().into_iter().map(|duration| duration.0).collect();
        assert_eq!(all, [5_214, 12_345, 1_234_567, 250_100]);
    }

    #[test]
    fn a_trace_that_is_not_whole_is_none() {
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
    fn system_calls_are_found_under_the_kernels_names() {
        let all = "sys_ni_syscall\n__do_sys_getpid\ncan_send [can]\ncan_send_more\n";
        assert_eq!(named(all, "can_send").as_deref(), Some("can_send"));
        assert_eq!(named(all, "sys_getpid").as_deref(), Some("__do_sys_getpid"));
        assert_eq!(named(all, "sys_getppid"), None);
    }
}
