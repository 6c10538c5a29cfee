//! Rows of a database's tables, column by column.

use mysql_async::{Row, Value};

/// A column of a row as text; `None` if it is NULL, or not there.
pub(super) fn text(row: &Row, column: &str) -> Option<String> {
    let columns = row.columns_ref().iter();
    let place = columns
        .map(|column| column.name_str())
        .position(|name| name.eq_ignore_ascii_case(column))?;
    match row.as_ref(place)? {
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Value::NULL => None,
        other => Some(other.as_sql(true).trim_matches('\'').to_owned()),
    }
}
