//! `--allow` and `--deny`.

use std::str::FromStr;

use candor_config::config::code;
use candor_config::import;
use candor_core::diagnostic::{Diagnostic, Severity};

use candor_cli::render;

/// A code that `candor check` can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownCode(&'static str);

/// A code that any command can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExplainedCode(pub(crate) &'static str);

/// The code of a warning or note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllowedCode(KnownCode);

/// Findings that make the exit status 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Code(KnownCode),
    Warnings,
}

#[derive(Debug)]
pub(super) struct Levels<'a> {
    pub(super) allowed: &'a [AllowedCode],
    pub(super) denied: &'a [Denied],
}

impl Levels<'_> {
    /// Removes allowed findings and raises denied ones to errors. `left_out` counts the findings beyond the limit, by code; the
    /// finding that stands for them stays unless all these codes are allowed.
    pub(super) fn apply(&self, findings: &mut Vec<Diagnostic>, left_out: &[(&str, usize)]) {
        let is_allowed = |code| self.allowed.iter().any(|allowed| allowed.0.0 == code);
        let all_left_out_is_allowed = !left_out.is_empty() && left_out.iter().all(|&(code, _)| is_allowed(code));
        findings.retain(|finding| {
            let is_left_out = is_allowed(finding.code) || render::is_more(finding) && all_left_out_is_allowed;
            finding.severity == Severity::Error || !is_left_out
        });
        for finding in findings.iter_mut().filter(|finding| self.denies(finding)) {
            finding.severity = Severity::Error;
        }
    }

    /// The number of denied findings of a valid file, after [`apply`](Self::apply).
    pub(super) fn count_denied(&self, findings: &[Diagnostic]) -> usize {
        findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    fn denies(&self, finding: &Diagnostic) -> bool {
        self.denied.iter().any(|denied| match denied {
            Denied::Code(KnownCode(code)) => *code == finding.code,
            Denied::Warnings => finding.severity == Severity::Warning,
        })
    }
}

impl FromStr for KnownCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        find(text, &[code::ALL, candor_egress::text::code::ALL, candor_egress::lint::code::ALL]).map(Self)
    }
}

impl FromStr for ExplainedCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let codes = [code::ALL, import::code::ALL, candor_egress::text::code::ALL, candor_egress::lint::code::ALL];
        find(text, &codes).map(Self)
    }
}

fn find(text: &str, codes: &[&[&'static str]]) -> Result<&'static str, String> {
    let wanted = text.to_ascii_uppercase();
    let known = codes.iter().copied().flatten().find(|code| **code == wanted).copied();
    known.ok_or_else(|| "no such code; findings show their code in brackets: warning[W0601]".to_owned())
}

impl FromStr for AllowedCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let code = KnownCode::from_str(text)?;
        if code.0.starts_with('E') {
            return Err("errors cannot be allowed: a file with an error is not valid".to_owned());
        }
        Ok(Self(code))
    }
}

impl FromStr for Denied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "warnings" => Ok(Self::Warnings),
            code => match KnownCode::from_str(code) {
                Ok(code) => Ok(Self::Code(code)),
                Err(why) => Err(format!("{why}; or: warnings")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    #[test]
    fn findings_beyond_the_limit_count_unless_allowed() {
        let route = |at| format!("[[route]]\nname = \"r{at}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"123:7FF\"\n");
        let routes: String = (0..200).map(route).collect();
        let text = format!("[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n{routes}");
        let loaded = config::load(text.as_bytes()).unwrap();
        let count = |allowed: &[&str]| {
            let allowed: Vec<_> = allowed.iter().map(|code| code.parse().unwrap()).collect();
            let (levels, mut findings) =
                (Levels { allowed: &allowed, denied: &[Denied::Warnings] }, loaded.warnings.clone());
            levels.apply(&mut findings, &loaded.left_out);
            levels.count_denied(&findings)
        };
        assert_eq!(count(&[]), 101);
        assert_eq!(count(&["W0501"]), 51, "the others, and that there are more of them");
        assert_eq!(count(&["W0501", "W0503"]), 0);
    }

    #[test]
    fn unknown_codes_are_rejected() {
        assert_eq!("W0601".parse(), Ok(Denied::Code(KnownCode("W0601"))));
        assert_eq!("w0601".parse(), Ok(AllowedCode(KnownCode("W0601"))));
        assert_eq!("warnings".parse(), Ok(Denied::Warnings));
        assert!("warning".parse::<Denied>().is_err() && "W9999".parse::<KnownCode>().is_err());
        assert!("E0901".parse::<ExplainedCode>().is_ok() && "E0901".parse::<Denied>().is_err());
        assert!("E0101".parse::<AllowedCode>().unwrap_err().contains("cannot be allowed"));
    }
}
