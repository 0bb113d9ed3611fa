//! `/dev/cpu_dma_latency`: limits the exit latency of idle states.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

pub const CPU_DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// A latency request, held until dropped. The smallest of all requests applies.
///
/// # Kernel
/// `CONFIG_CPU_IDLE`; root only, unless a udev rule changes it.
///
/// # Source
/// [`cpu_latency_qos_write()`](https://github.com/gregkh/linux/blob/v6.1.192/kernel/power/qos.c#L378).
#[derive(Debug)]
pub struct CpuDmaLatency {
    _open: File,
}

impl CpuDmaLatency {
    /// Requests this exit latency, cut to µs.
    ///
    /// # Errors
    /// `ENOENT` if the kernel has no such device, `EACCES` without permission to open it.
    pub fn hold(within: Duration) -> io::Result<Self> {
        Self::hold_at(Path::new(CPU_DMA_LATENCY), within)
    }

    fn hold_at(path: &Path, within: Duration) -> io::Result<Self> {
        let microseconds = i32::try_from(within.as_micros()).unwrap_or(i32::MAX);
        let mut file = OpenOptions::new().write(true).open(path)?;
        // The kernel reads four bytes as binary, more as hexadecimal text.
        file.write_all(&microseconds.to_ne_bytes())?;
        Ok(Self { _open: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_gets_four_bytes_of_microseconds() {
        let file = std::env::temp_dir().join(format!("candor-io-latency-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let _held = CpuDmaLatency::hold_at(&file, Duration::from_micros(257)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), 257_i32.to_ne_bytes());
        std::fs::remove_file(&file).unwrap();
        assert!(CpuDmaLatency::hold_at(&file, Duration::ZERO).is_err());
    }
}
