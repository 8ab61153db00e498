//! Trust anchors of this machine, the only ones that server certificates are checked against.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// Cryptography provider of rustls.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Certificates of the authorities that this machine trusts, or those of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR`. Without any, nothing is pushed.
pub(super) fn trusted() -> Vec<rustls::pki_types::CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}
