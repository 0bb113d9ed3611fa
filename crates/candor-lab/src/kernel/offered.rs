//! Kernels that the archive has, from the lists of its suites.

use super::pins::{Pin, UML_PREFIX, newest};
use crate::arch::Arch;
use crate::observer::Observer;
use crate::packages::{self, Archive, Listed, PackageError};

const IMAGE: &str = "linux-image-";
/// Since Linux 6.19, the package of the image only depends on these.
const PARTS: [&str; 2] = ["linux-binary-", "linux-modules-"];
const UML: &str = "user-mode-linux";
const LIBC: &str = "libc6";
/// Version of the C library on the oldest supported host.
const OLDEST_LIBC: &str = "2.36";
/// Packages below this size contain no kernel.
const SMALLEST_BYTES: u64 = 1_000_000;

/// All versions of all kernels, in the order of the suites.
pub(super) fn offered(archive: &Archive<'_>, observer: &mut dyn Observer) -> Result<Vec<Pin>, PackageError> {
    let listed = archive.listed(&[IMAGE, PARTS[0], PARTS[1], UML, LIBC], observer)?;
    Ok(kernels(&listed, archive.arch()))
}

/// The next later version of the same series, or else the last earlier one.
pub(super) fn nearest<'a>(pin: &Pin, offered: &'a [Pin]) -> Option<&'a Pin> {
    let order = |kernel: &&Pin| packages::compare(&kernel.version, &pin.version);
    let (earlier, later): (Vec<&Pin>, Vec<&Pin>) =
        { offered.iter() }.filter(|kernel| kernel.name == pin.name).partition(|kernel| order(kernel).is_lt());
    let next = later.into_iter().min_by(|left, right| packages::compare(&left.version, &right.version));
    next.or_else(|| newest(earlier.into_iter()))
}

fn kernels(listed: &[Listed], arch: Arch) -> Vec<Pin> {
    listed.iter().filter_map(|package| debian(package, listed, arch).or_else(|| uml(package, listed))).collect()
}

/// `None` for packages of other flavours, and if a package that it needs is not listed.
fn debian(package: &Listed, listed: &[Listed], arch: Arch) -> Option<Pin> {
    let release = package.package.strip_prefix(IMAGE)?;
    let version = release.strip_suffix(arch.debian())?.strip_suffix('-')?;
    let (version, suffix) = version.strip_suffix("-rt").map_or((version, ""), |version| (version, "-rt"));
    let is_plain = version.starts_with(|first: char| first.is_ascii_digit()) && !version.ends_with("-cloud");
    let parts = names(&package.depends).filter(|name| PARTS.iter().any(|part| name.starts_with(part)));
    let part = |name| listed.iter().find(|other| other.package == name && other.version == package.version);
    let mut files: Vec<_> = parts.map(|name| Some(part(name)?.file.clone())).collect::<Option<_>>()?;
    if files.is_empty() {
        files.push(package.file.clone());
    }
    let has_kernel = files.iter().all(|file| file.bytes >= SMALLEST_BYTES);
    (is_plain && has_kernel).then_some(())?;
    Some(Pin {
        name: format!("debian-{}{suffix}", series(&package.version)?),
        suite: package.suite.clone(),
        version: package.version.clone(),
        release: Some(release.to_owned()),
        files,
    })
}

/// User-mode Linux, with the C library if it needs a newer one than hosts may have.
fn uml(package: &Listed, listed: &[Listed]) -> Option<Pin> {
    (package.package == UML).then_some(())?;
    let needed = package.depends.split_once("libc6 (>= ").and_then(|(_, rest)| rest.split(')').next())?;
    let is_newer = |version: &str, than: &str| packages::compare(version, than).is_gt();
    let mut files = vec![package.file.clone()];
    if is_newer(needed, OLDEST_LIBC) {
        let library = listed.iter().find(|other| other.package == LIBC && !is_newer(needed, &other.version))?;
        files.push(library.file.clone());
    }
    Some(Pin {
        name: format!("{UML_PREFIX}{}", series(&package.version)?),
        suite: package.suite.clone(),
        version: package.version.clone(),
        release: None,
        files,
    })
}

fn names(depends: &str) -> impl Iterator<Item = &str> {
    depends.split(',').filter_map(|item| item.split_whitespace().next())
}

/// `6.1` of `6.1.192-2` and of `6.1um4+b13`.
fn series(version: &str) -> Option<String> {
    let version = version.split_once(':').map_or(version, |(_epoch, version)| version);
    let (major, rest) = version.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(&minor)).then(|| format!("{major}.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::PoolFile;

    fn listed(package: &str, version: &str, suite: &str, depends: &str) -> Listed {
        let bytes = if depends.contains("linux-") { 1900 } else { 50_000_000 };
        let path = format!("pool/{package}_{version}.deb");
        let file = PoolFile { path, bytes, sha256: "ab".into() };
        let (package, version) = (package.to_owned(), version.to_owned());
        Listed { package, version, suite: suite.to_owned(), depends: depends.to_owned(), file }
    }

    fn summary(kernel: &Pin) -> String {
        let files: Vec<&str> = kernel.files.iter().map(|file| file.path.as_str()).collect();
        format!("{} {} {} {}", kernel.name, kernel.suite, kernel.release.as_deref().unwrap_or("-"), files.join(" "))
    }

    #[test]
    fn kernels_of_both_packagings() {
        let lists = [
            listed("libc6", "2.36-9", "bookworm", "libgcc-s1"),
            listed("linux-image-6.1.0-56-amd64", "6.1.192-2", "bookworm-security", "kmod"),
            listed("linux-image-6.1.0-56-rt-amd64", "6.1.192-2", "bookworm-security", "kmod"),
            listed("linux-image-6.1.0-56-cloud-amd64", "6.1.192-2", "bookworm-security", "kmod"),
            listed("linux-image-6.1.0-56-amd64-unsigned", "6.1.192-2", "bookworm-security", "kmod"),
            listed("linux-image-amd64", "6.1.192-2", "bookworm-security", "linux-image-6.1.0-56-amd64"),
            listed("linux-image-6.12-amd64", "6.12.1-1", "bookworm-security", "linux-image-6.12.1-amd64"),
            listed("linux-image-7.0.1-amd64", "7.0.1-1", "sid", "linux-binary-7.0.1-amd64, linux-modules-7.0.1-amd64"),
            listed("linux-binary-7.0.1-amd64", "7.0.1-1", "sid", ""),
            listed(
                "linux-image-7.3.4-amd64",
                "7.3.4-1",
                "sid",
                "linux-binary-7.3.4-amd64 (= 7.3.4-1), linux-modules-7.3.4-amd64",
            ),
            listed("linux-binary-7.3.4-amd64", "7.3.4-1", "sid", ""),
            listed("linux-modules-7.3.4-amd64", "7.3.4-1", "sid", "kmod"),
            listed("libc6", "2.41-12", "trixie", "libgcc-s1"),
            listed("libc6", "2.43-7", "sid", "libgcc-s1"),
            listed("user-mode-linux", "6.1um4+b13", "bookworm", "libc6 (>= 2.34)"),
            listed("user-mode-linux", "7.2um1", "sid", "libc6 (>= 2.38)"),
        ];
        let found: Vec<String> = kernels(&lists, Arch::X86_64).iter().map(summary).collect();
        let expected = [
            "debian-6.1 bookworm-security 6.1.0-56-amd64 pool/linux-image-6.1.0-56-amd64_6.1.192-2.deb",
            "debian-6.1-rt bookworm-security 6.1.0-56-rt-amd64 pool/linux-image-6.1.0-56-rt-amd64_6.1.192-2.deb",
            "debian-7.3 sid 7.3.4-amd64 pool/linux-binary-7.3.4-amd64_7.3.4-1.deb pool/linux-modules-7.3.4-amd64_7.3.4-1.deb",
            "uml-6.1 bookworm - pool/user-mode-linux_6.1um4+b13.deb",
            "uml-7.2 sid - pool/user-mode-linux_7.2um1.deb pool/libc6_2.41-12.deb",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn nearest_version_is_the_next_one_or_else_the_last() {
        let image = |version| listed(&format!("linux-image-{version}-amd64"), version, "sid", "");
        let offered = kernels(&["6.1.9-1", "6.1.12-1", "6.1.11-1", "6.12.1-1"].map(image), Arch::X86_64);
        for (pinned, expected) in [
            ("6.1.8-1", Some("6.1.9-1")),
            ("6.1.10-1", Some("6.1.11-1")),
            ("6.1.11-1", Some("6.1.11-1")),
            ("6.1.13-1", Some("6.1.12-1")),
            ("6.2.1-1", None),
        ] {
            let pin = kernels(&[image(pinned)], Arch::X86_64).remove(0);
            assert_eq!(nearest(&pin, &offered).map(|kernel| kernel.version.as_str()), expected, "{pinned}");
        }
    }

    #[test]
    fn series_of_unusual_versions() {
        assert_eq!(series("6.1um4+b13").as_deref(), Some("6.1"));
        assert_eq!(series("1:6.12~rc1-1").as_deref(), Some("6.12"));
        assert_eq!(series("6"), None);
        assert_eq!(series("a.b"), None);
        assert_eq!(series(""), None);
    }
}
