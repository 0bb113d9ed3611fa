//! What the reader reads, and that it agrees with roxmltree.

use proptest::prelude::*;

use super::{Event, Reader};
use crate::place::Unexpected;

/// All parts of a file; attributes and texts as they are after references are replaced. Neighbouring texts are one.
fn parts(text: &str) -> Result<Vec<String>, Unexpected> {
    let mut reader = Reader::new(text);
    let mut parts: Vec<String> = Vec::new();
    while let Some(event) = reader.next()? {
        let part = match event {
            Event::Start(element) => {
                let attributes = element.attributes.iter().map(|(name, value)| format!(" {name}={value}"));
                format!("{} <{}{}", element.line, element.name, attributes.collect::<String>())
            }
            Event::End => ">".to_owned(),
            Event::Text(text) => match parts.last_mut() {
                Some(last) if last.starts_with('"') => {
                    last.push_str(&text);
                    continue;
                }
                _ => format!("\"{text}"),
            },
        };
        parts.push(part);
    }
    parts.retain(|part| part != "\"");
    Ok(parts)
}

/// What is expected, and the line.
fn error(text: &str) -> (&'static str, u32) {
    parts(text).err().map_or(("nothing", 0), |error| (error.expected, error.line))
}

#[test]
fn elements_attributes_and_texts_are_read() {
    let text = "<?xml version='1.0'?>\n<!-- one -->\n<k:a xmlns:k='x' b = \"1 &lt;&#x41;\n\">t<![CDATA[<&]]>&amp;\n<c/></k:a>\n<!-- two -->";
    let expected = ["3 <k:a xmlns:k=x b=1 <A\n", "\"t<&&\n", "5 <c", ">", ">"];
    assert_eq!(parts(text).ok().unwrap(), expected);
}

#[test]
fn a_file_that_is_not_well_formed_has_an_error_with_its_line() {
    for (text, expected, line) in [
        ("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "no document type (DTD)", 1),
        ("\n<a>&b;</a>", super::REFERENCE, 2),
        ("<a>&#0;</a>", super::REFERENCE, 1),
        ("<a>&#+65;</a>", super::REFERENCE, 1),
        ("<a>\n<b>\n</a>", "the end of the last element that has none", 3),
        ("<a>\n", "the ends of all elements", 2),
        ("<a/><b/>", "nothing after the end of the outermost element", 1),
        ("text", "an element", 1),
        ("", "an element", 1),
        ("<a b='1' b='2'/>", "another attribute, and at most 100", 1),
        ("<a b='1'c='2'/>", "a space or the end of the tag", 1),
        ("<a b=1/>", "the value of the attribute in quotes", 1),
        ("<a b='<'/>", "a quote at the end of the value", 1),
        ("<a>\u{1}</a>", "a character that XML allows", 1),
        ("<!-- <a/>", "--> at the end of the comment", 1),
        ("<1/>", "the name of an element", 1),
    ] {
        assert_eq!(error(text), (expected, line), "{text}");
    }
}

#[test]
fn depth_and_attributes_are_bounded() {
    let deep = |count| "<a>".repeat(count) + &"</a>".repeat(count);
    assert!(parts(&deep(100)).is_ok());
    assert_eq!(error(&deep(101)).0, "at most 100 elements inside each other");
    assert_eq!(error(&"<a>".repeat(1_000_000)).0, "at most 100 elements inside each other");
    let wide = |count| format!("<a{}/>", (0..count).map(|at| format!(" b{at}=''")).collect::<String>());
    assert!(parts(&wide(100)).is_ok());
    assert_eq!(error(&wide(101)).0, "another attribute, and at most 100");
}

/// The parts of a file as roxmltree reads it.
fn parts_of_roxmltree(text: &str) -> Option<Vec<String>> {
    let document = roxmltree::Document::parse(text).ok()?;
    let mut parts = Vec::new();
    let mut left = vec![Ok(document.root_element())];
    while let Some(node) = left.pop() {
        let node = match node {
            Ok(node) => node,
            Err(part) => {
                parts.push(part);
                continue;
            }
        };
        if node.is_element() {
            let name = &text[node.range()];
            let name = &name[1..name.find(|one: char| one.is_ascii_whitespace() || "/>".contains(one)).unwrap()];
            // Declarations of namespaces are no attributes there.
            let attributes = node.attributes().map(|one| format!(" {}={}", &text[one.range_qname()], one.value()));
            let line = document.text_pos_at(node.range().start).row;
            parts.push(format!("{line} <{name}{}", attributes.collect::<String>()));
            left.push(Err(">".to_owned()));
            left.extend(node.children().rev().map(Ok));
        } else if let (true, Some(text)) = (node.is_text(), node.text()) {
            match parts.last_mut() {
                Some(last) if last.starts_with('"') => last.push_str(text),
                _ => parts.push(format!("\"{text}")),
            }
        }
    }
    parts.retain(|part| part != "\"");
    Some(parts)
}

/// White space of values and ends of lines, which only roxmltree normalises.
fn normal(parts: Vec<String>) -> Vec<String> {
    parts.into_iter().map(|part| part.replace(['\n', '\t', '\r'], " ")).collect()
}

fn fragment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "<a>",
        "</a>",
        "<b c='1'>",
        "</b>",
        "<d/>",
        "<e f=\"g&gt;\" h='&#228;'/>",
        "text",
        " ",
        "\n",
        "&amp;",
        "&#x4E;",
        "&bad;",
        "<!-- note -->",
        "<![CDATA[ <x> ]]>",
        "<?go on?>",
        "<",
        ">",
        "/",
        "\"",
        "'",
        "=",
        "&",
        ";",
        "]]>",
        "--",
        "ä",
        "\u{2}",
        "<!DOCTYPE a>",
        " f='2'",
        "xml",
        "<!",
        "<?",
        "</",
        "0",
        "-",
        ".",
        ":",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_roxmltree_reads_is_read_as_it_does(fragments in prop::collection::vec(fragment(), 0..12)) {
        let text = format!("<a>{}</a>", fragments.concat());
        let ours = parts(&text).ok().map(normal);
        match parts_of_roxmltree(&text).map(normal) {
            Some(theirs) => prop_assert_eq!(ours, Some(theirs), "{}", text),
            // What nobody needs to refuse: marks in texts and comments, instructions without a name, prefixes without a namespace.
            None if ["]]>", "--", "<?", ":"].iter().any(|mark| text.contains(mark)) => {}
            None => prop_assert_eq!(ours, None, "{}", text),
        }
    }

    #[test]
    fn no_text_is_a_panic(text: String, fragments in prop::collection::vec(fragment(), 0..30)) {
        let _parts = parts(&text);
        let _parts = parts(&fragments.concat());
    }
}
