//! Names of kernels from the packages in the archive.

use super::{Kernel, Testbed};
use crate::packages::{Archive, Offer, PackageError};

/// Meta packages for the newest kernel of a suite, without the processor, and the suffix of the name.
const META: [(&str, &str); 2] = [("linux-image-", ""), ("linux-image-rt-", "-rt")];
const UML: &str = "user-mode-linux";
/// Prefix of kernel packages; the release follows.
const IMAGE_PREFIX: &str = "linux-image-";

/// Kernels of the release first, then backports; each without real-time patches before with them.
pub(super) fn offered(archive: &Archive<'_>) -> Result<Vec<Kernel>, PackageError> {
    let mut kernels = Vec::new();
    for (meta, suffix) in META {
        let meta = format!("{meta}{}", archive.arch().debian());
        for (name, offer) in named(&archive.offers(&meta)?, suffix) {
            let depends = archive.depends(&meta, &offer.version)?;
            let Some(package) = depends.into_iter().find(|package| package.starts_with(IMAGE_PREFIX)) else { continue };
            kernels.push(Kernel {
                name,
                testbed: Testbed::Icount,
                release: package.strip_prefix(IMAGE_PREFIX).map(|release| release.trim_end_matches("-unsigned").into()),
                version: offer.version,
                suite: offer.suite,
                cached: false,
                package,
            });
        }
    }
    kernels.sort_by_key(|kernel| (kernel.name.starts_with("backports"), series_key(&kernel.name), kernel.name.len()));
    if archive.arch().is_here()
        && let Some(offer) = archive.offers(UML)?.into_iter().next()
        && let Some(series) = series(&offer.version)
    {
        kernels.push(Kernel {
            name: format!("uml-{series}"),
            testbed: Testbed::Uml,
            release: None,
            version: offer.version,
            suite: offer.suite,
            cached: false,
            package: UML.to_owned(),
        });
    }
    Ok(kernels)
}

/// Major and minor number in a name, for sorting.
pub(super) fn series_key(name: &str) -> (u32, u32) {
    let series = name.split('-').nth(1).unwrap_or_default();
    let mut numbers = series.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Names the newest offer of each series, release and backports separately. Offers are sorted, newest first.
fn named(offers: &[Offer], suffix: &str) -> Vec<(String, Offer)> {
    let mut named: Vec<(String, Offer)> = Vec::new();
    for offer in offers {
        let Some(series) = series(&offer.version) else { continue };
        let origin = if offer.suite.ends_with("-backports") { "backports" } else { "debian" };
        let name = format!("{origin}-{series}{suffix}");
        if named.iter().all(|(present, _)| *present != name) {
            named.push((name, offer.clone()));
        }
    }
    named
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

    fn offer(version: &str, suite: &str) -> Offer {
        Offer { version: version.into(), suite: suite.into() }
    }

    #[test]
    fn newest_offer_of_a_series_gets_the_name() {
        let offers = [
            offer("6.12.95-1~bpo12+1", "bookworm-backports"),
            offer("6.1.192-2", "bookworm-security"),
            offer("6.1.176-1", "bookworm"),
        ];
        let names: Vec<(String, String)> =
            named(&offers, "-rt").into_iter().map(|(name, offer)| (name, offer.version)).collect();
        let expected = [("backports-6.12-rt", "6.12.95-1~bpo12+1"), ("debian-6.1-rt", "6.1.192-2")];
        assert_eq!(names, expected.map(|(name, version)| (name.to_owned(), version.to_owned())));
    }

    #[test]
    fn series_of_unusual_versions() {
        assert_eq!(series("6.1um4+b13").as_deref(), Some("6.1"));
        assert_eq!(series("1:6.12~rc1-1").as_deref(), Some("6.12"));
        assert_eq!(series("6"), None);
        assert_eq!(series("a.b"), None);
        assert_eq!(series(""), None);
    }

    #[test]
    fn later_series_sort_later() {
        assert!(series_key("debian-6.1") < series_key("debian-6.12-rt"));
        assert_eq!(series_key("nonsense"), (0, 0));
    }
}
