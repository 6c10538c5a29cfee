//! The settings in force, as names and values in the words of the file. Passwords are not among them,
//! nor are accounts and quotas, which have tables of their own.

use std::num::NonZero;
use std::time::Duration;

use crate::Settings;
use crate::network::Network;
use crate::server::{COMPRESSION, DRIVERS, ON_DISCONNECT, PLUGINS, SWITCH};
use crate::tls::{BACKEND, MODES, show};
use crate::units::{show_duration, show_size};

impl Settings {
    /// Every key that occurs once, with its value as it could be written, without quotes.
    pub fn entries(&self) -> Vec<(String, String)> {
        let parts = [
            ("server", self.server_entries()),
            ("tls", self.tls_entries()),
            ("proxy_protocol", self.proxy_protocol_entries()),
            ("backend", self.backend_entries()),
            ("admin", self.admin_entries()),
            ("log", self.log_entries()),
        ];
        let mut entries = Vec::new();
        for (section, keys) in parts {
            let keys = keys.into_iter();
            entries.extend(keys.map(|(key, value)| (format!("{section}.{key}"), value)));
        }
        entries
    }

    fn server_entries(&self) -> Vec<(&'static str, String)> {
        let server = &self.server;
        let listen: Vec<_> = server.listen.iter().map(ToString::to_string).collect();
        vec![
            ("listen", listen.join(", ")),
            ("listen_backlog", server.listen_backlog.to_string()),
            ("workers", or_zero(server.workers)),
            ("max_connections", server.max_connections.to_string()),
            ("max_logins", or_zero(server.max_logins)),
            ("max_connect_errors", or_zero(server.max_connect_errors)),
            (
                "connect_errors_exempt",
                networks(&server.connect_errors_exempt),
            ),
            ("core_dump", word(&SWITCH, &server.core_dump)),
            ("memlock", word(&SWITCH, &server.memlock)),
            (
                "default_authentication_plugin",
                word(&PLUGINS, &server.default_authentication_plugin),
            ),
            ("login_timeout", show_duration(server.login_timeout)),
            (
                "idle_transaction_timeout",
                or_never(server.idle_transaction_timeout),
            ),
            (
                "client_write_timeout",
                show_duration(server.client_write_timeout),
            ),
            (
                "client_read_timeout",
                show_duration(server.client_read_timeout),
            ),
            ("wait_timeout", or_never(server.wait_timeout)),
            ("answer_buffer", size(server.answer_buffer)),
            ("answer_buffer_total", size(server.answer_buffer_total)),
            (
                "command_buffer_total",
                size_or_zero(server.command_buffer_total),
            ),
            (
                "session_buffer_total",
                size_or_zero(server.session_buffer_total),
            ),
            ("max_allowed_packet", size(server.max_allowed_packet)),
            ("compression", word(&COMPRESSION, &server.compression)),
            ("drain_timeout", show_duration(server.drain_timeout)),
            ("on_disconnect", word(&ON_DISCONNECT, &server.on_disconnect)),
            ("driver", word(&DRIVERS, &server.driver)),
        ]
    }

    fn tls_entries(&self) -> Vec<(&'static str, String)> {
        let tls = &self.tls;
        vec![
            ("mode", word(&MODES, &tls.mode)),
            ("certificate", show(tls.certificate.as_deref())),
            ("key", show(tls.key.as_deref())),
            ("client_ca", show(tls.client_ca.as_deref())),
        ]
    }

    fn proxy_protocol_entries(&self) -> Vec<(&'static str, String)> {
        vec![("networks", networks(&self.proxy_protocol.networks))]
    }

    fn backend_entries(&self) -> Vec<(&'static str, String)> {
        let backend = &self.backend;
        vec![
            ("address", backend.address.to_string()),
            ("tls", word(&BACKEND, &backend.tls)),
            ("tls_ca", show(backend.tls_ca.as_deref())),
            ("tls_certificate", show(backend.tls_certificate.as_deref())),
            ("tls_key", show(backend.tls_key.as_deref())),
            ("min_connections", backend.min_connections.to_string()),
            ("max_connections", backend.max_connections.to_string()),
            ("connect_timeout", show_duration(backend.connect_timeout)),
            ("queue_timeout", show_duration(backend.queue_timeout)),
            ("idle_timeout", or_never(backend.idle_timeout)),
            ("max_age", or_never(backend.max_age)),
            ("max_pinned", or_zero(backend.max_pinned)),
            (
                "max_pinned_per_account",
                or_zero(backend.max_pinned_per_account),
            ),
            (
                "max_relayed_per_account",
                backend.max_relayed_per_account.to_string(),
            ),
            (
                "max_prepared_statements",
                backend.max_prepared_statements.to_string(),
            ),
            ("lane_stall", or_never(backend.lane_stall)),
            ("restless", word(&SWITCH, &backend.restless)),
            (
                "server_version",
                backend.server_version.clone().unwrap_or_default(),
            ),
        ]
    }

    fn admin_entries(&self) -> Vec<(&'static str, String)> {
        let address = |address: Option<std::net::SocketAddr>| {
            address.map_or_else(String::new, |address| address.to_string())
        };
        vec![
            ("http", address(self.admin.http)),
            ("sql", address(self.admin.sql)),
            ("tls", word(&MODES, &self.admin.tls)),
        ]
    }

    fn log_entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("level", self.log.level.as_str().to_owned()),
            ("format", self.log.format.as_str().to_owned()),
        ]
    }
}

fn networks(networks: &[Network]) -> String {
    let written: Vec<_> = networks.iter().map(ToString::to_string).collect();
    written.join(", ")
}

fn or_zero(number: Option<NonZero<u32>>) -> String {
    number.map_or(0, NonZero::get).to_string()
}

fn size_or_zero(bytes: Option<NonZero<usize>>) -> String {
    bytes.map_or_else(|| "0".to_owned(), |bytes| size(bytes.get()))
}

fn or_never(duration: Option<Duration>) -> String {
    show_duration(duration.unwrap_or_default())
}

fn size(bytes: usize) -> String {
    show_size(bytes).trim_matches('"').to_owned()
}

fn word<T: PartialEq>(words: &[(&str, T)], value: &T) -> String {
    let found = words.iter().find(|(_, meaning)| meaning == value);
    found.map_or("", |(word, _)| word).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{default_toml, parse};

    #[test]
    fn every_key_is_shown_as_the_default_configuration_has_it() {
        let entries = Settings::default().entries();
        let mut shown: BTreeMap<_, _> = entries.into_iter().collect();
        let mut section = "";
        for line in default_toml().lines() {
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_end_matches(']');
            }
            let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let name = format!("{section}.{key}");
            let value = value.trim_matches(['[', ']']).trim_matches('"');
            // A duration of a day and less may be in another unit.
            let found = shown.remove(&name).expect(&name);
            let same = found == value || same_duration(&found, value);
            assert!(same, "{name}: {found} for {value}");
        }
        let keys: Vec<_> = shown.into_iter().collect();
        let expected = ["admin.http", "admin.sql"];
        assert_eq!(keys, expected.map(|key| (key.to_owned(), String::new())));
    }

    fn same_duration(a: &str, b: &str) -> bool {
        let read = crate::units::duration;
        read(a).is_ok_and(|a| read(b).is_ok_and(|b| a == b))
    }

    #[test]
    fn no_password_is_shown() {
        let text = "[admin]\nsql = \"127.0.0.1:1\"\n[[admin.account]]\nuser = \"a\"\n\
                    password = \"hidden\"\n[[account]]\nuser = \"b\"\npassword = \"hidden\"\n";
        let entries = parse(text, "f").unwrap().entries();
        assert!(entries.contains(&("admin.sql".to_owned(), "127.0.0.1:1".to_owned())));
        assert!(!format!("{entries:?}").contains("hidden"));
    }
}
