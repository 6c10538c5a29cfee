//! Accounts as MariaDB keeps them: `mysql.global_priv`, a JSON object each.
//!
//! Source: "mysql.global_priv Table" in its manual, and its tables.

use accounts::{Certain, Credential, Found, OtherPlugin, Requires, Standing, Vouchers};
use admission::AccountName;
use mysql_async::Row;
use serde_json::Value;

use super::facts::Facts;
use super::rows::text;
use super::sums::{Sums, sum};

pub(super) const USERS: &str = "global_priv";

/// Whether there is such a table, or the version says so; and that.
pub(super) const IS_MARIADB: &str = "SELECT VERSION() LIKE '%MariaDB%' OR EXISTS(SELECT 1 FROM \
     information_schema.TABLES WHERE TABLE_SCHEMA='mysql' AND TABLE_NAME='global_priv'),VERSION()";

/// Its rows.
pub(super) const ROWS: &str = "SELECT User,Host,Priv FROM mysql.global_priv";

/// Tables of what accounts and roles may do.
pub(super) const GRANTS: [&str; 5] = [
    "db",
    "tables_priv",
    "columns_priv",
    "procs_priv",
    "roles_mapping",
];

/// `mysql_native_password` is what an account has that says nothing.
const NATIVE: &str = "mysql_native_password";

/// The accounts in rows of `global_priv`. A row that cannot be read is an account that nobody can be.
pub(super) fn accounts(rows: &[Row], facts: &Facts, privileges: &mut Sums) -> Vec<Found> {
    let column = |row: &Row, name| text(row, name).unwrap_or_default();
    let each = rows.iter().map(|row| {
        let name = (column(row, "User"), column(row, "Host"));
        let object = serde_json::from_str(&column(row, "Priv")).unwrap_or(Value::Null);
        (name, object)
    });
    let each: Vec<((String, String), Value)> = each.collect();
    for (name, object) in &each {
        let may = (number(&object["access"]), object["default_role"].as_str());
        privileges.note(name.clone(), sum(may));
        if object["is_role"] == true {
            privileges.is_role(name.clone());
        }
    }
    let users = each.iter().filter(|(_, object)| object["is_role"] != true);
    users
        .map(|(name, object)| Found {
            credential: credential(object),
            standing: standing(object, facts),
            requires: requires(object),
            privileges: privileges.of(name),
            name: AccountName::new(&name.0, &name.1),
        })
        .collect()
}

fn number(value: &Value) -> String {
    value.to_string()
}

/// Of several ways to prove itself, which the database asks for one after the other, one that says what becomes
/// of it: where all can be, they are handed on; else the one that can be checked here.
fn credential(object: &Value) -> Credential {
    if !object.is_object() {
        return Credential::Nothing;
    }
    let alternatives = object["auth_or"].as_array();
    let ways: Vec<&Value> = match alternatives {
        // An empty one stands for what the account has beside the list.
        Some(list) => list
            .iter()
            .map(|way| {
                if way["plugin"].is_string() {
                    way
                } else {
                    object
                }
            })
            .collect(),
        None => vec![object],
    };
    let plugin = |way: &Value| way["plugin"].as_str().unwrap_or(NATIVE).to_owned();
    let stored = |way: &Value| {
        way["authentication_string"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let known: Vec<_> = ways.iter().map(|way| (plugin(way), stored(way))).collect();
    let (natives, others): (Vec<&Value>, Vec<&Value>) =
        ways.into_iter().partition(|way| plugin(way) == NATIVE);
    let mut natives = natives.iter().map(|way| Credential::native(&stored(way)));
    let native = natives.find(|credential| !matches!(credential, Credential::Nothing));
    let vouchers = Vouchers::stored(known.iter().map(|(plugin, stored)| (&**plugin, &**stored)));
    let others = others.iter().map(|way| {
        Credential::Other(OtherPlugin {
            name: plugin(way).into(),
            vouchers: vouchers.clone(),
        })
    });
    let (relayed, unrelayed): (Vec<_>, Vec<_>) =
        others.partition(|credential| credential.relayed().is_some());
    let relayed = relayed.into_iter().next();
    let either = match unrelayed.into_iter().next() {
        Some(unrelayed) => native.or(Some(unrelayed)),
        None => relayed.or(native),
    };
    either.unwrap_or(Credential::Nothing)
}

fn standing(object: &Value, facts: &Facts) -> Standing {
    if object["account_locked"] == true {
        return Standing::Locked;
    }
    let lifetime = object["password_lifetime"].as_i64();
    let lifetime = lifetime.and_then(|days| u64::try_from(days).ok());
    let expired = match object["password_last_changed"].as_u64() {
        Some(0) => true,
        Some(changed) => facts.has_expired(changed, lifetime),
        None => false,
    };
    if expired {
        Standing::Expired
    } else {
        Standing::Open
    }
}

fn requires(object: &Value) -> Requires {
    match object["ssl_type"].as_i64() {
        Some(1) => Requires::Ssl,
        Some(2) => Requires::X509,
        Some(3..) => Requires::Certain(Box::new(certain(object))),
        _ => Requires::Nothing,
    }
}

fn certain(object: &Value) -> Certain {
    let named = |name: &str| {
        let text = object[name].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    Certain {
        certificate: false,
        cipher: named("ssl_cipher"),
        subject: named("x509_subject"),
        issuer: named("x509_issuer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> String {
        match credential(&serde_json::from_str(text).unwrap()) {
            Credential::Other(plugin) => format!("Other {}", plugin.name),
            credential => format!("{credential:?}"),
        }
    }

    #[test]
    fn several_ways_are_asked_for_as_the_server_does_or_one_is_enough() {
        let hash = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        let native =
            format!(r#""plugin":"mysql_native_password","authentication_string":"{hash}""#);
        for (object, expected) in [
            ("{}".to_owned(), "Password"),
            (format!("{{{native}}}"), "Native"),
            (
                format!(r#"{{{native},"auth_or":[{{"plugin":"unix_socket"}},{{}}]}}"#),
                "Native",
            ),
            (
                format!(r#"{{"plugin":"ed25519","auth_or":[{{}},{{{native}}}]}}"#),
                "Other ed25519",
            ),
            (
                format!(r#"{{{native},"auth_or":[{{}},{{"plugin":"ed25519"}}]}}"#),
                "Other ed25519",
            ),
            (
                format!(
                    r#"{{{native},"auth_or":[{{"plugin":"ed25519"}},{{}},{{"plugin":"unix_socket"}}]}}"#
                ),
                "Native",
            ),
            (
                r#"{"plugin":"ed25519","auth_or":[{},{"plugin":"unix_socket"}]}"#.to_owned(),
                "Other unix_socket",
            ),
            (
                r#"{"plugin":"unix_socket"}"#.to_owned(),
                "Other unix_socket",
            ),
            (
                r#"{"authentication_string":"invalid","auth_or":[{},{"plugin":"unix_socket"}]}"#
                    .to_owned(),
                "Other unix_socket",
            ),
            (
                r#"{"authentication_string":"invalid"}"#.to_owned(),
                "Nothing",
            ),
            ("3".to_owned(), "Nothing"),
        ] {
            assert_eq!(kind(&object), expected, "{object}");
        }
    }

    #[test]
    fn passwords_expire_by_hand_and_by_age() {
        let facts = Facts::at(1_000_000_000, 10);
        for (object, expected) in [
            ("{}", Standing::Open),
            (r#"{"password_last_changed":0}"#, Standing::Expired),
            (r#"{"password_last_changed":999999999}"#, Standing::Open),
            (r#"{"password_last_changed":900000000}"#, Standing::Expired),
            (
                r#"{"password_last_changed":900000000,"password_lifetime":-1}"#,
                Standing::Expired,
            ),
            (
                r#"{"password_last_changed":900000000,"password_lifetime":0}"#,
                Standing::Open,
            ),
            (
                r#"{"password_last_changed":999000000,"password_lifetime":1}"#,
                Standing::Expired,
            ),
            (
                r#"{"account_locked":true,"password_last_changed":0}"#,
                Standing::Locked,
            ),
        ] {
            let object: Value = serde_json::from_str(object).unwrap();
            assert_eq!(standing(&object, &facts), expected, "{object}");
        }
    }
}
