//! The configuration: one TOML file, what was written in it, and the checked [`Settings`].
//!
//! This crate owns every key, its default, its limits and the words said about a bad value. All
//! that is wrong in a file is found in one pass and told with its place. The crate opens no socket,
//! resolves no host name and looks at no limit of the machine; besides the configuration itself it
//! reads only the password files and environment variables that the configuration names. The one file
//! it writes is that of the limits set by statements ([`auto`]).

mod account;
mod address;
mod admin;
pub mod auto;
mod backend;
mod changes;
mod error;
mod limits;
mod log;
mod network;
mod password;
mod proxy_protocol;
mod quota;
mod report;
mod secret;
mod section;
mod server;
mod settings;
mod shown;
mod tls;
mod units;
mod value;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use zeroize::Zeroizing;

pub use account::Account;
pub use address::{Address, Listen};
pub use admin::{Admin, Administrator};
pub use backend::Backend;
pub use error::{ConfigErrors, LoadError, Problem};
pub use limits::{Limits, Overload};
pub use log::{Format, Level, Log};
pub use network::Network;
pub use proxy_protocol::ProxyProtocol;
pub use quota::{AccountName, Quota, Quotas, Schema};
pub use secret::Secret;
pub use server::{AuthPlugin, Driver, OnDisconnect, Server};
pub use settings::Settings;
pub use tls::{BackendTls, Require, Tls, TlsMode};

use password::Surroundings;

/// Reads, parses and checks the configuration file at `path`.
///
/// A relative `password_file` is looked up beside the configuration file.
///
/// # Errors
///
/// [`LoadError::Read`] if the file cannot be read as UTF-8 text, [`LoadError::Invalid`] with all
/// that is wrong in it otherwise.
pub fn load(path: &Path) -> Result<Settings, LoadError> {
    let text = fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|source| LoadError::Read {
            path: path.to_owned(),
            source,
        })?;
    Ok(parse(&text, &path.to_string_lossy())?)
}

/// Parses and checks the configuration `text`, which came from `origin` (a path; messages begin
/// with it, and a relative `password_file` is looked up in its directory).
///
/// # Errors
///
/// [`ConfigErrors`] with every problem found; of syntax errors only the first.
pub fn parse(text: &str, origin: &str) -> Result<Settings, ConfigErrors> {
    settings::read(text, origin, &Surroundings::of_process(origin))
}

/// The commented default configuration: every key, what it does and its default.
pub fn default_toml() -> &'static str {
    include_str!("../default.toml")
}
