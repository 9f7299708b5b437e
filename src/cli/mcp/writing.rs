//! The tools that write: `remember` and `forget`.

use jiff::civil::{Date, time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::super::backup::remark_on_backups;
use super::super::memory::forget::{describe, erase};
use super::super::output::{counted, one_line};
use super::home::Home;
use super::units::date;
use super::{Answered, Mistake, done, id_of, optional, text_of};
use crate::extractive::THE_USER;
use crate::interfaces::{Clock as _, SystemClock};
use crate::mcp::Caller;
use crate::memory::{MessageId, Moment, NewMessage, Origin, Role, SessionId};
use crate::registry::hex;
use crate::store::{ForgetPlan, JobKind, StoreError, WriteTx};

/// A program's name in the memory.
const NAME_CHARS_MAX: usize = 60;

/// What a note is kept as.
struct Noted {
    message: MessageId,
    session: SessionId,
    is_new: bool,
}

pub fn remember(home: &Home<'_>, caller: &Caller, args: &Map<String, Value>) -> Answered {
    if home.app.policy.is_incognito() {
        return Err(
            Mistake("Nothing that is said is kept on this machine, by its policy.".into()).into()
        );
    }
    let text = text_of(args, "text").trim();
    if text.is_empty() {
        return Err(Mistake("`text` has no words.".into()).into());
    }
    let now = SystemClock.now();
    let at = match optional(args, "at") {
        Some(text) => moment(text, now)?,
        None => now,
    };
    let name = caller.name.as_deref().map_or(String::new(), |name| one_line(name, NAME_CHARS_MAX));
    let program = if name.is_empty() { "an agent".to_owned() } else { name };
    let store = home.to_write()?;
    let noted = store.write(|tx| {
        let speaker = match optional(args, "speaker").map(|name| one_line(name, NAME_CHARS_MAX)) {
            Some(name) if is_person(&name) => {
                tx.user_name()?.unwrap_or_else(|| THE_USER.to_owned())
            }
            Some(name) if !name.is_empty() => name,
            _ => program.clone(),
        };
        note(tx, &program, speaker, text, at)
    })?;
    if noted.is_new {
        home.app.audit("remember", 1);
    }
    let (id, origin) = (noted.message, Origin::Agent.as_str());
    let said = if noted.is_new {
        format!("Noted as {id}: the word of {origin}, of {}.", date(at))
    } else {
        format!("That was noted already, as {id}.")
    };
    let value = json!({
        "id": id.to_string(),
        "session": noted.session.to_string(),
        "is_new": noted.is_new,
        "origin": origin,
        "date": date(at),
    });
    done(said, value)
}

/// Whether the person is meant, who has a name of their own.
fn is_person(speaker: &str) -> bool {
    matches!(speaker.to_lowercase().as_str(), "user" | "the user" | "me" | "human" | "owner")
}

/// A program's notes of one day are one session; the same note is kept once.
fn note(
    tx: &mut WriteTx<'_>,
    program: &str,
    speaker: String,
    text: &str,
    at: Moment,
) -> Result<Noted, StoreError> {
    let is_of_day = |s: &crate::store::Session| {
        s.agent && s.source.as_deref() == Some(program) && date(s.created_at) == date(at)
    };
    let mut own = None;
    for session in tx.sessions()?.into_iter().filter(is_of_day).map(|s| s.id) {
        // Another device's notes of the day are known, and not added to.
        if !tx.is_foreign(session)? {
            own = own.or(Some(session));
        }
        let said = tx.messages(session)?;
        let same = said.iter().find(|m| m.content == text && m.speaker.as_ref() == Some(&speaker));
        if let Some(same) = same {
            return Ok(Noted { message: same.id, session, is_new: false });
        }
    }
    let session = match own {
        Some(session) => session,
        None => tx.agent_session(&format!("Noted by {program}"), at, program)?,
    };
    let message = NewMessage { speaker: Some(speaker), ..NewMessage::new(Role::User, text, at) };
    let message = tx.append_message(session, &message)?;
    tx.enqueue(&JobKind::Close(session))?;
    Ok(Noted { message, session, is_new: true })
}

/// A day, which is taken at its noon here, or a time with its offset.
fn moment(text: &str, now: Moment) -> Result<Moment, Mistake> {
    /// What two clocks may differ by.
    const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
    let wrong = || {
        Mistake("`at` has to be a day (2026-11-14), or a time with its offset (2026-11-14T09:30:00+01:00).".into())
    };
    let at = if let Ok(day) = text.parse::<Date>()
        && text.len() <= "2026-11-14".len()
    {
        let noon = day.to_datetime(time(12, 0, 0, 0)).to_zoned(TimeZone::system());
        let noon: Zoned = noon.map_err(|_| wrong())?;
        let noon = Moment::new(noon.timestamp(), noon.offset());
        // Today's noon may be to come.
        if noon.civil().date() == now.civil().date() { now } else { noon }
    } else {
        let pieces = jiff::fmt::temporal::DateTimeParser::new().parse_timestamp(text);
        let timestamp = pieces.map_err(|_| wrong())?;
        let offset = jiff::fmt::temporal::Pieces::parse(text).ok();
        let offset = offset.and_then(|pieces| pieces.to_numeric_offset());
        Moment::new(timestamp, offset.unwrap_or(jiff::tz::Offset::UTC))
    };
    if at.timestamp > now.timestamp + TOLERANCE {
        return Err(Mistake(format!("`at` is yet to come: it is {} here.", date(now))));
    }
    Ok(at)
}

pub fn forget(home: &Home<'_>, args: &Map<String, Value>) -> Answered {
    let id = id_of(args)?;
    let confirmed = optional(args, "confirm");
    let store = match confirmed {
        None => home.to_read()?,
        Some(_) => home.to_write()?,
    };
    let (plan, words) = store.read(|r| {
        let plan = r.plan_forget(&[id], None)?;
        let words = describe(r, &plan)?;
        Ok((plan, words))
    })?;
    let code = code(&plan);
    let mut value = json!({
        "erased": false,
        "plan": words,
        "confirm": code,
        "messages": plan.messages.len(),
        "facts": plan.semantics.len(),
        "episodes": plan.episodes.len(),
    });
    let backups = remark_on_backups(&home.app.dirs.data)?;
    match confirmed {
        None => {
            let ask = format!(
                "{words}{backups}\nNothing was erased yet, and it could not be undone. Show this to the person; if they \
                 agree, call `forget` again with \"confirm\": \"{code}\"."
            );
            done(ask, value)
        }
        Some(said) if said != code => Err(Mistake(format!(
            "Nothing was erased: {said:?} confirms another plan than the one that stands now. Show the person this one; its \
             code is {code:?}.\n{words}"
        ))
        .into()),
        Some(_) => {
            let erased = erase(&store, &plan);
            home.app.audit("forget", plan.messages.len());
            erased?;
            value["erased"] = true.into();
            value["confirm"] = Value::Null;
            let text = format!(
                "Erased: {}, {}, {}. No copy is left in the memory file. {backups}",
                counted(plan.messages.len(), "message"),
                counted(plan.episodes.len(), "episode"),
                counted(plan.semantics.len(), "fact"),
            );
            done(text.trim_end().to_owned(), value)
        }
    }
}

/// Stands for exactly this plan: whoever has seen another one can't confirm this one.
fn code(plan: &ForgetPlan) -> String {
    let ForgetPlan { messages, episodes, semantics, sessions, rewritten, themes, .. } = plan;
    let all =
        format!("{messages:?} {episodes:?} {semantics:?} {sessions:?} {rewritten:?} {themes:?}");
    format!("erase-{}", &hex(&Sha256::digest(all))[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_a_day_or_a_time_that_has_been() {
        let now: jiff::Timestamp = "2026-11-25T23:30:00Z".parse().unwrap();
        let now = Moment::new(now, jiff::tz::offset(1));
        let of = |text: &str| moment(text, now).map(|at| at.civil().to_string());
        assert_eq!(of("2026-11-14T09:30:00+02:00").unwrap(), "2026-11-14T09:30:00");
        assert_eq!(of("2026-11-14T09:30:00Z").unwrap(), "2026-11-14T09:30:00");
        assert_eq!(of("2026-11-14").unwrap(), "2026-11-14T12:00:00");
        // Here it is the 26th already.
        assert_eq!(of("2026-11-26").unwrap(), now.civil().to_string());
        for wrong in ["yesterday", "2026-11-31", "2026-11-14T09:30:00", "20261114T0930", "9999999"]
        {
            assert!(of(wrong).unwrap_err().0.contains("has to be"), "{wrong}");
        }
        for to_come in ["2026-11-28", "2026-11-26T01:00:00+01:00", "9999-12-30T00:00:00Z"] {
            assert!(of(to_come).unwrap_err().0.contains("yet to come"), "{to_come}");
        }
    }
}
