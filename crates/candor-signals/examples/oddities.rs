//! Reads DBC and KCD files and prints what is odd: `cargo run -p candor-signals --example oddities -- FILE…`
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a program")]

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        let database = candor_signals::read(&std::fs::read(&path)?);
        let signals: usize = database.messages.iter().map(|one| one.signals.len()).sum();
        let refused = database.messages.iter().flat_map(|one| &one.signals).filter(|one| one.refusal.is_some()).count();
        println!("{path}: {} messages, {signals} signals, {refused} refused", database.messages.len());
        for oddity in &database.oddities {
            let subject = oddity.subject.as_deref().unwrap_or("-");
            println!(
                "{path}:{}: {subject}: {} [{}, {:?}]",
                oddity.line,
                oddity.kind,
                oddity.kind.code(),
                oddity.effect()
            );
        }
    }
    Ok(())
}
