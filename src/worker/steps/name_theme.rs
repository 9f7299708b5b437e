//! A theme's name, from its current facts.

use crate::interfaces::Cancel;
use crate::memory::{ThemeId, plain_text};
use crate::store::Job;
use crate::worker::step_context::{StepContext, StepError, found};

const NAME_CHARS_MAX: usize = 60;

impl StepContext {
    /// Names the theme, if it still exists.
    pub(in crate::worker) fn name_theme(
        &mut self,
        job: &Job,
        theme: ThemeId,
        cancel: &Cancel,
    ) -> Result<(), StepError> {
        let read = self.store.read(|r| {
            let mut ids = Vec::new();
            for theme in r.themes_by_id(&[theme])? {
                ids.extend(theme.members);
            }
            let members = r.semantics_by_id(&ids)?;
            let current: Vec<_> = members.iter().filter(|s| s.superseded_by.is_none()).collect();
            // A theme without current facts is named after its superseded ones.
            Ok(if current.is_empty() {
                members.into_iter().map(|s| s.content).collect()
            } else {
                current.into_iter().map(|s| s.content.clone()).collect::<Vec<_>>()
            })
        });
        let Some(facts) = found(read)? else { return self.finish(job) };
        let texts: Vec<&str> = facts.iter().map(String::as_str).collect();
        let name = self.namers()?.theme.theme_name(&texts, cancel)?;
        let name: String = plain_text(&name).trim().chars().take(NAME_CHARS_MAX).collect();
        self.commit(|tx| {
            if !name.is_empty() {
                tx.rename_theme(theme, &name)?;
            }
            tx.finish_job(job.id)
        })
    }
}
