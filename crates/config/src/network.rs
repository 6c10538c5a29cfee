//! Networks, as several keys list them: `"10.0.0.0/8"`, an address, or `"localhost"` for unix sockets.

use std::fmt;
use std::net::IpAddr;

use toml::de::DeValue;

use crate::error::Wrong;
use crate::section::Section;
use crate::value;

const LIST_FIX: &str = "write a list such as [\"10.0.0.0/8\", \"fd00::/8\", \"localhost\"]";
const FIX: &str = "write a network such as \"10.0.0.0/8\", an ip address, or \"localhost\"";
const NETWORKS_MAX: usize = 64;

/// Addresses that a connection may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Those that begin with so many bits of this one; its other bits are 0.
    Ip(IpAddr, u8),
    /// Those of unix sockets: `localhost`, as MariaDB writes it.
    Unix,
}

/// The networks that a key lists, at most 64.
pub(crate) fn list(section: &mut Section<'_, '_>, key: &'static str) -> Vec<Network> {
    let Some(at) = section.take(key).map(|written| written.at) else {
        return Vec::new();
    };
    let mut networks = Vec::new();
    for written in section.list(key, LIST_FIX).unwrap_or_default() {
        match Network::read(written.value) {
            Ok(network) => networks.push(network),
            Err(wrong) => section.blame(key, written.at, wrong),
        }
    }
    if networks.len() > NETWORKS_MAX {
        let what = format!("there are {} networks", networks.len());
        let fix = format!("write at most {NETWORKS_MAX}");
        section.blame(key, at, Wrong::new(what, fix));
    }
    networks
}

impl Network {
    fn read(value: &DeValue<'_>) -> Result<Self, Wrong> {
        let written = value::text(value, FIX)?;
        let not_one = || Wrong::new(format!("{written:?} is no network"), FIX);
        if written == "localhost" {
            return Ok(Self::Unix);
        }
        let (ip, bits) = written
            .split_once('/')
            .map_or((written, None), |(ip, bits)| (ip, Some(bits)));
        let ip: IpAddr = ip.parse().map_err(|_| not_one())?;
        let most: u8 = if ip.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = match bits {
            None => most,
            Some(bits) if is_number(bits) => bits.parse().map_err(|_| not_one())?,
            Some(_) => return Err(not_one()),
        };
        if bits > most {
            return Err(not_one());
        }
        let first = first(ip, bits);
        if first != ip {
            let what = format!("{written:?} has bits behind its first {bits}");
            return Err(Wrong::new(what, format!("write \"{first}/{bits}\"")));
        }
        Ok(Self::Ip(ip, bits))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip, bits) => write!(f, "{ip}/{bits}"),
            Self::Unix => f.write_str("localhost"),
        }
    }
}

/// The first address of a network.
fn first(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}
