//! Packages in the lists of every suite of the archive.

use super::PoolFile;

/// A version of a package in the lists of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub package: String,
    pub version: String,
    pub suite: String,
    /// As in the list: `libc6 (>= 2.38), kmod`.
    pub depends: String,
    pub file: PoolFile,
}

/// The packages in the text of a list that are named `wanted`, or begin with it if it ends in `-`.
pub(super) fn parse(text: &str, suite: &str, wanted: &[&str]) -> Vec<Listed> {
    let named = |package: &str| {
        wanted.iter().any(|name| package == *name || (name.ends_with('-') && package.starts_with(name)))
    };
    let is_wanted = |stanza: &&str| {
        let first = stanza.trim_start().lines().next().and_then(|line| line.strip_prefix("Package: "));
        first.is_some_and(named)
    };
    text.split("\n\n").filter(is_wanted).filter_map(|stanza| listed(stanza, suite)).collect()
}

fn listed(stanza: &str, suite: &str) -> Option<Listed> {
    let field = |name: &str| -> Option<String> {
        let value = stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        Some(value.trim().to_owned())
    };
    Some(Listed {
        package: field("Package")?,
        version: field("Version")?,
        suite: suite.to_owned(),
        depends: field("Depends").unwrap_or_default(),
        file: PoolFile { path: field("Filename")?, bytes: field("Size")?.parse().ok()?, sha256: field("SHA256")? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lists() {
        let text = "Package: libc6\nVersion: 2.41-1\nFilename: pool/c.deb\nSize: 7\nSHA256: ab\n\n\
            Package: libc6-dev\nVersion: 2\nFilename: pool/d.deb\nSize: 8\nSHA256: cd\n\n\
            Package: linux-image-6.1.0-1-amd64\nVersion: 6.1.1-1\nDepends: kmod, linux-base (>= 4.3~)\n\
            Filename: pool/k.deb\nSize: 9\nSHA256: ef\n\n\
            Package: linux-image-broken\nVersion: 1\n\n";
        let found = parse(text, "bookworm", &["libc6", "linux-image-"]);
        let names: Vec<&str> = found.iter().map(|one| one.package.as_str()).collect();
        assert_eq!(names, ["libc6", "linux-image-6.1.0-1-amd64"]);
        let file = PoolFile { path: "pool/k.deb".into(), bytes: 9, sha256: "ef".into() };
        assert_eq!((&found[1].file, found[1].depends.as_str()), (&file, "kmod, linux-base (>= 4.3~)"));
    }
}
