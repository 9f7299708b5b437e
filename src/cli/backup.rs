//! `backup` and `restore`.

use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use super::App;
use super::args;
use super::memory::unit_counts;
use super::output::{bytes, counted, one_line};
use super::passphrase;
use super::report::{Failure, Outcome, done, found_problems};
use crate::store::{self, Copied, StoreError};

pub fn backup(app: &App, args: &args::Backup) -> Outcome {
    let data = &app.dirs.data;
    app.policy.check_memory(data)?;
    let encrypt =
        (args.encrypt && !store::is_encrypted(data)?).then(|| passphrase::for_backup(app));
    let encrypt = encrypt.transpose()?;
    let written = if let Some(file) = &args.file {
        app.unlocked(|key| store::backup(data, key, file, encrypt.as_ref()))?
            .map(|copied| (file.clone(), copied))
    } else {
        let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%S").to_string();
        app.unlocked(|key| store::backup_to_folder(data, key, &stamp, args.keep.into()))?
    };
    let Some((path, copied)) = written else {
        return Err(Failure::Usage {
            what: "there is no memory yet".into(),
            hint: "it begins with the first chat".into(),
        });
    };
    if args.json {
        app.console.json(&json!({
            "file": path.display().to_string(),
            "bytes": copied.bytes,
            "sound": copied.findings.is_empty(),
            "findings": copied.findings,
            "messages": copied.stats.messages,
            "facts": copied.stats.semantics,
        }))?;
    } else {
        let path = one_line(&path.display().to_string(), 200);
        app.console.line(&format!("Written to {path}: {}.", described(&copied)))?;
    }
    if copied.findings.is_empty() {
        return done();
    }
    warn(app, &copied, "The copy is as damaged as the memory");
    found_problems()
}

pub fn restore(app: &App, args: &args::Restore) -> Outcome {
    let data = &app.dirs.data;
    app.policy.check_restored(&args.file)?;
    let was_encrypted = store::is_encrypted(data).unwrap_or(false);
    let restored =
        app.unlocked(|key| store::restore(&args.file, key, data, args.replace, app.wait));
    let copied = restored.map_err(|failure| {
        let Failure::Store(e) = failure else { return failure };
        let hint = match &e {
            StoreError::Invalid { .. } if args.replace => {
                "another backup may be sound: `inglenook --data-dir EMPTY-FOLDER restore FILE` shows what one holds"
            }
            StoreError::Invalid { .. } => {
                "`inglenook backup FILE` saves the memory that is here, `--replace` lets it go"
            }
            _ => return Failure::Store(e),
        };
        Failure::Usage { what: e.to_string(), hint: hint.into() }
    })?;
    app.console.line(&format!("Restored: {}.", described(&copied)))?;
    if was_encrypted && !store::is_encrypted(data)? {
        app.console.warn(
            "the backup is not encrypted, so the memory is not any more: `inglenook memory encrypt`",
        );
    }
    if copied.findings.is_empty() {
        return done();
    }
    warn(app, &copied, "The backup was damaged");
    found_problems()
}

pub fn described(copied: &Copied) -> String {
    format!("{} ({})", unit_counts(&copied.stats).join(", "), bytes(copied.bytes))
}

fn warn(app: &App, copied: &Copied, what: &str) {
    app.console.warn(&format!("{what}: {}", counted(copied.findings.len(), "finding")));
    for finding in copied.findings.iter().take(5) {
        app.console.note(finding);
    }
    app.console.note("hint: `inglenook memory verify` lists them all");
}

/// What of the forgotten text other files still hold, as a sentence; empty if there are none.
pub fn remark_on_backups(data_dir: &Path) -> Result<String, StoreError> {
    let (backups, damaged) = (store::backups(data_dir)?, store::damaged_copies(data_dir)?);
    let mut remarks = Vec::new();
    for (copies, what) in [(backups, "backup"), (damaged, "damaged memory")] {
        if let Some(last) = copies.last() {
            let folder = last.parent().unwrap_or(last).display();
            let copies = match (copies.len(), what) {
                (1, _) => format!("1 {what}"),
                (n, "backup") => format!("{n} backups"),
                (n, _) => format!("{n} damaged memories"),
            };
            remarks.push(format!("{copies} in {folder} may still hold it: delete them there."));
        }
    }
    Ok(remarks.join(" "))
}
