//! Progress of a guest, on standard error.

use std::io::{self, Write as _};
use std::time::Duration;

use candor_lab::observer::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::de::DeserializeOwned;

/// Parses one JSON value per line of output that is split anywhere. Other lines are ignored.
#[derive(Debug, Default)]
pub(crate) struct JsonLines {
    /// Bytes since the last end of a line.
    line: Vec<u8>,
}

impl JsonLines {
    /// Returns the values whose lines end in these bytes.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, bytes: &[u8]) -> Vec<T> {
        let mut values = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            } else if let Ok(value) = serde_json::from_slice(&std::mem::take(&mut self.line)) {
                values.push(value);
            }
        }
        values
    }
}

/// Shows stages and downloads until the command starts, then its output.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    downloading: bool,
    /// Standard output, if it is kept instead of shown.
    pub(crate) kept: Option<Vec<u8>>,
    /// Standard error, likewise.
    pub(crate) kept_errors: Option<Vec<u8>>,
    /// The first error of writing the output.
    pub(crate) failed: Option<io::Error>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        bar.set_style(spinner());
        Self { bar, downloading: false, kept: None, kept_errors: None, failed: None }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// For people who see no bar.
    pub(crate) fn line(&self, text: &str) {
        if self.bar.is_hidden() {
            candor_cli::render::err(&format!("candor-lab: {text}\n"));
        }
    }

    fn keep(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

impl Observer for Progress {
    fn stage(&mut self, stage: &str) {
        if self.downloading {
            self.downloading = false;
            self.bar.set_style(spinner());
            self.bar.unset_length();
        }
        self.bar.set_message(stage.to_owned());
        self.bar.enable_steady_tick(Duration::from_millis(120));
    }

    fn notice(&mut self, text: &str) {
        self.bar.suspend(|| candor_cli::render::err(&format!("candor-lab: {text}\n")));
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        if !self.downloading {
            self.downloading = true;
            self.bar.disable_steady_tick();
            self.bar.set_message(format!("Fetching {what}"));
            self.bar.set_position(bytes);
            self.bar.set_length(total);
            // Last, so that no figure of the previous task is drawn.
            self.bar.set_style(download());
            self.bar.reset_eta();
            self.line(&format!("fetching {what} ({})", size(total)));
        }
        self.bar.set_position(bytes);
    }

    fn started(&mut self) {
        self.clear();
    }

    fn stdout(&mut self, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept {
            kept.extend_from_slice(bytes);
            return;
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        self.keep(written);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        if let Some(kept) = &mut self.kept_errors {
            kept.extend_from_slice(bytes);
            return;
        }
        let written = io::stderr().lock().write_all(bytes);
        self.keep(written);
    }
}

fn size(bytes: u64) -> String {
    if bytes < 1_000_000 { format!("{} kB", bytes.div_ceil(1000)) } else { format!("{} MB", bytes / 1_000_000) }
}

fn spinner() -> ProgressStyle {
    style(ProgressStyle::with_template("{spinner} {msg} ({elapsed})"))
}

fn download() -> ProgressStyle {
    style(ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}"))
}

fn style(template: Result<ProgressStyle, indicatif::style::TemplateError>) -> ProgressStyle {
    template.unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_downloads_are_in_kilobytes() {
        assert_eq!([size(441_520), size(999_000), size(41_000_000)], ["442 kB", "999 kB", "41 MB"]);
    }

    #[test]
    fn values_are_parsed_from_split_output() {
        let mut lines = JsonLines::default();
        assert!(lines.take::<u32>(b"1").is_empty());
        assert_eq!(lines.take::<u32>(b"2\nnothing\n3\n4"), [12, 3]);
        assert_eq!(lines.take::<u32>(b"\n"), [4]);
    }
}
