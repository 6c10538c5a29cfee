//! The character sets of a session, as a restore sets them: those of the client, of results with their collation, and
//! of the connection.

use super::{put_assignment, put_raw};
use crate::charset::Charset;

/// The handshake and SET NAMES set all three at once. Other combinations come from assignments one by one; that of results
/// may take the number of a collation.
pub(super) fn put_charset(set: &mut Vec<u8>, charset: &Charset) {
    let told = charset.results_collation.as_ref();
    let name = told.and_then(|told| told.name.as_ref());
    if let (Some(results), Some(name)) = (&charset.results, name) {
        put_names(set, results, name);
        if charset.client != *results {
            put_assignment(set, b"character_set_client", &charset.client);
        }
        if charset.collation != *name {
            put_assignment(set, b"collation_connection", &charset.collation);
        }
        return;
    }
    // Nothing tells the collation of the client's character set, which is that of binary parameters: that of the
    // connection at a login, also where somebody sets what results have afterwards, as MySQL Connector/J does.
    if charset.is_of_client() {
        put_names(set, &charset.client, &charset.collation);
        if charset.results.as_ref() != Some(&charset.client) || told.is_some() {
            put_results(set, charset);
        }
        return;
    }
    put_assignment(set, b"character_set_client", &charset.client);
    put_results(set, charset);
    put_assignment(set, b"collation_connection", &charset.collation);
}

fn put_names(set: &mut Vec<u8>, charset: &[u8], collation: &[u8]) {
    set.extend_from_slice(b"SET NAMES '");
    set.extend_from_slice(charset);
    set.extend_from_slice(b"' COLLATE '");
    set.extend_from_slice(collation);
    set.push(b'\'');
}

fn put_results(set: &mut Vec<u8>, charset: &Charset) {
    const NAME: &[u8] = b"character_set_results";
    match (&charset.results, &charset.results_collation) {
        (None, _) => put_raw(set, NAME, b"NULL"),
        (Some(_), Some(told)) => put_raw(set, NAME, told.number.to_string().as_bytes()),
        (Some(name), None) => put_assignment(set, NAME, name),
    }
}

/// True if `character_set_client` reads a name in UTF-8 as another one.
pub fn misreads(client: &[u8], name: &[u8]) -> bool {
    !name.is_ascii() && !client.starts_with(b"utf8")
}

/// What sets `character_set_client`, and nothing else.
pub fn set_client_charset(charset: &[u8]) -> Vec<u8> {
    let mut set = Vec::new();
    put_assignment(&mut set, b"character_set_client", charset);
    set
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::super::tests::state;
    use super::*;
    use crate::charset::ResultsCollation;
    use crate::state::Interner;

    #[test]
    fn character_sets_with_null_results() {
        let mut interner = Interner::default();
        let from = state(&mut interner, &[]);
        let mut to = from.clone();
        let (client, collation) = (b"gbk"[..].into(), b"gbk_bin"[..].into());
        to.charset = Some(interner.charset(Charset {
            client,
            results: None,
            results_collation: None,
            collation,
        }));
        let restore = plan(&from, &to);
        assert_eq!(
            restore.set,
            b"SET NAMES 'gbk' COLLATE 'gbk_bin',@@session.character_set_results=NULL"
        );
        assert!(!restore.can_fail);
    }

    #[test]
    fn character_sets_that_belong_together_are_set_together() {
        let mut interner = Interner::default();
        let from = state(&mut interner, &[]);
        let mut to = state(&mut interner, &[("autocommit", "OFF")]);
        for (number, results) in [
            (None, ""),
            (Some(45), ",@@session.character_set_results=45"),
        ] {
            let (client, collation) = (b"utf8mb4"[..].into(), b"utf8mb4_bin"[..].into());
            to.charset = Some(interner.charset(Charset {
                client,
                results: Some(b"utf8mb4"[..].into()),
                results_collation: number.map(|number| ResultsCollation { number, name: None }),
                collation,
            }));
            let set = String::from_utf8(plan(&from, &to).set).unwrap();
            let names = "SET NAMES 'utf8mb4' COLLATE 'utf8mb4_bin'";
            assert_eq!(set, format!("{names}{results},@@session.autocommit='OFF'"));
        }
    }

    #[test]
    fn the_collation_of_results_is_set_by_its_number_or_its_name() {
        let mut interner = Interner::default();
        let from = state(&mut interner, &[]);
        let mut to = from.clone();
        let one_by_one = "SET @@session.character_set_client='utf8mb4',\
                          @@session.character_set_results=?,\
                          @@session.collation_connection='latin1_bin'";
        let by_name = "SET NAMES 'latin1' COLLATE 'latin1_german2_ci',\
                       @@session.character_set_client='utf8mb4',\
                       @@session.collation_connection='latin1_bin'";
        for (number, name, expected) in [
            (None, None, one_by_one.replace('?', "'latin1'")),
            (Some(5), None, one_by_one.replace('?', "5")),
            (Some(31), Some("latin1_german2_ci"), by_name.to_owned()),
        ] {
            let name = name.map(|name| name.as_bytes().into());
            to.charset = Some(interner.charset(Charset {
                client: b"utf8mb4"[..].into(),
                results: Some(b"latin1"[..].into()),
                results_collation: number.map(|number| ResultsCollation { number, name }),
                collation: b"latin1_bin"[..].into(),
            }));
            let set = String::from_utf8(plan(&from, &to).set).unwrap();
            assert_eq!(set, expected);
        }
    }
}
