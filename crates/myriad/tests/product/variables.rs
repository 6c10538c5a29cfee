//! Each variable that a session can set, one at a time: no other session has it then, and its own keeps it wherever it runs.
//! What the server's tracker tells of them is its own affair.

use std::collections::BTreeMap;

use crate::session_state::pinned;
use crate::support::{Address, Client, Database, FrontDoor, Login, Outcome, Server, eventually};

const COM_RESET_CONNECTION: u8 = 0x1f;

/// So many sessions are pinned as may be.
const TOO_MANY_PINNED: u16 = 1226;

/// Values by name.
type Values = BTreeMap<String, String>;

/// These change by themselves, or belong to the connection.
const VOLATILE: [&str; 14] = [
    "error_count",
    "gtid_seq_no",
    "identity",
    "in_transaction",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "statement_id",
    "timestamp",
    "tmp_table_count",
    "warning_count",
];

/// Values of variables that take no usual one, or whose usual ones end sessions.
const VALUES: [(&str, &str); 25] = [
    ("binlog_row_value_options", "'PARTIAL_JSON'"),
    ("block_encryption_mode", "'aes-256-cbc'"),
    ("character_set_collations", "'utf8mb4=utf8mb4_bin'"),
    ("default_collation_for_utf8mb4", "'utf8mb4_general_ci'"),
    ("default_week_format", "3"),
    ("explain_format", "'JSON'"),
    ("group_replication_consistency", "'BEFORE'"),
    ("innodb_ft_user_stopword_table", "'variables/stop'"),
    ("innodb_tmpdir", "'/tmp'"),
    ("lc_messages", "'en_GB'"),
    ("lc_time_names", "'en_GB'"),
    ("max_execution_time", "100000"),
    ("max_statement_time", "100"),
    ("optimizer_switch", "'index_merge=off'"),
    ("optimizer_trace", "'enabled=on'"),
    ("optimizer_trace_features", "'greedy_search=off'"),
    ("rbr_exec_mode", "'IDEMPOTENT'"),
    ("redirect_url", "'mysql://localhost:3306'"),
    ("resource_group", "''"),
    ("session_track_gtids", "'OWN_GTID'"),
    ("sql_mode", "'ANSI'"),
    ("system_versioning_asof", "'2020-01-01 00:00:00'"),
    ("terminology_use_previous", "'BEFORE_8_0_26'"),
    ("time_zone", "'+01:00'"),
    ("updatable_views_with_limit", "'NO'"),
];

/// Numbers of seconds or bytes that are as small as others' may be end statements.
const HALVED: [&str; 1] = ["max_session_mem_used"];

/// What takes more than a value to be set: other plugins, privileges, or settings of the server.
const NOT_SETTABLE: [&str; 17] = [
    "alter_algorithm",
    "binlog_direct_non_transactional_updates",
    "debug",
    "debug_dbug",
    "debug_sync",
    "default_master_connection",
    "external_table_storage_engine",
    "gtid_next",
    "gtid_next_list",
    "query_cache_type",
    "rand_seed1",
    "rand_seed2",
    "resultset_metadata",
    "wsrep_gtid_seq_no",
    "wsrep_on",
    "wsrep_trx_fragment_size",
    "wsrep_trx_fragment_unit",
];

/// MariaDB keeps these with a connection to a primary: whichever session sets them, all sessions see it, also directly.
const OF_REPLICATION: [&str; 2] = ["max_relay_log_size", "sql_slave_skip_counter"];

/// What is said of a variable that cannot be set for a session: it is global, or read only, or that for sessions.
const OF_OTHERS: [u16; 4] = [1228, 1229, 1238, 1621];

/// A way to set a variable, and all that it changes.
struct Setting {
    name: String,
    sql: String,
    changed: Values,
}

fn login() -> Login<'static> {
    Login {
        user: "admin",
        password: "all",
        ..Login::default()
    }
}

/// The first row of a result set; the error of a statement that fails.
fn row(client: &mut Client, sql: &str) -> Result<Vec<String>, u16> {
    match client.run(sql).remove(0) {
        Outcome::Rows(mut rows) => Ok(rows.remove(0)),
        Outcome::Ok(_) => Ok(Vec::new()),
        Outcome::Err(code, _) => Err(code),
    }
}

/// The row of a statement that may pin its session: Myriad may not have seen yet that the pinned session before has hung up.
fn row_of_pinned(client: &mut Client, sql: &str) -> Result<Vec<String>, u16> {
    eventually("a pin", || {
        let row = row(client, sql);
        (row != Err(TOO_MANY_PINNED)).then_some(row)
    })
}

/// What all variables are, but for those that change by themselves.
fn all(client: &mut Client, names: &[String]) -> Values {
    let columns: Vec<_> = names
        .iter()
        .map(|name| format!("@@session.{name}"))
        .collect();
    let values = row(client, &format!("SELECT {}", columns.join(","))).unwrap();
    names.iter().cloned().zip(values).collect()
}

fn differing(values: &Values, from: &Values) -> Values {
    let differs = |(name, value): &(&String, &String)| from.get(*name) != Some(*value);
    let differing = values.iter().filter(differs);
    differing
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The value of this name, if it is the case.
fn one_of(values: &Values, name: &str, is_so: bool) -> Values {
    let value = values.get(name).filter(|_| is_so);
    value
        .map(|value| (name.to_owned(), value.clone()))
        .into_iter()
        .collect()
}

/// The names of all variables of sessions, and the values that the server lists for each.
fn variables(client: &mut Client) -> Vec<(String, String)> {
    let sql = match Server::is_mariadb() {
        true => {
            "SELECT LOWER(VARIABLE_NAME), CONCAT_WS(',', ENUM_VALUE_LIST, NUMERIC_MAX_VALUE) \
             FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_SCOPE LIKE 'SESSION%' AND READ_ONLY = 'NO' ORDER BY 1"
        }
        false => "SELECT VARIABLE_NAME, '' FROM performance_schema.session_variables ORDER BY 1",
    };
    let Outcome::Rows(rows) = client.run(sql).remove(0) else {
        panic!("no list of variables");
    };
    let rows = rows
        .into_iter()
        .map(|mut row| (row.remove(0).to_lowercase(), row.remove(0)));
    // A file of its own has what the tracker is told to tell.
    rows.filter(|(name, _)| !name.starts_with("session_track_") || name.ends_with("gtids"))
        .filter(|(name, _)| !OF_REPLICATION.contains(&&name[..]))
        .collect()
}

/// Values that a variable might take that is this now.
fn candidates(name: &str, now: &str, listed: &str) -> Vec<String> {
    if let Some((_, value)) = VALUES.iter().find(|(known, _)| *known == name) {
        return vec![(*value).to_owned()];
    }
    let quoted = |value: &str| format!("'{value}'");
    let number = now.parse::<f64>().ok();
    if let (Some(number), true) = (number, HALVED.contains(&name)) {
        return vec![format!("{:.0}", number / 2.0)];
    }
    let mut values = Vec::new();
    if let Some(number) = number {
        let step = if name.contains("time") { 1000.0 } else { 1.0 };
        let near = [number + step, number - step, number * 2.0, number / 2.0];
        values.extend(near.map(|value| format!("{value:.0}")));
        values.extend(["4096", "1024", "2", "1", "0"].map(str::to_owned));
    }
    values.extend(
        listed
            .split(',')
            .filter(|value| !value.is_empty())
            .map(quoted),
    );
    let usual = [
        "latin1",
        "latin1_bin",
        "utf8mb4",
        "utf8mb4_bin",
        "MyISAM",
        "MEMORY",
        "ON",
        "OFF",
        "ROW",
        "MIXED",
        "STATEMENT",
        "MINIMAL",
        "SERIALIZABLE",
        "CHAIN",
        "COMMIT",
        "NULLS_EQUAL",
        "LAST_ROW",
        "WITHOUT",
        "STRICT",
        "FORCED",
        "RSU",
        "a",
    ];
    values.extend(usual.map(quoted));
    values
}

fn reset(client: &mut Client) {
    client.send(COM_RESET_CONNECTION, b"");
    client.answer().unwrap();
}

/// How each variable is set, and what that changes, as the server itself says.
fn settings(direct: &mut Client) -> (Vec<Setting>, Vec<String>) {
    let known = variables(direct);
    let mut names: Vec<_> = known.iter().map(|(name, _)| name.clone()).collect();
    names.retain(|name| {
        let readable = row(direct, &format!("SELECT @@session.{name}")).is_ok();
        readable && !VOLATILE.contains(&&name[..])
    });
    // MySQL has another collation then than after a login.
    reset(direct);
    let begin = all(direct, &names);
    let (mut settings, mut unknown) = (Vec::new(), Vec::new());
    for (name, listed) in &known {
        let read = format!("SELECT @@session.{name}");
        let value = |client: &mut Client| row(client, &read).ok().map(|mut row| row.remove(0));
        let Some(before) = value(direct) else {
            continue;
        };
        let mut of_others = false;
        let found = candidates(name, &before, listed)
            .into_iter()
            .find_map(|candidate| {
                let sql = format!("{name} = {candidate}");
                let set = row(direct, &format!("SET SESSION {sql}"));
                of_others |= set.as_ref().is_err_and(|code| OF_OTHERS.contains(code));
                let mut changed = match set {
                    Ok(_) if VOLATILE.contains(&&name[..]) => Values::new(),
                    Ok(_) => differing(&all(direct, &names), &begin),
                    Err(_) => return None,
                };
                let after = value(direct).filter(|after| *after != before);
                let stays = after.is_some() && value(direct) == after;
                changed.extend(after.map(|after| (name.clone(), after)));
                stays.then(|| Setting {
                    name: name.clone(),
                    sql,
                    changed,
                })
            });
        reset(direct);
        match found {
            Some(setting) => settings.push(setting),
            None if of_others || NOT_SETTABLE.contains(&&name[..]) => {}
            None => unknown.push(name.clone()),
        }
    }
    assert!(
        unknown.is_empty(),
        "this test knows no other value for: {}",
        unknown.join(", ")
    );
    (settings, names)
}

/// What is wrong with each variable behind a front door with these settings.
fn wrong(
    database: &Database,
    door: &[&str],
    restless: &str,
    found: &(Vec<Setting>, Vec<String>),
) -> Vec<String> {
    let restless = format!("backend.restless = \"{restless}\"");
    let settings = [door, &["server.workers = 1", &restless]].concat();
    let door = FrontDoor::start(database.address(), &settings);
    let client = || Client::login(&door.address(), &login()).unwrap();
    let (mut others, mut holder) = ([client(), client(), client()], client());
    let (settings, names) = found;
    let begin = all(&mut others[0], names);
    let mut direct = Client::login(database.address(), &login()).unwrap();
    assert_eq!(differing(&begin, &all(&mut direct, names)), Values::new());
    let mut wrong = Vec::new();
    for setting in settings {
        let Setting { name, sql, changed } = setting;
        let own = format!("SELECT @@session.{name}");
        let volatile = VOLATILE.contains(&&name[..]);
        let mut expected = begin.clone();
        expected.extend(changed.clone());
        let mut setter = client();
        row_of_pinned(&mut setter, &format!("SET SESSION {sql}")).unwrap();
        for other in &mut others {
            let leaked = match volatile {
                true => one_of(changed, name, other.value(&own) == changed[name]),
                false => differing(&all(other, names), &begin),
            };
            if !leaked.is_empty() {
                wrong.push(format!("leaked: {sql}: {leaked:?}"));
                break;
            }
        }
        // The connection that was used last is somebody else's now.
        for sql in ["BEGIN", "SELECT COUNT(*) FROM shop.customer"] {
            row(&mut holder, sql).unwrap();
        }
        let lost = match volatile {
            true => one_of(changed, name, setter.value(&own) != changed[name]),
            false => differing(&expected, &all(&mut setter, names)),
        };
        if !lost.is_empty() {
            wrong.push(format!("lost: {sql}: {lost:?}"));
        }
        row(&mut holder, "COMMIT").unwrap();
    }
    wrong
}

#[test]
fn each_variable_stays_with_the_session_that_has_set_it() {
    let database = Database::shared();
    database.execute(
        "DROP DATABASE IF EXISTS variables; CREATE DATABASE variables;
        CREATE TABLE variables.stop (value VARCHAR(30)) ENGINE = InnoDB",
    );
    let mut direct = Client::login(database.address(), &login()).unwrap();
    let found = settings(&mut direct);
    assert!(found.0.len() > 120, "only {} can be set", found.0.len());
    println!("{} variables are set", found.0.len());
    for restless in ["off", "on"] {
        let wrong = wrong(
            &database,
            &["backend.max_connections = 2"],
            restless,
            &found,
        );
        assert!(
            wrong.is_empty(),
            "restless {restless}: {} of {}: {wrong:#?}",
            wrong.len(),
            found.0.len()
        );
    }
}

/// However they are set: a flag, and a variable of a plugin.
#[test]
fn what_is_set_by_other_means_stays_with_its_session_too() {
    let database = Database::shared();
    database.schema("variables_set");
    // An account that may see what routines are made of, and on MySQL which user variables there are: others are pinned.
    let login = Login {
        user: "admin",
        password: "all",
        ..Login::to("variables_set")
    };
    let to = |address: &Address| Client::login(address, &login).unwrap();
    let mut owner = to(database.address());
    for sql in [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE u (a INT)",
        "CREATE PROCEDURE p() SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77",
        "CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET foreign_key_checks = 0; \
         SET innodb_lock_wait_timeout = 77; RETURN 1; END",
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW \
         SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77",
        "CREATE VIEW v AS SELECT f() AS a",
    ] {
        row(&mut owner, sql).unwrap();
    }
    let immediate = "EXECUTE IMMEDIATE 'SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77'";
    let ways: [(&[&str], bool); 13] = [
        (
            &["SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77"],
            true,
        ),
        (
            &["SET @@foreign_key_checks = 0, @@session.innodb_lock_wait_timeout := 77"],
            true,
        ),
        (
            &[
                "SET foreign_key_checks = 0",
                "SET innodb_lock_wait_timeout = 77",
            ],
            true,
        ),
        (
            &["SELECT 1; SET foreign_key_checks = 0; SET innodb_lock_wait_timeout = 77; SELECT 2"],
            true,
        ),
        (
            &[
                "SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77; SELECT nothing; SET unique_checks = 0",
            ],
            true,
        ),
        (
            &["SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77; SET nothing = 0"],
            true,
        ),
        (
            &[
                "PREPARE s FROM 'SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77'",
                "EXECUTE s",
            ],
            false,
        ),
        (&[immediate], false),
        (&["CALL p()"], true),
        (&["SELECT f()"], false),
        (&["SELECT a FROM v"], false),
        (&["INSERT INTO t VALUES (1)"], true),
        (
            &["INSERT INTO u VALUES (1); INSERT INTO t VALUES (1)"],
            true,
        ),
    ];
    for restless in ["off", "on"] {
        let restless = format!("backend.restless = \"{restless}\"");
        let settings = [
            "backend.max_connections = 2",
            "server.workers = 1",
            &restless,
        ];
        let door = FrontDoor::start(database.address(), &settings);
        let through = door.address();
        let client = || to(&through);
        let (mut other, mut holder) = (client(), client());
        // As numbers: some servers write ON for 1 among text.
        let read = "SELECT CONCAT_WS(',', @@foreign_key_checks + 0, @@innodb_lock_wait_timeout, @@unique_checks + 0)";
        let begin = other.value(read);
        let mut setters = Vec::new();
        for (statements, is_carried) in ways {
            if statements == [immediate] && !Server::is_mariadb() {
                continue;
            }
            let mut setter = client();
            let mut direct = to(database.address());
            for statement in statements {
                let through = row_of_pinned(&mut setter, statement);
                assert_eq!(through, row(&mut direct, statement), "{statement}");
            }
            assert_eq!(
                other.value(read),
                begin,
                "leaked: {statements:?}, {restless}"
            );
            for sql in ["BEGIN", "SELECT COUNT(*) FROM shop.customer"] {
                row(&mut holder, sql).unwrap();
            }
            // The server ends the flags that a function or a trigger has set with it.
            let set = direct.value(read);
            assert_ne!(set, begin, "{statements:?}");
            assert_eq!(setter.value(read), set, "lost: {statements:?}, {restless}");
            row(&mut holder, "COMMIT").unwrap();
            if is_carried {
                assert_eq!(
                    pinned(&door, "untracked_variable"),
                    0,
                    "{statements:?}, {restless}"
                );
                setters.push((setter, set));
            }
        }
        let mut setter = client();
        setter.execute(
            "SET foreign_key_checks = 0, innodb_lock_wait_timeout = 77",
            || {},
        );
        assert_eq!(
            (other.value(read), setter.value(read)),
            (begin, "0,77,1".to_owned())
        );
        // They go on side by side, on two connections.
        for (setter, set) in &mut setters {
            assert_eq!(setter.value(read), *set);
        }
    }
}
