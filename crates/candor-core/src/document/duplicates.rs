//! Where a key or a header that is there twice was first. All of them are looked for in one go: a file may have a hundred
//! duplicates and a hundred thousand tables.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::Span;
use crate::document::syntax::{is_header, line_at, line_start};

/// Where each duplicate was first, by its own place.
pub(crate) fn firsts<'s>(
    text: &str,
    document: &DeTable<'_>,
    duplicates: impl Iterator<Item = &'s Span>,
) -> HashMap<usize, Span> {
    let (headers, keys): (Vec<_>, Vec<_>) = duplicates.partition(|place| is_header(text, place));
    let mut search = Keys { wanted: HashMap::new(), firsts: HashMap::new() };
    for place in &keys {
        let name = text.get((*place).clone()).unwrap_or_default();
        search.wanted.entry(name).or_default().push(place.start);
    }
    if !keys.is_empty() {
        search.look(document, &(0..text.len()));
    }
    let mut firsts = search.firsts;
    if !headers.is_empty() {
        first_headers(text, &headers, &mut firsts);
    }
    firsts
}

struct Keys<'t> {
    /// The places of duplicates by their name.
    wanted: HashMap<&'t str, Vec<usize>>,
    firsts: HashMap<usize, Span>,
}

impl Keys<'_> {
    /// The nearest key before each duplicate that has its name; in an inline value only for those inside of it.
    fn look(&mut self, table: &DeTable<'_>, within: &Span) {
        for (key, value) in table {
            for &duplicate in self.wanted.get(key.get_ref().as_ref()).into_iter().flatten() {
                if key.span().start < duplicate && within.contains(&duplicate) {
                    let first = self.firsts.entry(duplicate).or_insert_with(|| key.span());
                    if first.start < key.span().start {
                        *first = key.span();
                    }
                }
            }
            // The span of a table with a header is the header; that of an inline table is all of it, behind the key.
            let is_inline = value.span().start >= key.span().end;
            let within = if is_inline { &value.span() } else { within };
            match value.get_ref() {
                DeValue::Table(table) => self.look(table, within),
                DeValue::Array(array) => {
                    array
                        .iter()
                        .filter_map(|item| item.get_ref().as_table())
                        .for_each(|table| self.look(table, within));
                }
                _ => {}
            }
        }
    }
}

/// The first line with the same header.
fn first_headers(text: &str, duplicates: &[&Span], firsts: &mut HashMap<usize, Span>) {
    let names = |line: &str| line.split('#').next().unwrap_or_default().replace(['[', ']', ' ', '\t', '\r'], "");
    let mut wanted: HashMap<_, Vec<usize>> = HashMap::new();
    for place in duplicates {
        wanted.entry(names(line_at(text, place.start))).or_default().push(place.start);
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            for &duplicate in wanted.get(&names(line.trim_end())).into_iter().flatten() {
                if start < line_start(text, duplicate) {
                    firsts.entry(duplicate).or_insert_with(|| start..start + line.trim_end().len());
                }
            }
        }
        start += line.len();
    }
}
