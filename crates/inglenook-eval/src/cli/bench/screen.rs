//! `bench screen`: from an event to the frame that shows it, without the terminal's own time.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use inglenook::cli::{App, Failure, ScreenBench};
use inglenook::memory::{Embedding, Message, MessageId, Moment, NewMessage, Role, SessionId};
use inglenook::store::{NewSemantic, Store, StoreError};
use serde::Serialize;

use crate::EvalError;
use crate::cli::args::BenchScreen;
use crate::cli::error::{CommandError, Outcome};
use crate::metrics::nearest_rank;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (300, 80)];
const MESSAGES_AN_EPISODE: usize = 8;

#[derive(Debug, Serialize)]
struct Row {
    width: u16,
    height: u16,
    what: &'static str,
    n: usize,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

pub fn run(app: &App, args: &BenchScreen) -> Outcome {
    let chat = made_up_chat(args.messages as usize);
    let store = made_up_memory(args.facts as usize).map_err(EvalError::from)?;
    let mut rows = Vec::new();
    for (width, height) in SIZES {
        if app.cancel.is_cancelled() {
            return Err(Failure::Interrupted.into());
        }
        let mut take = |what, mut times: Vec<Duration>| {
            times.sort_unstable();
            let at = |share| {
                nearest_rank(&times, share).map_or(0.0, |t: Duration| t.as_secs_f64() * 1e3)
            };
            let (p50_ms, p99_ms, max_ms) = (at(0.5), at(0.99), at(1.0));
            rows.push(Row { width, height, what, n: times.len(), p50_ms, p99_ms, max_ms });
        };
        chat_times(width, height, &chat, &mut take).map_err(Failure::Output)?;
        page_times(width, height, &store, &mut take)?;
    }
    app.console.report(&rows, args.json, |rows| print(app, rows))?;
    Ok(ExitCode::SUCCESS)
}

/// How long each of these takes, with its frame.
fn timed<T>(
    screen: &mut ScreenBench,
    events: impl IntoIterator<Item = T>,
    mut feed: impl FnMut(&mut ScreenBench, T) -> io::Result<()>,
) -> io::Result<Vec<Duration>> {
    let one = |event| {
        let begun = Instant::now();
        feed(screen, event)?;
        screen.draw()?;
        Ok(begun.elapsed())
    };
    events.into_iter().map(one).collect()
}

fn chat_times(
    width: u16,
    height: u16,
    chat: &[Message],
    take: &mut impl FnMut(&'static str, Vec<Duration>),
) -> io::Result<()> {
    let now = moment(chat.len());
    let begun = Instant::now();
    let mut screen = ScreenBench::new(width, height, chat.to_vec(), now)?;
    screen.draw()?;
    take("open the chat", vec![begun.elapsed()]);
    let press = |screen: &mut ScreenBench, keys: Vec<&str>| {
        timed(screen, keys, |screen, key| {
            screen.press(key);
            Ok(())
        })
    };
    take("scroll, new to the eye", press(&mut screen, vec!["pageup"; 300])?);
    take("scroll back", press(&mut screen, vec!["pagedown"; 300])?);
    let typed: Vec<String> = LONG.replace(' ', "x").chars().map(String::from).collect();
    take("type", press(&mut screen, typed.iter().map(String::as_str).collect())?);
    let sizes = (0..20).map(|n| (width - 1 + n % 2, height));
    take("resize", timed(&mut screen, sizes, |screen, (w, h)| screen.resize(w, h))?);
    screen.begin_reply();
    let tick = |screen: &mut ScreenBench, ()| {
        screen.tick();
        Ok(())
    };
    take("wait for a reply", timed(&mut screen, [(); 100], tick)?);
    let reply = reply(0, 40);
    let pieces: Vec<char> = reply.chars().collect();
    let pieces = pieces.chunks(5).map(String::from_iter);
    take(
        "a piece of a reply",
        timed(&mut screen, pieces, |screen, piece| {
            screen.stream(&piece);
            Ok(())
        })?,
    );
    take("type during a reply", press(&mut screen, vec!["x"; 100])?);
    Ok(())
}

fn page_times(
    width: u16,
    height: u16,
    store: &Store,
    take: &mut impl FnMut(&'static str, Vec<Duration>),
) -> Result<(), CommandError> {
    let written = Failure::Output;
    let now = moment(1_000_000);
    let mut screen = ScreenBench::new(width, height, Vec::new(), now).map_err(written)?;
    let begun = Instant::now();
    screen.read_memory(store).map_err(EvalError::from)?;
    take("page: read (beside the screen)", vec![begun.elapsed()]);
    let open = |screen: &mut ScreenBench, ()| {
        screen.open_memory();
        Ok(())
    };
    take("page: open", timed(&mut screen, [()], open).map_err(written)?);
    let mut press = |keys: &[&str]| {
        let feed = |screen: &mut ScreenBench, key: &&str| {
            screen.press(key);
            Ok(())
        };
        timed(&mut screen, keys, feed).map_err(written)
    };
    take("page: move", press(&["down"; 100])?);
    take("page: turn to a tab", press(&["2", "3", "4", "5", "1"])?);
    press(&["/"])?;
    take("page: search", press(&["c", "a", "m", "e", "space", "l", "i", "s", "b", "o", "n"])?);
    Ok(())
}

fn print(app: &App, rows: &[Row]) -> Result<(), Failure> {
    app.console.line("   size  what                               n   p50, p99, most (ms)")?;
    for row in rows {
        app.console.line(&format!(
            "{:>3}×{:<3}  {:<31} {:>4}  {:>7.2} {:>7.2} {:>7.2}",
            row.width, row.height, row.what, row.n, row.p50_ms, row.p99_ms, row.max_ms,
        ))?;
    }
    Ok(())
}

/// A minute after the one before.
fn moment(n: usize) -> Moment {
    let seconds = 1_760_000_000 + 60 * n as i64;
    let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(seconds);
    Moment::new(at, jiff::tz::Offset::UTC)
}

const LONG: &str = "We walked along the river for an hour this morning, then my sister told me that she is \
                    going to move to another town next spring, to be **near her work**, and that `cargo` \
                    is not a word for a boat. Then we had coffee; see [the map](https://example.org).";
const CODE: &str = "```rust\n/// Adds what is missing.\nfn add(all: &mut Vec<String>, text: &str) -> usize {\n    \
                    if !all.iter().any(|one| one == text) {\n        all.push(text.to_owned()); // kept\n    }\n    \
                    all.len()\n}\n```";
const TABLE: &str =
    "| town | nights | how |\n|---|---:|---|\n| Lisbon | 3 | by train |\n| Porto | 12 | on foot |";
const LIST: &str = "1. Pack the tent, and look for the pegs that were left in the cellar last summer.\n\
                    2. Call Emily.\n   - about the dog\n   - about the keys\n3. Sleep.";

/// A reply of so many parts, among them code, tables and lists.
fn reply(seed: usize, n_parts: usize) -> String {
    let part = |n: usize| match (seed + n) % 7 {
        2 => CODE.to_owned(),
        4 => TABLE.to_owned(),
        5 => LIST.to_owned(),
        6 => format!("## Part {n}"),
        _ => format!("{n}. {LONG}"),
    };
    (0..n_parts).map(part).collect::<Vec<_>>().join("\n\n")
}

fn made_up_chat(n: usize) -> Vec<Message> {
    let message = |n: usize| {
        let (role, content) = match n % 2 {
            0 => (Role::User, LONG[..40 + n % 200].to_owned()),
            _ => (Role::Assistant, reply(n / 2, [1, 1, 2, 6, 12][n / 2 % 5])),
        };
        Message {
            id: MessageId(n as i64 + 1),
            session: SessionId(1),
            role,
            speaker: None,
            content,
            created_at: moment(n),
            external_id: None,
            episode: None,
            complete: true,
        }
    };
    (0..n).map(message).collect()
}

/// Facts about the person, people, plans and places.
fn made_up_memory(n: usize) -> Result<Store, StoreError> {
    const NAMES: [&str; 8] = ["Emily", "Jonas", "Sara", "Ana", "Max", "Priya", "Oskar", "Wei"];
    const PLACES: [&str; 6] = ["Lisbon", "Lund", "Porto", "Bergen", "Malmö", "Oslo"];
    let fact = |n: usize| {
        let (name, place) = (NAMES[n / 3 % 8], PLACES[n / 5 % 6]);
        match n % 6 {
            0 => format!("The user likes dish number {n} with {name}'s sauce"),
            1 => format!("{name} lives in {place} since the move number {n}"),
            2 => format!("{name} is the user's friend and plays {n} songs on the cello"),
            3 => format!("The user will travel to {place} with {name} on 14 March 2027, trip {n}"),
            4 => format!("The user's cousin {name} came to {place} and brought {n} apples"),
            _ => format!("The user works on project {n} at the harbour"),
        }
    };
    let store = Store::in_memory()?;
    let vector = Embedding::normalise(vec![1.0; 8]).unwrap_or_else(|_| unreachable!());
    store.write(|tx| {
        tx.use_embedder("made up", 8)?;
        let session = tx.create_session("Made up", moment(0), false)?;
        let mut theme = None;
        for first in (0..n).step_by(MESSAGES_AN_EPISODE) {
            let mut messages = Vec::new();
            for n in first..n.min(first + MESSAGES_AN_EPISODE) {
                let said = NewMessage::new(Role::User, fact(n), moment(n));
                messages.push(tx.append_message(session, &said)?);
            }
            let episode = format!("Talk number {first}");
            tx.insert_episode(session, &episode, &episode, &messages)?;
            for (n, message) in (first..).zip(messages) {
                let theme = match theme {
                    Some(theme) if n % 12 > 0 => theme,
                    _ => *theme.insert(tx.create_theme(&format!("Theme {}", n / 12))?),
                };
                let created_at = moment(n);
                let (content, messages) = (fact(n), vec![message]);
                let new =
                    NewSemantic { content, subject: None, attribute: None, created_at, messages };
                tx.insert_semantic(new, theme, &vector)?;
            }
        }
        Ok(())
    })?;
    Ok(store)
}
