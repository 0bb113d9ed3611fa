use std::collections::BTreeMap;

/// The options that a kernel is built with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// The text of a `.config`.
    pub fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// `y`, `m` or another value; `None` if it is not set. Names are without `CONFIG_`.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
