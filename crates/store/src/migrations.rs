//! Schema migrations, one file per version.

use rusqlite::{Connection, TransactionBehavior};

const MIGRATIONS: [&str; 5] = [
    include_str!("../migrations/0001-runs.sql"),
    include_str!("../migrations/0002-unknown.sql"),
    include_str!("../migrations/0003-drive-states.sql"),
    include_str!("../migrations/0004-hosts.sql"),
    include_str!("../migrations/0005-no-results.sql"),
];

/// Newest schema version.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Reads the schema version of a database; 0: empty.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    let exists: bool = connection.query_row(
        "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'schema_version'",
        [],
        |row| row.get(0),
    )?;
    if !exists {
        return Ok(0);
    }
    connection.query_row("SELECT coalesce(max(version), 0) FROM schema_version", [], |r| r.get(0))
}

/// Migrates the database to the newest version, in one transaction that also locks out other
/// processes.
pub(crate) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction
        .execute_batch("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")?;
    let from = version(&transaction)?;
    for (n, migration) in MIGRATIONS.iter().enumerate().skip(from as usize) {
        transaction.execute_batch(migration)?;
        transaction.execute("INSERT INTO schema_version (version) VALUES (?1)", [n as i64 + 1])?;
    }
    transaction.commit()
}
