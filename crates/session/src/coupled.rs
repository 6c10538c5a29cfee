//! Variables by which others change without a word from the server: the tracker tells of the one that was set.
//!
//! Found by setting each variable of a session and comparing all of them, on MariaDB 10.5 to 11.8 and MySQL 8.0 and 9.7.

/// Variables that belong together.
pub(crate) struct Coupled {
    /// Their names, in the order in which they have to be set.
    names: &'static [&'static [u8]],
    tie: Tie,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// Each replaces what the others have set: the last of them says it all.
    Same,
    /// The first replaces what the others have set. Each of those changes a part of it.
    Part,
}

const COUPLED: [Coupled; 15] = [
    Coupled::new(Tie::Same, &[b"alter_algorithm", b"old_alter_table"]),
    Coupled::new(Tie::Same, &[b"character_set_server", b"collation_server"]),
    Coupled::new(Tie::Same, &[b"default_storage_engine", b"storage_engine"]),
    Coupled::new(
        Tie::Same,
        &[
            b"log_slow_min_examined_row_limit",
            b"min_examined_row_limit",
        ],
    ),
    Coupled::new(Tie::Same, &[b"log_slow_query", b"slow_query_log"]),
    Coupled::new(Tie::Same, &[b"log_slow_query_time", b"long_query_time"]),
    Coupled::new(
        Tie::Same,
        &[b"max_delayed_threads", b"max_insert_delayed_threads"],
    ),
    Coupled::new(Tie::Same, &[b"tmp_memory_table_size", b"tmp_table_size"]),
    Coupled::new(Tie::Same, &[b"transaction_isolation", b"tx_isolation"]),
    Coupled::new(Tie::Same, &[b"transaction_read_only", b"tx_read_only"]),
    Coupled::new(Tie::Same, &[b"wsrep_causal_reads", b"wsrep_sync_wait"]),
    Coupled::new(
        Tie::Part,
        &[b"log_slow_filter", b"log_queries_not_using_indexes"],
    ),
    Coupled::new(
        Tie::Part,
        &[
            b"log_slow_disabled_statements",
            b"log_slow_admin_statements",
            b"log_slow_slave_statements",
        ],
    ),
    Coupled::new(Tie::Part, &[b"max_join_size", b"sql_big_selects"]),
    Coupled::new(Tie::Part, &[b"old_mode", b"old"]),
];

impl Coupled {
    const fn new(tie: Tie, names: &'static [&'static [u8]]) -> Self {
        Self { names, tie }
    }

    /// Those that a variable belongs to, if there are others.
    pub(crate) fn of(name: &[u8]) -> Option<&'static Self> {
        COUPLED.iter().find(|coupled| coupled.names.contains(&name))
    }

    /// All of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static [u8]> {
        self.names.iter().copied()
    }

    /// What the others have set and this one, which is among them, replaces.
    pub(crate) fn replaced_by(&self, name: &[u8]) -> impl Iterator<Item = &'static [u8]> {
        let replaces = self.tie == Tie::Same || self.names.first() == Some(&name);
        let others = self.names().filter(move |&other| other != name);
        others.filter(move |_| replaces)
    }

    /// The names of one variable, if that is what these are.
    pub(crate) fn of_one(name: &[u8]) -> impl Iterator<Item = &'static [u8]> {
        let coupled = Self::of(name).filter(|coupled| coupled.tie == Tie::Same);
        coupled.into_iter().flat_map(Self::names)
    }

    /// True if a variable has to be set behind another one.
    pub(crate) fn is_late(name: &[u8]) -> bool {
        let coupled = Self::of(name).filter(|coupled| coupled.tie == Tie::Part);
        coupled.is_some_and(|coupled| coupled.names.first() != Some(&name))
    }
}

/// True if a variable that the tracker tells is the one of this name: it may tell a synonym, in other letters.
#[must_use]
pub fn is_told_as(name: &[u8], told: &[u8]) -> bool {
    let same = |known: &[u8]| known.eq_ignore_ascii_case(told);
    // Its character set does not say which collation it is.
    let has_synonyms = name != b"collation_server";
    same(name) || has_synonyms && Coupled::of_one(name).any(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_under_another_name() {
        for (name, told, expected) in [
            ("long_query_time", "log_slow_query_time", true),
            ("tx_isolation", "transaction_isolation", true),
            ("wsrep_osu_method", "wsrep_OSU_method", true),
            ("foreign_key_checks", "autocommit", false),
            ("collation_server", "character_set_server", false),
            // Each says a part of the other.
            ("log_slow_filter", "log_queries_not_using_indexes", false),
        ] {
            assert_eq!(
                is_told_as(name.as_bytes(), told.as_bytes()),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn the_one_that_says_it_all_replaces_the_others() {
        for (name, expected) in [
            ("max_join_size", "sql_big_selects"),
            ("sql_big_selects", ""),
            ("long_query_time", "log_slow_query_time"),
            ("log_slow_query_time", "long_query_time"),
            (
                "log_slow_disabled_statements",
                "log_slow_admin_statements log_slow_slave_statements",
            ),
            ("log_slow_admin_statements", ""),
            ("sql_mode", ""),
        ] {
            let coupled = Coupled::of(name.as_bytes());
            let replaced = coupled
                .into_iter()
                .flat_map(|coupled| coupled.replaced_by(name.as_bytes()));
            let replaced: Vec<_> = replaced.map(|name| String::from_utf8_lossy(name)).collect();
            assert_eq!(replaced.join(" "), expected, "{name}");
        }
    }

    #[test]
    fn what_changes_a_part_is_set_behind_the_whole() {
        for (name, expected) in [
            ("old", true),
            ("old_mode", false),
            ("sql_big_selects", true),
            ("storage_engine", false),
            ("sql_mode", false),
        ] {
            assert_eq!(Coupled::is_late(name.as_bytes()), expected, "{name}");
        }
    }
}
