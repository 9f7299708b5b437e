//! A whole memory, as `export --format json` wrote it.

use serde::Deserialize;
use serde_json::json;

use super::output::counted;
use super::report::{Failure, Outcome, done};
use super::{App, args};
use crate::store::{Rows, Store, StoreError};

/// The memory in an export with all four levels; `None` for any other file.
pub fn whole_memory(bytes: &[u8], name: &str) -> Result<Option<Rows>, Failure> {
    #[derive(Deserialize)]
    struct Exported {
        memory: Option<Rows>,
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(64)]);
    if start
        .trim_start()
        .strip_prefix('{')
        .is_none_or(|s| !s.trim_start().starts_with("\"inglenook\""))
    {
        return Ok(None);
    }
    let refused = |what: String| Failure::Usage {
        what: format!("{name}: {what}"),
        hint: "only a whole memory can be imported: `inglenook export --format json --output FILE`"
            .into(),
    };
    let exported: Exported = serde_json::from_slice(bytes).map_err(|e| refused(e.to_string()))?;
    match exported.memory {
        Some(rows) => Ok(Some(rows)),
        None => Err(refused("this is the export of one session, or of an older version".into())),
    }
}

/// A memory from its rows, where none is yet.
pub fn take_memory(app: &App, name: &str, rows: &Rows, args: &args::Import) -> Outcome {
    let refuse = |what: String, hint: &str| Failure::Usage { what, hint: hint.into() };
    if args.conversation.is_some() {
        let what = format!("{name} is a whole memory, not a conversation");
        return Err(refuse(what, "leave --conversation out"));
    }
    let store = if args.preview { Store::in_memory()? } else { app.open()? };
    if store.read(|r| r.has_more_than(0))? {
        let what = format!("{name} is a whole memory, and there are messages here already");
        return Err(refuse(what, "it goes into an empty one: try another --data-dir"));
    }
    store.write(|tx| tx.insert_rows(rows)).map_err(|error| match error {
        StoreError::Invalid { what } => {
            refuse(format!("{name} was not imported: {what}"), "it is not as `export` wrote it")
        }
        other => other.into(),
    })?;
    let n = ["message", "episode", "semantic", "theme"].map(|table| rows.n(table));
    if !args.preview {
        app.audit("import", n[0]);
    }
    if args.json {
        let [messages, episodes, facts, themes] = n;
        app.console.json(&json!({
            "messages": messages, "episodes": episodes, "facts": facts, "themes": themes,
        }))?;
        return done();
    }
    let counts: Vec<String> = n
        .iter()
        .zip(["message", "episode", "fact", "theme"])
        .map(|(n, of)| counted(*n, of))
        .collect();
    let counts = counts.join(", ");
    app.console.line(&if args.preview {
        format!("A whole memory: {counts}. Nothing was written.")
    } else {
        format!("Imported {counts} from {name}.")
    })?;
    done()
}
