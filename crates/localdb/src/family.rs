//! The families of servers that a local database may belong to: names and arguments. Where their
//! programs lie is not known here.

/// Which family of servers a local database belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Family {
    /// MariaDB, as the machine has it installed.
    #[default]
    MariaDb,
    /// MySQL, as `scripts/setup mysql` has fetched it.
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
}
