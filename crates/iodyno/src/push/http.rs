//! Sends documents by HTTP PUT to servers, and to object storage by presigned URLs.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::Uri;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error};

use super::destination::{is_secret, secret};
use super::{MIN_TIMEOUT, PushError, Upload, tls};

/// Time limit of an attempt.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Status of a server that has something there already (RFC 9110, If-None-Match: *).
const ALREADY_THERE: u16 = 412;

/// Puts `upload` under its name below `url`, or at `url` itself if that has a query, as presigned
/// URLs do.
pub(super) fn put(url: &str, upload: &Upload<'_>) -> Result<(), PushError> {
    let is_signed = is_secret(url);
    let (url, user) = without_user(url);
    let authorization = match user {
        // A signature identifies the sender; object storage refuses a second credential.
        None if is_signed => None,
        user => authorization(user).map_err(PushError::permanent)?,
    };
    if authorization.is_some() && is_unencrypted(&url) {
        return Err(PushError::permanent(
            "a password or token would be sent unencrypted: use an https:// URL",
        ));
    }
    let url = match url.contains('?') {
        true => url,
        false => format!("{}/{}", url.trim_end_matches('/'), upload.name),
    };
    put_at(&url, authorization, upload)
}

/// True if others could read what is sent to `url`: unencrypted, and to another machine.
fn is_unencrypted(url: &str) -> bool {
    // Nothing is sent to an invalid URL.
    let Ok(url) = url.parse::<Uri>() else { return false };
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_here =
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    url.scheme_str() == Some("http") && !is_here
}

/// Puts `upload` at `url`, unless something is there. Only a URL that ends in the document's own,
/// unique name says that this is the same document.
pub(super) fn put_at(
    url: &str,
    authorization: Option<String>,
    upload: &Upload<'_>,
) -> Result<(), PushError> {
    let left = upload.until.saturating_duration_since(Instant::now());
    let agent = agent(url, left.clamp(MIN_TIMEOUT, TIMEOUT));
    let kind = match upload.is_table() {
        true => "application/vnd.apache.parquet",
        false => "application/json",
    };
    let mut request = agent.put(url).content_type(kind).header("If-None-Match", "*");
    if let Some(value) = authorization {
        request = request.header("Authorization", value);
    }
    match request.send(upload.bytes) {
        // Redirects are not followed: they would carry the credential elsewhere.
        Ok(answer) if answer.status().is_success() => Ok(()),
        Ok(answer) => Err(PushError::permanent(format!("it answered {}", answer.status()))),
        Err(Error::StatusCode(ALREADY_THERE)) if is_own(url, upload.name) => Ok(()),
        Err(Error::StatusCode(ALREADY_THERE)) => Err(PushError::permanent(
            "another document is at this URL already, and each needs a URL of its own",
        )),
        Err(error) => Err(refused(&error)),
    }
}

/// True if the path of `url` ends in `name`.
fn is_own(url: &str, name: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next() == Some(name)
}

/// Text at `url`, at most `most_bytes`.
pub(super) fn get(url: &str, most_bytes: u64) -> Result<String, PushError> {
    let mut answer = agent(url, TIMEOUT).get(url).call().map_err(|error| refused(&error))?;
    if !answer.status().is_success() {
        return Err(PushError::permanent(format!("it answered {}", answer.status())));
    }
    let body = answer.body_mut().with_config().limit(most_bytes);
    body.read_to_string().map_err(|error| refused(&error))
}

fn agent(url: &str, limit: Duration) -> Agent {
    let trusted = match url.starts_with("https:") {
        true => tls::trusted(),
        false => Vec::new(),
    };
    let roots = trusted.iter().map(|one| Certificate::from_der(one).to_owned());
    let roots: Vec<Certificate<'static>> = roots.collect();
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(tls::provider())
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build();
    let config = Agent::config_builder().timeout_global(Some(limit)).max_redirects(0);
    config.tls_config(tls).build().into()
}

fn refused(error: &Error) -> PushError {
    match error {
        Error::StatusCode(status) => {
            // Amazon answers 409 to one of two concurrent PUTs of an object.
            let is_temporary = matches!(status, 408 | 409 | 425 | 429 | 500..);
            PushError { why: format!("it answered {status}"), is_temporary }
        }
        Error::BadUri(_) | Error::Http(_) => PushError::permanent(message(error)),
        error => PushError::temporary(message(error)),
    }
}

/// Error message without the URL, which may be a secret.
fn message(error: &Error) -> String {
    match error {
        Error::BadUri(_) | Error::Http(_) => "the URL cannot be used".into(),
        Error::Timeout(_) => "no answer in time".into(),
        Error::HostNotFound => "host not found".into(),
        other => other.to_string(),
    }
}

/// Splits a URL into the URL without user and password, and these.
fn without_user(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.into(), None) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((user, host)) => (format!("{scheme}://{host}{}", &rest[end..]), Some(user.to_owned())),
        None => (url.into(), None),
    }
}

/// Authorization header of a user, else of the token in the environment or in a file that it names.
fn authorization(user: Option<String>) -> Result<Option<String>, String> {
    use base64::Engine as _;
    if let Some(user) = user {
        return Ok(Some(format!(
            "Basic {}",
            base64::engine::general_purpose::STANDARD.encode(user)
        )));
    }
    let of = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let token = match (of("IODYNO_PUSH_TOKEN"), of("IODYNO_PUSH_TOKEN_FILE")) {
        (Some(token), _) => Some(token),
        (None, Some(file)) => Some(secret(Path::new(&file))?),
        (None, None) => None,
    };
    Ok(token.map(|token| format!("Bearer {token}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_leave_this_machine_encrypted() {
        for clear in [
            "http://host/",
            "http://10.0.0.1:80/x",
            "http://[fe80::1]:8080/",
            "http://localhost.example/",
        ] {
            assert!(is_unencrypted(clear), "{clear}");
            let upload = Upload { name: "a.json", bytes: b"{}", until: Instant::now() };
            let url = clear.replace("//", "//me:pw@");
            let refused = put(&url, &upload).unwrap_err();
            assert!(!refused.is_temporary && refused.why.contains("https://"), "{}", refused.why);
        }
        for kept in [
            "https://host/",
            "http://localhost:8000/",
            "http://127.0.0.1/",
            "http://[::1]:80/?sig=a",
        ] {
            assert!(!is_unencrypted(kept), "{kept}");
        }
    }
}
