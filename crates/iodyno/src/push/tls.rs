//! Whom this machine trusts: certificates of servers are checked by that alone.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// How rustls encrypts.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Certificates of the authorities that this machine trusts, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
/// Where it trusts nobody, nothing is pushed.
pub(super) fn trusted() -> Vec<rustls::pki_types::CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}
