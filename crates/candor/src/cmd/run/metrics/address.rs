//! Addresses of `--metrics`.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A Unix socket or a loopback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            // The working directory of a service is not known to clients.
            return if path.is_absolute() { Ok(Self::Unix(path)) } else { Err("the path must begin with /".into()) };
        }
        let wanted = "write unix:/PATH, or a loopback address with a port, such as 127.0.0.1:9316 or [::1]:9316";
        let address: SocketAddr = text.parse().map_err(|_not_an_address| wanted.to_owned())?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "not a loopback address: candor serves metrics without encryption or authentication; {wanted}, and use a reverse \
                 proxy for remote access"
            ));
        }
        Ok(Self::Tcp(address))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_accepted() {
        for text in ["unix:/run/candor-metrics/car.sock", "127.0.0.1:9316", "[::1]:9316"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for (text, says) in [
            ("0.0.0.0:9316", "not a loopback address"),
            ("192.168.1.1:9316", "not a loopback address"),
            ("[::]:9316", "not a loopback address"),
            ("9316", "unix:/PATH"),
            ("localhost:9316", "unix:/PATH"),
            ("unix:metrics", "must begin with /"),
        ] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
