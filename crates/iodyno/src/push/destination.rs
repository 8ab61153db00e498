//! Destinations of documents, named without secrets on the command line.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use super::{Document, PushError, Upload, http, postgres, s3};
use crate::context::Usage;

/// Maximum length of a file with a URL or token, bytes.
const MAX_SECRET_BYTES: u64 = 16 << 10;

/// Query parameters that make a URL a credential (presigned URLs, tokens).
const SECRETS: [&str; 15] = [
    "signature",
    "sig",
    "token",
    "password",
    "passwd",
    "sslpassword",
    "pwd",
    "key",
    "apikey",
    "accesskey",
    "secret",
    "auth",
    "authorization",
    "credential",
    "credentials",
];

/// A destination as typed: `@FILE` and `env:NAME` stand for a URL that is read when needed, so that
/// no queue holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct DestinationRef(String);

/// A resolved destination.
enum Destination {
    Folder(PathBuf),
    Http(String),
    Postgres(String),
    S3(String),
}

impl DestinationRef {
    /// Checks a word of the command line.
    ///
    /// # Errors
    /// It holds a password or a signature, or names nothing that accepts documents.
    pub(crate) fn typed(word: &str) -> Result<Self, Usage> {
        if let Some(file) = word.strip_prefix('@') {
            let path =
                std::path::absolute(file).map_err(|error| Usage(format!("{word}: {error}")))?;
            return Ok(Self(format!("@{}", path.display())));
        }
        if word.starts_with("env:") {
            return Ok(Self(word.into()));
        }
        if is_secret(word) {
            // The word itself is not repeated: errors end up in logs.
            let what = "a URL with a password, token or signature is visible to every user of \
                        this machine; write it into a file and name that as @FILE, or as env:NAME";
            return Err(Usage(what.into()));
        }
        let Destination::Folder(folder) =
            destination(word).map_err(|refused| Usage(format!("destination: {}", refused.why)))?
        else {
            return Ok(Self(word.into()));
        };
        let folder =
            std::path::absolute(&folder).map_err(|error| Usage(format!("{word}: {error}")))?;
        if folder.exists() && !folder.is_dir() {
            return Err(Usage(format!("{word}: not a directory")));
        }
        Ok(Self(folder.display().to_string()))
    }

    /// The destination for messages, which end up in logs: without the query of its URL.
    pub(crate) fn shown(&self) -> &str {
        match self.0.contains("://") {
            true => self.0.split(['?', '#']).next().unwrap_or_default(),
            false => &self.0,
        }
    }

    /// True if `word` names something reached by a URL.
    pub(crate) fn is_remote(word: &str) -> bool {
        word.starts_with('@')
            || word.starts_with("env:")
            || word.contains("://")
            || is_mistyped_url(word)
    }

    /// Sends `upload` once.
    pub(crate) fn send(&self, upload: &Upload<'_>) -> Result<(), PushError> {
        match self.destination()? {
            // A Postgres row and a presigned URL are for the document only.
            Destination::Postgres(_) if upload.is_table() => Ok(()),
            Destination::Http(url) if upload.is_table() && url.contains('?') => Ok(()),
            Destination::Folder(folder) => {
                iodyno_files::leave(&folder, upload.name, upload.bytes).map_err(
                    |error| match error {
                        iodyno_files::FileError::NoFolder { .. }
                        | iodyno_files::FileError::System { .. } => PushError::temporary(error),
                        _ => PushError::permanent(error),
                    },
                )?;
                Ok(())
            }
            Destination::Http(url) => http::put(&url, upload),
            Destination::Postgres(url) => postgres::put(&url, upload),
            Destination::S3(url) => s3::put(&url, upload),
        }
    }

    /// Passes every document at the destination to `take`, one after the other; false: there are
    /// more than [`MAX_DOCUMENTS`](super::MAX_DOCUMENTS).
    pub(crate) fn for_each_document(
        &self,
        take: &mut dyn FnMut(Document),
    ) -> Result<bool, PushError> {
        match self.destination()? {
            Destination::Postgres(url) => postgres::for_each_document(&url, take),
            Destination::S3(url) => s3::for_each_document(&url, take),
            Destination::Folder(_) => Err(PushError::permanent("name the directory by its path")),
            Destination::Http(_) => Err(PushError::permanent(
                "documents can be read from a directory, s3:// or postgres://, but not HTTP",
            )),
        }
    }

    fn destination(&self) -> Result<Destination, PushError> {
        let url = match self.0.split_at_checked(1) {
            Some(("@", file)) => secret(Path::new(file)).map_err(PushError::permanent)?,
            _ => match self.0.strip_prefix("env:") {
                Some(name) => std::env::var(name)
                    .map_err(|_| PushError::permanent(format!("{name} is not set")))?,
                None => self.0.clone(),
            },
        };
        destination(&url)
    }
}

/// Resolves a URL or a path.
fn destination(word: &str) -> Result<Destination, PushError> {
    let Some((scheme, rest)) = word.split_once("://") else {
        return match word {
            "" => Err(PushError::permanent("it is empty")),
            // Passwords in a mistyped URL must not become the name of a directory.
            url if is_mistyped_url(url) => Err(PushError::permanent(
                "a URL has :// behind its scheme; a directory of such a name begins with ./",
            )),
            path => Ok(Destination::Folder(path.into())),
        };
    };
    match scheme {
        "file" if rest.starts_with('/') => Ok(Destination::Folder(rest.into())),
        "http" | "https" => Ok(Destination::Http(word.into())),
        "postgres" | "postgresql" => Ok(Destination::Postgres(word.into())),
        "s3" => Ok(Destination::S3(word.into())),
        // The word may be a secret: it is not repeated.
        _ => Err(PushError::permanent(
            "expected a directory, http://, https://, s3:// or postgres://",
        )),
    }
}

/// True of `https:host`, `http:/host`: a scheme without `://`.
fn is_mistyped_url(word: &str) -> bool {
    let scheme = word.split_once(':').map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    ["file", "http", "https", "postgres", "postgresql", "s3"].contains(&scheme.as_str())
}

/// True if a URL is a credential.
pub(super) fn is_secret(word: &str) -> bool {
    let Some((_, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let has_password = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    has_password
        || query.split('&').any(|pair| {
            let name = percent_decode_str(pair.split('=').next().unwrap_or_default());
            let name = name.decode_utf8_lossy().to_ascii_lowercase();
            name.split(['-', '_', '.']).next_back().is_some_and(|last| SECRETS.contains(&last))
        })
}

/// First line of a file.
pub(super) fn secret(file: &Path) -> Result<String, String> {
    let bytes = iodyno_files::read(file, MAX_SECRET_BYTES).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned()),
        None => Err(format!("{} is empty", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_taken_from_the_command_line() {
        for secret in [
            "https://me:pw@host/bucket/",
            "https://bucket.s3.example/x?X-Amz-Signature=00ff&X-Amz-Date=1",
            "https://account.blob.example/x?sv=1&sig=abc",
            "http://host/?TOKEN=abc",
            "postgres://me:pw@/fleet?host=/run/postgresql",
            "postgres://me@db/fleet?password=abc",
            "postgres://me@db/fleet?sslpassword=abc",
            "https://host/?access_token=abc",
            "https://host/?api_key=abc",
            "https://host/?v=1&apikey=abc",
            "https://host/?auth=abc",
            "https://host/?pwd=abc",
            "https://host/?X-Amz-Credential=abc",
            "https://host/?api%5fk%65y=abc",
        ] {
            let Err(Usage(words)) = DestinationRef::typed(secret) else { panic!("{secret}") };
            assert!(words.contains("@FILE") && !words.contains("pw@"), "{words}");
            assert!(!words.contains("abc") && !words.contains("00ff"), "{words}");
        }
        for fine in ["https://host/a/", "https://me@host/", "https://host/?keyboard=1", "env:URL"] {
            assert_eq!(DestinationRef::typed(fine).unwrap().0, fine);
        }
    }

    #[test]
    fn messages_show_no_query_and_no_mistyped_url() {
        for (word, shown) in [
            ("https://host/a?one=1&two=2", "https://host/a"),
            ("s3://bucket/a#b", "s3://bucket/a"),
            ("/srv/a?b", "/srv/a?b"),
        ] {
            assert_eq!(DestinationRef::typed(word).unwrap().shown(), shown);
        }
        for mistyped in ["https:me:pw@host", "http:/me:pw@host/x", "HTTPS:me:pw@host", "s3:me:pw"] {
            let Err(Usage(words)) = DestinationRef::typed(mistyped) else { panic!("{mistyped}") };
            assert!(words.contains("://") && !words.contains("pw"), "{words}");
        }
    }

    #[test]
    fn paths_are_absolute_and_schemes_known() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(DestinationRef::typed("store").unwrap().0, here.join("store").to_str().unwrap());
        let file = format!("@{}", here.join("url").display());
        assert_eq!(DestinationRef::typed("@url").unwrap().0, file);
        assert_eq!(DestinationRef::typed("file:///srv/runs").unwrap().0, "/srv/runs");
        for wrong in ["", "ftp://host/", "file://host/x"] {
            assert!(DestinationRef::typed(wrong).is_err(), "{wrong}");
        }
    }
}
