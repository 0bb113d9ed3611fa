//! The arguments of a match.

use super::tokens::{Token, TokenPosition, Tokens};
use crate::constants::Constant;
use crate::ematch::{CanRule, Cmp, CmpWidth, Ematch, Meta, MetaId, Relation};
use crate::text::args::Wrong;
use crate::text::code;
use crate::text::units::number;
use candor_core::diagnostic::{Diagnostic, Findings, Span};
use candor_core::document::{closest, quote};
use candor_core::frame::{CAN_EFF_FLAG, CAN_EFF_MASK, CAN_SFF_MASK};

const NAMES: &[&str] = &["canid", "cmp", "meta", "nbyte", "u32"];

/// `EM_CAN_RULES_MAX` of the kernel.
const MOST_RULES: usize = 500;
/// `EM_CANID_RULES_MAX` of `tc`.
pub(in crate::text) const MOST_RULES_OF_TC: usize = 400;

/// Reads a match including its closing bracket.
pub(super) fn read(
    name: &str,
    place: Span,
    tokens: &mut Tokens<'_>,
    end: usize,
    findings: &mut Findings,
) -> Option<Ematch> {
    let mut reader = Reader { name, tokens, last: place.clone(), end, findings };
    match name {
        "canid" => reader.can_rules(place).map(Ematch::Canid),
        "cmp" => reader.cmp().map(Ematch::Cmp),
        "meta" => reader.meta().map(Ematch::Meta),
        "nbyte" => reader.nbyte(),
        "u32" => reader.word(),
        _ => {
            let help = closest(name, NAMES)
                .map_or_else(|| format!("valid: {}", NAMES.join(", ")), |meant| format!("did you mean `{meant}`?"));
            let message = format!("candor does not support the match {}", quote(name));
            findings.report(Diagnostic::error(code::KIND, place, message).help(help));
            None
        }
    }
}

struct Reader<'r, 'a> {
    name: &'r str,
    tokens: &'r mut Tokens<'a>,
    last: Span,
    end: usize,
    findings: &'r mut Findings,
}

/// `ID[:MASK]` in hexadecimal, without flags.
pub(in crate::text) fn can_rule(text: &str, is_extended: bool) -> Result<CanRule, Wrong> {
    use crate::text::units::hex;
    let all = if is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
    let (id, mask) = text.split_once(':').map_or((text, None), |(id, mask)| (id, Some(mask)));
    let help = "write ID or ID:MASK in hexadecimal, such as 0x123 or 0x100:0x700";
    let read = |digits: &str| hex(digits).map_err(|wrong| Wrong::new(wrong.message, help));
    let (id, mask) = (read(id)?, mask.map_or(Ok(all), read)?);
    if id & !CAN_EFF_MASK != 0 || mask & !CAN_EFF_MASK != 0 {
        let message = "An identifier has at most 29 bits; sff and eff set its format";
        return Err(Wrong::new(message, "remove the flags: tc drops them from the mask"));
    }
    Ok(CanRule { id: if is_extended { id | CAN_EFF_FLAG } else { id }, mask })
}

impl Reader<'_, '_> {
    fn refuse<T>(&mut self, wrong: Wrong) -> Option<T> {
        let diagnostic = Diagnostic::error(code::VALUE, self.last.clone(), wrong.message);
        self.findings.report(diagnostic.help(wrong.help));
        None
    }

    /// The next word; `None`, after reporting it, if there is none.
    fn word_of(&mut self, help: &str) -> Option<String> {
        match self.tokens.take() {
            Some((Token::Word(word), TokenPosition { span, .. })) => {
                self.last = span;
                Some(word.to_owned())
            }
            Some((_, TokenPosition { span, .. })) => {
                self.last = span;
                self.refuse(Wrong::new(format!("{} is incomplete: expected another word", self.name), help))
            }
            None => {
                self.last = self.end..self.end;
                self.refuse(Wrong::new(format!("{} is incomplete", self.name), help))
            }
        }
    }

    fn number(&mut self, help: &str) -> Option<u32> {
        let word = self.word_of(help)?;
        number(&word).or_else(|wrong| self.refuse(wrong).ok_or(())).ok()
    }

    fn offset(&mut self, help: &str) -> Option<u16> {
        let number = self.number(help)?;
        match u16::try_from(number) {
            Ok(offset) => Some(offset),
            Err(_) => self.refuse(Wrong::new("The position is beyond the longest frame", help)),
        }
    }

    fn expect(&mut self, wanted: &str, help: &str) -> Option<()> {
        let found = self.word_of(help)?;
        if found == wanted {
            return Some(());
        }
        self.refuse(Wrong::new(format!("Expected `{wanted}`, found {}", quote(&found)), help))
    }

    fn takes(&mut self, wanted: &str) -> bool {
        let found = matches!(self.tokens.peek(), Some((Token::Word(word), _)) if *word == wanted);
        if found && let Some((_, position)) = self.tokens.take() {
            self.last = position.span;
        }
        found
    }

    fn close(&mut self, help: &str) -> Option<()> {
        match self.tokens.take() {
            Some((Token::Close, _)) => Some(()),
            found => {
                self.last = found.map_or(self.end..self.end, |(_, position)| position.span);
                self.refuse(Wrong::new(format!("Expected the end of {}", self.name), help))
            }
        }
    }

    fn can_rules(&mut self, place: Span) -> Option<Vec<CanRule>> {
        const HELP: &str = "write sff ID or eff ID, such as canid(sff 0x123 eff 0x18DB33F1)";
        let mut rules = Vec::new();
        while !matches!(self.tokens.peek(), Some((Token::Close, _))) {
            let is_extended = match self.word_of(HELP)?.as_str() {
                "sff" => false,
                "eff" => true,
                other => {
                    let message = format!("{} is neither sff nor eff", quote(other));
                    return self.refuse(Wrong::new(message, HELP));
                }
            };
            let text = self.word_of(HELP)?;
            match can_rule(&text, is_extended) {
                Ok(rule) => rules.push(rule),
                Err(wrong) => return self.refuse(wrong),
            }
            self.note_lost_bits(&text, is_extended);
        }
        self.tokens.take();
        self.last = place;
        if rules.is_empty() {
            return self.refuse(Wrong::new("canid has no identifier", HELP));
        }
        if rules.len() > MOST_RULES {
            let message = format!("{} identifiers exceed the maximum of the kernel, {MOST_RULES}", rules.len());
            return self.refuse(Wrong::new(message, "join several canid with `or`, or use masks"));
        }
        Some(rules)
    }

    /// Notes bits of an 11-bit identifier that the kernel ignores.
    fn note_lost_bits(&mut self, text: &str, is_extended: bool) {
        let id = can_rule(text, is_extended).map_or(0, |rule| rule.id & CAN_EFF_MASK);
        if !is_extended && id > CAN_SFF_MASK {
            let message =
                format!("This is the 11-bit identifier {:03X}: the kernel drops the other bits", id & CAN_SFF_MASK);
            let note = Diagnostic::note(code::MEANING, self.last.clone(), message);
            self.findings.report(note.help("for 29 bits write eff"));
        }
    }

    fn cmp(&mut self) -> Option<Cmp> {
        const HELP: &str = "write cmp(u8 at 4 layer link eq 8); mask and trans may precede eq, gt or lt";
        let Some(width) = CmpWidth::of_word(&self.word_of(HELP)?) else {
            return self.refuse(Wrong::new("cmp must begin with u8, u16 or u32", HELP));
        };
        self.expect("at", HELP)?;
        let offset = self.offset(HELP)?;
        let (mut mask, mut host_order) = (0, false);
        let relation = loop {
            match self.word_of(HELP)?.as_str() {
                "layer" => self.layer(HELP)?,
                "mask" => mask = self.number(HELP)?,
                "trans" => host_order = true,
                word => match Relation::of_word(word) {
                    Some(relation) => break relation,
                    None => return self.refuse(Wrong::new(format!("{} is not valid in cmp", quote(word)), HELP)),
                },
            }
        };
        let value = self.number(HELP)?;
        self.close(HELP)?;
        Some(Cmp { width, offset, mask, host_order, relation, value })
    }

    /// All layers of a CAN frame begin at its start.
    fn layer(&mut self, help: &str) -> Option<()> {
        const LAYERS: &[&str] = &["link", "network", "transport", "0", "1", "2"];
        let word = self.word_of(help)?;
        if LAYERS.contains(&word.as_str()) {
            return Some(());
        }
        self.refuse(Wrong::new(format!("{} is not a layer", quote(&word)), "write layer link, the start of the frame"))
    }

    fn meta(&mut self) -> Option<Meta> {
        const HELP: &str = "write meta(priority eq 3); valid: priority, fwmark, pkt_len, optionally with mask";
        let what = match self.word_of(HELP)?.as_str() {
            "protocol" => {
                let help = "write protocol can, or 0x000d, before the kind of the filter";
                let message = "The kernel compares the protocol in host byte order";
                return self.refuse(Wrong::new(message, help));
            }
            word => match MetaId::of_word(word) {
                Some(what) => what,
                None => {
                    return self.refuse(Wrong::new(format!("meta does not support {}", quote(word)), HELP));
                }
            },
        };
        let mask = if self.takes("mask") { self.number(HELP)? } else { 0 };
        let word = self.word_of(HELP)?;
        let Some(relation) = Relation::of_word(&word) else {
            return self.refuse(Wrong::new(format!("{} is not eq, gt or lt", quote(&word)), HELP));
        };
        let value = self.number(HELP)?;
        self.close(HELP)?;
        Some(Meta { what, mask, relation, value })
    }

    fn nbyte(&mut self) -> Option<Ematch> {
        const HELP: &str = "write nbyte(\"\\001\\002\" at 8 layer link), the bytes as text or in octal";
        let bytes = match self.tokens.take() {
            Some((Token::Quoted(bytes), position)) => {
                self.last = position.span;
                bytes
            }
            Some((Token::Word(word), position)) => {
                self.last = position.span;
                word.as_bytes().to_vec()
            }
            found => {
                self.last = found.map_or(self.end..self.end, |(_, position)| position.span);
                return self.refuse(Wrong::new("nbyte must begin with the bytes", HELP));
            }
        };
        if bytes.is_empty() {
            return self.refuse(Wrong::new("nbyte needs at least one byte", HELP));
        }
        self.expect("at", HELP)?;
        let offset = self.offset(HELP)?;
        if self.takes("layer") {
            self.layer(HELP)?;
        }
        self.close(HELP)?;
        Some(Ematch::Nbyte { offset, bytes })
    }

    fn word(&mut self) -> Option<Ematch> {
        const HELP: &str = "write u32(u32 0x23010000 0xff070000 at 0), value and mask big-endian";
        let bits = match self.word_of(HELP)?.as_str() {
            "u32" => 32,
            "u16" => 16,
            "u8" => 8,
            _ => return self.refuse(Wrong::new("u32 must begin with u8, u16 or u32", HELP)),
        };
        let (value, mask) = (self.number(HELP)?, self.number(HELP)?);
        if bits < 32 && (value | mask) >> bits != 0 {
            return self.refuse(Wrong::new(format!("The number does not fit into {bits} bits"), HELP));
        }
        self.expect("at", HELP)?;
        let offset = i32::from(self.offset(HELP)?);
        if offset % (bits / 8) != 0 {
            return self.refuse(Wrong::new(format!("A {bits}-bit number must be at a multiple of {}", bits / 8), HELP));
        }
        self.close(HELP)?;
        let shift = 32 - bits - 8 * (offset % 4);
        Some(Ematch::U32 { mask: mask << shift, value: (value & mask) << shift, offset: offset - offset % 4 })
    }
}
