//! Variables by which others change without a word from the server: the tracker tells of the one that was set.
//!
//! Found by setting each variable of a session and comparing all of them, on MariaDB 10.5 to 11.8 and MySQL 8.0 and 9.7.

/// Variables that belong together, in the order in which they have to be set.
#[derive(Clone, Copy)]
pub(crate) enum Coupled {
    /// Each replaces what the others have set: the last of them says it all.
    Same(&'static [&'static str]),
    /// The first replaces what the others have set. Each of those changes a part of it.
    Part(&'static [&'static str]),
}

const COUPLED: [Coupled; 15] = [
    Coupled::Same(&["alter_algorithm", "old_alter_table"]),
    Coupled::Same(&["character_set_server", "collation_server"]),
    Coupled::Same(&["default_storage_engine", "storage_engine"]),
    Coupled::Same(&["log_slow_min_examined_row_limit", "min_examined_row_limit"]),
    Coupled::Same(&["log_slow_query", "slow_query_log"]),
    Coupled::Same(&["log_slow_query_time", "long_query_time"]),
    Coupled::Same(&["max_delayed_threads", "max_insert_delayed_threads"]),
    Coupled::Same(&["tmp_memory_table_size", "tmp_table_size"]),
    Coupled::Same(&["transaction_isolation", "tx_isolation"]),
    Coupled::Same(&["transaction_read_only", "tx_read_only"]),
    Coupled::Same(&["wsrep_causal_reads", "wsrep_sync_wait"]),
    Coupled::Part(&["log_slow_filter", "log_queries_not_using_indexes"]),
    Coupled::Part(&[
        "log_slow_disabled_statements",
        "log_slow_admin_statements",
        "log_slow_slave_statements",
    ]),
    Coupled::Part(&["max_join_size", "sql_big_selects"]),
    Coupled::Part(&["old_mode", "old"]),
];

impl Coupled {
    /// Those that a variable belongs to, if there are others.
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        COUPLED
            .into_iter()
            .find(|coupled| coupled.names().any(|other| other == name))
    }

    /// All of them.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static [u8]> {
        let (Self::Same(names) | Self::Part(names)) = self;
        names.iter().map(|name| name.as_bytes())
    }

    /// What the others have set and this one, which is among them, replaces.
    pub(crate) fn replaced_by(self, name: &[u8]) -> impl Iterator<Item = &'static [u8]> {
        let replaces = matches!(self, Self::Same(_)) || self.names().next() == Some(name);
        let others = self.names().filter(move |&other| other != name);
        others.filter(move |_| replaces)
    }

    /// The names of one variable, if that is what these are.
    pub(crate) fn of_one(name: &[u8]) -> impl Iterator<Item = &'static [u8]> {
        let coupled = Self::of(name).filter(|coupled| matches!(coupled, Self::Same(_)));
        coupled.into_iter().flat_map(Self::names)
    }

    /// True if a variable has to be set behind another one.
    pub(crate) fn is_late(name: &[u8]) -> bool {
        let coupled = Self::of(name);
        coupled.is_some_and(|it| matches!(it, Self::Part([first, ..]) if first.as_bytes() != name))
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
