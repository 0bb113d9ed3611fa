//! TLS 1.3 to the broker of MQTT. Zenoh has its own.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, version};

/// Why files are of no use, with the key of the file that names it.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Certificates of authorities.
    #[error("The certificates of `ca` cannot be used: {0}")]
    Authorities(String),
    /// The certificate of this side.
    #[error("The certificate of `cert` cannot be used: {0}")]
    Certificate(String),
    /// Not what is in the file.
    #[error("`key` is no private key in PEM")]
    Key,
    /// They do not belong together, or are of an unknown kind.
    #[error("`cert` and `key` cannot be used: {0}")]
    Pair(rustls::Error),
}

/// What a client needs: files in PEM, `own` is its certificate and its key.
///
/// # Errors
/// [`TlsError`] if a file holds something else.
pub fn client(ca: &[u8], own: Option<(&[u8], &[u8])>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    for one in certificates(ca).map_err(TlsError::Authorities)? {
        roots.add(one).map_err(|why| TlsError::Authorities(why.to_string()))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(TlsError::Pair)?
        .with_root_certificates(roots);
    let config = match own {
        Some((certificate, key)) => {
            let certificate = certificates(certificate).map_err(TlsError::Certificate)?;
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|_its_text| TlsError::Key)?;
            builder.with_client_auth_cert(certificate, key).map_err(TlsError::Pair)?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|why| why.to_string())?;
    if all.is_empty() { Err("there is none in the file".to_owned()) } else { Ok(all) }
}
