//! Content-Security-Policy of a page: only its own scripts and styles.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// Returns the Content-Security-Policy (W3C, Level 3) of a page with these scripts and styles, each
/// allowed by the SHA-256 of its text.
pub(super) fn policy(scripts: &[&str], styles: &[&str]) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        sources(scripts),
        sources(styles)
    )
}

fn sources(texts: &[&str]) -> String {
    let source = |text: &&str| {
        let digest = Sha256::digest(text.as_bytes());
        format!("'sha256-{}'", BASE64_STANDARD.encode(digest))
    };
    texts.iter().map(source).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_script_is_allowed_by_its_digest() {
        // Example from W3C Content Security Policy Level 3, 8.4.
        let policy = super::policy(&["alert('Hello, world.');"], &[]);
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(
            policy.contains("script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"),
            "{policy}"
        );
    }
}
