//! The character sets of a connection.

use crate::statement::Flavor;

/// What `SET NAMES` sets. Source: MySQL manual, "Connection Character Sets and Collations".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Charset {
    /// `character_set_client`.
    pub client: Box<[u8]>,
    /// `character_set_results`; `None` is NULL: no conversion.
    pub results: Option<Box<[u8]>>,
    /// The collation that results have, which nothing but column definitions tells. `None` if they are not converted,
    /// or it was not told.
    pub results_collation: Option<ResultsCollation>,
    /// `collation_connection`; it implies `character_set_connection`.
    pub collation: Box<[u8]>,
}

/// A collation that results have. A login and SET NAMES give them that of the connection; `character_set_results` by
/// itself has one, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResultsCollation {
    /// By this number column definitions tell it.
    pub number: u16,
    /// Its name, where the server does not take its number for `character_set_results`: MariaDB takes those
    /// that a character set has by default.
    pub name: Option<Box<[u8]>>,
}

/// The collations that MariaDB's character sets have by default. Source: `information_schema.COLLATIONS` of 10.11;
/// what `character_set_collations` puts in their place since 11.1 changes none of these.
const OF_MARIADB: [u16; 40] = [
    1, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 16, 18, 19, 22, 24, 25, 26, 28, 30, 32, 33, 35, 36, 37,
    38, 39, 40, 41, 45, 51, 54, 56, 57, 59, 60, 63, 92, 95, 97,
];

impl ResultsCollation {
    /// What `charset`, but for this, and the number in a column definition make it, in a session that had the character
    /// sets `before`. Another one that has no number has come with that of the connection.
    #[must_use]
    pub fn told(
        number: u16,
        charset: &Charset,
        before: Option<&Charset>,
        flavor: Flavor,
    ) -> Option<Self> {
        let results = charset.results.as_ref();
        // Of what is not converted, column definitions tell something else.
        let results = results.filter(|results| ***results != *b"binary")?;
        if flavor == Flavor::MySql || OF_MARIADB.binary_search(&number).is_ok() {
            return Some(Self { number, name: None });
        }
        let before = before.filter(|before| before.results.as_ref() == Some(results));
        let before = before.and_then(|before| before.results_collation.as_ref());
        if let Some(before) = before.filter(|before| before.number == number) {
            return Some(before.clone());
        }
        let name = charset.collation.clone();
        is_of(&name, results).then_some(Self {
            number,
            name: Some(name),
        })
    }
}

fn is_of(collation: &[u8], charset: &[u8]) -> bool {
    let rest = collation.strip_prefix(charset);
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'_')
}

/// How the names of character sets begin whose ASCII letters are several bytes each.
const WIDE: [&[u8]; 3] = [b"ucs2", b"utf16", b"utf32"];

impl Charset {
    /// True if what stands in quotes is not made of ASCII bytes.
    pub(crate) fn is_wide(&self) -> bool {
        WIDE.iter().any(|name| self.collation.starts_with(name))
    }

    /// True if ASCII letters are one byte each in all that is sent, told and compared.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        let sets = [
            Some(&self.client),
            self.results.as_ref(),
            Some(&self.collation),
        ];
        let is_wide = |set: &[u8]| WIDE.iter().any(|name| set.starts_with(name));
        !sets.into_iter().flatten().any(|set| is_wide(set))
    }

    /// True if the collation is one of the client's character set.
    pub(crate) fn is_of_client(&self) -> bool {
        is_of(&self.collation, &self.client)
    }
}

/// The character set of a collation with which no client is let in, by the number that a login names it by: no statement
/// can be read in it. Source: `information_schema.COLLATIONS` of MySQL 9.7 and MariaDB 10.11, which agree, and what they
/// answer to logins.
pub fn unreadable_charset(collation: u8, flavor: Flavor) -> Option<&'static str> {
    match collation {
        17 if flavor == Flavor::MariaDb => Some("filename"),
        35 | 90 | 128..=151 | 159 => Some("ucs2"),
        54 | 55 | 101..=124 => Some("utf16"),
        56 | 62 => Some("utf16le"),
        60 | 61 | 160..=183 => Some("utf32"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset(collation: &str, results_collation: Option<ResultsCollation>) -> Charset {
        Charset {
            client: b"utf8mb4"[..].into(),
            results: Some(b"utf8mb4"[..].into()),
            results_collation,
            collation: collation.as_bytes().into(),
        }
    }

    #[test]
    fn the_collation_of_results_has_a_name_where_its_number_is_not_taken() {
        let told = |number, collation: &str, before: Option<&Charset>, flavor| {
            let charset = charset(collation, None);
            let told = ResultsCollation::told(number, &charset, before, flavor)?;
            Some(
                told.name
                    .map(|name| String::from_utf8(name.into()).unwrap()),
            )
        };
        let named = |name: &str| Some(Some(name.to_owned()));
        let maria = Flavor::MariaDb;
        assert_eq!(told(46, "utf8mb4_bin", None, Flavor::MySql), Some(None));
        assert_eq!(told(45, "utf8mb4_bin", None, maria), Some(None));
        assert_eq!(told(46, "utf8mb4_bin", None, maria), named("utf8mb4_bin"));
        // SET NAMES utf8mb4 COLLATE utf8mb4_bin; SET collation_connection = latin1_bin
        let name = Some(b"utf8mb4_bin"[..].into());
        let before = charset("utf8mb4_bin", Some(ResultsCollation { number: 46, name }));
        let then = told(46, "latin1_bin", Some(&before), maria);
        assert_eq!(then, named("utf8mb4_bin"));
        assert_eq!(told(46, "latin1_bin", None, maria), None);
        let other = told(224, "utf8mb4_unicode_ci", Some(&before), maria);
        assert_eq!(other, named("utf8mb4_unicode_ci"));
    }

    #[test]
    fn results_that_are_not_converted_have_no_collation() {
        for results in [None, Some(&b"binary"[..])] {
            let charset = Charset {
                results: results.map(Into::into),
                ..charset("utf8mb4_bin", None)
            };
            let told = ResultsCollation::told(33, &charset, None, Flavor::MySql);
            assert_eq!(told, None);
        }
    }
}
