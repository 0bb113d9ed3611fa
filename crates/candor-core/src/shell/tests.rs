use super::*;

/// Each command as its words in brackets, with the part of the script that decides whether it runs.
fn commands(text: &str) -> Vec<String> {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Document(span) => format!("document {:?}", &text[span]),
            Piece::Command(command) => {
                let words: String = command.words.iter().map(|word| format!("[{}]", word.text())).collect();
                match command.runs {
                    Runs::Once => words,
                    Runs::AfterFailure(span) => format!("{words} after {}", &text[span]),
                    Runs::AfterTest(span) => format!("{words} after {}", &text[span]),
                    Runs::Inside(construct, span) => format!("{words} in {construct:?} {}", &text[span]),
                    Runs::Never(span) => format!("{words} never, because of {}", &text[span]),
                }
            }
        })
        .collect()
}

#[test]
fn scripts_are_split_into_commands() {
    for case in include_str!("cases.txt").split("\n\n").skip(1) {
        let (expected, script): (Vec<&str>, Vec<&str>) = case.lines().partition(|line| line.starts_with("=> "));
        let expected: Vec<&str> = expected.iter().map(|line| &line[3..]).collect();
        assert_eq!(commands(&script.join("\n")), expected, "{case}");
    }
    for (text, expected) in [
        ("  cangw\t-A \\\n  -s can0 # comment ; not\n", "[cangw][-A][-s][can0]"),
        ("cangw \\\r\n -F\r\n", "[cangw][-F]"),
        ("\u{FEFF}a", "[a]"),
    ] {
        assert_eq!(commands(text), [expected], "{text}");
    }
}

#[test]
fn here_documents_are_not_commands() {
    let text = "sh <<EOF\ncangw -F\nEOF\na <<-'X' b\n\tone\n\tX\nc";
    let found = commands(text);
    assert_eq!(found, ["[sh]", "document \"cangw -F\\nEOF\\n\"", "[a][b]", "document \"\\tone\\n\\tX\\n\"", "[c]"]);
}

#[test]
fn expansions_are_found() {
    crate::cases::check(include_str!("expansions.txt"), |text| {
        let Some(Piece::Command(command)) = pieces(text).pop() else { panic!("{text}") };
        let expansion = command.words.iter().find_map(Word::expansion);
        expansion
            .map_or_else(|| "none".to_owned(), |Expansion { kind, span }| format!("{kind:?} {}", &text[span.clone()]))
    });
}

#[test]
fn parts_of_words_have_positions() {
    let text = "x SET:'I':\"12\\\n3\".0";
    let Some(Piece::Command(command)) = pieces(text).pop() else { panic!() };
    let word = &command.words[1];
    assert_eq!(word.text(), "SET:I:123.0");
    assert_eq!(&text[word.part(0..3)], "SET");
    assert_eq!(&text[word.part(4..5)], "I");
    assert_eq!(&text[word.part(6..9)], "12\\\n3");
    assert_eq!(&text[word.part(10..11)], "0");
    assert_eq!(word.part(11..11), text.len()..text.len());
    let word = Word::plain("can0", 3);
    assert_eq!((word.part(0..4), word.part(4..4)), (3..7, 7..7));
}
