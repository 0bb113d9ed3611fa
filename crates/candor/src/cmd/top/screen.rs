//! The live view: a thread that asks the gateway, and the screen and the keys.

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

/// How soon a key, a signal and an answer are seen.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Lines that a page key moves.
const PAGE: usize = 10;

/// What the asking thread tells.
#[derive(Debug)]
enum News {
    Sample { title: String, sample: Sample },
    Lost { why: String },
}

/// What the loop knows.
#[derive(Debug)]
struct Screen {
    model: Model,
    view: View,
    contact: Contact,
    /// How far the lists may be moved.
    most_above: [usize; 2],
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Quit,
}

/// Shows the gateway until somebody quits.
///
/// # Errors
/// If there is no terminal, or it is gone.
pub(super) fn run(source: Source, interval: Duration, has_colour: bool) -> Result<(), Box<dyn Error>> {
    // Before the thread is started, so that only this one is told.
    let signals = EndingSignals::block()?;
    let (tell, news) = mpsc::channel();
    let (_stops_when_dropped, stop) = mpsc::channel();
    std::thread::Builder::new().name("ask".into()).spawn(move || ask(&source, interval, &tell, &stop))?;
    // From here on a panic, too, gives the terminal back.
    let mut terminal = ratatui::try_init()?;
    let view = View { has_colour, ..View::default() };
    let screen = Screen { model: Model::default(), view, contact: Contact::default(), most_above: [0; 2] };
    let outcome = screen.follow(&mut terminal, &signals, &news);
    // A terminal that is gone needs nothing back.
    let _ = ratatui::try_restore();
    Ok(outcome?)
}

/// Asks until nobody listens any more. A gateway that is gone is looked for again.
fn ask(source: &Source, interval: Duration, tell: &Sender<News>, stop: &Receiver<()>) {
    let mut found: Option<Found> = None;
    loop {
        let news = match one_look(source, &mut found) {
            Ok((title, sample)) => News::Sample { title, sample },
            Err(error) => {
                found = None;
                News::Lost { why: in_full(&*error) }
            }
        };
        if tell.send(news).is_err() || stop.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn one_look(source: &Source, found: &mut Option<Found>) -> Result<(String, Sample), Box<dyn Error>> {
    let known = match found.take() {
        Some(known) => known,
        None => source.find()?,
    };
    let sample = known.ask()?;
    Ok((found.insert(known).title.clone(), sample))
}

impl Screen {
    fn follow(
        mut self,
        terminal: &mut DefaultTerminal,
        signals: &EndingSignals,
        news: &Receiver<News>,
    ) -> io::Result<()> {
        let mut is_stale = true;
        loop {
            if is_stale {
                terminal.draw(|frame| self.most_above = view::draw(frame, &self.model, &self.view, &self.contact))?;
            }
            is_stale = false;
            if event::poll(LOOK_INTERVAL)? {
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
            for news in news.try_iter() {
                is_stale |= self.take(news);
            }
        }
    }

    /// Whether something is to be shown.
    fn take(&mut self, news: News) -> bool {
        // What comes while it is paused is not missed: the next sample has it.
        if self.view.is_paused {
            return false;
        }
        self.contact = match news {
            News::Sample { title, sample } => {
                self.model.take(sample);
                Contact::Answers { title }
            }
            News::Lost { why } => Contact::Lost { why },
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
            // Whoever wants the help to go does not want candor to go.
            KeyCode::Esc if view.shows_help => view.shows_help = false,
            KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
            KeyCode::Char('p' | ' ') => view.is_paused = !view.is_paused,
            KeyCode::Char('s') => view.sort = view.sort.next(),
            KeyCode::Char('r') => self.model.reset(),
            KeyCode::Char('?' | 'h') => view.shows_help = !view.shows_help,
            KeyCode::Tab => {
                view.focus = match view.focus {
                    Focus::Buses => Focus::Routes,
                    Focus::Routes => Focus::Buses,
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

    fn sample(uptime_s: f64) -> News {
        News::Sample { title: "car".into(), sample: Sample { uptime_s, ..Sample::default() } }
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        let mut screen = screen();
        let mut press = |code: KeyCode| screen.press(KeyEvent::from(code));
        for code in [KeyCode::Char('s'), KeyCode::PageDown, KeyCode::PageDown, KeyCode::Up, KeyCode::Tab, KeyCode::End]
        {
            assert_eq!(press(code), Next::GoOn);
        }
        assert_eq!(press(KeyCode::Char('?')), Next::GoOn);
        assert_eq!(press(KeyCode::Esc), Next::GoOn, "it closes the help");
        assert_eq!(press(KeyCode::Esc), Next::Quit);
        assert_eq!((screen.view.sort.name(), screen.view.above), ("name", [3, 14]));
        assert_eq!(screen.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::Quit);
        assert_eq!(screen.press(KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL)), Next::GoOn);
    }

    #[test]
    fn a_pause_keeps_what_is_shown() {
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
    fn a_gateway_that_goes_is_told_and_waited_for() {
        let mut screen = screen();
        screen.take(sample(1.0));
        screen.take(News::Lost { why: "nobody".into() });
        assert_eq!(screen.contact, Contact::Lost { why: "nobody".into() });
        assert!(screen.model.now().is_some(), "what was last known stays");
        screen.take(sample(0.5));
        assert_eq!(screen.contact, Contact::Answers { title: "car".into() });
    }
}
