//! `SHOW VARIABLES`: the configuration, and what clients ask for by themselves when they connect.

use super::{Column, Row, text};

pub(super) const COLUMNS: &[Column] = &[text("Variable_name"), text("Value")];

/// What a client is told of a server that it takes this listener for.
const SYSTEM: [(&str, &str); 29] = [
    ("auto_increment_increment", "1"),
    ("autocommit", "ON"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("init_connect", ""),
    ("interactive_timeout", "3600"),
    ("license", "Apache-2.0"),
    ("lower_case_table_names", "0"),
    ("max_allowed_packet", "65536"),
    ("net_buffer_length", "16384"),
    ("net_write_timeout", "30"),
    ("performance_schema", "OFF"),
    ("read_only", "ON"),
    ("sql_mode", ""),
    ("sql_safe_updates", "OFF"),
    ("sql_select_limit", "18446744073709551615"),
    ("system_time_zone", "UTC"),
    ("time_zone", "SYSTEM"),
    ("transaction_isolation", "REPEATABLE-READ"),
    ("tx_isolation", "REPEATABLE-READ"),
    ("version", crate::sql::VERSION),
    ("version_comment", "Myriad, the listener for administrators"),
    ("wait_timeout", "3600"),
];

/// What a client that asks for a server's variable is told.
pub(crate) fn system_variable(name: &str) -> Option<&'static str> {
    let mut found = SYSTEM.iter();
    let (_, value) = found.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value)
}

pub(super) fn rows(configuration: Vec<(String, String)>) -> Vec<Row> {
    let configured = configuration.into_iter();
    let configured = configured.map(|(name, value)| vec![name.into(), value.into()]);
    let system = SYSTEM.iter();
    let system = system.map(|(name, value)| vec![(*name).into(), (*value).into()]);
    configured.chain(system).collect()
}
