//! The servers that a local database may run: the family of each, and where its programs lie.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::programs::{Programs, look_up};
use crate::tree::Tree;
use crate::{Family, LocalDbError};

/// One server: this machine's own, or one that `scripts/setup` has fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Also the group of `scripts/setup` that fetches it.
    name: &'static str,
    family: Family,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The directories of this machine's PATH.
    Path,
    /// A folder of this name where `scripts/setup` keeps what it has fetched.
    Fetched(&'static str),
}

/// A program that has been found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// The folder that it belongs to, unless it is this machine's own.
    pub(crate) tree: Option<Tree>,
}

impl Installation {
    /// Every server that can be named.
    pub const ALL: [Self; 7] = [
        Self {
            name: "mariadb",
            family: Family::MariaDb,
            place: Place::Path,
        },
        Self::fetched("mariadb-11.8", Family::MariaDb, "mariadb-11.8"),
        Self::fetched("mariadb-11.4", Family::MariaDb, "mariadb-11.4.5"),
        Self::fetched("mariadb-10.11.5", Family::MariaDb, "mariadb-10.11.5"),
        Self::fetched("mariadb-10.5", Family::MariaDb, "mariadb-10.5"),
        Self::fetched("mysql", Family::MySql, "mysql-sid"),
        Self::fetched("mysql-8.0", Family::MySql, "mysql-8.0.31"),
    ];

    const fn fetched(name: &'static str, family: Family, folder: &'static str) -> Self {
        Self {
            name,
            family,
            place: Place::Fetched(folder),
        }
    }

    /// The server of this name, such as `mariadb-11.8`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name == name)
    }

    /// The server that a family's tests run on unless they ask for another, and that lends its client
    /// programs to those which come without.
    pub fn usual(family: Family) -> Self {
        match family {
            Family::MariaDb => Self::ALL[0],
            Family::MySql => Self::ALL[5],
        }
    }

    /// How it is named.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The family that it belongs to.
    pub fn family(self) -> Family {
        self.family
    }

    /// The version of the server, as it says it: `11.8.9-MariaDB-0+deb13u1`.
    ///
    /// # Errors
    /// It is not installed, or does not run.
    pub fn version(self) -> Result<String, LocalDbError> {
        let server = Programs::find(self)?.server;
        let output = server
            .command()
            .arg("--version")
            .output()
            .map_err(LocalDbError::system("run", &server.path))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let mut words = said.split_whitespace();
        words.find(|word| *word == "Ver");
        Ok(words.next().unwrap_or_default().to_owned())
    }

    /// The folder that it was fetched into; `None` for this machine's own server.
    pub(crate) fn tree(self) -> Result<Option<Tree>, LocalDbError> {
        match self.place {
            Place::Path => Ok(None),
            Place::Fetched(folder) => Ok(Some(Tree::find(folder).map_err(|path| {
                LocalDbError::NotFetched {
                    path,
                    group: self.name,
                }
            })?)),
        }
    }

    /// Finds the server or another program that only the server's own version will do for.
    pub(crate) fn find(self, name: &'static str) -> Result<Found, LocalDbError> {
        let Some(tree) = self.tree()? else {
            return find_on(&std::env::var_os("PATH").unwrap_or_default(), name);
        };
        let path = tree.program(name).ok_or(LocalDbError::NotFetched {
            path: tree.base.join(name),
            group: self.name,
        })?;
        Ok(Found {
            path,
            tree: Some(tree),
        })
    }

    /// Finds a client program. Those of archives are few, and may need libraries that this machine lacks.
    pub(crate) fn find_client(self, name: &'static str) -> Result<Found, LocalDbError> {
        let has_own = self
            .tree()?
            .is_none_or(|tree| tree.loader.is_some() && tree.program(name).is_some());
        match has_own {
            true => self.find(name),
            false => Self::usual(self.family).find(name),
        }
    }
}

impl Default for Installation {
    /// This machine's own MariaDB.
    fn default() -> Self {
        Self::usual(Family::MariaDb)
    }
}

fn find_on(path: &OsStr, name: &'static str) -> Result<Found, LocalDbError> {
    let path = look_up(name, path).ok_or(LocalDbError::ProgramMissing(name))?;
    Ok(Found { path, tree: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_what_to_install() {
        let missing = find_on(OsStr::new("/nowhere"), "mariadb-install-db");
        let error = missing.unwrap_err().to_string();
        assert!(error.starts_with("mariadb-install-db not found"), "{error}");
        assert!(error.contains("apt-get install"), "{error}");
    }

    #[test]
    fn a_server_that_was_not_fetched_says_how_to_fetch_it() {
        let unknown = Installation::fetched("mariadb-1.0", Family::MariaDb, "mariadb-1.0");
        let error = unknown.find("mariadbd").unwrap_err().to_string();
        assert!(error.contains("run: scripts/setup mariadb-1.0"), "{error}");
    }

    #[test]
    fn every_name_is_known() {
        for known in Installation::ALL {
            assert_eq!(Installation::named(known.name()), Some(known));
        }
        assert_eq!(Installation::named("oracle"), None);
        for family in [Family::MariaDb, Family::MySql] {
            assert_eq!(Installation::usual(family).family(), family);
        }
    }
}
