//! The live view: a sampling thread, and the loop of screen and keys.

use std::error::Error;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use candor_core::causes::in_full;
use candor_io::signal::EndingSignals;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::model::Model;
use super::sample::Sample;
use super::source::{Found, Source};
use super::view::{self, Contact, Focus, View};

/// Delay of keys, signals and samples.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Lines that a page key scrolls.
const PAGE: usize = 10;

/// The title of the gateway and a sample, or the reason why there is none.
type Message = Result<(String, Sample), String>;

#[derive(Debug)]
struct Screen {
    model: Model,
    view: View,
    contact: Contact,
    /// Lines that each list can scroll.
    most_above: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Quit,
}

/// Shows the gateway until the user quits.
///
/// # Errors
/// If there is no terminal, or it is gone.
pub(super) fn run(
    source: Source,
    interval: Duration,
    shows_signals: bool,
    has_colour: bool,
) -> Result<(), Box<dyn Error>> {
    // The sampling thread inherits the blocked signals.
    let signals = EndingSignals::block()?;
    let (sender, messages) = mpsc::channel();
    let (_stops_when_dropped, stop) = mpsc::channel();
    std::thread::Builder::new().name("sample".into()).spawn(move || sample(&source, interval, &sender, &stop))?;
    // Installs a panic hook that restores the terminal.
    let mut terminal = ratatui::try_init()?;
    let view = View { shows_signals, has_colour, ..View::default() };
    let screen = Screen { model: Model::default(), view, contact: Contact::default(), most_above: [0; 2] };
    let outcome = screen.follow(&mut terminal, &signals, &messages);
    // Fails if the terminal is gone.
    let _ = ratatui::try_restore();
    Ok(outcome?)
}

/// Samples until the receiver is dropped. After an error, finds the gateway again.
fn sample(source: &Source, interval: Duration, sender: &Sender<Message>, stop: &Receiver<()>) {
    let mut found: Option<Found> = None;
    loop {
        // After an error, `found` is empty.
        let message = one_sample(source, &mut found).map_err(|error| in_full(&*error));
        if sender.send(message).is_err() || stop.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn one_sample(source: &Source, found: &mut Option<Found>) -> Result<(String, Sample), Box<dyn Error>> {
    let known = match found.take() {
        Some(known) => known,
        None => source.find()?,
    };
    let sample = known.sample()?;
    Ok((found.insert(known).title.clone(), sample))
}

impl Screen {
    fn follow(
        mut self,
        terminal: &mut DefaultTerminal,
        signals: &EndingSignals,
        messages: &Receiver<Message>,
    ) -> io::Result<()> {
        let mut is_stale = true;
        loop {
            if is_stale {
                terminal.draw(|frame| self.most_above = view::draw(frame, &self.model, &self.view, &self.contact))?;
            }
            is_stale = false;
            if event::poll(POLL_INTERVAL)? {
                is_stale = true;
                if let Event::Key(key) = event::read()?
                    && key.kind != KeyEventKind::Release
                    && self.press(key) == Next::Quit
                {
                    return Ok(());
                }
            }
            if signals.wait(Duration::ZERO)?.is_some() {
                return Ok(());
            }
            for message in messages.try_iter() {
                is_stale |= self.take(message);
            }
        }
    }

    /// Returns true if the screen must be redrawn.
    fn take(&mut self, message: Message) -> bool {
        // Counters are cumulative, so the next sample makes up for this one.
        if self.view.is_paused {
            return false;
        }
        self.contact = match message {
            Ok((title, sample)) => {
                self.model.take(sample);
                Contact::Answers { title }
            }
            Err(why) => Contact::Lost { why },
        };
        true
    }

    fn press(&mut self, key: KeyEvent) -> Next {
        let view = &mut self.view;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let above = &mut view.above[view.focus as usize];
        let most = self.most_above[view.focus as usize];
        match key.code {
            KeyCode::Char('c') if is_control => return Next::Quit,
            _ if is_control => {}
            // The first Esc closes the help only.
            KeyCode::Esc if view.shows_help => view.shows_help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('p' | ' ') => view.is_paused = !view.is_paused,
            KeyCode::Char('s') => view.sort = view.sort.next(),
            KeyCode::Char('r') => self.model.reset(),
            KeyCode::Char('?' | 'h') => view.shows_help = !view.shows_help,
            KeyCode::Char('v') => {
                view.shows_signals = !view.shows_signals;
                view.above = [0; 2];
            }
            KeyCode::Tab => {
                view.focus = match view.focus {
                    Focus::Upper => Focus::Lower,
                    Focus::Lower => Focus::Upper,
                };
            }
            KeyCode::Up => *above = above.saturating_sub(1),
            KeyCode::Down => *above = (*above + 1).min(most),
            KeyCode::PageUp => *above = above.saturating_sub(PAGE),
            KeyCode::PageDown => *above = (*above + PAGE).min(most),
            KeyCode::Home => *above = 0,
            KeyCode::End => *above = most,
            _ => {}
        }
        Next::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        let view = View::default();
        Screen { model: Model::default(), view, contact: Contact::default(), most_above: [3, 15] }
    }

    fn sample(uptime_s: f64) -> Message {
        Ok(("car".into(), Sample { uptime_s, ..Sample::default() }))
    }

    #[test]
    fn keys_match_the_key_line() {
        let mut screen = screen();
        let mut press = |code: KeyCode| screen.press(KeyEvent::from(code));
        for code in [KeyCode::Char('s'), KeyCode::PageDown, KeyCode::PageDown, KeyCode::Up, KeyCode::Tab, KeyCode::End]
        {
            assert_eq!(press(code), Next::GoOn);
        }
        assert_eq!(press(KeyCode::Char('?')), Next::GoOn);
        assert_eq!(press(KeyCode::Esc), Next::GoOn, "closes the help");
        assert_eq!(press(KeyCode::Esc), Next::Quit);
        assert_eq!((screen.view.sort.name(), screen.view.above), ("name", [3, 14]));
        assert_eq!(screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::Quit);
        assert_eq!(screen.press(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL)), Next::GoOn);
        screen.press(KeyEvent::from(KeyCode::Char('v')));
        assert_eq!((screen.view.shows_signals, screen.view.above), (true, [0; 2]));
    }

    #[test]
    fn a_pause_freezes_the_screen() {
        let mut screen = screen();
        assert!(screen.take(sample(1.0)));
        screen.press(KeyEvent::from(KeyCode::Char('p')));
        assert!(!screen.take(sample(2.0)));
        assert_eq!(screen.model.now().unwrap().uptime_s, 1.0);
        screen.press(KeyEvent::from(KeyCode::Char('p')));
        assert!(screen.take(sample(3.0)));
        assert_eq!(screen.model.now().unwrap().uptime_s, 3.0);
    }

    #[test]
    fn waits_for_a_gateway_that_ended() {
        let mut screen = screen();
        screen.take(sample(1.0));
        screen.take(Err("absent".into()));
        assert_eq!(screen.contact, Contact::Lost { why: "absent".into() });
        assert!(screen.model.now().is_some(), "the last sample stays");
        screen.take(sample(0.5));
        assert_eq!(screen.contact, Contact::Answers { title: "car".into() });
    }
}
