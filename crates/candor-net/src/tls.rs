//! TLS 1.3 with certificates of both sides.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use candor_cli::link::Pem;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection, version};

use crate::progress::{Io, is_later};

/// Most bytes that wait in TLS for the socket.
const MOST_WAITING_BYTES: usize = 64 << 10;

/// Certificates and key of a link.
#[derive(Debug)]
pub(crate) struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    /// In the certificate of the peer; `None`: a server accepts every certificate of the authorities.
    peer_name: Option<ServerName<'static>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("the certificates of authorities (ca) cannot be used: {0}")]
    Authorities(String),
    #[error("the own certificate (cert) cannot be used: {0}")]
    Certificate(String),
    #[error("the own key (key) cannot be used: {0}")]
    Key(String),
    #[error("certificate and key cannot be used: {0}")]
    Pair(rustls::Error),
    #[error("the peer closed the connection")]
    End,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0:?} cannot be the name in a certificate")]
    Name(String),
    #[error("TLS")]
    Protocol(#[source] rustls::Error),
    #[error("the certificate of the peer has another name; `peer-name` of the link says which")]
    OtherName(#[source] rustls::Error),
    #[error("the certificate of the peer is not for {0}")]
    OtherPeer(String),
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        match error {
            rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
                Self::OtherName(error)
            }
            error => Self::Protocol(error),
        }
    }
}

impl Tls {
    /// `peer_name`: required in the certificate of the peer, in both roles.
    pub(crate) fn new(pem: &Pem, peer_name: Option<&str>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let unusable = |why: &dyn std::fmt::Display| TlsError::Authorities(why.to_string());
        for one in CertificateDer::pem_slice_iter(pem.ca.as_bytes()) {
            roots.add(one.map_err(|why| unusable(&why))?).map_err(|why| unusable(&why))?;
        }
        if roots.is_empty() {
            return Err(unusable(&"there is none in the file"));
        }
        let own: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.cert.as_bytes()).collect();
        let own = own.map_err(|why| TlsError::Certificate(why.to_string()))?;
        if own.is_empty() {
            return Err(TlsError::Certificate("there is none in the file".to_owned()));
        }
        // Not what is in the file.
        let no_key = |_| TlsError::Key("it is no private key in PEM".to_owned());
        let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes()).map_err(no_key)?;
        let peer_name = peer_name
            .map(|name| ServerName::try_from(name.to_owned()).map_err(|_invalid| TlsError::Name(name.to_owned())));
        let (provider, roots) = (Arc::new(ring::default_provider()), Arc::new(roots));
        let of_peers = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|why| unusable(&why))?;
        let of_servers = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|why| unusable(&why))?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])?
            .with_client_cert_verifier(of_peers)
            .with_single_cert(own.clone(), key.clone_key())
            .map_err(TlsError::Pair)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])?
            .with_webpki_verifier(of_servers)
            .with_client_auth_cert(own, key)
            .map_err(TlsError::Pair)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), peer_name: peer_name.transpose()? })
    }

    /// # Errors
    /// Without a name of the peer.
    pub(crate) fn connect(&self, socket: TcpStream) -> Result<TlsStream, TlsError> {
        let name = self.peer_name.clone().ok_or_else(|| TlsError::Name(String::new()))?;
        let connection = ClientConnection::new(Arc::clone(&self.client), name)?;
        Ok(TlsStream::new(socket, connection.into(), None))
    }

    pub(crate) fn accept(&self, socket: TcpStream) -> Result<TlsStream, TlsError> {
        let connection = ServerConnection::new(Arc::clone(&self.server))?;
        Ok(TlsStream::new(socket, connection.into(), self.peer_name.clone()))
    }
}

/// A connection with TLS, which never waits.
#[derive(Debug)]
pub(crate) struct TlsStream {
    socket: TcpStream,
    connection: Connection,
    /// Still to be compared with the certificate of the client.
    expects: Option<ServerName<'static>>,
}

impl TlsStream {
    fn new(socket: TcpStream, mut connection: Connection, expects: Option<ServerName<'static>>) -> Self {
        connection.set_buffer_limit(Some(MOST_WAITING_BYTES));
        Self { socket, connection, expects }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn wants_to_write(&self, has_bytes: bool) -> bool {
        self.connection.wants_write() || has_bytes && !self.connection.is_handshaking()
    }

    /// Writes what TLS has for the socket; false if the socket takes no more now.
    fn flush(&mut self) -> io::Result<bool> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<Io, TlsError> {
        loop {
            match self.connection.reader().read(bytes) {
                Ok(0) => return Err(TlsError::End),
                Ok(len) => return Ok(Io::Bytes(len)),
                Err(error) if is_later(&error) => {}
                Err(error) => return Err(error.into()),
            }
            match self.connection.read_tls(&mut self.socket) {
                Ok(0) => return Err(TlsError::End),
                Ok(_) => {}
                Err(error) if is_later(&error) => {
                    self.flush()?;
                    return Ok(Io::Later);
                }
                Err(error) => return Err(error.into()),
            }
            if let Err(why) = self.connection.process_new_packets() {
                // The alert tells the peer.
                let _ = self.flush();
                return Err(why.into());
            }
            self.flush()?;
            self.check_name()?;
        }
    }

    /// Takes bytes as soon as those before are on their way.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<Io, TlsError> {
        if !self.flush()? || self.connection.is_handshaking() {
            return Ok(Io::Later);
        }
        let len = self.connection.writer().write(bytes)?;
        self.flush()?;
        Ok(if len > 0 { Io::Bytes(len) } else { Io::Later })
    }

    /// Before the first byte of the peer is delivered.
    fn check_name(&mut self) -> Result<(), TlsError> {
        if self.connection.is_handshaking() {
            return Ok(());
        }
        let Some(name) = self.expects.take() else { return Ok(()) };
        let certificate = self.connection.peer_certificates().and_then(<[_]>::first);
        let is_it = certificate.is_some_and(|certificate| {
            let parsed = webpki::EndEntityCert::try_from(certificate);
            parsed.is_ok_and(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
        });
        if is_it { Ok(()) } else { Err(TlsError::OtherPeer(name.to_str().into_owned())) }
    }

    /// The peer can tell the end from a connection that was cut.
    pub(crate) fn say_good_bye(&mut self) {
        self.connection.send_close_notify();
        let _ = self.flush();
    }
}
