//! Stores documents in S3 and compatible object storage, with signatures computed here.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use configparser::ini::Ini;
use rusty_s3::actions::{ListObjectsV2, S3Action as _};
use rusty_s3::{Bucket, Credentials, UrlStyle};

use super::http::{get, put_at};
use super::{Document, MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, PushError, Upload, with_retries};

/// Validity of a signature, which is used at once.
const VALID: Duration = Duration::from_secs(300);
/// Time within which a list or an object is asked for again.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// Maximum length of a credentials file, bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum length of a list of a thousand names, bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// `s3://BUCKET/PREFIX` with credentials.
struct Place {
    bucket: Bucket,
    /// Ends in a slash, unless empty.
    prefix: String,
    credentials: Credentials,
}

/// Puts `upload` under its name below the prefix; an existing object stays.
pub(super) fn put(url: &str, upload: &Upload<'_>) -> Result<(), PushError> {
    let place = Place::of(url)?;
    let object = format!("{}{}", place.prefix, upload.name);
    let mut action = place.bucket.put_object(Some(&place.credentials), &object);
    action.headers_mut().insert("if-none-match", "*");
    put_at(action.sign(VALID).as_str(), None, upload)
}

/// Passes every document below the prefix to `take`; false: there are more than the maximum. One
/// that cannot be read is passed with the reason; only a list that cannot be read is an error.
pub(super) fn for_each_document(
    url: &str,
    take: &mut dyn FnMut(Document),
) -> Result<bool, PushError> {
    let place = Place::of(url)?;
    let (mut more, mut given): (Option<String>, usize) = (None, 0);
    let mut is_away = false;
    loop {
        let mut action = place.bucket.list_objects_v2(Some(&place.credentials));
        action.with_prefix(place.prefix.as_str());
        if let Some(token) = more {
            action.with_continuation_token(token);
        }
        let list = with_retries(Instant::now() + RETRY_TIME, || {
            get(action.sign(VALID).as_str(), MAX_LIST_BYTES)
        })?;
        let list = ListObjectsV2::parse_response(&list).map_err(PushError::permanent)?;
        for object in list.contents {
            if !object.key.ends_with(".json") {
                continue;
            }
            if given == MAX_DOCUMENTS {
                return Ok(false);
            }
            given += 1;
            let action = place.bucket.get_object(Some(&place.credentials), &object.key);
            // While the server is away, pauses before each object would add up to hours.
            let until = Instant::now() + if is_away { Duration::ZERO } else { RETRY_TIME };
            let text = with_retries(until, || get(action.sign(VALID).as_str(), MAX_DOCUMENT_BYTES));
            is_away = text.as_ref().is_err_and(|error| error.is_temporary);
            take(Document { name: object.key, text });
        }
        more = list.next_continuation_token;
        if more.is_none() {
            return Ok(true);
        }
    }
}

impl Place {
    /// Takes endpoint, region and credentials from where Amazon's own tools look for them.
    fn of(url: &str) -> Result<Self, PushError> {
        let rest = url.strip_prefix("s3://").unwrap_or(url);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let region = variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
        let region = region.unwrap_or_else(|| "us-east-1".into());
        // Private servers have no host name for each bucket.
        let (endpoint, style) = match variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let cannot = |what: &str| PushError::permanent(format!("AWS_ENDPOINT_URL: {what}"));
        let endpoint = endpoint.parse().map_err(|_| cannot("expected http://HOST:PORT"))?;
        if bucket.is_empty() || bucket.contains(['@', '?', '#']) {
            return Err(PushError::permanent("expected s3://BUCKET/PREFIX"));
        }
        let prefix = prefix.trim_matches('/');
        Ok(Self {
            bucket: Bucket::new(endpoint, style, bucket.to_owned(), region)
                .map_err(|error| cannot(&error.to_string()))?,
            prefix: if prefix.is_empty() { String::new() } else { format!("{prefix}/") },
            credentials: credentials()?,
        })
    }
}

/// Credentials from the environment, else from the profile in the credentials file.
fn credentials() -> Result<Credentials, PushError> {
    if let Some(found) = Credentials::from_env() {
        return Ok(found);
    }
    let home = || Some(Path::new(&variable(&["HOME"])?).join(".aws/credentials"));
    let none = "no credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in the file \
                AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials)";
    let file = variable(&["AWS_SHARED_CREDENTIALS_FILE"]).map(PathBuf::from).or_else(home);
    let file = file.filter(|file| file.exists()).ok_or_else(|| PushError::permanent(none))?;
    let bytes = iodyno_files::read(&file, MAX_BYTES).map_err(PushError::permanent)?;
    let profile = variable(&["AWS_PROFILE"]).unwrap_or_else(|| "default".into());
    of_profile(&String::from_utf8_lossy(&bytes), &profile).ok_or_else(|| PushError::permanent(none))
}

fn of_profile(text: &str, profile: &str) -> Option<Credentials> {
    let mut ini = Ini::new_cs();
    // Secrets may contain characters that begin comments in other INI files.
    ini.set_inline_comment_symbols(Some(&[]));
    ini.read(text.to_owned()).ok()?;
    let get = |name| ini.get(profile, name).filter(|value| !value.is_empty());
    let (key, secret) = (get("aws_access_key_id")?, get("aws_secret_access_key")?);
    Some(match get("aws_session_token") {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    })
}

fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_a_key_a_secret_and_perhaps_a_token() {
        let text = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=s/+;#x=\n\n\
                    [other]\naws_access_key_id=B\naws_secret_access_key=t\naws_session_token=u\n[half]\naws_access_key_id=C";
        let found = of_profile(text, "default").unwrap();
        assert_eq!((found.key(), found.secret(), found.token()), ("A", "s/+;#x=", None));
        assert_eq!(of_profile(text, "other").unwrap().token(), Some("u"));
        assert!(of_profile(text, "half").is_none() && of_profile(text, "none").is_none());
    }
}
