use super::*;

/// Each command as its words in square brackets, with what decides about it.
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
fn words_and_quotes() {
    for (text, expected) in [
        ("cangw -A -s can0", &["[cangw][-A][-s][can0]"][..]),
        ("  cangw\t-A \\\n  -s can0 # comment ; not\n", &["[cangw][-A][-s][can0]"]),
        ("cangw \\\r\n -F\r\n", &["[cangw][-F]"]),
        ("a 'b  c'\"d e\"f\\ g", &["[a][b  cd ef g]"]),
        ("a \"\\\"\\$\\x\" '\\n' \"\"", &["[a][\"$\\x][\\n][]"]),
        ("a;b&&c||d|e&f", &["[a]", "[b]", "[c]", "[d] after ||", "[e]", "[f]"]),
        ("a 2>/dev/null >x 2>&1 &>> y < z b", &["[a][b]"]),
        ("a b#c #d", &["[a][b#c]"]),
        ("a $ b", &["[a][$][b]"]),
        ("a\\", &["[a\\]"]),
        ("\u{FEFF}a", &["[a]"]),
        ("X=(-s a -d b) c", &["[X=][c]"]),
        ("a < <(b c) > >(d) e", &["[a][e]"]),
        ("a <(b; c) d", &["[a][][d]"]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
    }
}

#[test]
fn what_decides_whether_a_command_runs() {
    for (text, expected) in [
        ("if a; then b; else c; fi; d", &["[a] in If if", "[b] in If if", "[c] in If if", "[d]"][..]),
        ("for i in 1 2 3\ndo a $i\ndone\nb", &["[a][] in Loop for", "[b]"]),
        ("while a; do b; done < file; c", &["[a] in Loop while", "[b] in Loop while", "[c]"]),
        (
            "case $1 in\nstart|go) a ;;\n*) b;;\nesac\nc",
            &["[start] in Case case", "[a] in Case case", "[b] in Case case", "[c]"],
        ),
        ("f() { a; b; }\nf", &["[a] in Function {", "[b] in Function {", "[f]"]),
        ("function f { a\n}\nb", &["[a] in Function {", "[b]"]),
        ("f() (\n a\n)\nb", &["[a] in Function (", "[b]"]),
        ("function f() {\n a\n}\nb", &["[a] in Function {", "[b]"]),
        ("function f ()\n{ a; }; b", &["[a] in Function {", "[b]"]),
        ("function f ( a; b )\nc", &["[a] in Function (", "[b] in Function (", "[c]"]),
        ("function f() ( a )\nb", &["[a] in Function (", "[b]"]),
        ("f() a\nb", &["[a] in Function a", "[b]"]),
        ("a b (c)\nd", &["[a][b]", "[c]", "[d]"]),
        ("[[ a =~ ^(b|c)$ || d ]] && e; f", &["[[[][a][=~][^][b][c][$][d][]]]", "[e] after [[", "[f]"]),
        ("a; exit 0; b\nf() { c; }", &["[a]", "[exit][0]", "[b] never, because of exit", "[c] never, because of exit"]),
        (
            "a || exit; b && exit; (exit); if c; then exit; fi; exit | d; exec >x; e",
            &[
                "[a]",
                "[exit] after ||",
                "[b]",
                "[exit]",
                "[exit]",
                "[c] in If if",
                "[exit] in If if",
                "[exit]",
                "[d]",
                "[exec]",
                "[e]",
            ],
        ),
        ("exec a; b", &["[exec][a]", "[b] never, because of exec"]),
        ("{ a; (b); }; c", &["[a]", "[b]", "[c]"]),
        ("[ -e x ] && a && b; c", &["[[][-e][x][]]", "[a] after [", "[b] after [", "[c]"]),
        ("! a && echo if", &["[a]", "[echo][if]"]),
        ("\"if\" a", &["[if][a]"]),
    ] {
        assert_eq!(commands(text), expected, "{text}");
    }
}

#[test]
fn here_documents_are_no_commands() {
    let text = "sh <<EOF\ncangw -F\nEOF\na <<-'X' b\n\tone\n\tX\nc";
    let found = commands(text);
    assert_eq!(found, ["[sh]", "document \"cangw -F\\nEOF\\n\"", "[a][b]", "document \"\\tone\\n\\tX\\n\"", "[c]"]);
}

#[test]
fn what_a_shell_would_expand_is_marked() {
    for (text, kind, part) in [
        ("$IF", ExpansionKind::Variable, "$IF"),
        ("can${N}x", ExpansionKind::Variable, "${N}"),
        ("\"$IF\"", ExpansionKind::Variable, "$IF"),
        ("a$(b (c))d", ExpansionKind::Command, "$(b (c))"),
        ("`b`", ExpansionKind::Command, "`b`"),
        ("can{0,1}", ExpansionKind::Braces, "{0,1}"),
        ("can*", ExpansionKind::Pattern, "*"),
        ("'open", ExpansionKind::Unclosed, "'"),
        ("\"open", ExpansionKind::Unclosed, "\""),
        ("$(open", ExpansionKind::Unclosed, "$"),
        ("$'x'", ExpansionKind::Variable, "$'x'"),
        ("a$(sed 's/(.*//' \")\" \\) it)d", ExpansionKind::Command, "$(sed 's/(.*//' \")\" \\) it)"),
        ("$(open ')'", ExpansionKind::Unclosed, "$"),
        // What swallows the rest of the text is said whatever else is there.
        ("\"$X open", ExpansionKind::Unclosed, "\""),
        ("x > \"open", ExpansionKind::Unclosed, "\""),
        ("x <<'open", ExpansionKind::Unclosed, "'"),
        ("for x in 'open", ExpansionKind::Unclosed, "'"),
        ("case 'open", ExpansionKind::Unclosed, "'"),
    ] {
        let Some(Piece::Command(command)) = pieces(text).pop() else { panic!("{text}") };
        let expansion = command.words.iter().find_map(Word::expansion).unwrap();
        assert_eq!((expansion.kind, &text[expansion.span.clone()]), (kind, part), "{text}");
    }
    for text in ["'$IF'", "\\$IF", "{", "a{b}", "123~7FF", "'*'"] {
        let Some(Piece::Command(command)) = pieces(&format!("x {text}")).pop() else { panic!("{text}") };
        assert_eq!(command.words[1].expansion(), None, "{text}");
    }
}

#[test]
fn parts_of_words_have_places() {
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
