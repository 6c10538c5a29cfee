//! What differs between two configurations: what can be put in force while the process runs, and
//! what waits for the next start. Owns the list of keys; applying is done elsewhere.

use crate::Settings;

/// What differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// `[[quota]]` or `[[schema]]`: can be put in force at once.
    pub quotas: bool,
    /// The files that certificates, keys and authorities are read from: they are read again in any case.
    pub certificates: bool,
    /// Keys that hold from the next start on.
    pub at_next_start: Vec<&'static str>,
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

macro_rules! differing {
    ($old:ident, $new:ident: $($section:ident { $($key:ident)* })*) => {
        [$($((concat!(stringify!($section), ".", stringify!($key)), $old.$section.$key != $new.$section.$key),)*)*]
    };
}

impl Settings {
    /// What `new` says otherwise.
    pub fn changes(&self, new: &Self) -> Changes {
        let old = self;
        let keys = differing!(old, new:
            server {
                listen listen_backlog workers max_connections max_logins max_connect_errors core_dump memlock
                default_authentication_plugin login_timeout idle_transaction_timeout client_write_timeout wait_timeout answer_buffer
                answer_buffer_total max_allowed_packet compression drain_timeout on_disconnect driver
            }
            backend {
                address tls min_connections max_connections connect_timeout queue_timeout lane_stall idle_timeout max_age
                max_pinned max_pinned_per_account max_relayed_per_account max_prepared_statements server_version
            }
            tls { mode }
            proxy_protocol { networks }
            admin { http sql tls accounts }
            log { level format }
        );
        let monitor = ("monitor", old.monitor != new.monitor);
        let accounts = ("account", old.accounts != new.accounts);
        let keys = keys.into_iter().chain([monitor, accounts]);
        let files = differing!(old, new:
            tls { certificate key client_ca }
            backend { tls_ca tls_certificate tls_key }
        );
        Changes {
            certificates: files.into_iter().any(|(_, differs)| differs),
            quotas: old.quotas != new.quotas || old.schemas != new.schemas,
            at_next_start: keys
                .filter_map(|(key, differs)| differs.then_some(key))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{default_toml, parse};

    fn settings(text: &str) -> Settings {
        parse(text, "f").unwrap()
    }

    #[test]
    fn quotas_change_at_once_and_the_rest_at_the_next_start() {
        let old = settings("[server]\nworkers = 2\n[[quota]]\nmax_queued = 4\n");
        assert!(old.changes(&old).is_empty());
        let new = settings(
            "[server]\nworkers = 3\n[[account]]\nuser = \"a\"\n[[quota]]\nmax_queued = 5\n",
        );
        let expected = Changes {
            quotas: true,
            certificates: false,
            at_next_start: vec!["server.workers", "account"],
        };
        assert_eq!(old.changes(&new), expected);
        let schema = settings(
            "[server]\nworkers = 2\n[[quota]]\nmax_queued = 4\n[[schema]]\nname = \"s\"\n",
        );
        assert_eq!(
            old.changes(&schema),
            Changes {
                quotas: true,
                ..Changes::default()
            }
        );
    }

    #[test]
    fn every_key_of_the_default_configuration_is_compared() {
        let source = include_str!("changes.rs");
        let mut section = "";
        let mut missing = BTreeSet::new();
        for line in default_toml().lines() {
            let bare = line.trim_start_matches(['#', ' ']);
            if let Some(header) = bare.strip_prefix('[') {
                section = header.trim_matches(['[', ']']);
            }
            let Some((key, _)) = bare.split_once(" = ") else {
                continue;
            };
            let is_key = key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let is_listed = source.split([' ', '\n']).any(|word| word == key);
            if is_key
                && !["account", "monitor", "admin.account", "quota", "schema"].contains(&section)
                && !is_listed
            {
                missing.insert(key);
            }
        }
        assert_eq!(missing, BTreeSet::new());
    }
}
