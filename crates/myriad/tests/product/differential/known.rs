//! What is known to differ, as `docs/DIFFERENCES.md` and `docs/CORNERS.md` tell it: by the lines of a session and both answers to
//! the last of them.

use super::case::{CHARSET, Case, TYPE, asks};
use crate::support::Server;

/// A difference on purpose: the words of the document that say so, and whether this is it.
type Known = (&'static str, fn(&Case<'_>) -> bool);

const KNOWN: [Known; 71] = [
    (
        "told in the transaction of the statement that it is about",
        |case| {
            let gets = ["GET ", "EXECUTE", "\\execute"].map(|word| case.last().starts_with(word));
            gets.contains(&true) && case.is_refused()
        },
    ),
    (
        "`GET DIAGNOSTICS … = ROW_COUNT` inside a transaction or a pinned session after an ERR",
        |case| {
            let shown = case.last().contains("@b") && case.has(&["@b = ROW_COUNT"]);
            let turned = case.same_values_but_for("0", "-1") && Server::is_mariadb();
            let counted = turned || case.same_values_but_for("-1", "0");
            let chosen = case.last().contains("= @b");
            shown && (counted || chosen) && case.refused().next().is_some()
        },
    ),
    (
        "as they were captured, in the character set of before",
        |case| case.last().starts_with("SHOW ") && case.names_charset() && case.same_but(CHARSET),
    ),
    (
        "with a collation in the handshake that MariaDB does not know",
        |case| {
            let unknown = case.lines[0].contains(" 255 ") && Server::is_mariadb();
            unknown && case.is_as_reset(&["SET NAMES"])
        },
    ),
    (
        "`@@character_set_database` after COM_RESET_CONNECTION",
        |case| case.resets() && case.last().contains("@@character_set_database"),
    ),
    (
        "`IS NULL` of a generated column with `sql_auto_is_null` (MariaDB)",
        |case| {
            let turns_on = |line: &String| line.contains("sql_auto_is_null");
            let before = case.lines.iter().take_while(|&line| !turns_on(line));
            let generated = before.clone().any(|line| line.contains("INSERT"));
            // Alone it is asked for.
            let takes = |call: &str| !call.starts_with(')');
            let gives = |line: &String| line.split("LAST_INSERT_ID(").skip(1).any(takes);
            let given = case.lines.iter().any(gives) || case.has(&["SET last_insert_id"]);
            let turned_on = before.count() < case.lines.len();
            let looks = case.last().contains("id IS NULL") && turned_on && Server::is_mariadb();
            looks && (generated || given)
        },
    ),
    ("after an ERR of the front door's own", |case| {
        let shown = case.last().contains("@a") && case.has(&["GET DIAGNOSTICS @a = NUMBER"]);
        (case.asks() || shown) && case.was_refused_by_name() && !Server::is_mariadb()
    }),
    (
        "In the second and later statements of one text, in routines and views: the backend's own",
        |case| {
            let runs = ["EXECUTE", "\\execute", "\\again", "\\cursor"];
            let runs = runs.iter().any(|word| case.last().starts_with(word));
            let carried = |line: &str| {
                let alone = ["SELECT ROW_COUNT()", "SELECT FOUND_ROWS()", "_count"];
                let text = line
                    .strip_prefix("\\prepare ")
                    .and_then(|rest| rest.split_once(' '));
                text.is_some_and(|(_, text)| alone.iter().any(|asks| text.ends_with(asks)))
                    && (Server::is_mariadb() || !line.contains("_count"))
            };
            let prepares = |line: &String| {
                asks(line) && line.to_uppercase().contains("PREPARE") && !carried(line)
            };
            let asked_there = |line: &String| line.starts_with("CREATE PROCEDURE") && asks(line);
            let calls = case.last().contains("CALL ") && case.lines.iter().any(asked_there);
            let got = case.last().starts_with("SELECT @n") && case.has(&["NUMBER; "]);
            let several = case.last().contains("; ") && case.asks();
            runs && case.lines.iter().any(prepares) || several || calls || got
        },
    ),
    ("whose column may have another length", |case| {
        let plan = case.last().starts_with("UPDATE") && case.last().contains('@');
        let union = case.last().contains(" UNION ")
            && case.last().contains('@')
            && (case.same_until_converted() || case.same_but_types() && !Server::is_mariadb());
        let out_of_range = |told: &String| told.starts_with("Err ") && told.contains("#22003");
        let as_text = case.last().contains('@')
            && case.direct.last().is_some_and(out_of_range)
            && !case.through.iter().any(|told| told.starts_with("Err "));
        let as_text = as_text && !Server::is_mariadb();
        let digits = case.same_but_digits() && !Server::is_mariadb();
        let table = case.last().starts_with("SHOW CREATE TABLE") && case.has(&["AS SELECT @"]);
        let table = table && case.direct.len() == case.through.len() && !Server::is_mariadb();
        case.has(&["@"]) && (case.same_but(TYPE) || digits || union || table)
            || plan && case.same_count()
            || as_text
    }),
    (
        "behind the columns of a SELECT that fails after them",
        |case| {
            let begins = std::env::var("MYRIAD_DIFFERENTIAL_GLOBALS").unwrap_or_default();
            let off = case.has(&["autocommit", "CALL ends"]) || begins.contains("autocommit");
            let locked = case.has(&["LOCK TABLES"]) && case.same_but_columns_end();
            off && (locked || case.fails_in_unsaid_transaction())
        },
    ),
    ("which `SET autocommit = 1` has ended", |case| {
        let chains = case.has(&["AND CHAIN"]) && case.has(&["ISOLATION", "_isolation"]);
        let set = ["SESSION TRANSACTION", "_isolation", "_read_only"];
        let ended = (case.has(&set) || chains) && case.has(&["autocommit ="]);
        let level = case.last().contains("CONSISTENT SNAPSHOT")
            || chains && case.last().contains("_isolation") && !Server::is_mariadb();
        let refused = |told: &String| told.contains("#25006Cannot execute");
        let told = [case.direct, case.through].map(|told| told.iter().any(refused));
        let follows = case.same_rows_but_one() && !Server::is_mariadb();
        ended && (level || told[0] != told[1] || follows || case.same_but_access_modes())
    }),
    ("after a statement with `@x := ?` was prepared", |case| {
        let assigns = |line: &String| line.contains("prepare ") && line.contains(":= ?");
        let asks = ["CHARSET(", "COLLATION("]
            .iter()
            .any(|word| case.last().contains(word));
        let assigned = case.lines.iter().any(assigns) && asks;
        assigned && case.same_rows_but_one() && Server::is_mariadb()
    }),
    (
        "user variables that a trigger sets with SET behind a routine",
        |case| {
            let asks = ["@inserted", "@last"].map(|name| case.last().contains(name));
            let asks = asks.contains(&true) && case.same_but_values();
            asks && case.has(&["writesf()"]) && !Server::is_mariadb()
        },
    ),
    (
        "and whatever else the front door answers or asks by itself",
        |case| {
            let tracks = case.has(&["session_track_transaction_info"]) && Server::is_mariadb();
            let without_eof = case.lines[0].contains("+SESSION_TRACK,-DEPRECATE_EOF");
            // Behind a CALL it may ask what was assigned.
            let asked = case.has(&["CALL "]);
            let untold = case.last().starts_with("SHOW ") || without_eof || asked;
            tracks && untold && case.same_but_ends()
        },
    ),
    (
        "what `SET STATEMENT` has put back, in session-track blocks",
        |case| {
            let told = [
                "session_track_",
                "character_set_",
                "time_zone",
                "autocommit",
            ];
            let puts_back = |line: &String| {
                line.starts_with("SET STATEMENT ") && told.iter().any(|name| line.contains(name))
            };
            case.lines.iter().any(puts_back) && case.same_but_ends()
        },
    ),
    (
        "after `SET session_track_system_variables` in one text with other statements",
        |case| {
            let within = |line: &String| {
                line.contains("session_track_system_variables") && line.contains("; ")
            };
            case.lines.iter().any(within) && case.same_but_ends()
        },
    ),
    (
        "those of a `sql_mode` that the hint `SET_VAR` sets",
        |case| case.last().contains("SET_VAR(sql_mode") && case.same_but_columns_end(),
    ),
    (
        "long data was sent for a parameter that it does not have",
        |case| {
            let fails =
                |answer: &[String]| answer.first().is_some_and(|told| told.starts_with("Err "));
            let both = fails(case.direct) && fails(case.through);
            both && case.last().starts_with("\\again") && case.has(&["\\long"])
        },
    ),
    ("the warnings in the answers to COM_PING", |case| {
        let asks = ["\\ping", "\\set_option", "\\init_db"]
            .iter()
            .any(|word| case.last().starts_with(word));
        asks && case.same_but_ends() && !Server::is_mariadb()
    }),
    ("`FOUND_ROWS()` after a SELECT that fails", |case| {
        let asks = case.text_that_runs().contains("FOUND_ROWS()") || case.last().contains("@n");
        let reads = |line: &str| {
            let read = ["SELECT ", "(SELECT ", "VALUES ", "WITH ", "\\", "EXECUTE "];
            read.iter().any(|word| line.starts_with(word))
        };
        let cut = case.has(&["sql_select_limit", "EXPLAIN ", "DESC "]);
        let lists = case.lines.iter().any(|line| line.starts_with("VALUES "));
        let other = cut || lists || case.refused().any(reads);
        asks && other && case.same_rows_but_one() && Server::is_mariadb()
    }),
    ("`ROW_COUNT()` after a `SHOW COLUMNS`", |case| {
        let asks = case.text_that_runs().contains("ROW_COUNT()") || case.last().contains("@");
        let shows = ["SHOW ", "DESC", "EXECUTE "];
        let shown = case
            .refused()
            .any(|line| shows.iter().any(|word| line.starts_with(word)));
        asks && shown && case.same_rows_but_one() && Server::is_mariadb()
    }),
    ("`FOUND_ROWS()` in a session that has run nothing", |case| {
        let asks = case.text_that_runs().contains("FOUND_ROWS()") || case.last().contains("@n");
        asks && case.found_nothing() && case.shows_one() && Server::is_mariadb()
    }),
    ("`FOUND_ROWS()` after SET, DO", |case| {
        let writes = case.has(&["DO ", "SET ", " ORDER BY id DESC", "DELETE FROM u ORDER BY"]);
        let asks = case.text_that_runs().contains("FOUND_ROWS()") || case.last().contains("@n");
        let prepared = case.executes("SELECT FOUND_ROWS()")
            && case.has(&["UPDATE ", "DELETE ", "INSERT ", "REPLACE "]);
        (asks && writes || prepared) && case.same_rows_but_one() && !Server::is_mariadb()
    }),
    (
        "an `EXECUTE` or several statements in one text that answer without rows",
        |case| {
            let asks = case.text_that_runs().contains("FOUND_ROWS()") || case.last().contains("@n");
            let unseen = case.has(&["CALL ", "EXECUTE ", "; "]);
            asks && unseen && case.same_rows_but_one()
        },
    ),
    (
        "conditions after `EXECUTE` of a text that leaves them",
        |case| {
            let executed = case.succeeded().any(|line| line.starts_with("EXECUTE "));
            executed && case.asks() && case.fewer_conditions() && Server::is_mariadb()
        },
    ),
    (
        "conditions of before, after several statements in one text",
        |case| {
            let several = case.lines.iter().any(|line| line.contains("; "));
            let fewer = case.fewer_conditions() || case.directly_fewer_conditions();
            several && fewer && Server::is_mariadb()
        },
    ),
    (
        "others get ERR 1053, and the connection is closed",
        |case| {
            let releases = case.has(&["completion_type", "RELEASE"]);
            let told = case.through.last();
            releases && told.is_some_and(|told| told.contains("Server shutdown in progress"))
        },
    ),
    ("whose `WHERE` no row can meet", |case| {
        let greatest = |line: &&str| line.contains("MAX(") && line.contains(" FROM m");
        let meets = |line: &&str| line.contains(" WHERE ") || greatest(line);
        let counts = |line: &&str| line.contains("SELECT COUNT(") && meets(line);
        let asks = case.text_that_runs().contains("FOUND_ROWS()") || case.last().contains("@n");
        asks && case.succeeded().any(|line| counts(&line))
            && case.shows_one()
            && Server::is_mariadb()
    }),
    ("or a write with a subquery", |case| {
        let reads = |line: &&str| {
            let begins = ["DO ", "SET ", "INSERT ", "REPLACE ", "UPDATE ", "DELETE "];
            begins.iter().any(|word| line.starts_with(word)) && line.contains("(SELECT ")
        };
        let written = case.since_rows().any(|line| reads(&line));
        case.text_that_runs().contains("FOUND_ROWS()") && written && case.same_rows_but_one()
    }),
    ("or a write of several tables that failed", |case| {
        let several = |line: &str| {
            [
                "UPDATE t, u",
                "UPDATE t JOIN",
                "DELETE t, u",
                "DELETE u, t",
                "USING",
            ]
            .iter()
            .any(|words| line.contains(words))
        };
        let failed = case.refused().any(several) && Server::is_mariadb();
        case.text_that_runs().contains("FOUND_ROWS()") && failed && case.same_rows_but_one()
    }),
    ("parameters in the answer to a prepared CALL", |case| {
        let without_eof = case.lines[0].contains("-DEPRECATE_EOF");
        let runs = ["\\cursor", "\\execute", "\\again"];
        let runs = runs.iter().any(|word| case.last().starts_with(word));
        let opens = runs && case.has(&["CALL "]);
        let ends = |told: &[String]| told.last().is_some_and(|told| told.starts_with("Ok "));
        let ends = ends(case.direct) && ends(case.through);
        opens && without_eof && ends && case.same_but_ends() && !Server::is_mariadb()
    }),
    ("a CALL of a procedure that changes no rows", |case| {
        let answers = [case.direct, case.through].map(|told| told.first());
        let ok = |told: Option<&String>| told.is_some_and(|told| told.starts_with("Ok "));
        let oks = answers.into_iter().all(ok) && case.direct.len() == 1;
        let calls = case.last().starts_with("CALL ") || case.executes("CALL ");
        let differs = |(direct, through): (&String, &String)| direct != through;
        let several = case.last().contains("CALL ") && case.direct.len() == case.through.len();
        let pairs = || case.direct.iter().zip(case.through);
        let mut differing = pairs().filter(|&pair| differs(pair));
        let only_oks = several && differing.all(|(a, b)| ok(Some(a)) && ok(Some(b)));
        (calls && oks || only_oks) && !Server::is_mariadb()
    }),
    ("warnings of the login itself", |case| {
        let warned = case.lines[0].contains("+NO_SCHEMA") && !Server::is_mariadb();
        let counts = case.last().contains("ROW_COUNT()") && case.same_rows_but_one();
        let gets = counts && case.has(&["GET DIAGNOSTICS CONDITION"]);
        warned && (gets || case.asks() && case.same_but_warnings_of_flags())
    }),
    (
        "conditions of before, after a successful `PREPARE",
        |case| {
            let prepares = |line: &str| line.starts_with("PREPARE ") && line.contains(" FROM @");
            let prepared = case.succeeded().any(prepares) && Server::is_mariadb();
            prepared && case.directly_fewer_conditions()
        },
    ),
    (
        "after an ERR of the front door's own, while an XA transaction is idle",
        |case| {
            let refused = |told: &String| told.starts_with("Err ") && told.contains("#XAE07");
            case.has(&["XA END"]) && case.asks() && case.through.iter().any(refused)
        },
    ),
    ("that of `HELP` inside a transaction", |case| {
        let without_eof = case.lines[0].contains("-DEPRECATE_EOF");
        let rest = |line: &&String| !line.starts_with("ColumnsEnd");
        let [direct, through] = [case.direct, case.through].map(|told| told.iter().filter(rest));
        case.last().starts_with("HELP") && without_eof && direct.eq(through)
    }),
    ("a CALL of a procedure that uses no tables", |case| {
        let calls = case.succeeded().any(|line| line.starts_with("CALL "));
        let prepares = |line: &str| {
            let begins = ["\\prepare", "PREPARE"]
                .iter()
                .any(|word| line.starts_with(word));
            begins && line.contains("CALL ")
        };
        let runs = case.succeeded().any(prepares)
            && case.has(&["\\execute", "\\again", "\\cursor", "EXECUTE "]);
        // Not that of somebody else.
        let is_none = |told: &String| told.starts_with("Row ") && told.ends_with(r"\x010");
        let got = case.last().contains("@a") && case.has(&["GET DIAGNOSTICS @a = NUMBER"]);
        let counts_none =
            case.asks() && case.same_rows_but_one() && case.through.iter().any(is_none);
        let none_got = got && case.same_rows_but_one();
        let fewer = case.fewer_conditions() || runs && counts_none || none_got;
        (calls || runs) && fewer && Server::is_mariadb()
    }),
    ("the same in the transaction that drew it", |case| {
        let asks = case.has(&["LASTVAL(", "PREVIOUS VALUE FOR"]);
        asks && case.is_refused() && Server::is_mariadb()
    }),
    ("that was committed within a routine", |case| {
        let releases = case.has(&["completion_type"]) && case.has(&["CALL "]);
        releases && case.direct.last().is_some_and(|told| told == "closed")
    }),
    (
        "after a `DROP TRIGGER`, or to prepare what calls a routine",
        |case| {
            let reads = |line: &str| {
                let prepares = line.starts_with("PREPARE ") || line.starts_with("\\prepare ");
                let names = ["CALL ", "f(", "adds(", "finds(", "says("];
                let names_one = names.iter().any(|name| line.contains(name));
                line.starts_with("DROP TRIGGER") || prepares && names_one
            };
            let read = case.succeeded().any(reads) && Server::is_mariadb();
            let counts = case.last().contains("_count") && case.same_rows_but_one();
            read && (case.directly_fewer_conditions() || counts)
        },
    ),
    ("calls a function of one's own", |case| {
        let calls = case.has(&["f(", "fsets(", "made(", "adds(", "finds(", "says("]);
        let fewer = case.fewer_conditions() || case.directly_fewer_conditions();
        calls && fewer && Server::is_mariadb()
    }),
    (
        "the schema in session-track blocks, behind a SELECT",
        |case| {
            let tells = |told: &[String]| told.iter().any(|part| part.contains("[\"USE "));
            let moved = case.has(&[".finds("]);
            let [direct, through] = [case.direct, case.through].map(tells);
            let failed = |line: &str| line.contains(".finds(");
            match Server::is_mariadb() {
                true => moved && through && !direct,
                false => direct && !through && case.refused().any(failed),
            }
        },
    ),
    (
        "the character sets in session-track blocks of a `CALL`",
        |case| {
            let without_eof = case.lines[0].contains("+SESSION_TRACK,-DEPRECATE_EOF");
            without_eof && case.last().contains("CALL") && case.same_but_ends()
        },
    ),
    (
        "and what `SET CHARACTER SET` takes from the schema",
        |case| case.takes_from_schema(),
    ),
    (
        "and clients that track the session are told of it",
        |case| {
            case.lines[0].contains("+SESSION_TRACK")
                && case.sets_without_scope()
                && case.same_but_oks()
        },
    ),
    ("the schema of before in a session-track block", |case| {
        let runs = ["\\execute", "\\again", "\\cursor", "EXECUTE "];
        let runs = |line: &str| runs.iter().any(|word| line.starts_with(word));
        let failed = case.refused().any(runs);
        let opened = case.last().starts_with("\\cursor");
        let before = case.lines[0].ends_with(" -");
        let gone = case.has(&["DROP DATABASE"]);
        let untold = failed || opened || before || gone;
        let selects = ["\\prepare", "PREPARE ", "information_schema."];
        let prepares = case.has(&selects) && untold;
        let told = case.direct.iter().any(|told| told.contains("[\"USE "));
        let else_told = case.through.iter().any(|told| told.contains("OkPacket"));
        let one = told && !else_told && case.same_but_ends();
        let turned = Case {
            direct: case.through,
            through: case.direct,
            ..*case
        };
        let late = failed || opened || case.has(&["\\cursor"]);
        let late = late && turned.only_schema_is_told();
        prepares && (case.only_schema_is_told() || one || late)
    }),
    (
        "a key that there is already and a foreign key that refers to nothing",
        |case| {
            let answers = [case.direct, case.through].map(|told| told.first());
            let [Some(direct), Some(through)] = answers else {
                return false;
            };
            let begins = |told: &str, code| told.starts_with("Err ") && told.contains(code);
            let (foreign, there) = (r"] \xff\xac\x05#23000", r"] \xff&\x04#23000");
            let orders = begins(direct, foreign) && begins(through, there)
                || case.begins_anew() && begins(direct, there) && begins(through, foreign);
            orders && !Server::is_mariadb()
        },
    ),
    (
        "of a row that a foreign key refers to, with its key unchanged",
        |case| {
            let refused = |told: &[String]| told.iter().any(|told| told.contains(r"\xff\xab\x05"));
            let refused = [case.direct, case.through].map(refused);
            // Directly, only a session that began anew is as one of those that are cleaned.
            let one = refused == [false, true] || case.begins_anew() && refused == [true, false];
            one && case.last().contains("REPLACE ") && !Server::is_mariadb()
        },
    ),
    (
        "of a user variable that a prepared statement selects",
        |case| {
            let runs = ["\\cursor", "\\execute", "\\again"];
            let runs = runs.iter().any(|word| case.last().starts_with(word));
            let prepares = |line: &String| line.starts_with("\\prepare") && line.contains('@');
            let prepared = case.lines.iter().position(prepares);
            let sets = |from: usize| {
                let mut behind = case.lines[from..].iter();
                behind.any(|line| ["SET @", ":=", "INTO @"].iter().any(|w| line.contains(w)))
            };
            let retyped = runs && prepared.is_some_and(sets) && !Server::is_mariadb();
            retyped && case.same_but_types()
        },
    ),
    ("the type in the words of warning 1292", |case| {
        let lists = case.last().starts_with("SHOW ");
        let prepared = case.lines.iter().position(|l| l.starts_with("\\prepare"));
        let alters = |from| {
            let mut behind = case.lines[from..].iter();
            behind.any(|l| ["ALTER TABLE", "FLUSH TABLE"].iter().any(|w| l.contains(w)))
        };
        let same = || case.same_values_but_for("incorrect DOUBLE value", "incorrect INTEGER value");
        lists && prepared.is_some_and(alters) && same() && !Server::is_mariadb()
    }),
    ("to which later values are converted", |case| {
        let runs = ["\\execute", "\\cursor"].map(|word| case.last().starts_with(word));
        let told = case.asks() || case.last().contains("@") || runs.contains(&true);
        case.retypes() && !Server::is_mariadb() && told
    }),
    ("COM_RESET_CONNECTION after XA PREPARE", |case| {
        case.resets() && case.has(&["XA PREPARE"]) && Server::is_mariadb()
    }),
    ("`LOCK TABLES` of such a table", |case| {
        let locked = case.has(&["LOCK TABLES"]) && !Server::is_mariadb();
        // A procedure may have answered before, and upkeep tells it in its rows.
        let not = |told: &String| told.contains("was not locked with LOCK TABLES");
        let not = [case.direct, case.through].map(|told| told.iter().any(not));
        locked && not[0] != not[1]
    }),
    ("with `sql_quote_show_create = 0`", |case| {
        let words = |told: &[String]| {
            let (_, words) = told.last()?.split_once("#23000")?;
            Some(words.replace('`', ""))
        };
        let told = [case.direct, case.through].map(words);
        let set = case.has(&["sql_quote_show_create = 0"]) && !Server::is_mariadb();
        set && told[0].is_some() && told[0] == told[1]
    }),
    ("that a statement was prepared to set", |case| {
        let asks =
            ["CHARSET(@", "COLLATION(@", "COERCIBILITY(@"].map(|call| case.last().contains(call));
        let sets = case.has(&["\\prepare"]) || case.sets_from_no_row();
        let mixes = |told: &String| told.contains("Illegal mix of collations");
        let mixed = [case.direct, case.through].map(|told| told.first().is_some_and(mixes));
        let reads = asks.contains(&true) || mixed[0] != mixed[1] && case.last().contains('@');
        sets && reads && !Server::is_mariadb()
    }),
    ("that COM_STMT_PREPARE of `SET @a = ?` names", |case| {
        let asks = ["CHARSET(@", "COLLATION(@"].map(|call| case.last().contains(call));
        let prepares = |line: &str| line.starts_with("\\prepare") && line.contains(" SET @");
        let prepared = case.succeeded().any(prepares) && Server::is_mariadb();
        prepared && asks.contains(&true) && case.same_rows_but_one()
    }),
    ("warning 6414 about tables of several", |case| {
        // It may be another session's.
        let own = case.names_other_engine() && case.same_but_mixed_engines();
        (own || case.write_is_warned_through()) && !Server::is_mariadb()
    }),
    ("a SET of `max_error_count` to 0 or from it", |case| {
        let kills = |line: &str| {
            ["KILL ", "\\execute", "\\again", "\\cursor", "\\bulk"]
                .iter()
                .any(|word| line.starts_with(word))
        };
        let kills = case.refused().any(kills);
        let shows = case.last().starts_with("SHOW ") && case.has(&["max_error_count = 0"]);
        let fewer = case.fewer_conditions() || case.directly_fewer_conditions();
        kills && shows && fewer && Server::is_mariadb()
    }),
    (
        "if they are more than `max_error_count` lets the server keep",
        |case| {
            let counts = ["_count", "SHOW COUNT("]
                .iter()
                .any(|word| case.last().contains(word));
            let begins = std::env::var("MYRIAD_DIFFERENTIAL_GLOBALS").unwrap_or_default();
            let set = case.has(&["max_error_count ="]) && Server::is_mariadb();
            let few = set || begins.contains("max_error_count =");
            few && counts && case.same_rows_but_one()
        },
    ),
    ("`at row N` in what is said of a parameter", |case| {
        let cut = |line: &String| line.split(" at row ").next().map(str::to_owned);
        let cut = |answer: &[String]| answer.iter().map(cut).collect::<Vec<_>>();
        case.has(&["CALL "]) && cut(case.direct) == cut(case.through)
    }),
    (
        "after an EXECUTE IMMEDIATE of a text that is no literal",
        |case| {
            let counts = asks(case.text_that_runs()) && case.same_rows_but_one();
            let fewer = case.fewer_conditions() || counts;
            runs_unknown_text(case) && fewer && Server::is_mariadb()
        },
    ),
    ("can be changed, but not be given up", |case| {
        let none = |told: &String| told.contains("#3D000No database selected");
        let ran = case.has(&["\\execute"]) && case.has(&["DROP DATABASE"]);
        let asks = case.last().contains("DATABASE()") && case.same_rows_but_one();
        ran && (asks || case.direct.first().is_some_and(none))
    }),
    (
        "that tells fewer values than there are parameters",
        |case| {
            let runs = ["\\execute", "\\cursor"].map(|word| case.last().starts_with(word));
            runs.contains(&true) && case.has(&["\\long"]) && case.retypes() && Server::is_mariadb()
        },
    ),
    ("after one whose packet was malformed", |case| {
        let malformed = |told: &String| told.contains("#HY000Malformed communication packet");
        let again = case.last().starts_with("\\again") && !Server::is_mariadb();
        again && case.direct.first().is_some_and(malformed)
    }),
    ("the long data of an execution that was refused", |case| {
        let malformed = |told: &String| told.contains("#HY000Malformed communication packet");
        let refused = case.direct.first().is_some_and(malformed);
        refused && case.has(&["\\long "]) && !Server::is_mariadb()
    }),
    (
        "`1100` in place of `1210` or `1792` while tables are locked, `1792` in place of it",
        |case| {
            let incorrect = |told: &String| told.contains(r"\xff\xba\x04#HY000");
            let unprepared = |told: &String| {
                let words = ["was not locked with LOCK TABLES", "#25006Cannot execute"];
                words.iter().any(|words| told.contains(words))
            };
            let [direct, through] = [case.direct, case.through].map(|told| told.first());
            let done = |told: &String| told.starts_with("Ok ");
            let ends = case.executes("CREATE ") && direct.is_some_and(done);
            let ends = ends && Server::is_mariadb();
            let reads_only = |told: &String| told.contains("#25006Cannot execute");
            let locked = direct.is_some_and(reads_only) && case.has(&["LOCK TABLES"]);
            let fails = ends || locked || direct.is_some_and(incorrect);
            fails && through.is_some_and(unprepared)
        },
    ),
    ("and then tell one condition", |case| {
        let runs = |line: &str| line.starts_with('\\') || line.starts_with("EXECUTE");
        let fewer = case.fewer_conditions() || case.same_rows_but_one();
        case.has(&["DROP DATABASE"]) && case.refused().any(runs) && case.asks() && fewer
    }),
    ("that more answers follow", |case| {
        let several = case.has(&["; "]) && case.lines[0].contains("-DEPRECATE_EOF");
        let ends = |line: &String| line.starts_with("ColumnsEnd ");
        let same = |(direct, through): (&String, &String)| {
            direct == through || ends(direct) && ends(through)
        };
        let fails = case
            .through
            .last()
            .is_some_and(|told| told.starts_with("Err "));
        let same = case.direct.len() == case.through.len()
            && case.direct.iter().zip(case.through).all(same);
        several && fails && same
    }),
    ("`1146` in place of `1295` in a bulk execution", |case| {
        let told =
            |answer: &[String], words| answer.first().is_some_and(|told| told.contains(words));
        let unsupported = told(case.direct, "#HY000This command is not supported");
        let bulk = case.last().starts_with("\\bulk ");
        bulk && unsupported && told(case.through, "#42S02Table")
    }),
    (
        "`character_set_connection` in session-track blocks",
        |case| {
            let restored = case.names_charset() && !Server::chosen().tells_flags();
            restored && case.same_but_told("character_set_connection")
        },
    ),
    ("if the schema is gone", |case| {
        let told =
            |answer: &[String], words| answer.first().is_some_and(|told| told.contains(words));
        let runs = case.last().starts_with('\\') || case.last().starts_with("EXECUTE");
        let runs = runs && case.has(&["DROP DATABASE"]);
        let gone = [
            "#42S02Table",
            "#42000PROCEDURE",
            "#HY000Incorrect arguments",
        ]
        .map(|words| told(case.direct, words));
        runs && gone.contains(&true) && told(case.through, "#42000Unknown database")
    }),
];

/// True if a text was run, or prepared by name to be run, that is no literal.
fn runs_unknown_text(case: &Case<'_>) -> bool {
    let runs = case.has(&["EXECUTE IMMEDIATE CONCAT", "EXECUTE IMMEDIATE @"]);
    runs || case.has(&[" FROM CONCAT(", " FROM @"]) && case.has(&["EXECUTE "])
}

impl Case<'_> {
    /// The words of the document about the difference in the answers to the last line, if it is known.
    pub(super) fn known(&self) -> Option<&'static str> {
        if self.tells_theirs() {
            return None;
        }
        let known = KNOWN.iter().find(|(_, is)| is(self));
        known.map(|(words, _)| *words)
    }
}

#[cfg(test)]
mod tests;
