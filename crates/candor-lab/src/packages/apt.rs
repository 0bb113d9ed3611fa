//! Calls of apt and dpkg.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use candor_io::process;

use super::sources;
use super::{Download, Offer, PackageError};
use crate::cache::Cache;
use crate::observer::Observer;

pub(super) const LISTS_KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// Touched when the lists are complete.
const STAMP: &str = "apt/updated";
const SEPARATOR: &str = "; ";
const POLL: Duration = Duration::from_millis(100);

/// Writes sources and settings of the private root. Returns the configuration file.
pub(super) fn configure(cache: &Cache) -> Result<PathBuf, PackageError> {
    for folder in ["apt/lists/partial", "apt/state", "apt/archives/partial", "apt/none"] {
        cache.create(folder)?;
    }
    let settings = run(cache, "apt-config", None, &["dump"])?;
    let settings = String::from_utf8_lossy(&settings);
    let text = sources::of_machine(&sources::etc_folder(&settings))?;
    write_if_changed(&cache.path("apt/candor.sources"), &text)?;
    let configuration = cache.path("apt/apt.conf");
    write_if_changed(&configuration, &private_settings(cache, &settings))?;
    Ok(configuration)
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

/// Fetches the lists; without backports if the mirror has none.
pub(super) fn update(cache: &Cache, configuration: &Path) -> Result<(), PackageError> {
    let fetch = || run(cache, "apt-get", Some(configuration), &["update", "--quiet=2"]).map(drop);
    update_with(&cache.path("apt/candor.sources"), fetch)?;
    let stamp = cache.path(STAMP);
    fs::write(&stamp, "").map_err(file(&stamp))
}

/// Removes backports from the sources only if that helps.
fn update_with(sources: &Path, fetch: impl Fn() -> Result<(), PackageError>) -> Result<(), PackageError> {
    let Err(error) = fetch() else { return Ok(()) };
    let all = fs::read_to_string(sources).map_err(file(sources))?;
    let without = sources::without_backports(&all);
    let backports_only = matches!(&error, PackageError::Failed { message, .. } if blames_backports_only(message));
    if !backports_only || without == all {
        return Err(no_network(error));
    }
    write_if_changed(sources, &without)?;
    fetch().or_else(|second| {
        write_if_changed(sources, &all)?;
        Err(no_network(second))
    })
}

/// True if only backports could not be fetched. Without a network, the other suites fail too.
fn blames_backports_only(message: &str) -> bool {
    const FETCH: &str = "Failed to fetch ";
    const RELEASE: &str = "does not have a Release file";
    let mut blamed = message.split(SEPARATOR).filter_map(|one| match one.split_once(FETCH) {
        Some((_, rest)) => rest.split_whitespace().next(),
        None => one.contains(RELEASE).then_some(one),
    });
    let first = blamed.next().is_some_and(|what| what.contains("-backports"));
    first && blamed.all(|what| what.contains("-backports"))
}

/// A line of `apt-cache madison`: `package | version | URI suite/component architecture Packages`.
pub(super) fn offer(line: &str) -> Option<Offer> {
    let mut columns = line.split('|').map(str::trim);
    let (_package, version, source) = (columns.next()?, columns.next()?, columns.next()?);
    let mut words = source.split_whitespace();
    let (_uri, suite, _architecture, kind) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let suite = suite.split('/').next()?;
    (kind == "Packages").then(|| Offer { version: version.to_owned(), suite: suite.to_owned() })
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
    let mut child = command("apt-get", Some(configuration), &arguments, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot_start("apt-get"))?;
    observer.fetched(what, 0, total);
    // With --quiet=2, apt prints little enough for the pipe.
    while child.try_wait().map_err(file(folder))?.is_none() {
        std::thread::sleep(POLL);
        observer.fetched(what, bytes_in(folder), total);
    }
    let output = child.wait_with_output().map_err(file(folder))?;
    finished(cache, "apt-get", output).map_err(no_network)?;
    observer.fetched(what, total, total);
    Ok(())
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
    let output = command(program, configuration, arguments, Path::new("/")).output().map_err(cannot_start(program))?;
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

/// A download most often fails for lack of a network.
fn no_network(error: PackageError) -> PackageError {
    match error {
        PackageError::Failed { message, .. } => PackageError::NoNetwork { message },
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
    fn parses_offers() {
        let line = "linux-image-amd64 | 6.12.95-1~bpo12+1 | http://mirror.example/debian bookworm-backports/main amd64 Packages";
        let expected = Offer { version: "6.12.95-1~bpo12+1".into(), suite: "bookworm-backports".into() };
        assert_eq!(offer(line), Some(expected));
        assert_eq!(offer("linux | 6.1.176-1 | http://mirror.example/debian bookworm/main Sources"), None);
        assert_eq!(offer("N: Unable to locate package x"), None);
    }

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

    /// Updates sources with backports; `fetch` gets the sources and returns apt's result. Returns whether backports are
    /// still there.
    fn update(fetch: impl Fn(&str) -> Result<(), PackageError>) -> (Result<(), PackageError>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candor.sources");
        fs::write(&path, "Suites: bookworm\n\nSuites: bookworm-backports\n\n").unwrap();
        let result = update_with(&path, || fetch(&fs::read_to_string(&path).unwrap()));
        (result, fs::read_to_string(&path).unwrap().contains("-backports"))
    }

    #[test]
    fn mirror_without_backports_is_used_without_them() {
        for message in [
            "The repository 'http://mirror.example/debian bookworm-backports Release' does not have a Release file.",
            "Failed to fetch http://mirror.example/dists/bookworm-backports/InRelease  404  Not Found; Some index files \
             failed to download. They have been ignored, or old ones used instead.",
        ] {
            let (result, kept) =
                update(|sources| if sources.contains("-backports") { Err(failed(message)) } else { Ok(()) });
            assert!(result.is_ok() && !kept, "{message}");
        }
    }

    #[test]
    fn missing_network_is_not_a_mirror_without_backports() {
        let message = "Failed to fetch http://mirror.example/dists/bookworm/InRelease  Could not connect; Failed to \
                       fetch http://mirror.example/dists/bookworm-backports/InRelease  Unable to connect";
        let calls = std::cell::Cell::new(0);
        let (result, kept) = update(|_| {
            calls.set(calls.get() + 1);
            Err(failed(message))
        });
        assert!(matches!(result, Err(PackageError::NoNetwork { .. })) && kept);
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn backports_are_restored_if_removing_them_does_not_help() {
        let (result, kept) = update(|sources| {
            let suite = if sources.contains("-backports") { "bookworm-backports" } else { "bookworm" };
            Err(failed(&format!("Failed to fetch http://mirror.example/dists/{suite}/InRelease  Timed out")))
        });
        let Err(PackageError::NoNetwork { message }) = result else { panic!("{result:?}") };
        assert!(message.contains("/bookworm/") && kept);
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
