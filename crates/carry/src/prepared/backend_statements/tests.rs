//! What is kept prepared on a backend, and what is closed.

use super::*;
use crate::prepared::templates::Templates;
use crate::prepared::templates::tests::template;

const MANY: usize = 100;

fn closed(statements: &mut BackendStatements) -> Vec<u32> {
    let mut outbox = Vec::new();
    statements.put_closes(&mut outbox);
    let packets = outbox.chunks(4 + 1 + 4);
    packets
        .map(|packet| {
            assert_eq!(packet[..5], [5, 0, 0, 0, 0x19]);
            packet[5..].first_chunk().copied().map(u32::from_le_bytes)
        })
        .map(Option::unwrap)
        .collect()
}

fn need(id: u32, template: &Template) -> Need<'static> {
    Need {
        id,
        number: template.number,
        cursor: false,
        types: None,
    }
}

#[test]
fn what_was_used_longest_ago_is_closed() {
    let mut templates = Templates::default();
    let texts = ["SELECT 1", "SELECT 2", "SELECT 3"];
    let all = texts.map(|text| template(&mut templates, text, "a"));
    let mut statements = BackendStatements::default();
    assert_eq!(statements.add(&all[0], 10, 2), 0);
    assert_eq!(statements.add(&all[1], 11, 2), 0);
    assert!(statements.use_for((1, all[0].number), false).is_some());
    assert_eq!(statements.add(&all[2], 12, 2), 1);
    assert_eq!(closed(&mut statements), [11]);
    assert!(closed(&mut statements).is_empty());
    let known = [true, false, true];
    for (template, known) in all.iter().zip(known) {
        assert_eq!(statements.has(&need(1, template), Flavor::MariaDb), known);
    }
}

#[test]
fn what_no_session_has_is_closed_first() {
    let mut templates = Templates::default();
    let mut statements = BackendStatements::default();
    for id in 0..5 {
        let shed = template(&mut templates, &format!("SELECT {id}"), "a");
        statements.add(&shed, id, MANY);
    }
    // Each but the last was closed with the next.
    assert_eq!(statements.count(), 1);
    assert_eq!(closed(&mut statements), [0, 1, 2, 3]);
}

#[test]
fn preparing_again_replaces() {
    let mut templates = Templates::default();
    let a = template(&mut templates, "SELECT 1", "a");
    let mut statements = BackendStatements::default();
    statements.add(&a, 7, MANY);
    statements.add(&a, 8, MANY);
    let found = statements.use_for((1, a.number), false);
    assert_eq!(found.map(|instance| instance.id), Some(8));
    assert_eq!(closed(&mut statements), [7]);
}

#[test]
fn a_statement_with_a_cursor_is_one_sessions_alone() {
    let mut templates = Templates::default();
    let a = template(&mut templates, "SELECT 1", "a");
    let mut statements = BackendStatements::default();
    statements.add(&a, 7, MANY);
    let found = statements.use_for((1, a.number), true);
    assert_eq!(found.map(|instance| instance.id), Some(7));
    assert!(!statements.has(&need(2, &a), Flavor::MariaDb));
    assert!(statements.has(&need(1, &a), Flavor::MariaDb));
    // The same text under another id of the session.
    statements.add(&a, 8, 1);
    let ids = [1, 2].map(|id| {
        let found = statements.use_for((id, a.number), false);
        found.map(|instance| instance.id)
    });
    assert_eq!(ids, [Some(7), Some(8)]);
    assert!(closed(&mut statements).is_empty());
    statements.give_back(1, true);
    assert_eq!(closed(&mut statements), [7]);
    statements.own(2, a.number);
    statements.give_back(2, true);
    assert!(closed(&mut statements).is_empty() && statements.count() == 1);
    statements.own(2, a.number);
    statements.give_back(2, false);
    assert_eq!((closed(&mut statements), statements.count()), (vec![8], 0));
}

/// MySQL 9.7 sends columns and no rows for it.
#[test]
fn what_had_a_cursor_is_not_executed_without_one_on_mysql() {
    let mut templates = Templates::default();
    let a = template(&mut templates, "SELECT 1", "a");
    let with_cursor = Need {
        cursor: true,
        ..need(1, &a)
    };
    for given_back in [false, true] {
        let mut statements = BackendStatements::default();
        statements.add(&a, 7, MANY);
        let found = statements.use_for((1, a.number), true);
        assert_eq!(found.map(|instance| instance.id), Some(7));
        if given_back {
            statements.give_back(1, true);
        }
        assert!(statements.has(&with_cursor, Flavor::MySql));
        assert!(statements.has(&need(1, &a), Flavor::MariaDb));
        assert!(!statements.has(&need(1, &a), Flavor::MySql));
        statements.add(&a, 8, MANY);
        assert!(statements.has(&need(1, &a), Flavor::MySql));
        let fetched = statements.use_for((1, a.number), false);
        let own = if given_back { 8 } else { 7 };
        assert_eq!(fetched.map(|instance| instance.id), Some(own));
        statements.give_up_cursor(1, true, Flavor::MySql);
        statements.give_up_cursor(1, false, Flavor::MariaDb);
        statements.give_up_cursor(1, false, Flavor::MySql);
        let found = statements.use_for((1, a.number), false);
        assert_eq!(found.map(|instance| instance.id), Some(8));
        assert_eq!(closed(&mut statements), [7]);
    }
}

#[test]
fn types_of_somebody_else_are_not_taken_for_ones_own() {
    let mut templates = Templates::default();
    let a = template(&mut templates, "SELECT ?, ?", "a");
    let (long, mixed, null) = (&[8, 0, 8, 0][..], &[8, 0, 0xfd, 0][..], &[8, 0, 6, 0][..]);
    for (seen, types, mariadb, mysql) in [
        (None, None, true, true),
        (None, Some(long), true, true),
        (Some(long), None, false, false),
        (Some(long), Some(long), true, true),
        (Some(long), Some(mixed), true, false),
        (Some(long), Some(null), true, true),
        (Some(null), Some(mixed), true, true),
    ] {
        let mut statements = BackendStatements::default();
        statements.add(&a, 7, MANY);
        if let Some(instance) = statements.use_for((1, a.number), false) {
            instance.types = seen.map(Into::into);
        }
        let need = Need {
            types: types.map(TypeList::of),
            ..need(1, &a)
        };
        let has = [Flavor::MariaDb, Flavor::MySql].map(|flavor| statements.has(&need, flavor));
        assert_eq!(has, [mariadb, mysql], "{seen:?} {types:?}");
    }
}
