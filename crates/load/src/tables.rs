//! The tables of sysbench's `oltp_*` scripts: `sbtest1` and so on, with the same definitions and
//! data of the same form, so that either tool runs on the other's tables.
//!
//! Source: sysbench 1.0, `oltp_common.lua` (`create_table`, `get_c_value`, `get_pad_value`).

use std::io::Write;
use std::ops::RangeInclusive;

use fastrand::Rng;

/// The form of column `c`: each `#` is a digit.
pub(crate) const C: &str = "###########-###########-###########-###########-###########-\
                            ###########-###########-###########-###########-###########";

/// The form of column `pad`.
pub(crate) const PAD: &str = "###########-###########-###########-###########-###########";

/// The statement that makes table `number`.
pub(crate) fn create(number: u32) -> String {
    format!(
        "CREATE TABLE sbtest{number}(\n  id INTEGER NOT NULL AUTO_INCREMENT,\n  \
         k INTEGER DEFAULT '0' NOT NULL,\n  c CHAR(120) DEFAULT '' NOT NULL,\n  \
         pad CHAR(60) DEFAULT '' NOT NULL,\n  PRIMARY KEY (id)\n) /*! ENGINE = innodb */"
    )
}

/// The statement that makes its secondary index; run once the rows are there.
pub(crate) fn create_index(number: u32) -> String {
    format!("CREATE INDEX k_{number} ON sbtest{number}(k)")
}

/// The statement that ends it.
pub(crate) fn drop(number: u32) -> String {
    format!("DROP TABLE IF EXISTS sbtest{number}")
}

/// The statement that fills in the rows with these ids, for a table of `size` rows.
pub(crate) fn insert(number: u32, ids: RangeInclusive<u32>, size: u32, rng: &mut Rng) -> Vec<u8> {
    let mut sql = format!("INSERT INTO sbtest{number}(id, k, c, pad) VALUES").into_bytes();
    let mut separator = ' ';
    for id in ids {
        let written = write!(sql, "{separator}({id},{},'", rng.u32(1..=size));
        debug_assert!(written.is_ok(), "writing into memory cannot fail");
        put_form(&mut sql, C, rng);
        sql.extend_from_slice(b"','");
        put_form(&mut sql, PAD, rng);
        sql.extend_from_slice(b"')");
        separator = ',';
    }
    sql
}

/// Appends a text of this form: `#` becomes a digit, `@` a letter.
pub(crate) fn put_form(out: &mut Vec<u8>, form: &str, rng: &mut Rng) {
    out.extend(form.bytes().map(|byte| match byte {
        b'#' => rng.u8(b'0'..=b'9'),
        b'@' => rng.u8(b'a'..=b'z'),
        other => other,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_lengths_of_sysbench() {
        assert_eq!((C.len(), PAD.len()), (119, 59));
        let mut out = Vec::new();
        put_form(&mut out, "#-@", &mut Rng::with_seed(1));
        assert!(out[0].is_ascii_digit() && out[1] == b'-' && out[2].is_ascii_lowercase());
    }

    #[test]
    fn rows_are_listed_by_id() {
        let sql = insert(3, 7..=8, 1, &mut Rng::with_seed(1));
        let sql = String::from_utf8(sql).unwrap();
        assert!(sql.starts_with("INSERT INTO sbtest3(id, k, c, pad) VALUES (7,1,'"));
        assert!(sql.contains("'),(8,1,'") && sql.ends_with("')"));
    }
}
