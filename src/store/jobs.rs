//! The worker's queue: one row for each step, so that a crash loses none.

use rusqlite::{Params, Row};

use super::error::{Result, StoreError};
use super::records::{Job, JobKind};
use super::transaction::{Reader, WriteTx, text};
use crate::memory::{EpisodeId, SemanticId, SessionId, ThemeId};

impl JobKind {
    /// The columns `kind` and `subject`, and the table that the subject is in.
    fn columns(&self) -> (&'static str, i64, Option<&'static str>) {
        match self {
            Self::Boundary(session) => ("boundary", session.0, Some("session")),
            Self::Close(session) => ("close", session.0, Some("session")),
            Self::Semantics(episode) => ("semantics", episode.0, Some("episode")),
            Self::NameTheme(theme) => ("name_theme", theme.0, Some("theme")),
            Self::Consolidate(semantic) => ("consolidate", semantic.0, Some("semantic")),
            Self::Reembed => ("reembed", 0, None),
        }
    }

    fn from_columns(kind: &str, subject: i64) -> Self {
        match kind {
            "boundary" => Self::Boundary(SessionId(subject)),
            "close" => Self::Close(SessionId(subject)),
            "semantics" => Self::Semantics(EpisodeId(subject)),
            "name_theme" => Self::NameTheme(ThemeId(subject)),
            "consolidate" => Self::Consolidate(SemanticId(subject)),
            // The column's CHECK allows nothing else.
            _ => Self::Reembed,
        }
    }
}

const JOB: &str = "SELECT id, kind, subject, attempts FROM job";

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let kind = text(row, 1)?;
    Ok(Job {
        id: row.get(0)?,
        kind: JobKind::from_columns(&kind, row.get(2)?),
        attempts: u32::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
    })
}

impl Reader<'_> {
    /// The next pending job: oldest first, `Consolidate` and `NameTheme` after all others.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn next_job(&self) -> Result<Option<Job>> {
        self.optional(
            &format!(
                "{JOB} WHERE state = 'pending'
                 ORDER BY kind IN ('consolidate', 'name_theme'), id LIMIT 1"
            ),
            [],
            job,
        )
    }

    /// All pending and running jobs: the running ones first, then in the order in which they will be taken.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn pending_jobs(&self) -> Result<Vec<Job>> {
        self.all(
            &format!(
                "{JOB} WHERE state <> 'failed'
                 ORDER BY state = 'pending', kind IN ('consolidate', 'name_theme'), id"
            ),
            [],
            job,
        )
    }

    /// Whether a job was begun and has not ended.
    pub(super) fn has_running_jobs(&self) -> Result<bool> {
        let sql = "SELECT 1 FROM job WHERE state = 'running' LIMIT 1";
        Ok(self.optional(sql, [], |_| Ok(()))?.is_some())
    }

    /// The jobs that failed for good, each with its last error.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn failed_jobs(&self) -> Result<Vec<(Job, String)>> {
        self.all(
            "SELECT id, kind, subject, attempts, coalesce(error, '') FROM job
             WHERE state = 'failed' ORDER BY id",
            [],
            |row| Ok((job(row)?, text(row, 4)?)),
        )
    }
}

impl WriteTx<'_> {
    /// Queues a job unless an equal one is pending. (One that is running may have read too early to
    /// see what this one is about, so it does not count.) A job for a unit that is gone is dropped.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn enqueue(&mut self, kind: &JobKind) -> Result<()> {
        let (name, subject, table) = kind.columns();
        if let Some(table) = table
            && !self.exists(table, subject)?
        {
            return Ok(());
        }
        self.run(
            "INSERT INTO job (kind, subject) VALUES (?1, ?2)
             ON CONFLICT (kind, subject) WHERE state = 'pending' DO NOTHING",
            rusqlite::params![name, subject],
        )?;
        Ok(())
    }

    /// Marks a job as running and counts the attempt. It stays in the table, and is pending again after a crash.
    ///
    /// # Errors
    /// If it is not pending, or the memory cannot be written.
    pub fn begin_job(&mut self, id: i64) -> Result<()> {
        let n = self.run(
            "UPDATE job SET state = 'running', attempts = attempts + 1
             WHERE id = ?1 AND state = 'pending'",
            [id],
        )?;
        if n == 0 { Err(StoreError::not_found("pending job", id)) } else { Ok(()) }
    }

    /// Removes a job that is done, in the step's own transaction, whose renames of themes are then not recorded for undo.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if something was forgotten while the step ran: what it read may
    /// have been just that, so the transaction must not commit. The job, if its unit still exists, is
    /// pending again under another id.
    pub fn finish_job(&mut self, id: i64) -> Result<()> {
        self.is_workers = true;
        self.run(
            "DELETE FROM operation WHERE id > ?1 AND inverse ->> 'kind' = 'rename_theme'",
            [self.operations_before],
        )?;
        let n = self.run("DELETE FROM job WHERE id = ?1", [id])?;
        if n == 0 { Err(StoreError::not_found("running job", id)) } else { Ok(()) }
    }

    /// Queues the running jobs again, under new ids: they may have read what is being forgotten, so their
    /// `finish_job` has to fail.
    pub(super) fn restart_running(&mut self) -> Result<()> {
        for job in self.all(&format!("{JOB} WHERE state = 'running' ORDER BY id"), [], job)? {
            self.run("DELETE FROM job WHERE id = ?1", [job.id])?;
            self.enqueue(&job.kind)?;
        }
        Ok(())
    }

    /// Makes a job pending again or, after `attempts_max` attempts, failed for good.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn fail_job(&mut self, id: i64, error: &str, attempts_max: u32) -> Result<()> {
        self.run(
            "UPDATE job SET error = ?2, state = iif(attempts >= ?3, 'failed', state) WHERE id = ?1",
            rusqlite::params![id, error, attempts_max],
        )?;
        self.make_pending("state = 'running' AND id = ?1", [id]).map(drop)
    }

    /// Makes all failed jobs pending again, with no attempts counted, and returns how many there were.
    ///
    /// # Errors
    /// If the memory cannot be written.
    pub fn retry_failed(&mut self) -> Result<usize> {
        self.run("UPDATE job SET attempts = 0 WHERE state = 'failed'", [])?;
        self.make_pending("state = 'failed'", [])
    }

    /// After a crash: what was running has to run again.
    pub(super) fn recover_jobs(&mut self) -> Result<()> {
        self.make_pending("state = 'running'", []).map(drop)
    }

    /// Makes the jobs pending for which `which` holds; it names their present state. Of equal jobs one is
    /// enough: the index on pending ones refuses a second, for which `which` still holds, and it is deleted.
    fn make_pending(&mut self, which: &str, params: impl Params + Copy) -> Result<usize> {
        let update = format!("UPDATE OR IGNORE job SET state = 'pending' WHERE {which}");
        let n = self.run(&update, params)?;
        Ok(n + self.run(&format!("DELETE FROM job WHERE {which}"), params)?)
    }

    /// Removes the jobs about a unit that goes.
    pub(super) fn drop_jobs(&mut self, kinds: &[&str], subject: i64) -> Result<()> {
        for kind in kinds {
            self.run(
                "DELETE FROM job WHERE kind = ?1 AND subject = ?2",
                rusqlite::params![kind, subject],
            )?;
        }
        Ok(())
    }
}
