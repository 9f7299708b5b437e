//! A table in PostgreSQL (`assets/sync/postgres.sql`): a row is a piece, and a role has its own rows.
//!
//! The connection is not encrypted, because the pieces are sealed. The password is safe on it only where the server asks for
//! it by SCRAM, as it does by default: `docs/sync.md` says what that means for a server elsewhere.

use std::env;
use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, NoTls};

use super::{Carrier, CarrierError, DeviceId, Place, SQL};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For one piece there or back.
const TIMEOUT: Duration = Duration::from_mins(1);
/// A commit is on the server's disk; what hangs ends there, too.
const OPTIONS: &str = "-c synchronous_commit=on -c statement_timeout=60000 -c lock_timeout=10000";
/// Where Debian and others have the socket of the server on this machine.
const SOCKETS: &str = "/var/run/postgresql";
/// The device under which the header is.
const HEADER: &str = "";

/// An open connection.
pub struct Postgres {
    runtime: Runtime,
    client: Client,
    shown: String,
}

impl Postgres {
    /// # Errors
    /// If the URL is none, or the server can't be reached or refuses.
    pub fn connect(url: &str) -> Result<Self, CarrierError> {
        let shown = Place::Postgres(url.to_owned()).to_string();
        let what = || format!("cannot connect to {shown}");
        let mut config: Config = url.parse().map_err(|e| CarrierError::of(what(), unread(e)))?;
        if config.get_hosts().is_empty() {
            config.host(SOCKETS);
        }
        if config.get_user().is_none()
            && let Ok(user) = env::var("PGUSER").or_else(|_| env::var("USER"))
        {
            config.user(user);
        }
        if config.get_password().is_none()
            && let Some(password) = password(&config)
        {
            config.password(password);
        }
        config.application_name("inglenook").options(OPTIONS).connect_timeout(CONNECT_TIMEOUT);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| CarrierError::of(what(), e))?;
        let connected =
            runtime.block_on(async { timeout(CONNECT_TIMEOUT, config.connect(NoTls)).await });
        let (client, connection) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(e)) => {
                return Err(CarrierError::of(what(), e).hint(
                    "check the URL, that the server runs, and the password (in the URL, PGPASSWORD or ~/.pgpass)",
                ));
            }
            Err(e) => return Err(CarrierError::of(what(), e)),
        };
        runtime.spawn(connection);
        Ok(Self { runtime, client, shown })
    }

    fn wait<T>(
        &self,
        what: &str,
        of: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, CarrierError> {
        let what = format!("cannot {what} the table inglenook_piece in {}", self.shown);
        match self.runtime.block_on(async { timeout(TIMEOUT, of).await }) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) if e.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                Err(CarrierError::of(what, e).hint(
                    "`inglenook sync sql` prints what the database's owner has to run, once, and the GRANT for your role",
                ))
            }
            Ok(Err(e)) => Err(CarrierError::of(what, e)),
            Err(e) => Err(CarrierError::of(what, e)),
        }
    }

    fn has_table(&self) -> Result<bool, CarrierError> {
        let found = self.client.query_one("SELECT to_regclass('inglenook_piece') IS NOT NULL", &[]);
        Ok(self.wait("look for", found)?.get(0))
    }

    fn piece(&self, device: &str, piece: i64) -> Result<Option<Vec<u8>>, CarrierError> {
        let sql = "SELECT bytes FROM inglenook_piece WHERE person = current_user AND device = $1 AND piece = $2";
        let found = self.wait("read", self.client.query_opt(sql, &[&device, &piece]))?;
        Ok(found.map(|row| row.get(0)))
    }

    fn insert(&self, device: &str, piece: i64, bytes: &[u8]) -> Result<(), CarrierError> {
        let sql = "INSERT INTO inglenook_piece (device, piece, bytes) VALUES ($1, $2, $3)";
        self.wait("write", self.client.execute(sql, &[&device, &piece, &bytes])).map(drop)
    }
}

/// What is wrong with a URL, without what it says.
fn unread(error: tokio_postgres::Error) -> String {
    error.to_string().split(':').next().unwrap_or("a wrong URL").to_owned()
}

fn row(piece: u64) -> Result<i64, CarrierError> {
    i64::try_from(piece).map_err(|e| CarrierError::of("cannot number the piece", e))
}

impl Carrier for Postgres {
    fn header(&mut self) -> Result<Option<Vec<u8>>, CarrierError> {
        if self.has_table()? { self.piece(HEADER, 0) } else { Ok(None) }
    }

    fn begin(&mut self, header: &[u8]) -> Result<(), CarrierError> {
        if !self.has_table()? {
            self.wait("make", self.client.batch_execute(SQL))?;
        }
        self.insert(HEADER, 0, header)
    }

    fn devices(&mut self) -> Result<Vec<DeviceId>, CarrierError> {
        let sql = "SELECT DISTINCT device FROM inglenook_piece WHERE person = current_user ORDER BY device";
        let rows = self.wait("read", self.client.query(sql, &[]))?;
        Ok(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect())
    }

    fn pieces(&mut self, device: DeviceId) -> Result<Vec<u64>, CarrierError> {
        let sql = "SELECT piece FROM inglenook_piece WHERE person = current_user AND device = $1 ORDER BY piece";
        let rows = self.wait("read", self.client.query(sql, &[&device.to_string()]))?;
        Ok(rows.iter().filter_map(|row| u64::try_from(row.get::<_, i64>(0)).ok()).collect())
    }

    fn read(&mut self, device: DeviceId, piece: u64) -> Result<Option<Vec<u8>>, CarrierError> {
        self.piece(&device.to_string(), row(piece)?)
    }

    fn write(&mut self, device: DeviceId, piece: u64, bytes: &[u8]) -> Result<(), CarrierError> {
        self.insert(&device.to_string(), row(piece)?, bytes)
    }

    fn remove(&mut self, device: DeviceId, piece: u64) -> Result<(), CarrierError> {
        let sql = "DELETE FROM inglenook_piece WHERE person = current_user AND device = $1 AND piece = $2";
        let of = (device.to_string(), row(piece)?);
        self.wait("change", self.client.execute(sql, &[&of.0, &of.1])).map(drop)
    }
}

/// As PostgreSQL's own programs find it: `PGPASSWORD`, or the line of the passfile that fits.
fn password(config: &Config) -> Option<String> {
    if let Ok(password) = env::var("PGPASSWORD") {
        return Some(password);
    }
    let file = env::var_os("PGPASSFILE").map(PathBuf::from);
    let file = file.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass")))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(&file).ok()?.permissions().mode() & 0o077 != 0 {
            return None;
        }
    }
    let text = fs::read_to_string(file).ok()?;
    let host = match config.get_hosts().first()? {
        Host::Tcp(host) => host.clone(),
        #[cfg(unix)]
        Host::Unix(_) => "localhost".into(),
    };
    let port = config.get_ports().first().unwrap_or(&5432).to_string();
    let user = config.get_user()?;
    let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
    text.lines().find_map(|line| password_of(line, wanted))
}

/// The password of a line of a passfile, `host:port:database:user:password`, if it fits.
fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    let (mut fields, mut chars) = (vec![String::new()], line.chars());
    while let Some(c) = chars.next() {
        match c {
            ':' if fields.len() <= wanted.len() => fields.push(String::new()),
            c => fields.last_mut()?.extend(if c == '\\' { chars.next() } else { Some(c) }),
        }
    }
    let password = fields.pop()?;
    let fits = |(field, wanted): (&String, &str)| field == "*" || field == wanted;
    (fields.len() == wanted.len() && fields.iter().zip(wanted).all(fits)).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_passfile_gives_the_password_where_it_fits() {
        let wanted = ["db.local", "5432", "notes", "ana"];
        for (line, expected) in [
            ("db.local:5432:notes:ana:s3cret", Some("s3cret")),
            ("*:*:*:ana:with\\:colon:and more", Some("with:colon:and more")),
            ("db.local:5433:notes:ana:s3cret", None),
            ("# a remark", None),
            ("", None),
        ] {
            assert_eq!(password_of(line, wanted).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn a_url_that_is_none_is_refused_without_its_password() {
        let refused = Postgres::connect("postgres://ana:s3cret@host:notaport/db").err().unwrap();
        let said = crate::error_chain::error_chain(&refused);
        assert!(said.contains("cannot connect") && !said.contains("s3cret"), "{said}");
    }
}
