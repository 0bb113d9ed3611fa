//! Where packages come from: the Debian archive that this machine is configured for, and its backports.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Why this machine's sources are of no use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourcesError {
    /// /etc/os-release names no release.
    #[error("This machine does not say which Debian release it is (VERSION_CODENAME in /etc/os-release)")]
    NoCodename,
    /// No source for the release.
    #[error("No package source of this machine has the Debian release {codename}; candor needs its main archive")]
    NoMainArchive {
        /// The release.
        codename: String,
    },
}

/// One source of packages, whatever the notation it was written in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Source {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    /// A key ring's path, or a whole key with its line breaks.
    signed_by: Option<String>,
}

/// The folder with apt's sources, from its settings.
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

/// The sources of the private root for this machine.
pub(super) fn of_machine(etc: &Path) -> Result<String, SourcesError> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let codename = codename(&release).ok_or(SourcesError::NoCodename)?;
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
    derive(&configured, codename)
}

/// The same sources, less the backports.
pub(super) fn without_backports(text: &str) -> String {
    let keep = |stanza: &&str| !stanza.lines().any(|line| line.starts_with("Suites:") && line.contains("-backports"));
    text.split_inclusive("\n\n").filter(keep).collect()
}

fn codename(release: &str) -> Option<&str> {
    let value = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?.trim().trim_matches('"');
    (!value.is_empty()).then_some(value)
}

/// The release, its updates and its security fixes as configured, and its backports from the same archive.
fn derive(configured: &[Source], codename: &str) -> Result<String, SourcesError> {
    let main = |source: &&Source| source.suites.iter().any(|suite| suite == codename) && has_main(source);
    let archive =
        configured.iter().find(main).ok_or_else(|| SourcesError::NoMainArchive { codename: codename.to_owned() })?;
    let mut text = String::new();
    let wanted = ["", "-updates", "-security"].map(|suffix| format!("{codename}{suffix}"));
    for source in configured.iter().filter(|source| has_main(source)) {
        for suite in source.suites.iter().filter(|suite| wanted.contains(suite)) {
            stanza(&mut text, source, suite);
        }
    }
    stanza(&mut text, archive, &format!("{codename}-backports"));
    Ok(text)
}

fn has_main(source: &Source) -> bool {
    source.components.iter().any(|component| component == "main")
}

fn stanza(text: &mut String, source: &Source, suite: &str) {
    let written = write!(
        text,
        "Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\nArchitectures: amd64\n",
        source.uris.join(" ")
    );
    let signed_by = source.signed_by.as_deref().map_or(Ok(()), |keys| writeln!(text, "Signed-By: {keys}"));
    written.and(signed_by).and_then(|()| text.write_str("\n")).expect("writing to a String cannot fail");
}

/// One-line notation: `deb [option=value …] URI suite component…`.
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
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let signed_by = signed_by.map(|keys| keys.replace(',', " "));
    let (uri, suite) = (words.next()?, words.next()?);
    usable(&uri).then(|| Source { uris: vec![uri], suites: vec![suite], components: words.collect(), signed_by })
}

/// deb822 notation: stanzas of `Name: value`, with continuation lines.
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
    let source =
        Source { uris, suites: words("Suites"), components: words("Components"), signed_by: field("Signed-By") };
    (!source.uris.is_empty()).then_some(source)
}

/// A medium that must be put into a drive is no archive to take kernels from.
fn usable(uri: &str) -> bool {
    uri.contains(":/") && !uri.starts_with("cdrom:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_give_the_same_sources() {
        let lines = "# comment\n\
            deb [arch=amd64 signed-by=/keys/a.gpg] http://mirror.example/debian trixie main contrib # why\n\
            deb-src http://mirror.example/debian trixie main\n\
            deb cdrom:[Debian]/ trixie main\n";
        let stanzas = "Types: deb deb-src\n# comment\nURIs: http://mirror.example/debian\nSuites: trixie\n\
            Components: main\n contrib\nSigned-By: /keys/a.gpg\n\n\
            Enabled: no\nTypes: deb\nURIs: http://off.example/\nSuites: trixie\nComponents: main\n";
        assert_eq!(derive(&parse_lines(lines), "trixie"), derive(&parse_stanzas(stanzas), "trixie"));
    }

    #[test]
    fn backports_come_from_the_same_archive() {
        let stanzas = "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm bookworm-updates\n\
            Components: main\nSigned-By:\n -----BEGIN KEY-----\n .\n abc\n\n\
            Types: deb\nURIs: http://mirror.example/security\nSuites: bookworm-security\nComponents: main\n\n\
            Types: deb\nURIs: https://other.example/\nSuites: nodistro\nComponents: main\n";
        let text = derive(&parse_stanzas(stanzas), "bookworm").unwrap();
        let suites: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("Suites: ")).collect();
        assert_eq!(suites, ["bookworm", "bookworm-updates", "bookworm-security", "bookworm-backports"]);
        assert!(text.contains("Signed-By: \n -----BEGIN KEY-----\n .\n abc\n"));
        assert!(!text.contains("other.example"));
        let without = without_backports(&text);
        assert!(!without.contains("backports") && without.contains("bookworm-security"));
    }

    #[test]
    fn other_distributions_are_refused() {
        let sources = parse_lines("deb http://mirror.example/other jammy main\n");
        assert_eq!(derive(&sources, "trixie"), Err(SourcesError::NoMainArchive { codename: "trixie".into() }));
        assert_eq!(codename("ID=x\nVERSION_CODENAME=\"bookworm\"\n"), Some("bookworm"));
        assert_eq!(codename("ID=x\n"), None);
    }

    #[test]
    fn etc_is_found_in_the_settings() {
        assert_eq!(
            etc_folder("Dir \"/\";\nDir::Etc \"etc/apt\";\nDir::Etc::main \"apt.conf\";\n"),
            Path::new("/etc/apt")
        );
        assert_eq!(etc_folder(""), Path::new("/etc/apt"));
    }
}
