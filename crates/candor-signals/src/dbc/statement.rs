//! The statements of a DBC file, as written.

use super::scan::Scanner;
use crate::place::{Scanned, Unexpected};

/// The statements that matter, in the order of the file.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) nodes: Vec<String>,
    pub(super) messages: Vec<MessageLine>,
    pub(super) senders: Vec<(u32, u32, Vec<String>)>,
    pub(super) floats: Vec<(At, u32)>,
    pub(super) choices: Vec<(At, Choices)>,
    pub(super) tables: Vec<(String, Vec<(String, String)>)>,
    pub(super) switches: Vec<SwitchLine>,
    pub(super) comments: Vec<(At, String)>,
    pub(super) definitions: Vec<(String, Vec<String>)>,
    pub(super) defaults: Vec<(String, Value)>,
    pub(super) attributes: Vec<(String, At, Value)>,
    /// Line and what is wrong.
    pub(super) errors: Vec<Unexpected>,
    /// Lines of statements without a semicolon.
    pub(super) no_semicolon: Vec<u32>,
}

/// The message or signal that a statement is about.
pub(super) struct At {
    pub(super) line: u32,
    pub(super) id: u32,
    pub(super) signal: Option<String>,
}

/// `SG_MUL_VAL_`.
pub(super) struct SwitchLine {
    pub(super) at: At,
    pub(super) switch: String,
    pub(super) ranges: Vec<(u64, u64)>,
}

/// Numbers and names, or the name of a table of them.
pub(super) enum Choices {
    List(Vec<(String, String)>),
    Table(String),
}

/// The value of an attribute.
#[derive(Clone)]
pub(super) enum Value {
    Number(String),
    Text(String),
}

/// `BO_`, with its `SG_`.
pub(super) struct MessageLine {
    pub(super) line: u32,
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) len: u16,
    pub(super) sender: String,
    pub(super) signals: Vec<SignalLine>,
}

/// `SG_`.
pub(super) struct SignalLine {
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) mux: Option<Mux>,
    pub(super) start: u16,
    pub(super) bits: u16,
    pub(super) is_little: bool,
    pub(super) is_signed: bool,
    pub(super) factor: String,
    pub(super) offset: String,
    pub(super) min: String,
    pub(super) max: String,
    pub(super) unit: String,
    pub(super) receivers: Vec<String>,
}

/// `M`, `m5` or `m5M`; also `m`, which some files have.
#[derive(Clone, Copy)]
pub(super) struct Mux {
    pub(super) is_switch: bool,
    pub(super) value: Option<u64>,
}

/// Keywords that begin a statement.
const KEYWORDS: [&str; 31] = [
    "BA_",
    "BA_DEF_",
    "BA_DEF_DEF_",
    "BA_DEF_DEF_REL_",
    "BA_DEF_REL_",
    "BA_DEF_SGTYPE_",
    "BA_REL_",
    "BA_SGTYPE_",
    "BO_",
    "BO_TX_BU_",
    "BS_",
    "BU_",
    "BU_BO_REL_",
    "BU_EV_REL_",
    "BU_SG_REL_",
    "CAT_",
    "CAT_DEF_",
    "CM_",
    "ENVVAR_DATA_",
    "EV_",
    "EV_DATA_",
    "FILTER",
    "NS_",
    "SG_",
    "SGTYPE_",
    "SG_MUL_VAL_",
    "SIG_GROUP_",
    "SIG_TYPE_REF_",
    "SIG_VALTYPE_",
    "VAL_",
    "VAL_TABLE_",
];

pub(super) fn read(text: &str) -> Statements {
    let mut reader = Reader { scanner: Scanner::new(text), all: Statements::default() };
    // One error of a statement, however many lines it has.
    let mut is_lost = false;
    while !reader.scanner.is_at_end() {
        let keyword = reader.scanner.peek();
        let is_keyword = KEYWORDS.contains(&keyword) || matches!(keyword, "VERSION" | "SIGTYPE_VALTYPE_");
        if !is_keyword {
            if !std::mem::replace(&mut is_lost, true) {
                let error = reader.scanner.unexpected("a keyword");
                reader.all.errors.push(error);
            }
            reader.scanner.skip_line();
            continue;
        }
        is_lost = false;
        let start = reader.scanner.clone();
        if let Err(expected) = reader.statement() {
            let error = reader.scanner.unexpected(expected);
            reader.all.errors.push(error);
            reader.scanner = start;
            reader.scanner.skip_line();
            is_lost = true;
        }
    }
    reader.all
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    all: Statements,
}

impl Reader<'_> {
    fn statement(&mut self) -> Scanned<()> {
        let line = self.scanner.line();
        match self.scanner.word("a keyword")? {
            "VERSION" => self.scanner.text("a text").map(drop)?,
            "NS_" => self.new_symbols(),
            "BS_" => drop(self.scanner.skip_line()),
            "BU_" => self.nodes()?,
            "BO_" => self.message(line)?,
            "SG_" => self.signal(line)?,
            "BO_TX_BU_" => self.senders(line)?,
            "SIG_VALTYPE_" => self.float(line)?,
            "VAL_TABLE_" => self.table()?,
            "VAL_" => self.choices(line)?,
            "SG_MUL_VAL_" => self.switch(line)?,
            "CM_" => self.comment(line)?,
            "BA_DEF_" => self.definition()?,
            "BA_DEF_DEF_" => self.default()?,
            "BA_" => self.attribute(line)?,
            "BA_REL_" => self.attribute_of_node(line)?,
            _ => self.scanner.skip_statement(),
        }
        Ok(())
    }

    /// The list of keywords that a file may use: nothing depends on it.
    fn new_symbols(&mut self) {
        self.scanner.take(':');
        loop {
            let before = self.scanner.clone();
            let is_symbol = !self.scanner.peek().is_empty();
            let word = self.scanner.word("").unwrap_or_default();
            if !is_symbol || word == "BS_" || word == "BU_" || !self.scanner.is_at_line_end() {
                self.scanner = before;
                return;
            }
        }
    }

    fn nodes(&mut self) -> Scanned<()> {
        self.scanner.expect(':', "a colon after BU_")?;
        loop {
            let word = self.scanner.peek();
            if word.is_empty() || KEYWORDS.contains(&word) {
                return Ok(());
            }
            self.scanner.word("a node")?;
            self.all.nodes.push(word.to_owned());
        }
    }

    fn message(&mut self, line: u32) -> Scanned<()> {
        let id = self.scanner.number("the identifier of a message")?;
        let name = self.scanner.word("the name of a message")?.to_owned();
        self.scanner.expect(':', "a colon after the name of the message")?;
        let len = self.scanner.number("the length of the message in bytes")?;
        let sender = if self.scanner.is_at_line_end() { "" } else { self.scanner.word("the sender of the message")? };
        let sender = sender.to_owned();
        self.all.messages.push(MessageLine { line, id, name, len, sender, signals: Vec::new() });
        Ok(())
    }

    fn signal(&mut self, line: u32) -> Scanned<()> {
        let scanner = &mut self.scanner;
        let name = scanner.word("the name of a signal")?.to_owned();
        let mux = if scanner.take(':') {
            None
        } else {
            let mux = mux(scanner)?;
            scanner.expect(':', "a colon after the name of the signal")?;
            Some(mux)
        };
        let start = scanner.number("the start bit")?;
        scanner.expect('|', "| after the start bit")?;
        let bits = scanner.number("the number of bits")?;
        scanner.expect('@', "@ after the number of bits")?;
        let before = scanner.clone();
        let (is_little, is_signed) = match scanner.word("byte order and sign")? {
            "1+" => (true, false),
            "1-" => (true, true),
            "0+" => (false, false),
            "0-" => (false, true),
            _ => {
                *scanner = before;
                return Err("byte order and sign: 1+, 1-, 0+ or 0-");
            }
        };
        let [factor, offset] = pair(scanner, ['(', ',', ')'], "(factor,offset)")?;
        let [min, max] = pair(scanner, ['[', '|', ']'], "[minimum|maximum]")?;
        let unit = scanner.text("the unit in quotes")?;
        let mut receivers = Vec::new();
        while !scanner.is_at_line_end() {
            if !scanner.take(',') {
                receivers.push(scanner.word("a receiver")?.to_owned());
            }
        }
        let signal = SignalLine {
            line,
            name,
            mux,
            start,
            bits,
            is_little,
            is_signed,
            factor,
            offset,
            min,
            max,
            unit,
            receivers,
        };
        match self.all.messages.last_mut() {
            Some(message) => message.signals.push(signal),
            None => return Err("a message before a signal"),
        }
        Ok(())
    }

    fn senders(&mut self, line: u32) -> Scanned<()> {
        let id = self.scanner.number("the identifier of a message")?;
        self.scanner.expect(':', "a colon after the identifier")?;
        let mut nodes = Vec::new();
        while !self.scanner.take(';') {
            if !self.scanner.take(',') {
                nodes.push(self.scanner.word("a node or a semicolon")?.to_owned());
            }
        }
        self.all.senders.push((line, id, nodes));
        Ok(())
    }

    fn float(&mut self, line: u32) -> Scanned<()> {
        let at = self.signal_name(line)?;
        self.scanner.take(':');
        let kind = self.scanner.number("0, 1 (32 bits) or 2 (64 bits)")?;
        self.all.floats.push((at, kind));
        self.semicolon(line)
    }

    fn table(&mut self) -> Scanned<()> {
        let name = self.scanner.word("the name of a table")?.to_owned();
        let list = self.list()?;
        self.all.tables.push((name, list));
        Ok(())
    }

    fn choices(&mut self, line: u32) -> Scanned<()> {
        if self.scanner.peek().parse::<u32>().is_err() {
            // Names of the values of an environment variable.
            self.scanner.skip_statement();
            return Ok(());
        }
        let at = self.signal_name(line)?;
        let word = self.scanner.peek();
        let choices = if word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            let table = Choices::Table(self.scanner.word("the name of a table")?.to_owned());
            self.semicolon(line)?;
            table
        } else {
            Choices::List(self.list()?)
        };
        self.all.choices.push((at, choices));
        Ok(())
    }

    /// Numbers and texts up to the semicolon.
    fn list(&mut self) -> Scanned<Vec<(String, String)>> {
        let line = self.scanner.line();
        let mut list = Vec::new();
        while !self.scanner.take(';') {
            if KEYWORDS.contains(&self.scanner.peek()) || self.scanner.is_at_end() {
                self.all.no_semicolon.push(line);
                break;
            }
            let number = self.scanner.word("a number or a semicolon")?.to_owned();
            list.push((number, self.scanner.text("the name of the value in quotes")?));
        }
        Ok(list)
    }

    fn switch(&mut self, line: u32) -> Scanned<()> {
        let at = self.signal_name(line)?;
        let switch = self.scanner.word("the name of a multiplexer")?.to_owned();
        let mut ranges = Vec::new();
        while !self.scanner.take(';') {
            if self.scanner.take(',') {
                continue;
            }
            let word = self.scanner.word("a range such as 0-3, or a semicolon")?;
            // A space may stand on either side of the dash.
            let range = if let Some((first, last)) = word.split_once('-').filter(|(_, last)| !last.is_empty()) {
                first.parse().ok().zip(last.parse().ok())
            } else {
                let last: i128 = self.scanner.number("the end of the range")?;
                word.trim_end_matches('-').parse().ok().zip(u64::try_from(last.unsigned_abs()).ok())
            };
            ranges.push(range.ok_or("a range such as 0-3")?);
        }
        self.all.switches.push(SwitchLine { at, switch, ranges });
        Ok(())
    }

    fn comment(&mut self, line: u32) -> Scanned<()> {
        let at = match self.scanner.peek() {
            "BO_" | "SG_" => Some(self.object(line)?),
            "BU_" | "EV_" => {
                self.scanner.word("")?;
                self.scanner.word("a name")?;
                None
            }
            _ => None,
        };
        let text = self.scanner.text("the comment in quotes")?;
        if let Some(at) = at {
            self.all.comments.push((at, text));
        }
        self.semicolon(line)
    }

    /// `BO_ 1` or `SG_ 1 Name`.
    fn object(&mut self, line: u32) -> Scanned<At> {
        if self.scanner.word("BO_ or SG_")? == "SG_" {
            return self.signal_name(line);
        }
        Ok(At { line, id: self.scanner.number("the identifier of a message")?, signal: None })
    }

    fn signal_name(&mut self, line: u32) -> Scanned<At> {
        let id = self.scanner.number("the identifier of a message")?;
        let signal = Some(self.scanner.word("the name of a signal")?.to_owned());
        Ok(At { line, id, signal })
    }

    fn definition(&mut self) -> Scanned<()> {
        let line = self.scanner.line();
        if !self.scanner.is_text() {
            self.scanner.word("the name of an attribute")?;
        }
        let name = self.scanner.text("the name of an attribute in quotes")?;
        let mut choices = Vec::new();
        if self.scanner.word("the type of an attribute")? == "ENUM" {
            while !self.scanner.take(';') {
                if !self.scanner.take(',') {
                    choices.push(self.scanner.text("a value in quotes, or a semicolon")?);
                }
            }
        } else {
            self.limits(line)?;
        }
        self.all.definitions.push((name, choices));
        Ok(())
    }

    /// The limits of a number, which nobody needs.
    fn limits(&mut self, line: u32) -> Scanned<()> {
        while !self.scanner.take(';') {
            if KEYWORDS.contains(&self.scanner.peek()) {
                self.all.no_semicolon.push(line);
                return Ok(());
            }
            self.scanner.word("a limit, or a semicolon")?;
        }
        Ok(())
    }

    fn default(&mut self) -> Scanned<()> {
        let line = self.scanner.line();
        let name = self.scanner.text("the name of an attribute in quotes")?;
        let value = self.value()?;
        self.all.defaults.push((name, value));
        self.semicolon(line)
    }

    fn attribute(&mut self, line: u32) -> Scanned<()> {
        let name = self.scanner.text("the name of an attribute in quotes")?;
        let at = match self.scanner.peek() {
            "BO_" | "SG_" => Some(self.object(line)?),
            "BU_" | "EV_" => {
                self.scanner.word("")?;
                self.scanner.word("a name")?;
                None
            }
            _ => None,
        };
        let value = self.value()?;
        if let Some(at) = at {
            self.all.attributes.push((name, at, value));
        }
        self.semicolon(line)
    }

    /// An attribute of a signal and a node that receives it. Those of other pairs are skipped.
    fn attribute_of_node(&mut self, line: u32) -> Scanned<()> {
        let name = self.scanner.text("the name of an attribute in quotes")?;
        if self.scanner.word("BU_SG_REL_")? != "BU_SG_REL_" {
            self.scanner.skip_statement();
            return Ok(());
        }
        self.scanner.word("a node")?;
        let at = self.object(line)?;
        let value = self.value()?;
        self.all.attributes.push((name, at, value));
        self.semicolon(line)
    }

    fn value(&mut self) -> Scanned<Value> {
        if self.scanner.is_text() {
            return Ok(Value::Text(self.scanner.text("a value")?));
        }
        Ok(Value::Number(self.scanner.word("the value of the attribute")?.to_owned()))
    }

    /// The end of a statement, which some files forget.
    fn semicolon(&mut self, line: u32) -> Scanned<()> {
        if self.scanner.take(';') {
            return Ok(());
        }
        let next = self.scanner.peek();
        if KEYWORDS.contains(&next) || self.scanner.is_at_end() {
            self.all.no_semicolon.push(line);
            return Ok(());
        }
        Err("a semicolon")
    }
}

/// `M`, `m5` or `m5M`.
fn mux(scanner: &mut Scanner<'_>) -> Scanned<Mux> {
    let before = scanner.clone();
    let word = scanner.word("a multiplexer such as M or m0, or a colon")?;
    let (is_switch, rest) = word.strip_suffix('M').map_or((false, word), |rest| (true, rest));
    let value = match rest.strip_prefix('m').map(str::parse) {
        Some(Ok(value)) => Some(value),
        None if rest.is_empty() && is_switch => None,
        // A mark without a number: the signal is kept, but cannot be used.
        Some(Err(_)) if rest == "m" && !is_switch => None,
        _ => {
            *scanner = before;
            return Err("a multiplexer such as M or m0, or a colon");
        }
    };
    Ok(Mux { is_switch, value })
}

fn pair(scanner: &mut Scanner<'_>, marks: [char; 3], expected: &'static str) -> Scanned<[String; 2]> {
    scanner.expect(marks[0], expected)?;
    let first = scanner.word(expected)?.to_owned();
    scanner.expect(marks[1], expected)?;
    let second = scanner.word(expected)?.to_owned();
    scanner.expect(marks[2], expected)?;
    Ok([first, second])
}
