//! What the owner of a local database may choose.

use std::path::PathBuf;

use crate::Installation;

/// Where a local database lives and how it may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which server it is. A folder belongs to one server.
    pub installation: Installation,
    /// Holds data, socket and log; created when missing. A relative path starts at the current directory.
    pub folder: PathBuf,
    /// TCP port on 127.0.0.1; 0 means that only the unix socket is open.
    pub port: u16,
    /// More arguments for the server, after ours, so that they win.
    pub server_args: Vec<String>,
}

impl Options {
    /// The defaults, in another folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            ..Self::default()
        }
    }

    /// Runs this server.
    #[must_use]
    pub fn installation(mut self, installation: Installation) -> Self {
        self.installation = installation;
        self
    }

    /// Also listens on this TCP port of 127.0.0.1 (0: on none).
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Adds one argument for the server, such as `--max-connections=500`.
    #[must_use]
    pub fn server_arg(mut self, argument: impl Into<String>) -> Self {
        self.server_args.push(argument.into());
        self
    }
}

impl Default for Options {
    /// This machine's MariaDB in `var/mariadb`, no TCP port, no further arguments.
    fn default() -> Self {
        Self {
            installation: Installation::default(),
            folder: PathBuf::from("var/mariadb"),
            port: 0,
            server_args: Vec::new(),
        }
    }
}
