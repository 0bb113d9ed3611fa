//! TLS and access control by the configuration files of Zenoh: a router between a bridge, a workshop and a guest.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_bridge::bridge::Bridge;
use candor_bridge::bus::Bus;
use candor_bridge::payload::{self, Sent};
use candor_bridge::settings;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use support::{Memory, collect, free_port, session, wait_until};
use zenoh::{Config, Session, Wait as _};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Each has its certificate. Anyone may listen and ask, the workshop may also send.
const ACCESS: &str = r#"access_control: {
  enabled: true,
  default_permission: "deny",
  rules: [
    { id: "own", permission: "allow", messages: ["put", "declare_subscriber", "query", "declare_queryable", "reply"],
      key_exprs: ["candor/car7/**"] },
    { id: "listen", permission: "allow", messages: ["put", "declare_subscriber", "query", "declare_queryable", "reply"],
      key_exprs: ["candor/*/*/frame/**", "candor/*/*/signal/**"] },
    { id: "send", permission: "allow", messages: ["put", "declare_subscriber"], key_exprs: ["candor/*/*/send/*"] },
  ],
  subjects: [
    { id: "car7", cert_common_names: ["car7"] },
    { id: "workshop", cert_common_names: ["workshop"] },
    { id: "anyone" },
  ],
  policies: [
    { rules: ["own"], subjects: ["car7"] },
    { rules: ["send"], subjects: ["workshop"] },
    { rules: ["listen"], subjects: ["anyone"] },
  ],
}"#;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a certificate of this machine for `name`, and its key. Returns them and the authority, as parts of a configuration.
fn files(folder: &Path, authority: &Authority, name: &str) -> [PathBuf; 3] {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    let certificate = params.signed_by(&key, authority).unwrap();
    [("ca", authority.pem()), ("pem", certificate.pem()), ("key", key.serialize_pem())].map(|(kind, text)| {
        let path = folder.join(format!("{name}.{kind}"));
        std::fs::write(&path, text).unwrap();
        path
    })
}

fn config(mode: &str, direction: &str, port: u16, [ca, certificate, key]: &[PathBuf; 3]) -> String {
    let other = if direction == "listen" { "connect" } else { "listen" };
    format!(
        "{{ mode: \"{mode}\", scouting: {{ multicast: {{ enabled: false }} }}, {other}: {{ endpoints: [] }}, \
         {direction}: {{ endpoints: [\"tls/127.0.0.1:{port}\"] }}, \
         transport: {{ link: {{ tls: {{ root_ca_certificate: {ca:?}, enable_mtls: true, \
         {direction}_certificate: {certificate:?}, {direction}_private_key: {key:?} }} }} }}, {} }}",
        if mode == "router" { ACCESS } else { "" }
    )
}

fn put(session: &Session, text: &str) {
    let key = format!("candor/car7/front/send/{}", text.split_once('#').unwrap().0);
    let bytes = payload::encode(&Sent { stamp_ns: 0, number: 0, frame: text.parse().unwrap() });
    session.put(key, bytes).wait().unwrap();
}

#[test]
fn only_those_reach_the_bus_to_whom_the_router_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (authority(), authority());
    let port = free_port();
    let client =
        |authority: &Authority, name: &str| config("client", "connect", port, &files(folder.path(), authority, name));
    let router = session(&config("router", "listen", port, &files(folder.path(), &ours, "router")));

    let text = "[bus.front]\ninterface = \"can0\"\n[zenoh]\nconfig = \"zenoh.json5\"\nprefix = \"candor/car7\"\n\
                [[in]]\nbus = \"front\"\nmatch = \"200..2FF\"\nrate = \"100 frames/s\"\n";
    let zenoh = client(&ours, "car7").into_bytes();
    let (settings, _) = settings::load(text.as_bytes(), &|_| Ok(zenoh.clone())).unwrap();
    let bus = Arc::new(Memory::default());
    let bridge = Bridge::start(&settings, &[Arc::clone(&bus) as Arc<dyn Bus>], |_| {});

    let (guest, workshop) = (session(&client(&ours, "guest")), session(&client(&ours, "workshop")));
    let got = collect(&guest, "candor/car7/front/frame/*");
    bus.push("123#11");
    wait_until("the frame comes", || got.lock().unwrap().len() == 1);
    put(&guest, "200#AA");
    // The answer comes after the frame was refused, because both take the same way.
    let answers = guest.get("candor/car7/front/frame/*").wait().unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.result().is_ok()).count(), 1);
    put(&workshop, "201#BB");
    wait_until("the frame of the workshop is sent", || bus.written() == ["201#BB"]);

    let mut stranger = Config::from_json5(&client(&theirs, "stranger")).unwrap();
    stranger.insert_json5("connect/timeout_ms", "0").unwrap();
    assert!(zenoh::open(stranger).wait().is_err(), "its authority is another one");

    let counts = bridge.stop();
    assert_eq!((counts.sent_to_bus, counts.refused.len()), (1, 0), "{counts:?}");
    for session in [guest, workshop, router] {
        session.close().wait().unwrap();
    }
}
