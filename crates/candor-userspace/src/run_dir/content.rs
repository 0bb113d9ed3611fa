//! JSON format of ownership records.

use std::fmt::Write as _;
use std::io::{self, ErrorKind};

use candor_config::placement::Side;
use candor_config::plan::Engine;
use candor_config::signature::Signer;
use candor_netlink::cangw::ExactJob;
use serde::{Deserialize, Serialize};

use super::Scope;
use super::instance::{Change, Instance, OwnedJob, Since};
use crate::owner::Owner;

const VERSION: u32 = 4;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Content {
    version: u32,
    #[serde(flatten)]
    scope: Scope,
    owner: OwnerText,
    since_unix_s: i64,
    since_boot_s: i64,
    #[serde(default)]
    signer: Option<String>,
    jobs: Vec<JobText>,
    change: Option<ChangeText>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum OwnerText {
    Applied { file: String },
    Process { pid: u32, engine: String },
}

#[derive(Debug, Deserialize, Serialize)]
struct JobText {
    route: String,
    from: String,
    to: String,
    side: SideText,
    /// Netlink payload in hexadecimal.
    bytes: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum SideText {
    Bpf,
    Kernel,
    User,
}

#[derive(Debug, Deserialize, Serialize)]
struct ChangeText {
    before: Vec<JobText>,
    /// Netlink payloads in hexadecimal.
    strangers: Vec<String>,
}

impl Content {
    pub(super) fn new(scope: &Scope, instance: &Instance) -> Self {
        let owner = match &instance.owner {
            Owner::Applied { file } => OwnerText::Applied { file: file.clone() },
            Owner::Process { pid, engine } => OwnerText::Process { pid: *pid, engine: engine.name().into() },
        };
        let change = instance.change.as_ref().map(|change| ChangeText {
            before: change.before.iter().map(JobText::new).collect(),
            strangers: change.strangers.iter().map(|job| to_hex(job.bytes())).collect(),
        });
        Self {
            version: VERSION,
            scope: scope.clone(),
            owner,
            since_unix_s: instance.since.unix_s,
            since_boot_s: instance.since.boot_s,
            signer: instance.signer.as_ref().map(Signer::to_record),
            jobs: instance.jobs.iter().map(JobText::new).collect(),
            change,
        }
    }

    pub(super) fn read(text: &str) -> io::Result<Instance> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        if serde_json::from_str::<Head>(text)?.version != VERSION {
            return Err(invalid("it was written by another version of candor"));
        }
        serde_json::from_str::<Self>(text)?.instance()
    }

    fn instance(self) -> io::Result<Instance> {
        let owner = match self.owner {
            OwnerText::Applied { file } => Owner::Applied { file },
            OwnerText::Process { pid, engine } => Owner::Process { pid, engine: engine_named(&engine)? },
        };
        let change = self.change.map(ChangeText::change).transpose()?;
        let since = Since { unix_s: self.since_unix_s, boot_s: self.since_boot_s };
        let signer = self.signer.as_deref().and_then(Signer::of_record);
        Ok(Instance { owner, since, signer, jobs: jobs(self.jobs)?, change })
    }
}

impl JobText {
    fn new(owned: &OwnedJob) -> Self {
        let (route, from, to) = (owned.route.clone(), owned.from.clone(), owned.to.clone());
        let side = match owned.side {
            Side::Bpf => SideText::Bpf,
            Side::Kernel => SideText::Kernel,
            Side::User => SideText::User,
        };
        Self { route, from, to, side, bytes: to_hex(owned.job.bytes()) }
    }

    fn job(self) -> io::Result<OwnedJob> {
        let side = match self.side {
            SideText::Bpf => Side::Bpf,
            SideText::Kernel => Side::Kernel,
            SideText::User => Side::User,
        };
        Ok(OwnedJob { route: self.route, from: self.from, to: self.to, side, job: job(&self.bytes)? })
    }
}

impl ChangeText {
    fn change(self) -> io::Result<Change> {
        let strangers = self.strangers.iter().map(|hex| job(hex)).collect::<io::Result<_>>()?;
        Ok(Change { before: jobs(self.before)?, strangers })
    }
}

fn jobs(texts: Vec<JobText>) -> io::Result<Vec<OwnedJob>> {
    texts.into_iter().map(JobText::job).collect()
}

fn engine_named(name: &str) -> io::Result<Engine> {
    Engine::named(name).ok_or_else(|| invalid("its engine is unknown"))
}

fn job(hex: &str) -> io::Result<ExactJob> {
    let bytes = from_hex(hex).ok_or_else(|| invalid("a job is not hexadecimal"))?;
    ExactJob::from_bytes(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    digits.map(|pair| u8::from_str_radix(pair.filter(|pair| pair.len() == 2)?, 16).ok()).collect()
}
