//! Calls of apt and dpkg.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use candor_io::process;

use super::sources::{self, Machine};
use super::{Download, PackageError, PoolFile};
use crate::cache::Cache;
use crate::observer::Observer;

pub(super) const LISTS_KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// Touched when the lists are complete.
const STAMP: &str = "apt/updated";
const SEPARATOR: &str = "; ";
const POLL: Duration = Duration::from_millis(100);

/// Downloads files by URI, and prints lists.
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// Writes sources and settings of the private root. Returns the configuration file, and what the machine's sources give.
pub(super) fn configure(cache: &Cache) -> Result<(PathBuf, Machine), PackageError> {
    for folder in ["apt/lists/partial", "apt/state", "apt/archives/partial", "apt/none"] {
        cache.create(folder)?;
    }
    let settings = run(cache, "apt-config", None, &["dump"])?;
    let settings = String::from_utf8_lossy(&settings);
    let machine = sources::of_machine(&sources::etc_folder(&settings))?;
    write_if_changed(&cache.path("apt/candor.sources"), &machine.release)?;
    let configuration = cache.path("apt/apt.conf");
    write_if_changed(&configuration, &private_settings(cache, &settings))?;
    Ok((configuration, machine))
}

/// apt writes only to the cache. The machine's settings for downloads (mainly proxies) apply, but none of its hooks.
fn private_settings(cache: &Cache, machine: &str) -> String {
    let path = |name| cache.path(name).display().to_string();
    // Packages for another processor need all of their dependencies.
    let installed = if cache.arch().is_here() { "/var/lib/dpkg/status" } else { "/dev/null" };
    let own = [
        ("Dir::Etc::main", "/dev/null".to_owned()),
        ("Dir::Etc::parts", path("apt/none")),
        ("Dir::Etc::preferences", "/dev/null".to_owned()),
        ("Dir::Etc::preferencesparts", path("apt/none")),
        ("Dir::Etc::sourcelist", path("apt/candor.sources")),
        ("Dir::Etc::sourceparts", path("apt/none")),
        ("Dir::State", path("apt/state")),
        ("Dir::State::lists", path("apt/lists")),
        ("Dir::State::status", installed.to_owned()),
        ("Dir::Cache", path("apt")),
        // Both take more room than time.
        ("Dir::Cache::srcpkgcache", String::new()),
        ("Acquire::GzipIndexes", "true".to_owned()),
        ("APT::Architecture", cache.arch().debian().to_owned()),
        ("APT::Architectures", cache.arch().debian().to_owned()),
        ("APT::Sandbox::User", String::new()),
        ("APT::Update::Error-Mode", "any".to_owned()),
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "2".to_owned()),
        ("Debug::NoLocking", "true".to_owned()),
    ];
    let inherited = machine.lines().filter(|line| {
        line.starts_with("Acquire::")
            && !line.starts_with("Acquire::IndexTargets")
            && !line.starts_with("Acquire::Languages")
            && !line.starts_with("Acquire::Changelogs")
    });
    let mut text: String = inherited.flat_map(|line| [line, "\n"]).collect();
    for (name, value) in own {
        text.push_str(&format!("{name} \"{value}\";\n"));
    }
    text
}

/// `None` if there are no lists.
pub(super) fn age_of_lists(cache: &Cache) -> Option<Duration> {
    let written = fs::metadata(cache.path(STAMP)).and_then(|metadata| metadata.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default())
}

/// Fetches the lists.
pub(super) fn update(cache: &Cache, configuration: &Path) -> Result<(), PackageError> {
    run(cache, "apt-get", Some(configuration), &["update", "--quiet=2"]).map_err(no_network)?;
    let stamp = cache.path(STAMP);
    fs::write(&stamp, "").map_err(file(&stamp))
}

/// Fetches the lists of every suite into directories of their own. Returns the suites and their lists, except those that
/// the mirror lacks.
pub(super) fn every_list(
    cache: &Cache,
    configuration: &Path,
    machine: &Machine,
) -> Result<Vec<(String, String)>, PackageError> {
    cache.create("apt/every-suite/partial")?;
    let path = |name| cache.path(name).display().to_string();
    write_if_changed(&cache.path("apt/every-suite.sources"), &machine.every_suite)?;
    let mut settings = fs::read_to_string(configuration).map_err(file(configuration))?;
    for (name, value) in [
        ("Dir::Etc::sourcelist", path("apt/every-suite.sources")),
        ("Dir::State::lists", path("apt/every-suite")),
        ("Dir::Cache::pkgcache", String::new()),
    ] {
        settings.push_str(&format!("{name} \"{value}\";\n"));
    }
    let configuration = cache.path("apt/every-suite.conf");
    write_if_changed(&configuration, &settings)?;
    let updated = run(cache, "apt-get", Some(&configuration), &["update", "--quiet=2"]);
    let arguments = ["indextargets", "--format", "$(CODENAME) $(FILENAME)", "Created-By: Packages"];
    let targets = run(cache, "apt-get", Some(&configuration), &arguments)?;
    let mut lists = Vec::new();
    for target in String::from_utf8_lossy(&targets).lines() {
        let Some((suite, list)) = target.split_once(' ') else { continue };
        let text = run(cache, HELPER, Some(&configuration), &["cat-file", list])?;
        lists.push((suite.to_owned(), String::from_utf8_lossy(&text).into_owned()));
    }
    match updated {
        Err(error) if lists.is_empty() => Err(no_network(error)),
        _ => Ok(lists),
    }
}

/// A line of `--print-uris`: `'URI' name_version_architecture.deb size checksum`.
pub(super) fn download_of(line: &str) -> Option<Download> {
    let mut words = line.strip_prefix('\'')?.split_whitespace();
    let (_uri, file_name, bytes) = (words.next()?, words.next()?, words.next()?);
    let mut parts = file_name.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    let version = version.replace("%3a", ":").replace("%3A", ":");
    Some(Download { request: format!("{name}={version}"), bytes: bytes.parse().ok()? })
}

/// Downloads packages into a directory and reports progress.
pub(super) fn download(
    cache: &Cache,
    configuration: &Path,
    what: &str,
    wanted: &[Download],
    folder: &Path,
    observer: &mut dyn Observer,
) -> Result<(), PackageError> {
    let total = wanted.iter().map(|package| package.bytes).sum();
    let mut arguments = vec!["download", "--quiet=2"];
    arguments.extend(wanted.iter().map(|package| package.request.as_str()));
    observer.fetched(what, 0, total);
    let mut progress = |bytes| observer.fetched(what, bytes, total);
    watched(cache, "apt-get", configuration, &arguments, folder, &mut progress).map_err(no_network)?;
    observer.fetched(what, total, total);
    Ok(())
}

/// Downloads package files into a directory, each from the first of its locations that has it, and reports progress.
pub(super) fn fetch(
    cache: &Cache,
    configuration: &Path,
    machine: &Machine,
    what: &str,
    wanted: &[PoolFile],
    folder: &Path,
    observer: &mut dyn Observer,
) -> Result<(), PackageError> {
    let total = wanted.iter().map(|file| file.bytes).sum();
    observer.fetched(what, 0, total);
    let mut progress = |bytes| observer.fetched(what, bytes, total);
    for PoolFile { path, sha256, .. } in wanted {
        let target = folder.join(Path::new(path).file_name().unwrap_or_default());
        let (target, checksum) = (target.to_string_lossy(), format!("SHA256:{sha256}"));
        let mut fetched = Err(PackageError::Gone { path: path.clone() });
        for uri in machine.locations(path) {
            let arguments = ["download-file", "--quiet=2", &uri, &target, &checksum];
            match watched(cache, HELPER, configuration, &arguments, folder, &mut progress) {
                Err(PackageError::Failed { message, .. }) if is_missing(&message) => {}
                result => {
                    fetched = result.map_err(no_network);
                    break;
                }
            }
        }
        fetched?;
    }
    observer.fetched(what, total, total);
    Ok(())
}

/// True if the server answered that it has no such file.
fn is_missing(message: &str) -> bool {
    message.contains(" 404 ") || message.contains("File not found")
}

/// Runs a download into a directory. With --quiet=2, apt prints little enough for the pipe.
fn watched(
    cache: &Cache,
    program: &'static str,
    configuration: &Path,
    arguments: &[&str],
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<(), PackageError> {
    let mut child = command(program, Some(configuration), arguments, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot_start(program))?;
    while child.try_wait().map_err(file(folder))?.is_none() {
        std::thread::sleep(POLL);
        progress(bytes_in(folder));
    }
    let output = child.wait_with_output().map_err(file(folder))?;
    finished(cache, program, output).map(drop)
}

/// The package files of a directory, sorted.
pub(super) fn package_files(folder: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(folder).map_err(file(folder))? {
        let path = entry.map_err(file(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            packages.push(path);
        }
    }
    packages.sort();
    Ok(packages)
}

/// Unpacks a package without running its scripts.
pub(super) fn extract(cache: &Cache, package: &Path, tree: &Path) -> Result<(), PackageError> {
    let package = package.to_string_lossy();
    let tree = tree.to_string_lossy();
    run(cache, "dpkg", None, &["-x", &package, &tree]).map(drop)
}

/// Runs a program and returns its output.
pub(super) fn run(
    cache: &Cache,
    program: &'static str,
    configuration: Option<&Path>,
    arguments: &[&str],
) -> Result<Vec<u8>, PackageError> {
    let output = command(program, configuration, arguments, Path::new(".")).output().map_err(cannot_start(program))?;
    finished(cache, program, output)
}

fn command(program: &str, configuration: Option<&Path>, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
    match configuration {
        Some(path) => command.env("APT_CONFIG", path),
        None => command.env_remove("APT_CONFIG"),
    };
    process::end_with_parent(&mut command);
    command
}

fn finished(cache: &Cache, program: &'static str, output: Output) -> Result<Vec<u8>, PackageError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("No space left on device") {
        return Err(PackageError::DiskFull { path: cache.path("") });
    }
    let quoted = |line: &str| Some(line.split_once("package ")?.1.trim().trim_matches('\'').to_owned());
    if let Some(line) = text.lines().find(|line| line.contains("Unable to locate package")) {
        return Err(PackageError::NotFound { package: quoted(line).unwrap_or_default() });
    }
    let messages: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("E: ").or_else(|| line.strip_prefix("W: "))).collect();
    let message = match messages.as_slice() {
        [] => text.lines().last().unwrap_or("no reason given").trim().to_owned(),
        lines => lines.join(SEPARATOR),
    };
    Err(PackageError::Failed { program, message })
}

/// A download most often fails for lack of a network. apt says so for each suite; the first one suffices.
fn no_network(error: PackageError) -> PackageError {
    match error {
        PackageError::Failed { ref message, .. } if message.contains("Hash Sum mismatch") => error,
        PackageError::Failed { message, .. } => {
            let mut all = message.split(SEPARATOR);
            let message = all.find(|one| one.contains("Failed to fetch")).unwrap_or(&message).to_owned();
            PackageError::NoNetwork { message }
        }
        other => other,
    }
}

fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|metadata| metadata.len()).sum()
}

fn write_if_changed(path: &Path, text: &str) -> Result<(), PackageError> {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(file(path))
}

fn cannot_start(program: &'static str) -> impl FnOnce(io::Error) -> PackageError {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => PackageError::NoApt { program },
        _ => PackageError::File { path: program.into(), source },
    }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> PackageError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull => PackageError::DiskFull { path },
        _ => PackageError::File { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_uris() {
        let line =
            "'http://mirror.example/q/qemu_7.2%2bb3_amd64.deb' qemu-system-x86_1%3a7.2+b3_amd64.deb 9281168 MD5Sum:aa";
        assert_eq!(download_of(line), Some(Download { request: "qemu-system-x86=1:7.2+b3".into(), bytes: 9_281_168 }));
        assert_eq!(download_of("Reading package lists..."), None);
    }

    fn failed(message: &str) -> PackageError {
        PackageError::Failed { program: "apt-get", message: message.to_owned() }
    }

    #[test]
    fn failed_downloads() {
        let two =
            "Failed to fetch http://mirror.example/a  Could not connect; Failed to fetch http://mirror.example/b  No";
        let said = no_network(failed(two)).to_string();
        assert!(said.contains("work offline") && said.matches("Failed to fetch").count() == 1, "{said}");
        let damaged = "Failed to fetch http://mirror.example/a  Hash Sum mismatch";
        assert!(matches!(no_network(failed(damaged)), PackageError::Failed { .. }));
        for (message, missing) in [
            (two, false),
            (damaged, false),
            ("Failed to fetch http://mirror.example/404  404  Not Found [IP: 192.0.2.1 80]; Download Failed", true),
            ("Failed to fetch file:/mirror/a  File not found - /mirror/a (2: No such file or directory)", true),
        ] {
            assert_eq!(is_missing(message), missing, "{message}");
        }
    }

    #[test]
    fn hooks_of_the_machine_are_not_inherited() {
        let cache = Cache::at("/nowhere/candor".into());
        let machine = "Acquire::http::Proxy \"http://proxy.example:3128\";\nAPT::Update::Post-Invoke:: \"rm\";\n\
                       Acquire::IndexTargets::deb::DEP-11::MetaKey \"x\";\n";
        let settings = private_settings(&cache, machine);
        assert!(settings.contains("proxy.example"));
        assert!(!settings.contains("Post-Invoke") && !settings.contains("DEP-11"));
        assert!(settings.contains("Dir::State::lists \"/nowhere/candor/apt/lists\";"));
    }
}
