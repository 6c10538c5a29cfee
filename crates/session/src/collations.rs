//! The collations of a server, as the server lists them: number, name and character set of each, and the one that each
//! character set has by default.
//!
//! Owns how the server is asked and how the answer is read. Knows no collation by itself.

use crate::charset::{Charset, ResultsCollation};
use crate::statement::Flavor;

/// Asks for all collations that a login can name, with a limit of its own because a server may limit rows
/// (`sql_select_limit`). Since 11.2 MariaDB lists the collations that `character_set_collations` chooses as defaults; without
/// that variable it lists those that a number or a character set stands for by itself.
///
/// Send it before the session tracker is told to follow all variables: MariaDB tells afterwards what `SET STATEMENT` has put
/// back.
pub const ASK_FOR_COLLATIONS: &[u8] =
    b"/*M!110201 SET STATEMENT character_set_collations='' FOR */ SELECT ID,COLLATION_NAME,CHARACTER_SET_NAME,IS_DEFAULT='Yes' \
    FROM information_schema.COLLATIONS WHERE ID<256 LIMIT 256";

/// The collations of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collations {
    /// Ordered by number.
    all: Box<[Collation]>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Collation {
    number: u16,
    name: Box<[u8]>,
    charset: Box<[u8]>,
    /// Its character set has it by default, whatever `character_set_collations` says.
    is_default: bool,
}

impl Collations {
    /// From the rows of the answer to [`ASK_FOR_COLLATIONS`]. Skips a row that is not one of a collation.
    pub fn told<'a>(rows: impl Iterator<Item = &'a [Option<Vec<u8>>]>) -> Self {
        let mut all: Vec<_> = rows.filter_map(Collation::told).collect();
        all.sort_by_key(|collation| collation.number);
        Self { all: all.into() }
    }

    /// The character set of the collation with this number. `None` if the server has no such collation, or lists it for
    /// nobody.
    pub fn charset(&self, number: u16) -> Option<&[u8]> {
        self.find(number).map(|collation| &*collation.charset)
    }

    /// True if the server takes this number for `character_set_results`: MySQL takes that of any collation, MariaDB takes
    /// those of defaults.
    pub fn takes_number(&self, number: u16, flavor: Flavor) -> bool {
        let is_default = |collation: &Collation| collation.is_default;
        flavor == Flavor::MySql || self.find(number).is_some_and(is_default)
    }

    /// The character sets that a session begins with which names this collation in its login. `chosen` is the server's
    /// `character_set_collations`. `None` if the server has no such collation.
    pub fn of_login(&self, number: u8, chosen: &[u8], flavor: Flavor) -> Option<Charset> {
        let collation = self.find(number.into())?;
        let chosen = chosen_for(&collation.charset, chosen).filter(|_| collation.is_default);
        let takes_number = match chosen {
            Some(_) => false,
            None => self.takes_number(number.into(), flavor),
        };
        let mut charset = Charset {
            client: collation.charset.clone(),
            results: Some(collation.charset.clone()),
            results_collation: None,
            collation: chosen.unwrap_or(&collation.name).into(),
        };
        let number = (collation.number, takes_number);
        charset.results_collation = ResultsCollation::told(number, &charset, None);
        Some(charset)
    }

    fn find(&self, number: u16) -> Option<&Collation> {
        let place = self
            .all
            .binary_search_by_key(&number, |collation| collation.number);
        self.all.get(place.ok()?)
    }
}

impl Collation {
    fn told(row: &[Option<Vec<u8>>]) -> Option<Self> {
        let [Some(number), Some(name), Some(charset), is_default] = row else {
            return None;
        };
        Some(Self {
            number: std::str::from_utf8(number).ok()?.parse().ok()?,
            name: name[..].into(),
            charset: charset[..].into(),
            is_default: is_default.as_deref() == Some(b"1"),
        })
    }
}

/// The collation that a value of `character_set_collations` (`utf8mb4=utf8mb4_bin,latin1=latin1_bin`) chooses for a character
/// set.
fn chosen_for<'a>(charset: &[u8], chosen: &'a [u8]) -> Option<&'a [u8]> {
    chosen.split(|&byte| byte == b',').find_map(|choice| {
        let collation = choice.strip_prefix(charset)?;
        collation.strip_prefix(b"=")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fields: [&str; 4]) -> Vec<Option<Vec<u8>>> {
        let field = |field: &str| (field != "NULL").then(|| field.as_bytes().to_vec());
        fields.into_iter().map(field).collect()
    }

    /// As MariaDB 11.8 lists them, some left out.
    fn collations() -> Collations {
        let rows = [
            ["46", "utf8mb4_bin", "utf8mb4", "0"],
            ["45", "utf8mb4_general_ci", "utf8mb4", "1"],
            ["8", "latin1_swedish_ci", "latin1", "1"],
            ["35", "ucs2_general_ci", "ucs2", "1"],
            ["NULL", "uca1400_ai_ci", "NULL", "NULL"],
        ]
        .map(row);
        Collations::told(rows.iter().map(|row| &row[..]))
    }

    const CHOSEN: &[u8] = b"utf8mb3=utf8mb3_uca1400_ai_ci,utf8mb4=utf8mb4_uca1400_ai_ci";

    #[test]
    fn a_login_begins_with_what_is_chosen_for_a_character_set() {
        let of_login = |number, chosen, flavor| {
            let charset = collations().of_login(number, chosen, flavor)?;
            let results = charset.results_collation.unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(results.number, number.into());
            assert_eq!(charset.results, Some(charset.client.clone()));
            Some((
                text(&charset.client),
                text(&charset.collation),
                results.name.as_deref().map(text),
            ))
        };
        let some = |charset: &str, collation: &str, name: Option<&str>| {
            Some((
                charset.to_owned(),
                collation.to_owned(),
                name.map(str::to_owned),
            ))
        };
        let chosen = "utf8mb4_uca1400_ai_ci";
        let general = "utf8mb4_general_ci";
        for (number, choice, flavor, expected) in [
            (
                45,
                CHOSEN,
                Flavor::MariaDb,
                some("utf8mb4", chosen, Some(chosen)),
            ),
            (45, b"", Flavor::MariaDb, some("utf8mb4", general, None)),
            // Whoever names another collation than the default gets that.
            (
                46,
                CHOSEN,
                Flavor::MariaDb,
                some("utf8mb4", "utf8mb4_bin", Some("utf8mb4_bin")),
            ),
            (
                8,
                CHOSEN,
                Flavor::MariaDb,
                some("latin1", "latin1_swedish_ci", None),
            ),
            (46, b"", Flavor::MySql, some("utf8mb4", "utf8mb4_bin", None)),
            (250, CHOSEN, Flavor::MariaDb, None),
        ] {
            assert_eq!(of_login(number, choice, flavor), expected, "{number}");
        }
    }

    #[test]
    fn numbers_stand_for_character_sets() {
        let known = collations();
        assert_eq!(known.charset(35), Some(&b"ucs2"[..]));
        assert_eq!(known.charset(9), None);
        let taken = |number| known.takes_number(number, Flavor::MariaDb);
        assert!(taken(45) && !taken(46) && !taken(224));
        assert!(known.takes_number(46, Flavor::MySql));
        assert_eq!(Collations::default().charset(45), None);
    }
}
