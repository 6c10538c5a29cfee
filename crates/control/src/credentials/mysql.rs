//! Accounts as MySQL keeps them: `mysql.user`, a column for each thing.
//!
//! Source: "Grant Tables" in its manual.

use accounts::{Certain, Credential, Found, MULTI_FACTOR, Requires, Standing};
use admission::AccountName;
use mysql_async::Row;

use super::facts::Facts;
use super::rows::text;
use super::sums::{Sums, sum};

pub(super) const USERS: &str = "user";

/// Its rows, with the time of the last change of each password in seconds.
pub(super) const ROWS: &str =
    "SELECT u.*,UNIX_TIMESTAMP(password_last_changed) AS password_changed_at FROM mysql.user AS u";

/// Tables of what accounts and roles may do.
pub(super) const GRANTS: [&str; 7] = [
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "global_grants",
    "role_edges",
    "default_roles",
];

/// The accounts in rows of `user`. Roles are among them: locked, and without a password.
pub(super) fn accounts(rows: &[Row], facts: &Facts, privileges: &mut Sums) -> Vec<Found> {
    let column = |row: &Row, name: &str| text(row, name).unwrap_or_default();
    for row in rows {
        let name = (column(row, "User"), column(row, "Host"));
        privileges.note(name, sum(privileges_in(row)));
    }
    rows.iter()
        .map(|row| {
            let name = (column(row, "User"), column(row, "Host"));
            Found {
                credential: credential(row),
                standing: standing(row, facts),
                requires: match column(row, "ssl_type").as_str() {
                    "" => Requires::Nothing,
                    "ANY" => Requires::Ssl,
                    "X509" => Requires::X509,
                    _ => Requires::Certain(Box::new(certain(row))),
                },
                privileges: privileges.of(&name),
                name: AccountName::new(name.0, name.1),
            }
        })
        .collect()
}

/// The global privileges that have a column each, and what is taken away of them again.
fn privileges_in(row: &Row) -> Vec<Option<String>> {
    let columns = row.columns_ref().iter();
    let names = columns.map(|column| column.name_str().into_owned());
    let names = names.filter(|name| name.ends_with("_priv") || name == "User_attributes");
    names.map(|name| text(row, &name)).collect()
}

fn credential(row: &Row) -> Credential {
    let column = |name| text(row, name).unwrap_or_default();
    // One of its ways alone would not be enough.
    if column("User_attributes").contains(MULTI_FACTOR) {
        return Credential::Other(MULTI_FACTOR.into());
    }
    let stored = column("authentication_string");
    match column("plugin").as_str() {
        "mysql_native_password" => Credential::native(&stored),
        "caching_sha2_password" => Credential::sha2(&stored),
        other => Credential::Other(other.into()),
    }
}

fn certain(row: &Row) -> Certain {
    let named = |name| text(row, name).filter(|text| !text.is_empty());
    Certain {
        certificate: true,
        cipher: named("ssl_cipher"),
        subject: named("x509_subject"),
        issuer: named("x509_issuer"),
    }
}

fn standing(row: &Row, facts: &Facts) -> Standing {
    let is = |column| text(row, column).is_some_and(|value| value == "Y");
    if is("account_locked") {
        return Standing::Locked;
    }
    let seconds = |column| text(row, column).and_then(|text| text.parse::<u64>().ok());
    let expired = is("password_expired")
        || seconds("password_changed_at")
            .is_some_and(|changed| facts.has_expired(changed, seconds("password_lifetime")));
    if expired {
        Standing::Expired
    } else {
        Standing::Open
    }
}
