//! Needs of tests: prints why a test is skipped, and fails if `CANDOR_REQUIRE` lists the feature.

pub(crate) fn require<T>(feature: &str, found: Option<T>, reason: &str) -> Option<T> {
    if found.is_none() {
        let demanded = std::env::var("CANDOR_REQUIRE").unwrap_or_default();
        assert!(!demanded.split(',').any(|one| one == feature), "{feature} is required, but {reason}");
        println!("SKIP needs {feature}: {reason}");
    }
    found
}
