//! `sync init | now | status | devices | remove | sql`: one memory on several devices.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use jiff::Timestamp;
use serde_json::json;
use sysinfo::System;
use zeroize::Zeroizing;

use super::App;
use super::args::Sync as Args;
use super::memory::{rfc3339, when};
use super::output::{counted, one_line};
use super::report::{Failure, Outcome, done, found_problems};
use crate::error_chain::error_chain;
use crate::interfaces::{Clock as _, SystemClock};
use crate::memory::Moment;
use crate::store::Store;
use crate::sync::{Code, DeviceId, Found, Log, LogError, Place, SealError, SyncId, SyncState};
use crate::worker::exchange::{self, ExchangeError, Exchanged};

/// Of a device's name.
const NAME_CHARS_MAX: usize = 40;
/// How often somebody at the terminal is asked.
const N_TRIES: usize = 3;
/// Characters; a code has fewer.
const CODE_LENGTH_MAX: u64 = 1024;

pub fn run(app: &App, args: Args) -> Outcome {
    match args {
        Args::Init { place, code, name, .. } => init(app, &place, code, name),
        Args::Now { json, .. } => now(app, json),
        Args::Status { show_code, json } => status(app, show_code, json),
        Args::Devices { json } => devices(app, json),
        Args::Remove { device, yes, .. } => remove(app, &device, yes),
        Args::Sql => {
            app.console.line(crate::sync::SQL)?;
            done()
        }
    }
}

fn no_randomness(error: getrandom::Error) -> Failure {
    LogError::from(SealError::from(error)).into()
}

fn init(app: &App, place: &str, code: Option<String>, name: Option<String>) -> Outcome {
    let store = app.open()?;
    if let Some(state) = exchange::sync_state(&store)? {
        return Err(Failure::Usage {
            what: format!("this memory is shared already, through {}", state.place),
            hint: format!("`inglenook sync remove {}` leaves that first", state.name),
        });
    }
    let place = Place::named(place)?;
    let is_first = place.open()?.header()?.is_none();
    let (code, id) = match (is_first, code) {
        (true, Some(_)) => {
            return Err(Failure::Usage {
                what: format!("there is no sync in {place} yet"),
                hint: "wait until it has arrived there; without --code, a new one begins".into(),
            });
        }
        (true, None) => {
            (Code::random().map_err(no_randomness)?, SyncId::random().map_err(no_randomness)?)
        }
        (false, code) => joined(app, &place, code)?,
    };
    let name =
        one_line(&name.or_else(|| System::host_name().ok()).unwrap_or_default(), NAME_CHARS_MAX);
    let device = DeviceId::random().map_err(no_randomness)?;
    let name = if name.is_empty() { device.to_string() } else { name };
    let state = SyncState::new(place, code.clone(), id, name);
    let text = serde_json::to_string(&state).map_err(ExchangeError::from)?;
    store.write(|tx| {
        tx.begin_sync(device)?;
        tx.set_sync_state(&text)
    })?;
    let exchanged = exchange::exchange(&store, SystemClock.now(), app.wait);
    if exchanged.is_err() && is_first && !is_begun(&state.place) {
        exchange::leave(&store, app.wait)?;
    }
    let exchanged = exchanged?;
    if is_first {
        app.console.line(&format!(
            "A new sync begins in {}: {} written. Its code:\n\n    {}\n",
            state.place,
            counted(exchanged.sent, "change"),
            *code.to_text()
        ))?;
        app.console.note(
            "On your other devices, once the place is there: `inglenook sync init` with it, and this code.\n\
             Whoever has the code and the place can read what you share; without the code nobody can.\n\
             `inglenook sync status --show-code` shows it again.",
        );
        return done();
    }
    report(app, &store, &exchanged)
}

/// Whether a sync was begun there.
fn is_begun(place: &Place) -> bool {
    let header = place.open().and_then(|mut carrier| carrier.header());
    header.is_ok_and(|header| header.is_some())
}

/// Asks for the code of the sync that is there.
fn joined(app: &App, place: &Place, given: Option<String>) -> Result<(Code, SyncId), Failure> {
    let can_ask = given.is_none() && io::stdin().is_terminal() && io::stderr().is_terminal();
    if given.is_none() && !can_ask {
        return Err(Failure::Usage {
            what: format!("there is a sync in {place}, and nobody to ask for its code"),
            hint: "`--code -` reads it from stdin".into(),
        });
    }
    let mut given = given.map(Zeroizing::new);
    if given.as_ref().is_some_and(|code| code.as_str() == "-") {
        given = Some(first_line(io::stdin().lock())?);
    }
    for n_left in (0..N_TRIES).rev() {
        let typed = match given.take() {
            Some(typed) => typed,
            None => ask()?,
        };
        let found = typed.parse::<Code>().map_err(|e| e.to_string()).and_then(|code| {
            match place.open().map_err(LogError::from).and_then(|carrier| Log::join(carrier, &code))
            {
                Err(e @ LogError::WrongCode) => Err(e.to_string()),
                other => Ok((code, other)),
            }
        });
        match found {
            Ok((code, Ok(Found::Sync(_, id)))) => return Ok((code, id)),
            Ok((_, Ok(Found::None(_)))) => return Err(LogError::NotASync.into()),
            Ok((_, Err(error))) => return Err(error.into()),
            Err(why) if can_ask && n_left > 0 => app.console.warn(&why),
            Err(what) => {
                let hint =
                    "`inglenook sync status --show-code` shows it on a device that shares already";
                return Err(Failure::Usage { what, hint: hint.into() });
            }
        }
    }
    Err(LogError::WrongCode.into())
}

fn ask() -> Result<Zeroizing<String>, Failure> {
    let _ = write!(io::stderr(), "The code: ");
    first_line(io::stdin().lock())
}

fn first_line(from: impl io::BufRead) -> Result<Zeroizing<String>, Failure> {
    let mut line = Zeroizing::new(String::new());
    let read = from.take(CODE_LENGTH_MAX).read_line(&mut line);
    match read {
        Ok(0) => Err(Failure::Interrupted),
        Ok(_) => Ok(line),
        Err(source) => Err(Failure::File { action: "read", path: "the code".into(), source }),
    }
}

/// On this device's wall clock, whoever's clock counted the milliseconds.
fn moment(ms: i64) -> Option<Moment> {
    let timestamp = Timestamp::from_millisecond(ms).ok()?;
    Some(Moment::new(timestamp, SystemClock.now().offset))
}

fn now(app: &App, json: bool) -> Outcome {
    let store = app.open()?;
    let exchanged = exchange::exchange(&store, SystemClock.now(), app.wait)?;
    if json {
        app.console.json(&exchanged)?;
        return if exchanged.damaged.is_empty() { done() } else { found_problems() };
    }
    report(app, &store, &exchanged)
}

/// Says what an exchange did, and what stands in its way.
fn report(app: &App, store: &Store, exchanged: &Exchanged) -> Outcome {
    let change = |n| counted(n, "change");
    let (received, sent) = (change(exchanged.received), change(exchanged.sent));
    app.console.line(&format!("{received} received, {sent} sent."))?;
    if exchanged.waiting > 0 {
        app.console.note(&format!(
            "{} not arrived as a whole, or rests on what has not: the next exchange looks again.",
            counted(exchanged.waiting, "piece")
        ));
    }
    if exchanged.received > 0 && !store.read(|r| r.pending_jobs())?.is_empty() {
        app.console.note(
            "An open chat makes memory of it in the background, `inglenook memory consolidate --wait` now.",
        );
    }
    let damaged = || exchanged.damaged.iter().chain(&exchanged.refused);
    if damaged().next().is_none() {
        return done();
    }
    let state = exchange::sync_state(store)?;
    for damaged in damaged() {
        let other = state.as_ref().and_then(|state| state.others.get(&damaged.device));
        let name = other.map(|other| one_line(&other.name, NAME_CHARS_MAX));
        let name =
            name.filter(|name| !name.is_empty()).unwrap_or_else(|| damaged.device.to_string());
        let why = &damaged.why;
        app.console.warn(&format!("piece {} of {name} can't be used: {why}", damaged.piece));
    }
    app.console.note(
        "hint: what carries it may bring it again. If not: that device writes it anew at its next exchange once the file is deleted",
    );
    found_problems()
}

/// What this memory knows of its sync, and this device's id.
fn state(store: &Store) -> Result<(SyncState, DeviceId), Failure> {
    let state = exchange::sync_state(store)?.ok_or(ExchangeError::NotShared)?;
    let device = store.read(|r| r.sync_device())?.ok_or(ExchangeError::NotShared)?;
    Ok((state, device))
}

fn status(app: &App, show_code: bool, json: bool) -> Outcome {
    let store = app.open()?;
    let (state, device) = state(&store)?;
    let outlook = exchange::outlook(&store, &state);
    let exchanged_at = state.exchanged_at.and_then(moment);
    if json {
        let mut status = json!({
            "place": state.place.to_string(),
            "device": device,
            "name": state.name,
            "devices": state.others.len() + 1,
            "exchanged_at": exchanged_at.map(rfc3339),
            "to_send": outlook.as_ref().ok().map(|outlook| outlook.to_send),
            "to_read": outlook.as_ref().ok().map(|outlook| outlook.to_read),
            "error": outlook.as_ref().err().map(|error| error_chain(error)),
        });
        if show_code {
            status["code"] = json!(*state.code.to_text());
        }
        app.console.json(&status)?;
        return if outlook.is_ok() { done() } else { found_problems() };
    }
    let others: Vec<String> =
        state.others.values().map(|other| one_line(&other.name, NAME_CHARS_MAX)).collect();
    let with = if others.is_empty() { "no other device yet".into() } else { others.join(", ") };
    app.console.line(&format!("Shared through {}", state.place))?;
    app.console.line(&format!("with           {with}"))?;
    app.console
        .line(&format!("as             {} ({device})", one_line(&state.name, NAME_CHARS_MAX)))?;
    let at = exchanged_at.map_or_else(|| "never".into(), when);
    app.console.line(&format!("last exchange  {at}"))?;
    if show_code {
        app.console.line(&format!("code           {}", *state.code.to_text()))?;
    }
    let outlook = outlook?;
    let (send, read) = (counted(outlook.to_send, "change"), counted(outlook.to_read, "piece"));
    app.console.line(&format!("waiting        {send} to send, {read} to read"))?;
    done()
}

fn devices(app: &App, json: bool) -> Outcome {
    let (state, device) = state(&app.open_read_only()?)?;
    let own = (device, (state.name.as_str(), state.exchanged_at, true));
    let others =
        state.others.iter().map(|(id, o)| (*id, (o.name.as_str(), Some(o.wrote_at), false)));
    let all: BTreeMap<DeviceId, _> = others.chain([own]).collect();
    if json {
        let list: Vec<_> = all
            .iter()
            .map(|(id, (name, at, is_own))| {
                let wrote_at = at.and_then(moment).map(rfc3339);
                json!({ "device": id, "name": name, "wrote_at": wrote_at, "this": is_own })
            })
            .collect();
        app.console.json(&list)?;
        return done();
    }
    for (id, (name, at, is_own)) in &all {
        let at = at.and_then(moment).map(when).unwrap_or_default();
        let at = if *is_own { "this device".into() } else { format!("wrote {at}") };
        app.console.line(&format!("{id}  {:<20}  {at}", one_line(name, NAME_CHARS_MAX)))?;
    }
    done()
}

fn remove(app: &App, asked: &str, yes: bool) -> Outcome {
    let store = app.open()?;
    let (state, own) = state(&store)?;
    let names = state.others.iter().map(|(id, other)| (*id, other.name.as_str()));
    let all: Vec<_> = names.chain([(own, state.name.as_str())]).collect();
    let meant: Vec<_> =
        all.iter().filter(|(id, name)| *name == asked || id.to_string() == asked).collect();
    let [(device, name)] = meant[..] else {
        let what =
            if meant.is_empty() { "there is no device" } else { "there are several devices" };
        return Err(Failure::Usage {
            what: format!("{what} {asked}"),
            hint: "`inglenook sync devices` lists them: an id is always one".into(),
        });
    };
    let name = one_line(name, NAME_CHARS_MAX);
    if *device == own {
        return leave(app, &store, &name, yes);
    }
    app.policy.check_sync()?;
    let mut refusal = None;
    let taken =
        exchange::take_over(&store, *device, SystemClock.now(), app.wait, |n_unreadable| {
            let lost = match n_unreadable {
                0 => String::new(),
                n => format!(
                    " {} of it can't be read: what only they hold is lost.",
                    counted(n, "piece")
                ),
            };
            let question = format!("Take over what {name} shared, and remove it?{lost}");
            let confirmed = if yes { Ok(true) } else { app.console.confirm(&question) };
            confirmed.unwrap_or_else(|failure| {
                refusal = Some(failure);
                false
            })
        })?;
    if let Some(failure) = refusal {
        return Err(failure);
    }
    if taken.is_none() {
        app.console.note("Nothing was changed.");
        return done();
    }
    app.console
        .line(&format!("{name} is removed; what it shared stays shared, by this device."))?;
    app.console.note(
        "It still has the code: if somebody else may have it, leave on every device (`inglenook sync remove` and its own name), \
         delete the place, and begin anew elsewhere.",
    );
    done()
}

fn leave(app: &App, store: &Store, name: &str, yes: bool) -> Outcome {
    let question = format!("Leave the sync? What {name} shared stays with the other devices.");
    if !yes && !app.console.confirm(&question)? {
        app.console.note("Nothing was changed.");
        return done();
    }
    exchange::leave(store, app.wait)?;
    app.console
        .line(&format!("{name} has left. Its memory stays as it is, and is shared no more."))?;
    app.console.note(&format!(
        "`inglenook sync remove {name}` on another device takes over its pieces, so that what is forgotten there leaves them, too.",
    ));
    done()
}
