//! USE and KILL.

use super::MARIADB;
use crate::statement::{
    Kill, Named, Trail, holding, kill_target, lone, show_diagnostics, use_schema,
};

#[test]
fn schemas() {
    let rows: &[(&[u8], Option<&[u8]>)] = &[
        (b"use d", Some(b"d")),
        (b"USE\t`a``b` ; ", Some(b"a`b")),
        (b"use `d`", Some(b"d")),
        (b"use 1d", Some(b"1d")),
        (b"/* x */ use select -- y", Some(b"select")),
        (b"use `d`; -- x", None),
        (b"use d; select 1", None),
        (b"use d.x", None),
        (b"use 'd'", None),
        (b"use `d", None),
        (b"use", None),
        (b"select 1", None),
    ];
    for (text, schema) in rows {
        assert_eq!(use_schema(text, &MARIADB).as_deref(), *schema, "{text:?}");
    }
}

#[test]
fn a_schema_in_a_multi_byte_set() {
    let mut dialect = MARIADB;
    dialect.charset = Trail::Gbk;
    let schema = use_schema(b"use `\x81\x60`", &dialect);
    assert_eq!(schema.as_deref(), Some(&b"\x81\x60"[..]));
}

#[test]
fn kills() {
    let kill = |id, query, soft| {
        let named = Named::Id(id);
        Some(Kill { named, query, soft })
    };
    let own = |query| {
        let (named, soft) = (Named::Own, false);
        Some(Kill { named, query, soft })
    };
    let variable = |name: &[u8], query| {
        let (named, soft) = (Named::Variable(name.into()), false);
        Some(Kill { named, query, soft })
    };
    let rows: &[(&[u8], Option<Kill>)] = &[
        (b"kill 5", kill(5, false, false)),
        (b"KILL QUERY 1073741824;", kill(1 << 30, true, false)),
        (b"kill connection 5", kill(5, false, false)),
        (b"kill soft query 5", kill(5, true, true)),
        (b"kill hard connection 5 # x", kill(5, false, false)),
        (b"kill connection_id()", own(false)),
        (b"KILL QUERY Connection_Id ( );", own(true)),
        (b"KILL @Id", variable(b"id", false)),
        (b"kill query @'id';", variable(b"id", true)),
        (b"kill @id + 1", None),
        (b"kill @`a b`", None),
        (b"kill query connection_id", None),
        (b"kill query connection_id() + 1", None),
        (b"kill query last_insert_id()", None),
        (b"kill query id 5", None),
        (b"kill user a", None),
        (b"kill 5+1", None),
        (b"kill 5.0", None),
        (b"kill 0x10", None),
        (b"kill 99999999999999999999", None),
        (b"kill 5; select 1", None),
        (b"kill", None),
    ];
    for (text, target) in rows {
        assert_eq!(kill_target(text, &MARIADB), *target, "{text:?}");
    }
}

#[test]
fn a_semicolon_within_a_version_comment_ends_no_text() {
    for text in [
        "USE a /*!50000 ;",
        "KILL 7 /*!50000 ;",
        "DROP TABLE a /*!50000 ;",
    ] {
        let text = text.as_bytes();
        assert_eq!(use_schema(text, &MARIADB), None);
        assert_eq!(kill_target(text, &MARIADB), None);
        assert_eq!(holding(text, &MARIADB), None);
    }
    assert_eq!(lone(b"SELECT ROW_COUNT() /*!50000 ;", &MARIADB), None);
    let asked = show_diagnostics(b"SHOW WARNINGS /*!50000 ;", &MARIADB);
    assert_eq!(asked, None);
}
