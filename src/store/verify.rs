//! `memory verify`: every invariant (ARCHITECTURE, "What must hold") that a file can break.

use std::collections::{BTreeMap, HashSet};

use rusqlite::types::ValueRef;

use super::error::Result;
use super::records::{AnyId, Level};
use super::settings::THEME_CAP;
use super::transaction::{Reader, text};
use crate::error_chain::error_chain;
use crate::memory::SessionId;
use crate::memory::reorganize::THEME_SIZE_MAX;

/// Checks that a single query can make: each row is a violation, as a sentence.
const CHECKS: &[&str] = &[
    "SELECT format('t%d is empty', t.id) FROM theme t
     WHERE NOT EXISTS (SELECT 1 FROM semantic WHERE theme = t.id)",
    "SELECT format('s%d is in no theme', s.id) FROM semantic s
     WHERE NOT EXISTS (SELECT 1 FROM theme WHERE id = s.theme)",
    "SELECT format('s%d names no episode', s.id) FROM semantic s
     WHERE NOT EXISTS (SELECT 1 FROM semantic_episode WHERE semantic = s.id)
        -- A correction outlives its episode until that is written anew.
        AND (NOT s.corrected OR EXISTS (SELECT 1 FROM semantic_message p JOIN message m ON m.id = p.message
                                        WHERE p.semantic = s.id AND m.episode IS NOT NULL))",
    "SELECT format('s%d names no message', s.id) FROM semantic s
     WHERE NOT EXISTS (SELECT 1 FROM semantic_message WHERE semantic = s.id)",
    "SELECT format('s%d names m%d, which is in none of its episodes', p.semantic, p.message)
     FROM semantic_message p JOIN message m ON m.id = p.message
     WHERE NOT EXISTS (SELECT 1 FROM semantic_episode e
                       WHERE e.semantic = p.semantic AND e.episode = m.episode)
        AND NOT (m.episode IS NULL AND (SELECT corrected FROM semantic WHERE id = p.semantic))",
    "SELECT format('s%d''s theme is not in its history', s.id) FROM semantic s WHERE NOT EXISTS
        (SELECT 1 FROM theme_history h WHERE h.semantic = s.id AND h.theme = s.theme)",
    "SELECT format('e%d has no messages', e.id) FROM episode e
     WHERE NOT EXISTS (SELECT 1 FROM message WHERE episode = e.id)",
    "SELECT format('m%d is in e%d, of another session', m.id, e.id)
     FROM message m JOIN episode e ON e.id = m.episode WHERE m.session <> e.session",
    // A message of the same session between an episode's first and last that is not in it.
    "SELECT format('e%d is not contiguous: m%d lies in it and is not of it', span.episode, m.id) FROM
        (SELECT episode, session, min(id) AS first, max(id) AS last FROM message
         WHERE episode IS NOT NULL GROUP BY episode) span
     JOIN message m ON m.session = span.session AND m.id BETWEEN span.first AND span.last
     WHERE m.episode IS NOT span.episode",
    "SELECT format('s%d is superseded by s%d, which does not exist', s.id, s.superseded_by)
     FROM semantic s WHERE s.superseded_by IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM semantic WHERE id = s.superseded_by)",
    "SELECT format('the edge s%d – s%d has one direction only, or one end', a, b)
     FROM semantic_edge e WHERE NOT EXISTS
        (SELECT 1 FROM semantic_edge r WHERE r.a = e.b AND r.b = e.a AND r.weight = e.weight)
        OR NOT EXISTS (SELECT 1 FROM semantic WHERE id = e.a)",
    "SELECT format('the edge t%d – t%d has one direction only, or one end', a, b)
     FROM theme_edge e WHERE NOT EXISTS
        (SELECT 1 FROM theme_edge r WHERE r.a = e.b AND r.b = e.a AND r.weight = e.weight)
        OR NOT EXISTS (SELECT 1 FROM theme WHERE id = e.a)",
    "SELECT format('job %d (%s) is about %d, which does not exist', id, kind, subject)
     FROM job WHERE CASE
        WHEN kind IN ('boundary', 'close') THEN subject NOT IN (SELECT id FROM session)
        WHEN kind = 'semantics' THEN subject NOT IN (SELECT id FROM episode)
        WHEN kind = 'name_theme' THEN subject NOT IN (SELECT id FROM theme)
        WHEN kind = 'consolidate' THEN subject NOT IN (SELECT id FROM semantic)
        ELSE FALSE END",
    // There is one worker: a second running job was left behind by a dead one.
    "SELECT format('job %d (%s) is stuck', id, kind) FROM job WHERE state = 'running'
        AND id < (SELECT max(id) FROM job WHERE state = 'running')",
    "SELECT format('m%d has a record and is no reply', a.message)
     FROM answer a JOIN message m ON m.id = a.message
     WHERE m.role <> 'assistant' OR NOT json_valid(a.record)",
    "SELECT format('operation %d cannot be read', id) FROM operation WHERE NOT json_valid(inverse)",
    "SELECT format('c%d has episodes and no messages', s.id)
     FROM session s LEFT JOIN message m ON m.session = s.id
     WHERE m.id IS NULL AND EXISTS (SELECT 1 FROM episode WHERE session = s.id)",
];

/// A row's id as it is shown.
type Shown = fn(i64) -> AnyId;

/// Tables whose rows hold what people said or what was made of it: with their ids and columns.
const TEXTS: [(&str, Shown, &str); 5] = [
    ("message", |id| Level::Message.id(id), "content, speaker, external_id"),
    ("episode", |id| Level::Episode.id(id), "title, content"),
    ("semantic", |id| Level::Semantic.id(id), "content, subject, attribute"),
    ("theme", |id| Level::Theme.id(id), "name"),
    ("session", |id| AnyId::Session(SessionId(id)), "title, source"),
];

impl Reader<'_> {
    /// Every broken invariant, as a sentence with the units' ids; empty if all hold. Includes `PRAGMA integrity_check` and foreign keys.
    ///
    /// # Errors
    /// None: a check that fails is itself among the findings.
    pub fn verify(&self) -> Result<Vec<String>> {
        let mut found: Vec<String> = Vec::new();
        let add = |what: &str, rows: Result<Vec<String>>, found: &mut Vec<String>| match rows {
            Ok(rows) => found.extend(rows),
            // A check that a damaged file stops is a finding, not the end of the others.
            Err(error) => found.push(format!("cannot check {what}: {}", error_chain(&error))),
        };
        // FTS5's integrity check trusts the shape of the index that this connection read last, and
        // reports damage where another connection has merged segments since. A query updates it.
        for level in Level::ALL {
            let name = level.name();
            let sql = format!("SELECT rowid FROM {name}_text WHERE {name}_text MATCH 'a' LIMIT 1");
            let looked = self.all(&sql, [], |_| Ok(String::new())).map(|_| Vec::new());
            add("the full text", looked, &mut found);
        }
        let integrity = self
            .all("PRAGMA integrity_check(100)", [], |row| text(row, 0))
            .map(|rows| rows.into_iter().filter(|row| row != "ok").collect());
        add("the file", integrity, &mut found);
        let foreign = self.all("PRAGMA foreign_key_check", [], |row| {
            let (table, parent): (String, String) = (text(row, 0)?, text(row, 2)?);
            let id: Option<i64> = row.get(1)?;
            Ok(format!("row {} of {table} points to no {parent}", id.unwrap_or_default()))
        });
        add("the foreign keys", foreign, &mut found);
        for sql in CHECKS {
            add("an invariant", self.all(sql, [], |row| text(row, 0)), &mut found);
        }
        add("what supersedes what", self.circles(), &mut found);
        for (table, shown, columns) in TEXTS {
            add("the texts", self.damaged_texts(table, shown, columns), &mut found);
        }
        let says = "is not as it was written: its text, speaker or time has changed";
        let changed = self
            .changed_messages()
            .map(|all| all.into_iter().map(|id| format!("{id} {says}")).collect());
        add("the texts", changed, &mut found);
        add("the cap of themes", self.over_cap(), &mut found);
        for level in Level::ALL {
            add("the full text", self.text_index(level), &mut found);
            add("the vectors", self.vectors_of(level), &mut found);
        }
        Ok(found)
    }

    /// Facts that supersede themselves, by others. Each has one successor at most, so that each is walked through once.
    fn circles(&self) -> Result<Vec<String>> {
        let sql =
            "SELECT id, superseded_by FROM semantic WHERE superseded_by IS NOT NULL ORDER BY id";
        let next: BTreeMap<i64, i64> =
            self.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
        let (mut walked, mut found) = (HashSet::new(), Vec::new());
        for start in next.keys() {
            let (mut at, mut way) = (*start, Vec::new());
            while let Some(by) = next.get(&at)
                && walked.insert(at)
            {
                way.push(at);
                at = *by;
            }
            // Back on this way: a circle.
            if let Some(begin) = way.iter().position(|id| *id == at) {
                let mut circle = way.split_off(begin);
                circle.sort_unstable();
                found.extend(circle.iter().map(|id| format!("s{id} supersedes itself, by others")));
            }
        }
        Ok(found)
    }

    /// Rows with bytes that are no text.
    fn damaged_texts(&self, table: &str, shown: Shown, columns: &str) -> Result<Vec<String>> {
        let sql = format!("SELECT id, {columns} FROM {table} ORDER BY id");
        let found = self.all(&sql, [], |row| {
            let mut is_damaged = false;
            for column in 1..row.as_ref().column_count() {
                if let ValueRef::Text(bytes) = row.get_ref(column)? {
                    is_damaged |= std::str::from_utf8(bytes).is_err();
                }
            }
            let id = shown(row.get(0)?);
            let says = "holds bytes that are no text: they are read as \u{fffd}";
            Ok(is_damaged.then(|| format!("{id} {says}")))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn over_cap(&self) -> Result<Vec<String>> {
        let set = self.setting(THEME_CAP)?.and_then(|text| text.parse::<i64>().ok());
        let cap = set.unwrap_or(THEME_SIZE_MAX as i64);
        self.all(
            "SELECT format('t%d has %d members; %d is the most', theme, count(*), ?1) FROM semantic
             GROUP BY theme HAVING count(*) > ?1",
            [cap],
            |row| row.get(0),
        )
    }

    /// Each unit has its row in the full-text index, which holds nothing else.
    fn text_index(&self, level: Level) -> Result<Vec<String>> {
        let name = level.name();
        let missing = format!("SELECT id FROM {name} EXCEPT SELECT id FROM {name}_text_docsize");
        let extra = format!("SELECT id FROM {name}_text_docsize EXCEPT SELECT id FROM {name}");
        let mut found = self.all(&missing, [], |row| {
            Ok(format!("{} is not in the full-text index", level.id(row.get(0)?)))
        })?;
        found.extend(self.all(&extra, [], |row| {
            let id = level.id(row.get(0)?);
            Ok(format!("the full-text index has {id}, which does not exist"))
        })?);
        if found.is_empty() {
            let other = self.other_words(level)?.into_iter();
            found.extend(other.map(|id| {
                let id = level.id(id);
                format!("{id} has other words than the full-text index: one of them has changed")
            }));
        }
        Ok(found)
    }

    /// Each vector has its unit, can be read, and is of the embedder's length; each fact has a
    /// vector, unless a `Reembed` job is still to make them.
    fn vectors_of(&self, level: Level) -> Result<Vec<String>> {
        let being_made = self.count("SELECT count(*) FROM job WHERE kind = 'reembed'")? > 0;
        let Some(dimensions) = self.dimensions()? else {
            let semantics = self.count("SELECT count(*) FROM semantic")?;
            // A correction may have come from another device before anything was derived here.
            let is_wrong = level == Level::Semantic && semantics > 0 && !being_made;
            return Ok(Vec::from_iter(is_wrong.then(|| "facts without an embedder".to_owned())));
        };
        let name = level.name();
        let units: HashSet<i64> = self
            .all(&format!("SELECT id FROM {name}"), [], |row| row.get(0))?
            .into_iter()
            .collect();
        let mut found = Vec::new();
        let mut have = HashSet::new();
        let vectors = self.embeddings(level)?;
        for (id, vector) in &vectors {
            have.insert(*id);
            let shown = level.id(*id);
            if !units.contains(id) {
                found.push(format!("there is a vector of {shown}, which does not exist"));
            }
            if vector.dimensions() != dimensions {
                found.push(format!("the vector of {shown} has {} components", vector.dimensions()));
            }
        }
        let wrong = self.wrong_codes(level, &vectors)?.into_iter();
        found.extend(wrong.map(|id| format!("the index has another vector of {}", level.id(id))));
        if level == Level::Semantic && !being_made {
            let missing = units.difference(&have);
            found.extend(missing.map(|&id| format!("{} has no vector", level.id(id))));
        }
        Ok(found)
    }
}
