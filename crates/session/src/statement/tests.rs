//! Tables: a text, and the verdict on it.

mod control;
mod deep;
mod definitions;
mod greetings;
mod holdings;
mod lexical;
mod properties;
mod quotas;
mod reads;
mod set;
mod substitutes;
mod survey;
mod targets;
mod writes;

use super::{Dialect, Flavor, Kind, PinReason, PinReasons, Statement, Traits, classify};

type Row<'a> = (&'a str, Kind, Traits, &'a [PinReason]);

const NONE: Traits = Traits::empty();
const USES: Traits = Traits::USES_USER_VARIABLES;
const ASSIGNS: Traits = USES.union(Traits::ASSIGNS_USER_VARIABLES);
const PURE: Traits = Traits::PURE_READ;
const UNSENT: Traits = Traits::COUNTS_UNSENT_ROWS;
const KEEPS: Traits = Traits::KEEPS_FOUND_ROWS;
const WRITES: Traits = Traits::MAY_WRITE;
/// What running something unseen brings.
const HIDDEN: Traits = Traits::MAY_WRITE
    .union(Traits::GENERATES_ID)
    .union(Traits::READS_LAST_INSERT_ID);
const UNKNOWN_CALL: Traits = HIDDEN.union(Traits::UNKNOWN_CALL);
const COMMITS: Traits = Traits::MAY_WRITE.union(Traits::IMPLICIT_COMMIT);
const SEVERAL: Traits = Traits::MULTIPLE
    .union(Traits::MAY_WRITE)
    .union(Traits::GENERATES_ID);
const COUNTING: Traits = SEVERAL.union(Traits::COUNTS_ROWS);

const MARIADB: Dialect = Dialect::new(Flavor::MariaDb, 101_119);
const MYSQL: Dialect = Dialect::new(Flavor::MySql, 90_700);

/// The traits but for the one that most texts have that read.
fn beside_from(statement: &Statement) -> Traits {
    statement.traits - Traits::HAS_FROM
}

fn check_in(dialect: &Dialect, rows: &[Row<'_>]) {
    for (text, kind, traits, pins) in rows {
        let statement = classify(text.as_bytes(), dialect);
        let pins: PinReasons = pins.iter().copied().collect();
        assert_eq!(
            (statement.kind, beside_from(&statement), statement.pins),
            (*kind, *traits, pins),
            "{text}"
        );
    }
}

fn check(rows: &[Row<'_>]) {
    check_in(&MARIADB, rows);
}

/// The verdict without the digest, for texts that differ in what it is made of.
fn verdict(text: &[u8], dialect: &Dialect) -> (Kind, Traits, PinReasons) {
    let statement = classify(text, dialect);
    (statement.kind, statement.traits, statement.pins)
}

fn kind_of(text: &[u8], dialect: &Dialect) -> Kind {
    classify(text, dialect).kind
}

fn pins_of(text: &[u8], dialect: &Dialect) -> PinReasons {
    classify(text, dialect).pins
}
