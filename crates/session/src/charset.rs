//! The character sets of a connection.

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

impl ResultsCollation {
    /// The collation of results in a session with the other fields of `charset`, by the number in a column definition;
    /// `takes_number`: the server takes that number for `character_set_results`. One that it does not take has come with
    /// the collation of the connection, now or with the character sets that the session had `before`.
    #[must_use]
    pub fn told(
        (number, takes_number): (u16, bool),
        charset: &Charset,
        before: Option<&Charset>,
    ) -> Option<Self> {
        let results = charset.results.as_ref();
        // Column definitions of results that are not converted tell the collations of their columns.
        let results = results.filter(|results| ***results != *b"binary")?;
        if takes_number {
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

    /// `character_set_connection`: servers call a collation by its character set, and what it is besides.
    pub fn of_connection(&self) -> &[u8] {
        let name = &self.collation;
        let end = name.iter().position(|&byte| byte == b'_');
        &name[..end.unwrap_or(name.len())]
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

/// True of a character set in which no statement can be read, so that the servers let no client in with it: its
/// characters have at least two bytes, or stand for names of files.
pub fn is_unreadable(charset: &[u8]) -> bool {
    const UNREADABLE: [&[u8]; 5] = [b"filename", b"ucs2", b"utf16", b"utf16le", b"utf32"];
    UNREADABLE.contains(&charset)
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
        let told = |number, collation: &str, before: Option<&Charset>| {
            let charset = charset(collation, None);
            let told = ResultsCollation::told((number, number == 45), &charset, before)?;
            Some(
                told.name
                    .map(|name| String::from_utf8(name.into()).unwrap()),
            )
        };
        let named = |name: &str| Some(Some(name.to_owned()));
        assert_eq!(told(45, "utf8mb4_bin", None), Some(None));
        assert_eq!(told(46, "utf8mb4_bin", None), named("utf8mb4_bin"));
        // SET NAMES utf8mb4 COLLATE utf8mb4_bin; SET collation_connection = latin1_bin
        let name = Some(b"utf8mb4_bin"[..].into());
        let before = charset("utf8mb4_bin", Some(ResultsCollation { number: 46, name }));
        let then = told(46, "latin1_bin", Some(&before));
        assert_eq!(then, named("utf8mb4_bin"));
        assert_eq!(told(46, "latin1_bin", None), None);
        let other = told(224, "utf8mb4_unicode_ci", Some(&before));
        assert_eq!(other, named("utf8mb4_unicode_ci"));
    }

    #[test]
    fn results_that_are_not_converted_have_no_collation() {
        for results in [None, Some(&b"binary"[..])] {
            let charset = Charset {
                results: results.map(Into::into),
                ..charset("utf8mb4_bin", None)
            };
            let told = ResultsCollation::told((33, true), &charset, None);
            assert_eq!(told, None);
        }
    }
}
