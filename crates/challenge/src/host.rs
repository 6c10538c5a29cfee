//! Settings of the host that a challenge needs, and whoever may change them.

use serde::{Deserialize, Serialize};

/// How many connections may wait until they are accepted.
const BACKLOG: u64 = 4_096;
/// Threads that are none of the database's, generously.
const OTHER_THREADS: u64 = 5_000;
const OTHER_MAPPINGS: u64 = 10_000;

/// A setting that should have another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its name, such as `kernel.pid_max`.
    pub key: &'static str,
    /// The value it should have.
    pub value: String,
    /// What for.
    pub why: &'static str,
}

/// A setting that was changed, and will be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its name.
    pub key: String,
    /// What it was.
    pub before: String,
    /// What it is during the challenge.
    pub after: String,
}

/// Whoever may change settings of the host.
pub trait Host {
    /// The value of a setting; `None` if there is no such one here.
    fn read(&self, key: &str) -> Option<String>;

    /// Changes settings as far as it may, and returns what was changed.
    ///
    /// # Errors
    /// What could not be changed although it should have been possible, in words.
    fn change(&mut self, needs: &[Need]) -> Result<Vec<Change>, String>;

    /// Puts everything back.
    ///
    /// # Errors
    /// What could not be put back, in words that say how to do it by hand.
    fn restore(&mut self) -> Result<(), String>;
}

/// What has to be changed for `most` connections, of which the database alone gets up to `alone`.
pub(crate) fn needs(host: &dyn Host, most: u64, alone: u64) -> Vec<Need> {
    let threads = "a thread for each connection of the database";
    let numbers = [
        ("kernel.pid_max", alone + OTHER_THREADS, threads),
        ("kernel.threads-max", alone + OTHER_THREADS, threads),
        (
            "vm.max_map_count",
            alone * 2 + OTHER_MAPPINGS,
            "the stacks of these threads",
        ),
        ("net.core.somaxconn", BACKLOG, "many connections at once"),
        (
            "net.ipv4.tcp_max_syn_backlog",
            BACKLOG,
            "many connections at once",
        ),
        (
            "net.netfilter.nf_conntrack_max",
            most * 2,
            "each connection is tracked",
        ),
    ];
    let mut needs: Vec<Need> = numbers
        .into_iter()
        .filter_map(|(key, least, why)| {
            let now: u64 = host.read(key)?.trim().parse().ok()?;
            let value = least.to_string();
            (now < least).then_some(Need { key, value, why })
        })
        .collect();
    needs.extend(socket_memory(host, most));
    needs
}

/// Two pages for each connection may be on their way without the kernel saving memory.
fn socket_memory(host: &dyn Host, most: u64) -> Option<Need> {
    let key = "net.ipv4.tcp_mem";
    let text = host.read(key)?;
    let now: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
    let [low, pressure, high] = now[..] else {
        return None;
    };
    let least = most * 2;
    (pressure < least).then(|| Need {
        key,
        value: format!("{} {least} {}", low.max(most), high.max(most * 3)),
        why: "answers on their way to all connections",
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A host that is made up.
    #[derive(Default)]
    pub(crate) struct MadeUp(pub(crate) BTreeMap<&'static str, &'static str>);

    impl Host for MadeUp {
        fn read(&self, key: &str) -> Option<String> {
            self.0.get(key).map(|value| (*value).to_owned())
        }

        fn change(&mut self, _: &[Need]) -> Result<Vec<Change>, String> {
            Ok(Vec::new())
        }

        fn restore(&mut self) -> Result<(), String> {
            Ok(())
        }
    }

    fn keys(
        values: &[(&'static str, &'static str)],
        most: u64,
        alone: u64,
    ) -> Vec<(String, String)> {
        let host = MadeUp(values.iter().copied().collect());
        let needs = needs(&host, most, alone).into_iter();
        needs
            .map(|need| (need.key.to_owned(), need.value))
            .collect()
    }

    #[test]
    fn only_what_is_too_small_is_to_be_changed() {
        let values = [
            ("kernel.pid_max", "32768\n"),
            ("kernel.threads-max", "192730"),
            ("net.core.somaxconn", "128"),
            ("vm.max_map_count", "65530"),
        ];
        assert_eq!(
            keys(&values, 100_000, 19_500),
            [("net.core.somaxconn".into(), "4096".into())]
        );
        let many = keys(&values, 100_000, 100_000);
        let expected = [
            ("kernel.pid_max", "105000"),
            ("vm.max_map_count", "210000"),
            ("net.core.somaxconn", "4096"),
        ];
        assert_eq!(
            many,
            expected.map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        assert_eq!(keys(&[], 1_000_000, 1_000_000), []);
        assert_eq!(keys(&[("net.ipv4.tcp_mem", "1 2")], 1_000_000, 0), []);
    }

    #[test]
    fn memory_of_sockets_grows_with_the_connections() {
        let value = [("net.ipv4.tcp_mem", "287901\t383868\t575802")];
        assert_eq!(keys(&value, 100_000, 0), []);
        let wanted = "1000000 2000000 3000000".to_owned();
        assert_eq!(
            keys(&value, 1_000_000, 0),
            [("net.ipv4.tcp_mem".to_owned(), wanted)]
        );
    }
}
