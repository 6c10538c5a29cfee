//! What everybody knows of the database: its accounts, schemas, collations, variables and what its
//! tables begin with. Owns no state.

use std::collections::BTreeMap;

/// Session variables by name, as the server shows them.
pub(crate) type Variables = BTreeMap<String, String>;

/// Who may log in, with which password.
pub(crate) const ACCOUNTS: [(&str, &str); 2] = [("app", "secret"), ("batch", "")];

/// Schemas with tables; the last one comes and goes.
pub(crate) const SCHEMAS: [&str; 3] = ["a", "b", "c"];

/// The schema that is dropped and made again.
pub(crate) const FICKLE: &str = "c";

/// Keys below this belong to all clients, the others to one each.
pub(crate) const SHARED_KEYS: u32 = 4;

/// Keys of one client.
pub(crate) const OWN_KEYS: u32 = 5;

/// What `wait_timeout` is until a session sets it.
pub(crate) const WAIT_TIMEOUT: &str = "28800";

/// The variable that clients set with SET GLOBAL, and never for their session alone.
pub(crate) const GLOBAL: &str = "lock_wait_timeout";

/// NULL, where a variable can be that.
pub(crate) const NULL: &str = "\0";

pub(crate) const TRACKING: &str = "session_track_";

/// Number, name and character set of the collations.
const COLLATIONS: [(u8, &str, &str); 6] = [
    (45, "utf8mb4_general_ci", "utf8mb4"),
    (46, "utf8mb4_bin", "utf8mb4"),
    (8, "latin1_swedish_ci", "latin1"),
    (47, "latin1_bin", "latin1"),
    (33, "utf8mb3_general_ci", "utf8mb3"),
    (28, "gbk_chinese_ci", "gbk"),
];

/// The number of the collation with this name.
pub(crate) fn number(collation: &str) -> Option<u8> {
    let known = COLLATIONS.iter().find(|&&(_, name, _)| name == collation);
    known.map(|&(id, ..)| id)
}

/// The number of the collation that results have. Servers tell it in column definitions alone; here it can be selected, too.
pub(crate) const RESULTS_COLLATION: &str = "collation_of_results";

/// Name and character set of the collation with this number.
pub(crate) fn collation(number: u8) -> Option<(&'static str, &'static str)> {
    let known = COLLATIONS.iter().find(|&&(id, ..)| id == number);
    known.map(|&(_, name, charset)| (name, charset))
}

/// Number, name and character set of all collations, and whether each is the first of its character set, which is the default.
pub(crate) fn collations() -> impl Iterator<Item = [String; 4]> {
    let default = |charset| COLLATIONS.iter().find(|&&(.., of)| of == charset);
    COLLATIONS.iter().map(move |known @ &(id, name, charset)| {
        let is_default = u8::from(default(charset) == Some(known));
        [
            id.to_string(),
            name.into(),
            charset.into(),
            is_default.to_string(),
        ]
    })
}

/// What is asked of a session besides variables, and the answers.
pub(crate) const CALLED: [(&str, &str); 3] = [
    ("CURRENT_ROLE()", NULL),
    ("HEX(@@global.init_connect)", ""),
    (
        "CASE WHEN 0 THEN '' /*M!110201 ELSE @@global.character_set_collations*/ END",
        NULL,
    ),
];

/// What `session_track_system_variables` is at first.
const TRACKED: &str =
    "autocommit,character_set_client,character_set_connection,character_set_results,time_zone";

/// What `sql_mode` is at first.
const SQL_MODE: &str = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION";

/// What a session's variables are at its beginning.
pub(crate) fn defaults(collation: u8) -> Variables {
    let plain = [
        ("autocommit", "ON"),
        ("foreign_key_checks", "ON"),
        ("group_concat_max_len", "1048576"),
        ("global.autocommit", "ON"),
        ("global.sql_auto_is_null", "OFF"),
        ("global.sql_mode", SQL_MODE),
        ("innodb_lock_wait_timeout", "50"),
        ("myisam_sort_buffer_size", "134216704"),
        ("sql_notes", "ON"),
        ("unique_checks", "ON"),
        ("global.log_bin", "OFF"),
        ("global.session_track_schema", "ON"),
        ("global.session_track_state_change", "OFF"),
        ("global.session_track_system_variables", TRACKED),
        ("global.wait_timeout", WAIT_TIMEOUT),
        ("global.interactive_timeout", WAIT_TIMEOUT),
        (GLOBAL, "86400"),
        ("max_statement_time", "0.000000"),
        ("session_track_schema", "ON"),
        ("session_track_state_change", "OFF"),
        ("session_track_system_variables", TRACKED),
        ("session_track_transaction_info", "OFF"),
        ("sql_auto_is_null", "OFF"),
        ("sort_buffer_size", "2097152"),
        ("sql_mode", SQL_MODE),
        ("time_zone", "SYSTEM"),
        ("tx_isolation", "REPEATABLE-READ"),
        ("wait_timeout", WAIT_TIMEOUT),
    ];
    let mut variables: Variables = plain
        .into_iter()
        .chain(CALLED)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let (name, charset) = self::collation(collation).unwrap_or((COLLATIONS[0].1, COLLATIONS[0].2));
    set_names(&mut variables, charset, Some(name));
    variables
}

/// `SET NAMES`. False if there is no such character set or collation.
pub(crate) fn set_names(variables: &mut Variables, charset: &str, collation: Option<&str>) -> bool {
    let fits = |&&(_, name, of): &&(u8, &str, &str)| {
        of == charset && collation.is_none_or(|wanted| wanted == name)
    };
    let Some(&(id, name, _)) = COLLATIONS.iter().find(fits) else {
        return false;
    };
    variables.insert(RESULTS_COLLATION.to_owned(), id.to_string());
    for variable in ["client", "connection", "results"] {
        variables.insert(format!("character_set_{variable}"), charset.to_owned());
    }
    variables.insert("collation_connection".to_owned(), name.to_owned());
    true
}

/// Sets one variable as the server would. `None` stands for DEFAULT. False if there is no such
/// variable.
pub(crate) fn set(variables: &mut Variables, name: &str, value: Option<&str>, login: u8) -> bool {
    if !variables.contains_key(name) {
        return false;
    }
    let value = value.map_or_else(
        || defaults(login).remove(name).unwrap_or_default(),
        |value| shown(name, value),
    );
    if name == "collation_connection" {
        let known = COLLATIONS.iter().find(|&&(_, of, _)| of == value);
        if let Some((_, _, charset)) = known {
            variables.insert("character_set_connection".to_owned(), (*charset).to_owned());
        }
    }
    if name == "character_set_results" {
        return set_results(variables, value);
    }
    variables.insert(name.to_owned(), value);
    true
}

/// `character_set_results` takes the number of a collation, too.
fn set_results(variables: &mut Variables, value: String) -> bool {
    let mut known = COLLATIONS.iter();
    let known = match value.parse::<u8>() {
        Ok(number) => known.find(|&&(id, ..)| id == number),
        Err(_) => known.find(|&&(_, _, charset)| charset == value),
    };
    let (id, charset) = match known {
        Some(&(id, _, charset)) => (id.to_string(), charset.to_owned()),
        None => (String::new(), value),
    };
    variables.insert(RESULTS_COLLATION.to_owned(), id);
    variables.insert("character_set_results".to_owned(), charset);
    true
}

/// What `SELECT @@name` says.
pub(crate) fn selected(name: &str, value: &str) -> String {
    match (is_switch(name), value) {
        (true, "ON") => "1".to_owned(),
        (true, _) => "0".to_owned(),
        (false, value) => value.to_owned(),
    }
}

/// What a tracker that is not sound tells in place of a variable: another flag, or nothing of one of a plugin.
pub(crate) fn mixed_up(name: &str) -> Option<&str> {
    match name {
        "foreign_key_checks" | "sql_notes" | "unique_checks" => Some("autocommit"),
        "innodb_lock_wait_timeout" | "myisam_sort_buffer_size" | "sort_buffer_size" => None,
        name => Some(name),
    }
}

/// The variables without those that only the front door sets.
pub(crate) fn without_tracking(variables: &Variables) -> Variables {
    let others = variables
        .iter()
        .filter(|(name, _)| !name.starts_with(TRACKING));
    others
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What a key of a schema's table says before anybody wrote it.
pub(crate) fn initial(schema: &str, key: u32) -> i64 {
    let schema = schema
        .bytes()
        .fold(0, |sum, byte| sum * 256 + i64::from(byte));
    schema * 1_000_000 + i64::from(key)
}

fn shown(name: &str, value: &str) -> String {
    match value {
        "1" if is_switch(name) => "ON".to_owned(),
        "0" if is_switch(name) => "OFF".to_owned(),
        _ if name == "max_statement_time" => {
            format!("{:.6}", value.parse::<f64>().unwrap_or_default())
        }
        _ => value.to_owned(),
    }
}

fn is_switch(name: &str) -> bool {
    matches!(
        name,
        "autocommit"
            | "foreign_key_checks"
            | "global.autocommit"
            | "global.log_bin"
            | "global.session_track_schema"
            | "global.sql_auto_is_null"
            | "global.session_track_state_change"
            | "session_track_schema"
            | "session_track_state_change"
            | "sql_auto_is_null"
            | "sql_notes"
            | "unique_checks"
    )
}
