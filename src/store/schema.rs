//! The schema's versions: `assets/schema/0001_*.sql` and on, applied in order, each in one
//! transaction. `user_version` says how far a file has come.

use std::path::Path;
use std::sync::LazyLock;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction};
use rusqlite_migration::{HookError, HookResult, M, Migrations};

use super::error::{Result, StoreError};
use super::transaction::WriteTx;

/// "ingl": tells our file from any other program's.
pub(super) const APPLICATION_ID: i64 = 0x696e_676c;

static STEPS: LazyLock<[M<'static>; 10]> = LazyLock::new(|| {
    [
        M::up(include_str!("../../assets/schema/0001_initial.sql")),
        M::up(include_str!("../../assets/schema/0002_vectors.sql")),
        M::up_with_hook(
            include_str!("../../assets/schema/0003_vector_index.sql"),
            |tx: &Transaction<'_>| hook(tx, |tx| tx.make_indexes()),
        ),
        M::up_with_hook(
            include_str!("../../assets/schema/0004_checksums.sql"),
            |tx: &Transaction<'_>| hook(tx, |tx| tx.make_checksums()),
        ),
        M::up(include_str!("../../assets/schema/0005_by_hand.sql")),
        M::up(include_str!("../../assets/schema/0006_sources.sql")),
        M::up_with_hook(
            include_str!("../../assets/schema/0007_checksums_of_rows.sql"),
            |tx: &Transaction<'_>| hook(tx, |tx| tx.widen_checksums()),
        ),
        M::up(include_str!("../../assets/schema/0008_agents.sql")),
        M::up(include_str!("../../assets/schema/0009_chats.sql")),
        M::up(include_str!("../../assets/schema/0010_sync.sql")),
    ]
});

/// What a step does besides its SQL, in its transaction.
fn hook(
    transaction: &Transaction<'_>,
    make: impl FnOnce(&mut WriteTx<'_>) -> Result<()>,
) -> HookResult {
    WriteTx::new(transaction)
        .and_then(|mut tx| make(&mut tx))
        .map_err(|error| HookError::Hook(error.to_string()))
}

/// How old a file is, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// Nothing was ever written to it.
    Fresh,
    Older,
    Current,
}

/// Looks at the file without changing it.
pub(super) fn age(conn: &Connection, path: &Path) -> Result<Age> {
    let known = STEPS.len();
    let pragma = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application: i64 = pragma("application_id")?;
    let version: i64 = pragma("user_version")?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    if application == 0 && version == 0 && tables == 0 {
        return Ok(Age::Fresh);
    }
    if application != APPLICATION_ID {
        return Err(StoreError::corrupt(
            path,
            format!("it is another program's database (application id {application:#x})"),
        ));
    }
    match usize::try_from(version) {
        Ok(found) if found > known => {
            Err(StoreError::Newer { path: path.display().to_string(), found, known })
        }
        Ok(found) if found == known => Ok(Age::Current),
        Ok(0) | Err(_) => {
            Err(StoreError::corrupt(path, format!("its schema version is {version}")))
        }
        Ok(_) => Ok(Age::Older),
    }
}

/// Brings the file up to date.
pub(super) fn migrate(conn: &mut Connection) -> Result<()> {
    // The second step takes rows out of `sqlite_schema`, which a defensive connection refuses.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let done = migrate_with(conn, &*STEPS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    done
}

fn migrate_with(conn: &mut Connection, steps: &[M<'_>]) -> Result<()> {
    Migrations::from_slice(steps).to_latest(conn).map_err(|e| match e {
        rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
        other => StoreError::Sqlite { action: "use", source: Box::new(other) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_sqlite_vec_go_and_are_made_again() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate_with(&mut conn, &STEPS[..1]).unwrap();
        // As that version left it; sqlite-vec is not loaded here to make the table.
        conn.execute_batch(
            "INSERT INTO meta VALUES ('embedder', 'starter'), ('dimensions', '384');
             INSERT INTO session VALUES (1, '', 0, 0, 0);
             INSERT INTO message (session, role, content, created_ms, created_offset, complete)
             VALUES (1, 'user', 'hello', 0, 0, 1);
             CREATE TABLE message_vector_rowids (rowid INTEGER PRIMARY KEY, id);
             CREATE TABLE message_vector_vector_chunks00 (rowid PRIMARY KEY, vectors BLOB);
             PRAGMA writable_schema = ON;
             INSERT INTO sqlite_schema VALUES ('table', 'message_vector', 'message_vector', 0,
                 'CREATE VIRTUAL TABLE message_vector USING vec0 (embedding float[384])');
             PRAGMA writable_schema = RESET;",
        )
        .unwrap();
        migrate(&mut conn).unwrap();
        let texts = |sql: &str| -> Vec<String> {
            let mut statement = conn.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.collect::<rusqlite::Result<_>>().unwrap()
        };
        let vec0 = "SELECT name FROM sqlite_schema WHERE sql LIKE '%vec0%' OR name LIKE '%rowids'";
        assert_eq!(texts(vec0), Vec::<String>::new());
        assert_eq!(texts("SELECT value FROM meta WHERE key = 'embedder'"), [""]);
        assert_eq!(texts("SELECT kind FROM job"), ["reembed"]);
        assert_eq!(texts("SELECT content FROM message"), ["hello"]);
        assert_eq!(texts("SELECT hex(embedding) FROM message_vector"), Vec::<String>::new());
        assert_eq!(texts("PRAGMA integrity_check"), ["ok"]);
    }

    #[test]
    fn corrections_in_the_undo_log_are_known_as_such() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate_with(&mut conn, &STEPS[..4]).unwrap();
        conn.execute_batch(
            r#"INSERT INTO session VALUES (1, '', 0, 0, 0);
             INSERT INTO message (id, session, role, content, created_ms, created_offset, complete)
             VALUES (1, 1, 'user', 'I live in Oslo.', 0, 0, 1);
             INSERT INTO theme (id, name) VALUES (1, 'home');
             INSERT INTO semantic (id, content, theme, created_ms, created_offset)
             VALUES (1, 'The user lives in Lund', 1, 0, 0), (2, 'other', 1, 0, 0);
             INSERT INTO semantic_message VALUES (1, 1), (2, 1);
             INSERT INTO operation (what, inverse) VALUES
             ('edit of s1', '{"kind": "edit_semantic", "semantic": 1, "content": "The user lives in Oslo"}'),
             ('edit of s1', '{"kind": "edit_semantic", "semantic": 1, "content": "The user lives in Oslo"}'),
             ('?', 'not json'), ('?', '{"kind": "rename_theme", "theme": 2, "name": "x"}');"#,
        )
        .unwrap();
        migrate(&mut conn).unwrap();
        let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(count("SELECT sum(id) FROM semantic WHERE corrected"), 1);
        let refused = "SELECT count(*) FROM refused WHERE content = 'The user lives in Oslo'";
        assert_eq!((count(refused), count("SELECT count(*) FROM refused")), (1, 1));
    }

    #[test]
    fn another_programs_database_is_refused() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
        let error = age(&conn, Path::new("memory.db")).unwrap_err();
        assert!(error.to_string().contains("another program's"), "{error}");
    }
}
