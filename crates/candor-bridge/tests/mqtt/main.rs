//! A bridge and a broker in memory, which speaks as much of MQTT 3.1.1 as the bridge uses; and [`mosquitto`].
//!
//! # Source
//! <https://docs.oasis-open.org/mqtt/mqtt/v3.1.1/os/mqtt-v3.1.1-os.html>
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test")]

mod mosquitto;
#[path = "../../../candor-lab/tests/support/require.rs"]
mod require;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use candor_bridge::bridge::Bridge;
use candor_bridge::bus::Bus;
use candor_bridge::settings;
use candor_core::frame::Frame;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, version};

const LIMIT: Duration = Duration::from_secs(20);

/// What a client sent: its last will and its messages, as `TOPIC PAYLOAD`.
type Said = Arc<Mutex<Vec<String>>>;

/// Serves one client after another, with TLS or without, and notes what they say.
fn broker(tls: Option<Arc<ServerConfig>>) -> (u16, Said, Arc<Mutex<Option<TcpStream>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (said, current) = (Said::default(), Arc::new(Mutex::new(None)));
    let (notes, open) = (Arc::clone(&said), Arc::clone(&current));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            *open.lock().unwrap() = Some(stream.try_clone().unwrap());
            let note = |line: String| notes.lock().unwrap().push(line);
            // It ends when the client or the test closes it.
            let _ = match &tls {
                Some(config) => {
                    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
                    serve(StreamOwned::new(connection, stream), &note).inspect_err(|why| note(why.to_string()))
                }
                None => serve(stream, &note),
            };
        }
    });
    (port, said, current)
}

fn serve(mut stream: impl Read + Write, note: &impl Fn(String)) -> io::Result<()> {
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        let (mut len, mut shift) = (0_usize, 0);
        loop {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            len |= usize::from(byte[0] & 0x7F) << shift;
            shift += 7;
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        let mut body = vec![0; len];
        stream.read_exact(&mut body)?;
        let mut rest = &body[..];
        match kind[0] >> 4 {
            // CONNECT: protocol name, level, flags, keep-alive, client, will, login.
            1 => {
                assert_eq!(field(&mut rest), "MQTT");
                let flags = rest[1];
                rest = &rest[4..];
                let mut line = format!("CONNECT {}", field(&mut rest));
                for (flag, name) in [(0x04, "will"), (0x04, "="), (0x80, "user"), (0x40, "password")] {
                    if flags & flag != 0 {
                        line.push_str(&format!(" {name} {}", field(&mut rest)));
                    }
                }
                assert_eq!(flags & 0x3C, 0x2C, "the will is retained, with QoS 1");
                note(line);
                stream.write_all(&[0x20, 2, 0, 0])?;
            }
            // PUBLISH: topic, number, payload.
            3 => {
                assert_eq!(kind[0] & 0x07, 0x03, "retained, with QoS 1");
                let topic = field(&mut rest);
                let number = [rest[0], rest[1]];
                note(format!("{topic} {}", String::from_utf8_lossy(&rest[2..])));
                stream.write_all(&[0x40, 2, number[0], number[1]])?;
            }
            12 => stream.write_all(&[0xD0, 0])?,
            14 => {
                note("DISCONNECT".to_owned());
                return Ok(());
            }
            other => panic!("packet {other}"),
        }
    }
}

fn field(rest: &mut &[u8]) -> String {
    let len = usize::from(u16::from_be_bytes([rest[0], rest[1]]));
    let (field, after) = rest[2..].split_at(len);
    *rest = after;
    String::from_utf8(field.to_vec()).unwrap()
}

/// A bus that repeats one frame.
#[derive(Debug)]
struct Repeating(Mutex<Frame>);

impl Bus for Repeating {
    fn read(&self, _: Duration, take: &mut dyn FnMut(Frame, u64)) -> u64 {
        thread::sleep(Duration::from_millis(1));
        take(*self.0.lock().unwrap(), 0);
        0
    }

    fn write(&self, _: &Frame) -> bool {
        false
    }
}

fn wait_until(what: &str, said: &Said, holds: impl Fn(&[String]) -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds(&said.lock().unwrap()) {
        assert!(Instant::now() < end, "not in time: {what}: {:#?}", said.lock().unwrap());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn signals_are_announced_and_sent_after_each_connection() {
    let (port, said, current) = broker(None);
    let text = format!(
        "[bus.front]\ninterface = \"can0\"\ndatabase = \"car.dbc\"\n\
         [mqtt]\nbroker = \"127.0.0.1:{port}\"\nprefix = \"candor/car7\"\ndiscovery = \"homeassistant\"\n\
         interval = \"100ms\"\nuser = \"car7\"\npassword-file = \"secret\"\n"
    );
    let dbc = b"BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n";
    let file = |path: &str| Ok(if path == "secret" { b"s3cret\n".to_vec() } else { dbc.to_vec() });
    let (settings, _) = settings::load(text.as_bytes(), &file).unwrap();
    let bus = Arc::new(Repeating(Mutex::new("123#2710000000000000".parse().unwrap())));
    let bridge = Bridge::start(&settings, &[Arc::clone(&bus) as Arc<dyn Bus>], |_| {});

    let speed = |value: &str| format!("candor/car7/front/signal/ABS1/VehSpd {value}");
    let connect = "CONNECT candor-bridge-candor-car7 will candor/car7/status = offline user car7 password s3cret";
    wait_until("the value", &said, |said| said.contains(&speed("100")));
    thread::sleep(Duration::from_millis(300));
    {
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 4, "unchanged values are not repeated: {said:#?}");
        assert_eq!(said[0], connect);
        assert!(said[1].starts_with("homeassistant/sensor/candor_car7_front_ABS1_VehSpd/config {"), "{}", said[1]);
        assert_eq!(said[2..], ["candor/car7/status online".to_owned(), speed("100")]);
    }
    *bus.0.lock().unwrap() = "123#4E20000000000000".parse().unwrap();
    wait_until("the new value", &said, |said| said.contains(&speed("200")));

    said.lock().unwrap().clear();
    current.lock().unwrap().take().unwrap().shutdown(std::net::Shutdown::Both).unwrap();
    wait_until("everything again", &said, |said| said.contains(&speed("200")));
    assert_eq!(said.lock().unwrap().len(), 4);

    let counts = bridge.stop();
    wait_until("the end", &said, |said| said.last().is_some_and(|last| last == "DISCONNECT"));
    let said = said.lock().unwrap();
    assert_eq!(said[said.len() - 2], "candor/car7/status offline");
    assert_eq!((counts.mqtt_connections, counts.mqtt_sent), (2, 3), "{counts:?}");
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate of this machine, and its key.
fn certified(issuer: &Authority) -> (rcgen::Certificate, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    (params.signed_by(&key, issuer).unwrap(), key)
}

/// TLS of a broker that wants a certificate of the same authority from its clients.
fn server(authority: &Authority) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let (certificate, key) = certified(authority);
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()));
    Arc::new(config.unwrap())
}

#[test]
fn with_tls_the_certificates_of_both_sides_are_checked() {
    let (ours, theirs) = (authority(), authority());
    let start = |trusted: &Authority, own: &Authority| {
        let (port, said, _) = broker(Some(server(&ours)));
        let text = format!(
            "[bus.front]\ninterface = \"can0\"\ndatabase = \"car.dbc\"\n\
             [mqtt]\nbroker = \"127.0.0.1:{port}\"\nprefix = \"candor/car7\"\n\
             tls = {{ ca = \"ca.pem\", cert = \"own.pem\", key = \"own.key\" }}\n"
        );
        let dbc = "BO_ 291 ABS1: 8 ESP\n SG_ VehSpd : 7|16@0+ (0.01,0) [0|300] \"km/h\" ACC\n";
        let (certificate, key) = certified(own);
        let file = |path: &str| {
            let text = match path {
                "ca.pem" => trusted.pem(),
                "own.pem" => certificate.pem(),
                "own.key" => key.serialize_pem(),
                _ => dbc.to_owned(),
            };
            Ok(text.into_bytes())
        };
        let (settings, warnings) = settings::load(text.as_bytes(), &file).unwrap();
        assert_eq!(warnings, []);
        let bus = Arc::new(Repeating(Mutex::new("123#2710000000000000".parse().unwrap())));
        (Bridge::start(&settings, &[bus as Arc<dyn Bus>], |_| {}), said)
    };
    let (bridge, said) = start(&ours, &ours);
    let value = "candor/car7/front/signal/ABS1/VehSpd 100";
    wait_until("the value", &said, |said| said.iter().any(|line| line == value));
    let _ = bridge.stop();

    // The bridge does not know the authority of the broker.
    let (bridge, said) = start(&theirs, &ours);
    wait_until("the refusal", &said, |said| said.iter().any(|line| line.contains("fatal alert")));
    assert_eq!(bridge.stop().mqtt_connections, 0);
    // The broker does not know that of the bridge.
    let (bridge, said) = start(&ours, &theirs);
    wait_until("the refusal", &said, |said| said.iter().any(|line| line.contains("invalid peer certificate")));
    assert_eq!(bridge.stop().mqtt_connections, 0);
}
