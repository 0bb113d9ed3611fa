//! Keys and values of a table.

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Findings, Span, code};
use crate::document::Spanned;

/// Maximum length of quoted text in a message.
const MAX_QUOTED_CHARS: usize = 40;

/// One `key = value`.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    /// The key without quotes.
    pub key: &'t str,
    key_span: (usize, usize),
    /// The value with its span.
    pub value: &'t TomlSpanned<DeValue<'t>>,
}

/// The entries of a table in the order of the file.
pub fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| Entry { key: key.get_ref(), key_span: (key.span().start, key.span().end), value })
        .collect();
    crate::order::sort_by_key(&mut entries, |entry| entry.key_span);
    entries
}

impl<'t> Entry<'t> {
    /// Byte range of the key in the text.
    pub fn key_span(&self) -> Span {
        self.key_span.0..self.key_span.1
    }

    /// The key as a name given by the user.
    pub fn name(&self) -> Spanned<String> {
        Spanned { value: self.key.to_owned(), span: self.key_span() }
    }

    /// Byte range of the value in the text.
    pub fn span(&self) -> Span {
        self.value.span()
    }

    /// The same key with another value: an item of its list.
    pub fn with_value(&self, value: &'t TomlSpanned<DeValue<'t>>) -> Self {
        Self { value, ..*self }
    }

    /// The items of a list, or the value itself if it is not a list.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Self> {
        let items = match self.value.get_ref() {
            DeValue::Array(array) => &array[..],
            _ => std::slice::from_ref(self.value),
        };
        let entry = *self;
        items.iter().map(move |item| entry.with_value(item))
    }

    /// Reads a string. `wanted` describes the value, with an example.
    pub fn string(&self, wanted: &str, findings: &mut Findings) -> Option<Spanned<String>> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(Spanned { value: text.clone().into_owned(), span: self.value.span() }),
            DeValue::Integer(number) => {
                // toml separates the digits and the radix.
                let written =
                    if number.radix() == 16 { number.as_str().to_ascii_uppercase() } else { number.to_string() };
                self.wrong_type(wanted, Some(in_quotes(wanted, &written)), findings)
            }
            _ => self.wrong_type(wanted, None, findings),
        }
    }

    /// Reads an integer, or reports that `wanted` was expected.
    pub fn integer(&self, wanted: &str, findings: &mut Findings) -> Option<Spanned<i64>> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(text) if text.parse::<i64>().is_ok() => {
                return self.wrong_type(wanted, Some("write it without quotes".to_owned()), findings);
            }
            _ => None,
        };
        match parsed {
            Some(value) => Some(Spanned { value, span: self.value.span() }),
            None => self.wrong_type(wanted, None, findings),
        }
    }

    /// Reads `true` or `false`.
    pub fn boolean(&self, findings: &mut Findings) -> Option<Spanned<bool>> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Some(Spanned { value: *value, span: self.value.span() }),
            _ => self.wrong_type("true or false", Some("write true or false, without quotes".to_owned()), findings),
        }
    }

    /// Reads a table, or reports that `wanted` was expected.
    pub fn table(&self, wanted: &str, findings: &mut Findings) -> Option<&'t DeTable<'t>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => self.wrong_type(wanted, None, findings),
        }
    }

    /// Reports a value of the wrong type. Returns `None`.
    pub fn wrong_type<T>(&self, wanted: &str, help: Option<String>, findings: &mut Findings) -> Option<T> {
        // A syntax error left the value empty; it has no place in the text.
        if self.value.span().is_empty() {
            return None;
        }
        let found = self.value.get_ref().type_str();
        let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
        let mut diagnostic =
            Diagnostic::error(code::WRONG_TYPE, self.value.span(), format!("{} must be {wanted}", quote(self.key)))
                .label(format!("this is {article} {found}"));
        diagnostic.help = help;
        findings.report(diagnostic);
        None
    }

    /// Reports a key that is not one of the `known` keys in `place`, and returns the one that was probably intended, or
    /// the `alias`, which certainly was.
    pub fn not_one_of<'k>(
        &self,
        place: &str,
        known: &[&'k str],
        alias: Option<&'k str>,
        findings: &mut Findings,
    ) -> Option<&'k str> {
        // With too many errors, suggestions are not worth the search.
        if findings.is_full() {
            return None;
        }
        let list = known.join(", ");
        let diagnostic =
            Diagnostic::error(code::UNKNOWN_KEY, self.key_span(), format!("{place} has no key {}", quote(self.key)));
        let meant = alias.or_else(|| closest(self.key, known));
        findings.report(match meant {
            Some(name) => diagnostic.label(format!("did you mean `{name}`?")).help(format!("known keys are {list}")),
            None => diagnostic.help(format!("known keys are {list}")),
        });
        meant
    }
}

/// Stores a value. Returns true if it exists.
pub fn put<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    *place = value;
    place.is_some()
}

/// Returns the known word that was probably intended.
pub fn closest<'w>(word: &str, known: &[&'w str]) -> Option<&'w str> {
    const LONGEST_WORD_BYTES: usize = 64;
    const LEAST_LIKENESS: f64 = 0.7;
    if word.len() > LONGEST_WORD_BYTES {
        return None;
    }
    let plain = word.to_lowercase().replace('_', "-");
    known
        .iter()
        .map(|&name| (strsim::normalized_damerau_levenshtein(&plain, &name.to_lowercase()), name))
        .filter(|(likeness, name)| *likeness >= LEAST_LIKENESS || (plain.len() > 2 && name.starts_with(&plain)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// Quotes text of the user in a message: shortened, with control characters escaped.
pub fn quote(text: &str) -> String {
    // Fast path for names, because a large file may need many.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./ ".contains(&byte);
    if text.len() <= MAX_QUOTED_CHARS && text.bytes().all(is_plain) {
        return ["`", text, "`"].concat();
    }
    let mut shown: String = text.chars().take(MAX_QUOTED_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// What to write in place of a number.
fn in_quotes(wanted: &str, number: &str) -> String {
    if wanted.contains(" unit") {
        format!("write {wanted}")
    } else if wanted.contains(" in hex") {
        format!("write \"{number}\", with quotes; the digits are hexadecimal")
    } else {
        format!("write \"{number}\", with quotes")
    }
}
