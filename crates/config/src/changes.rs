//! What differs between two configurations, and what of another one can be put in force while the process runs.
//! Owns the list of keys; applying is done elsewhere.

use crate::Settings;

macro_rules! differing {
    ($old:ident, $new:ident: $($section:ident { $($key:ident)* })*; $($whole:ident: $name:literal)*) => {
        [
            $($((concat!(stringify!($section), ".", stringify!($key)), $old.$section.$key != $new.$section.$key),)*)*
            $(($name, $old.$whole != $new.$whole),)*
        ]
    };
}

impl Settings {
    /// The keys of which `new` says something else.
    pub fn changes(&self, new: &Self) -> Vec<&'static str> {
        let old = self;
        let keys = differing!(old, new:
            server {
                listen listen_backlog workers max_connections max_logins max_connect_errors connect_errors_exempt core_dump memlock
                default_authentication_plugin login_timeout idle_transaction_timeout client_write_timeout client_read_timeout
                wait_timeout answer_buffer answer_buffer_total command_buffer_total session_buffer_total max_allowed_packet compression drain_timeout on_disconnect driver
            }
            tls { mode certificate key client_ca }
            proxy_protocol { networks }
            backend {
                address tls tls_ca tls_certificate tls_key min_connections max_connections connect_timeout queue_timeout lane_stall
                idle_timeout max_age max_pinned max_pinned_per_account max_relayed_per_account max_prepared_statements restless
                server_version
            }
            admin { http sql tls accounts }
            log { level format };
            monitor: "monitor"
            accounts: "account"
            quotas: "quota"
            schemas: "schema"
        );
        let keys = keys.into_iter();
        keys.filter_map(|(key, differs)| differs.then_some(key))
            .collect()
    }

    /// What holds if `new` is to be put in force while these do: what can be at once is as there, the rest waits for
    /// the next start and is as here.
    #[must_use]
    pub fn taking_over(&self, new: &Self) -> Self {
        let mut backend = self.backend.clone();
        // They belong to a way of connecting, which stays.
        if new.backend.tls == backend.tls {
            backend.tls_ca.clone_from(&new.backend.tls_ca);
            backend
                .tls_certificate
                .clone_from(&new.backend.tls_certificate);
            backend.tls_key.clone_from(&new.backend.tls_key);
        }
        let mut server = self.server.clone();
        server
            .connect_errors_exempt
            .clone_from(&new.server.connect_errors_exempt);
        // Without it nothing reads the database's accounts, and that is begun with the process.
        let monitor = self.monitor.as_ref().zip(new.monitor.as_ref());
        let monitor = monitor.map_or(&self.monitor, |_| &new.monitor);
        Self {
            monitor: monitor.clone(),
            tls: new.tls.clone(),
            proxy_protocol: new.proxy_protocol.clone(),
            server,
            backend,
            accounts: new.accounts.clone(),
            quotas: new.quotas.clone(),
            schemas: new.schemas.clone(),
            ..self.clone()
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
    fn some_change_at_once_and_the_rest_at_the_next_start() {
        let old = settings("[server]\nworkers = 2\n[[quota]]\nmax_queued = 4\n");
        assert_eq!(old.changes(&old), [""; 0]);
        let new = settings(
            "[server]\nworkers = 3\nconnect_errors_exempt = [\"10.0.0.0/8\"]\n[tls]\nmode = \"require\"\n[proxy_protocol]\nnetworks = [\"10.0.0.0/8\"]\n\
             [monitor]\nuser = \"m\"\n[[account]]\nuser = \"a\"\n[[quota]]\nmax_queued = 5\n\
             [[schema]]\nname = \"s\"\n",
        );
        let in_force = old.taking_over(&new);
        assert_eq!(
            old.changes(&in_force),
            [
                "server.connect_errors_exempt",
                "tls.mode",
                "proxy_protocol.networks",
                "account",
                "quota",
                "schema",
            ]
        );
        assert_eq!(in_force.changes(&new), ["server.workers", "monitor"]);
    }

    #[test]
    fn the_account_that_reads_the_others_changes_but_does_not_come_or_go() {
        let one = settings("[monitor]\nuser = \"one\"\n");
        let other = settings("[monitor]\nuser = \"other\"\n");
        assert_eq!(one.taking_over(&other), other);
        assert_eq!(one.taking_over(&Settings::default()), one);
    }

    #[test]
    fn files_of_another_way_to_connect_wait_with_it() {
        let new = settings("[backend]\ntls = \"verify_ca\"\ntls_ca = \"ca.pem\"\n");
        let old = Settings::default();
        assert_eq!(old.taking_over(&new), old);
        let other = settings("[backend]\ntls = \"verify_ca\"\ntls_ca = \"other.pem\"\n");
        assert_eq!(new.taking_over(&other), other);
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
