//! Sources of packages: the Debian archive that this machine is configured for.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    #[error("Unknown Debian release: no VERSION_CODENAME in /etc/os-release")]
    NoCodename,
    #[error(
        "No package source of this machine offers the Debian release {codename} (or stable, testing, unstable); candor needs \
         its component main"
    )]
    NoMainArchive { codename: String },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    /// Those of [`OPTIONS`] that it has.
    options: Vec<(&'static str, String)>,
}

/// What the sources of a machine give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    /// apt's sources for the release of the machine, its updates and security fixes.
    pub(super) release: String,
    /// apt's sources for every suite with kernels.
    pub(super) every_suite: String,
    archive: Vec<String>,
    security: Vec<String>,
}

impl Machine {
    /// Where a file of the pool can be. Files of the security archive begin with `pool/updates/` there, and move to the main
    /// archive with the next point release.
    pub(super) fn locations(&self, path: &str) -> Vec<String> {
        let rest = path.trim_start_matches("pool/").trim_start_matches("updates/");
        let below = |uris: &[String], folder: &str| -> Vec<String> {
            uris.iter().map(|uri| format!("{}/{folder}{rest}", uri.trim_end_matches('/'))).collect()
        };
        let (archive, security) = (below(&self.archive, "pool/"), below(&self.security, "pool/updates/"));
        let order = if path.starts_with("pool/updates/") { [security, archive] } else { [archive, security] };
        order.concat()
    }
}

const SUITES: [&str; 6] = ["bookworm", "bookworm-backports", "trixie", "trixie-backports", "forky", "sid"];
const SECURITY_SUITES: [&str; 2] = ["bookworm-security", "trixie-security"];

/// Options to keep: signing keys, and disabled checks. One-line format has the same names in lower case.
const OPTIONS: [&str; 3] = ["Signed-By", "Trusted", "Check-Valid-Until"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Release<'a> {
    codename: &'a str,
    /// Testing and unstable have no version number.
    released: bool,
}

/// apt's configuration directory, from its settings.
pub(super) fn etc_folder(settings: &str) -> PathBuf {
    let value = |name: &str| {
        let line = settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" \""));
        line.and_then(|rest| rest.strip_suffix("\";")).unwrap_or_default().to_owned()
    };
    let root = match value("Dir") {
        root if root.is_empty() => PathBuf::from("/"),
        root => PathBuf::from(root),
    };
    match value("Dir::Etc") {
        etc if etc.is_empty() => root.join("etc/apt"),
        etc => root.join(etc),
    }
}

pub(super) fn of_machine(etc: &Path) -> Result<Machine, SourcesError> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = this_release(&release).ok_or(SourcesError::NoCodename)?;
    let mut configured = parse_lines(&fs::read_to_string(etc.join("sources.list")).unwrap_or_default());
    let mut parts: Vec<PathBuf> = match fs::read_dir(etc.join("sources.list.d")) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    parts.sort();
    for part in parts {
        let text = fs::read_to_string(&part).unwrap_or_default();
        match part.extension().and_then(|extension| extension.to_str()) {
            Some("list") => configured.extend(parse_lines(&text)),
            Some("sources") => configured.extend(parse_stanzas(&text)),
            _ => {}
        }
    }
    derive(&configured, release)
}

fn this_release(os_release: &str) -> Option<Release<'_>> {
    let value = |name: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"')).filter(|value| !value.is_empty())
    };
    Some(Release { codename: value("VERSION_CODENAME")?, released: value("VERSION_ID").is_some() })
}

fn derive(configured: &[Source], release: Release<'_>) -> Result<Machine, SourcesError> {
    let (archive, base) = main_archive(configured, release)
        .ok_or_else(|| SourcesError::NoMainArchive { codename: release.codename.to_owned() })?;
    let mut text = String::new();
    let belongs = |suite: &str| {
        [base, release.codename]
            .iter()
            .any(|name| suite.strip_prefix(name).is_some_and(|suffix| matches!(suffix, "" | "-updates" | "-security")))
    };
    for source in configured.iter().filter(|source| has_main(source)) {
        for suite in source.suites.iter().filter(|suite| belongs(suite)) {
            stanza(&mut text, source, suite);
        }
    }
    let is_security =
        |source: &&Source| has_main(source) && source.suites.iter().any(|suite| suite.ends_with("-security"));
    let security = match configured.iter().find(is_security) {
        Some(source) => source.clone(),
        None => Source { uris: security_beside(&archive.uris), ..archive.clone() },
    };
    let mut every_suite = String::new();
    SUITES.iter().for_each(|suite| stanza(&mut every_suite, archive, suite));
    if !security.uris.is_empty() {
        SECURITY_SUITES.iter().for_each(|suite| stanza(&mut every_suite, &security, suite));
    }
    Ok(Machine { release: text, every_suite, archive: archive.uris.clone(), security: security.uris })
}

/// Mirrors have the security archive beside `debian`, as `debian-security`.
fn security_beside(archive: &[String]) -> Vec<String> {
    let on_servers = archive.iter().filter(|uri| uri.starts_with("http"));
    on_servers.map(|uri| format!("{}-security", uri.trim_end_matches('/'))).collect()
}

/// Suites whose packages change without a release.
const UNRELEASED: [&str; 3] = ["testing", "unstable", "sid"];

/// The source of the release, and its suite name. A machine may have further suites for a few packages: its codename
/// comes first, then its class.
fn main_archive<'a>(configured: &'a [Source], release: Release<'a>) -> Option<(&'a Source, &'a str)> {
    let stable = release.released.then_some("stable");
    let names = [Some(release.codename), stable].into_iter().flatten().chain(UNRELEASED);
    names.into_iter().find_map(|name| {
        let has = |source: &&Source| has_main(source) && source.suites.iter().any(|suite| suite == name);
        Some((configured.iter().find(has)?, name))
    })
}

fn has_main(source: &Source) -> bool {
    source.components.iter().any(|component| component == "main")
}

fn stanza(text: &mut String, source: &Source, suite: &str) {
    let uris = source.uris.join(" ");
    let mut add = |name: &str, value: &str| {
        writeln!(text, "{name}: {value}").expect("writing to a String cannot fail");
    };
    let fixed = [("Types", "deb"), ("URIs", &uris), ("Suites", suite), ("Components", "main")];
    fixed.into_iter().for_each(|(name, value)| add(name, value));
    source.options.iter().for_each(|(name, value)| add(name, value));
    text.push('\n');
}

/// One-line format: `deb [option=value …] URI suite component…`.
fn parse_lines(text: &str) -> Vec<Source> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim().strip_prefix("deb")?;
    let line = line.strip_prefix(char::is_whitespace)?.trim_start();
    let (options, rest) = match line.strip_prefix('[') {
        Some(line) => line.split_once(']')?,
        None => ("", line),
    };
    let mut words = rest.split_whitespace().map(str::to_owned);
    let option = |wanted: &str| {
        let written = options.split_whitespace().filter_map(|option| option.split_once('='));
        let (_, value) = { written }.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        // Values are separated by commas here, by blanks in deb822.
        Some(value.replace(',', " "))
    };
    let options = taken_along(option);
    let (uri, suite) = (words.next()?, words.next()?);
    usable(&uri).then(|| Source { uris: vec![uri], suites: vec![suite], components: words.collect(), options })
}

/// deb822 format: stanzas of `Name: value`, with continuation lines.
fn parse_stanzas(text: &str) -> Vec<Source> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.split(|line| line.trim().is_empty()).filter_map(parse_stanza).collect()
}

fn parse_stanza(lines: &[&str]) -> Option<Source> {
    let field = |name: &str| -> Option<String> {
        let has_name = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        let first = lines.iter().position(|line| !line.starts_with([' ', '\t']) && has_name(line))?;
        let mut value = lines[first].split_once(':')?.1.trim().to_owned();
        for line in lines[first + 1..].iter().take_while(|line| line.starts_with([' ', '\t'])) {
            value.push('\n');
            value.push_str(line);
        }
        Some(value)
    };
    let words =
        |name| -> Vec<String> { field(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect() };
    let off = field("Enabled").is_some_and(|value| matches!(value.to_lowercase().as_str(), "no" | "false" | "0"));
    if off || !words("Types").iter().any(|kind| kind == "deb") {
        return None;
    }
    let uris: Vec<String> = words("URIs").into_iter().filter(|uri| usable(uri)).collect();
    let source = Source { uris, suites: words("Suites"), components: words("Components"), options: taken_along(field) };
    (!source.uris.is_empty()).then_some(source)
}

fn taken_along(value: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    OPTIONS.into_iter().filter_map(|name| Some((name, value(name)?))).collect()
}

/// Removable media have no kernels.
fn usable(uri: &str) -> bool {
    uri.contains(":/") && !uri.starts_with("cdrom:")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOKWORM: Release<'_> = Release { codename: "bookworm", released: true };
    const TRIXIE: Release<'_> = Release { codename: "trixie", released: true };
    const FORKY: Release<'_> = Release { codename: "forky", released: false };

    fn suites(text: &str) -> Vec<&str> {
        text.lines().filter_map(|line| line.strip_prefix("Suites: ")).collect()
    }

    #[test]
    fn both_formats_give_the_same_sources() {
        let lines = "# comment\n\
            deb [arch=amd64 signed-by=/keys/a.gpg,/keys/b.gpg trusted=yes check-valid-until=no] http://mirror.example/debian trixie main contrib # why\n\
            deb-src http://mirror.example/debian trixie main\n\
            deb cdrom:[Debian]/ trixie main\n";
        let stanzas = "Types: deb deb-src\n# comment\nURIs: http://mirror.example/debian\nSuites: trixie\n\
            Components: main\n contrib\nSigned-By: /keys/a.gpg /keys/b.gpg\nTrusted: yes\n\
            Check-Valid-Until: no\n\n\
            Enabled: no\nTypes: deb\nURIs: http://off.example/\nSuites: trixie\nComponents: main\n";
        let machine = derive(&parse_lines(lines), TRIXIE).unwrap();
        assert_eq!(Ok(&machine), derive(&parse_stanzas(stanzas), TRIXIE).as_ref());
        let text = machine.release;
        assert!(text.contains("Signed-By: /keys/a.gpg /keys/b.gpg\nTrusted: yes\nCheck-Valid-Until: no\n\n"), "{text}");
    }

    #[test]
    fn every_suite_comes_from_the_same_archive() {
        let stanzas = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
            Components: main\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\n\n\
            Types: deb\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n\n\
            Types: deb\nURIs: https://other.example/\nSuites: nodistro\nComponents: main\n";
        let machine = derive(&parse_stanzas(stanzas), BOOKWORM).unwrap();
        assert_eq!(suites(&machine.release), ["bookworm", "bookworm-updates", "bookworm-security"]);
        assert!(machine.release.contains("Signed-By: \n -----BEGIN KEY-----\n .\n abc\n"));
        assert_eq!(suites(&machine.every_suite), [&SUITES[..], &SECURITY_SUITES].concat());
        assert!(machine.every_suite.contains("URIs: http://mirror.example/security\nSuites: trixie-security\n"));
        assert!(!machine.release.contains("other.example") && !machine.every_suite.contains("other.example"));
    }

    #[test]
    fn locations_of_package_files() {
        let sources = "deb http://mirror.example/debian/ sid main\n";
        let mut machine = derive(&parse_lines(sources), FORKY).unwrap();
        let (archive, security) = ("http://mirror.example/debian/pool/main/a.deb", "/pool/updates/main/a.deb");
        let beside = format!("http://mirror.example/debian-security{security}");
        assert_eq!(machine.locations("pool/main/a.deb"), [archive.to_owned(), beside]);
        let local = derive(&parse_lines("deb mirror+file:/etc/mirrors sid main\n"), FORKY).unwrap();
        assert_eq!(local.locations("pool/main/a.deb"), ["mirror+file:/etc/mirrors/pool/main/a.deb"]);
        assert_eq!(suites(&local.every_suite), SUITES);
        machine.security = vec!["http://mirror.example/security".to_owned()];
        let first = format!("http://mirror.example/security{security}");
        assert_eq!(machine.locations("pool/updates/main/a.deb"), [first, archive.to_owned()]);
    }

    #[test]
    fn other_distributions_are_refused() {
        let sources = parse_lines("deb http://mirror.example/other jammy main\n");
        assert_eq!(derive(&sources, TRIXIE), Err(SourcesError::NoMainArchive { codename: "trixie".into() }));
    }

    #[test]
    fn parses_os_release() {
        assert_eq!(this_release("ID=x\nVERSION_ID=\"12\"\nVERSION_CODENAME=\"bookworm\"\n"), Some(BOOKWORM));
        assert_eq!(this_release("PRETTY_NAME=\"forky/sid\"\nVERSION_CODENAME=forky\n"), Some(FORKY));
        assert_eq!(this_release("ID=x\n"), None);
    }

    #[test]
    fn suite_names_are_kept() {
        let with = |names: &[&str]| {
            let line = |name: &&str| format!("deb http://mirror.example/debian {name} main\n");
            parse_lines(&names.iter().map(line).collect::<String>())
        };
        let derived = |names: &[&str], release| derive(&with(names), release).unwrap().release;
        let stable = ["stable", "stable-updates", "trixie-security", "sid"];
        assert_eq!(suites(&derived(&stable, TRIXIE)), ["stable", "stable-updates", "trixie-security"]);
        assert_eq!(suites(&derived(&["sid", "trixie"], TRIXIE)), ["trixie"]);
        assert_eq!(suites(&derived(&["testing", "testing-security"], FORKY)), ["testing", "testing-security"]);
        assert_eq!(suites(&derived(&["unstable"], FORKY)), ["unstable"]);
        assert_eq!(suites(&derived(&["sid"], TRIXIE)), ["sid"]);
        assert_eq!(suites(&derived(&["forky"], FORKY)), ["forky"]);
        assert!(derive(&with(&["stable"]), FORKY).is_err());
    }

    #[test]
    fn finds_the_etc_folder_in_the_settings() {
        assert_eq!(
            etc_folder("Dir \"/\";\nDir::Etc \"etc/apt\";\nDir::Etc::main \"apt.conf\";\n"),
            Path::new("/etc/apt")
        );
        assert_eq!(etc_folder(""), Path::new("/etc/apt"));
    }
}
