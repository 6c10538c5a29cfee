//! The families of servers that a local database may belong to: names, files and arguments. Where their
//! programs lie is not known here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::tree::Tree;

/// What fills the system tables of MariaDB, in this order. Older versions call them `mysql_…`, and the oldest
/// lack the last.
const SYSTEM_TABLES: [&str; 6] = [
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "mariadb_sys_schema.sql",
];

/// Which family of servers a local database belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// MariaDB.
    #[default]
    MariaDb,
    /// MySQL of Oracle.
    MySql,
}

impl Family {
    /// The server's program, after which its log and its pid file are named.
    pub(crate) fn server(self) -> &'static str {
        match self {
            Family::MariaDb => "mariadbd",
            Family::MySql => "mysqld",
        }
    }

    /// The command-line client's program.
    pub(crate) fn client(self) -> &'static str {
        match self {
            Family::MariaDb => "mariadb",
            Family::MySql => "mysql",
        }
    }

    /// What the client must be told so that it reads no settings of this machine. These come first.
    pub(crate) fn no_settings(self) -> &'static [&'static str] {
        match self {
            Family::MariaDb => &["--no-defaults"],
            Family::MySql => &["--no-defaults", "--no-login-paths"],
        }
    }

    pub(crate) fn socket(self) -> &'static str {
        match self {
            Family::MariaDb => "mariadb.sock",
            Family::MySql => "mysql.sock",
        }
    }

    /// What every start of the server, the installation's included, is given besides its places.
    pub(crate) fn server_arguments(self) -> &'static [&'static str] {
        match self {
            Family::MariaDb => &[],
            // As MariaDB is by default: no binary log, no second protocol. The files are small, for
            // tests make many databases.
            Family::MySql => &[
                "--skip-log-bin",
                "--mysqlx=OFF",
                "--secure-file-priv=",
                "--innodb-redo-log-capacity=8M",
            ],
        }
    }

    /// Where the server of a tree finds its own files. MySQL looks beside its program.
    pub(crate) fn server_places(self, tree: &Tree) -> Vec<OsString> {
        match self {
            Family::MariaDb => vec![
                argument("--basedir=", &tree.base),
                argument("--lc-messages-dir=", &tree.share()),
                argument("--character-sets-dir=", &tree.share().join("charsets")),
                argument("--plugin-dir=", &tree.plugins()),
            ],
            Family::MySql => Vec::new(),
        }
    }

    /// Where a client program of a tree finds its plugins. MySQL has what matters in the program.
    pub(crate) fn client_places(self, tree: &Tree) -> Vec<OsString> {
        match self {
            Family::MariaDb => vec![argument("--plugin-dir=", &tree.client_plugins())],
            Family::MySql => Vec::new(),
        }
    }
}

/// The files with the statements that fill MariaDB's system tables.
pub(crate) fn system_tables(share: &Path) -> Vec<PathBuf> {
    let files = SYSTEM_TABLES.into_iter().filter_map(|name| {
        let names = [name.to_owned(), name.replace("mariadb_", "mysql_")];
        let mut files = names.into_iter().map(|name| share.join(name));
        files.find(|file| file.is_file())
    });
    files.collect()
}

fn argument(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(name);
    argument.push(path);
    argument
}
