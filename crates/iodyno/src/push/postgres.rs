//! Stores documents in Postgres, in the tables of deploy/postgres. Rows are added and never
//! changed: the database allows nodes nothing else.

use std::time::{Duration, Instant};

use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::passfile::{Login, password};
use super::{Document, PushError, Upload, tls};

/// Supported schema version: the last number in deploy/postgres/migrate.sql.
const VERSION: i32 = 1;
/// Number of documents read at a time.
const PAGE: i64 = 8;
/// Time limit of an answer: a document has at most 256 MB.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Default port.
const PORT: u16 = 5432;

const VERSIONS: &str = "SELECT max(number) FROM iodyno.version";
const PUT: &str = "INSERT INTO iodyno.document (name, body) VALUES ($1, $2::text::json) \
                   ON CONFLICT (owner, name) DO NOTHING";
const IS_SAME: &str =
    "SELECT body::text = $2 FROM iodyno.document WHERE owner = session_user AND name = $1";
const AFTER: &str = "SELECT owner::text, name, body::text FROM iodyno.document \
                     WHERE (owner, name) > ($1::text::name, $2) ORDER BY owner, name LIMIT $3";

/// Adds `upload` to the rows of the role that `url` names.
pub(super) fn put(url: &str, upload: &Upload<'_>) -> Result<(), PushError> {
    let text = std::str::from_utf8(upload.bytes).map_err(PushError::permanent)?;
    let left = upload.until.saturating_duration_since(Instant::now());
    let work = async {
        let client = connect(url).await?;
        let rows = client.execute(PUT, &[&upload.name, &text]).await.map_err(|e| refused(&e))?;
        if rows == 1 {
            return Ok(());
        }
        let there = client.query_one(IS_SAME, &[&upload.name, &text]).await;
        match there.map_err(|e| refused(&e))?.get(0) {
            true => Ok(()),
            false => Err(PushError::permanent("it has another document of this name")),
        }
    };
    block_on(within(left.clamp(super::MIN_TIMEOUT, TIMEOUT), work))
}

/// Passes every document that the role may read to `take`, a few of them in memory at a time;
/// always true: all were passed.
pub(super) fn for_each_document(
    url: &str,
    take: &mut dyn FnMut(Document),
) -> Result<bool, PushError> {
    block_on(async {
        let client = within(TIMEOUT, connect(url)).await?;
        let (mut owner, mut name) = (String::new(), String::new());
        loop {
            let page = async {
                client.query(AFTER, &[&owner, &name, &PAGE]).await.map_err(|e| refused(&e))
            };
            let rows = within(TIMEOUT, page).await?;
            let Some(last) = rows.last() else { return Ok(true) };
            (owner, name) = (last.get(0), last.get(1));
            for row in rows {
                let name = format!("{}/{}", row.get::<_, &str>(0), row.get::<_, &str>(1));
                take(Document { name, text: Ok(row.get(2)) });
            }
        }
    })
}

/// Runs `work` to its end on this thread.
fn block_on<T>(work: impl Future<Output = Result<T, PushError>>) -> Result<T, PushError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(PushError::temporary)?;
    let ended = runtime.block_on(work);
    // A host name lookup may hang: do not wait for it.
    runtime.shutdown_background();
    ended
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, PushError>>,
) -> Result<T, PushError> {
    let ended = tokio::time::timeout(limit, work).await;
    ended.unwrap_or_else(|_| Err(PushError::temporary("no answer in time")))
}

/// Connects to a database with the known tables.
async fn connect(url: &str) -> Result<Client, PushError> {
    let config = config(url)?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(tls::trusted());
    let trusting = ClientConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(PushError::permanent)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connected = config.connect(MakeRustlsConnect::new(trusting)).await;
    let (client, connection) = connected.map_err(|e| refused(&e))?;
    // Ends with the client; its errors are reported by the client's next call.
    tokio::spawn(connection);
    let row = client.query_one(VERSIONS, &[]).await.map_err(|e| refused(&e))?;
    match row.get::<_, Option<i32>>(0) {
        Some(VERSION) => Ok(client),
        Some(newer) if newer > VERSION => Err(PushError::permanent(format!(
            "its tables have version {newer}, this iodyno knows {VERSION}: use a newer iodyno"
        ))),
        _ => Err(PushError::permanent(NO_TABLES)),
    }
}

const NO_TABLES: &str = "tables missing or outdated: run psql -f deploy/postgres/migrate.sql";

/// Parses a URL. Over a network TLS with a trusted certificate for the host name is required,
/// unless the URL says `sslmode=disable`.
fn config(url: &str) -> Result<Config, PushError> {
    // libpq's name for the default here.
    let url = url.replace("sslmode=verify-full", "sslmode=require");
    // Errors do not repeat the URL: it may be a secret.
    let mut config: Config = url.parse().map_err(|_| {
        PushError::permanent(
            "the URL cannot be used; expected postgres://USER@HOST:PORT/DATABASE, or \
             postgres://USER@/DATABASE?host=FOLDER for a socket",
        )
    })?;
    let Some(user) = config.get_user().map(str::to_owned) else {
        return Err(PushError::permanent("the URL has no user: postgres://USER@HOST/DATABASE"));
    };
    let [host] = config.get_hosts() else {
        return Err(PushError::permanent("the URL needs exactly one host"));
    };
    let host = match host {
        Host::Tcp(name) => {
            let name = name.clone();
            if config.get_ssl_mode() != SslMode::Disable {
                config.ssl_mode(SslMode::Require);
            }
            name
        }
        // A socket has no name that a certificate could match. libpq looks up its password the same
        // way.
        Host::Unix(_) => {
            config.ssl_mode(SslMode::Disable);
            "localhost".into()
        }
    };
    if config.get_password().is_none() {
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        let database = config.get_dbname().unwrap_or(&user);
        let login = Login { host: &host, port, database, user: &user };
        if let Some(found) = password(&login).map_err(PushError::permanent)? {
            config.password(found);
        }
    }
    config.application_name("iodyno");
    Ok(config)
}

/// Converts an error, with whether it is temporary.
fn refused(error: &Error) -> PushError {
    let Some(database) = error.as_db_error() else {
        let mut why = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(next) = cause {
            why = next.to_string();
            cause = next.source();
        }
        return PushError::temporary(why);
    };
    let code = database.code();
    if [&SqlState::UNDEFINED_TABLE, &SqlState::INVALID_SCHEMA_NAME].contains(&code) {
        return PushError::permanent(NO_TABLES);
    }
    // SQLSTATE classes (PostgreSQL, appendix A): connection, rollback, resources, operator
    // intervention.
    let is_temporary = ["08", "40", "53", "57"].iter().any(|class| code.code().starts_with(class));
    PushError { why: database.message().to_owned(), is_temporary }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_need_tls_and_urls_need_user_and_host() {
        let mode = |url: &str| config(url).map(|config| config.get_ssl_mode()).map_err(|e| e.why);
        for url in ["postgres://u:p@h/d", "postgresql://u:p@h:1/d?sslmode=verify-full"] {
            assert_eq!(mode(url), Ok(SslMode::Require), "{url}");
        }
        assert_eq!(mode("postgres://u:p@h/d?sslmode=prefer"), Ok(SslMode::Require));
        assert_eq!(mode("postgres://u:p@h/d?sslmode=disable"), Ok(SslMode::Disable));
        assert_eq!(mode("postgres://u:p@/d?host=/run/postgresql"), Ok(SslMode::Disable));
        for (url, told) in [
            ("postgres://h/d", "no user"),
            ("postgres://u:p@a,b/d", "exactly one host"),
            ("postgres://u:s3cret@h/d?sslmode=never", "expected postgres://"),
        ] {
            let why = mode(url).unwrap_err();
            assert!(why.contains(told) && !why.contains("s3cret"), "{why}");
        }
    }
}
