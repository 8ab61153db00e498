//! Looks up Postgres passwords as libpq does: `PGPASSWORD`, else the file `PGPASSFILE` or
//! `~/.pgpass` (PostgreSQL, "The Password File").

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Maximum length of a password file, bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Mode bits that let others read or change a file.
const OF_OTHERS: u32 = 0o077;

/// Login: user and database server.
pub(super) struct Login<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// Password of a login; `None`: it is unknown.
///
/// # Errors
/// The file that `PGPASSFILE` names cannot be read, or others may read the file.
pub(super) fn password(login: &Login<'_>) -> Result<Option<String>, String> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    if let Some(password) = variable("PGPASSWORD") {
        return Ok(Some(password));
    }
    let file = match (variable("PGPASSFILE"), variable("HOME")) {
        (Some(file), _) => PathBuf::from(file),
        (None, Some(home)) => match Path::new(&home).join(".pgpass") {
            file if file.exists() => file,
            _ => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    let mode = std::fs::metadata(&file).map_or(0, |found| found.mode());
    if mode & OF_OTHERS != 0 {
        return Err(format!("other users may read {0}: chmod 600 {0}", file.display()));
    }
    let bytes = iodyno_files::read(&file, MAX_BYTES).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).lines().find_map(|line| of_line(line, login)))
}

/// Password in a line `host:port:database:user:password`, in which `*` matches anything and `\`
/// escapes the next character.
fn of_line(line: &str, login: &Login<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line.trim_end_matches('\r');
    let port = login.port.to_string();
    for expected in [login.host, &port, login.database, login.user] {
        let (field, after) = field(rest);
        if field != expected && rest.split(':').next() != Some("*") {
            return None;
        }
        rest = after?;
    }
    Some(field(rest).0).filter(|password| !password.is_empty())
}

/// The first field, and the text after its colon.
fn field(text: &str) -> (String, Option<&str>) {
    let mut field = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return (field, Some(&text[at + 1..])),
            '\\' => field.extend(characters.next().map(|(_, plain)| plain)),
            plain => field.push(plain),
        }
    }
    (field, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let login = Login { host: "db", port: 5432, database: "fleet", user: "n:1" };
        let find = |text: &str| text.lines().find_map(|line| of_line(line, &login));
        let text =
            "#db:5432:fleet:n\\:1:no\ndb:5433:*:*:no\n*:*:fleet:n\\:1:a\\:b\\\\c\r\n*:*:*:*:last";
        assert_eq!(find(text).as_deref(), Some(r"a:b\c"));
        assert_eq!(find("db:5432:fleet:n\\:1:x").as_deref(), Some("x"));
        for none in ["", "db:5432:fleet", "db:5432:fleet:n:1:x", "\\*:*:*:*:x", "*:*:*:*:"] {
            assert_eq!(find(none), None, "{none}");
        }
    }
}
