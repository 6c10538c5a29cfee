//! Names by which statements lead to what leaves something unseen. Owns how a text is taken to name one: by a word of
//! it, be it in a string or a comment, in the schema that is selected or whose name is a word of it, too.

use std::collections::HashMap;

/// No name is longer: 64 characters of four bytes.
const WORD_MAX: usize = 256;

/// How what leaves something is reached by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// By writing: it is a table with a trigger.
    Written,
    /// By any statement: it is a view, or a routine.
    Named,
}

/// Names of tables, views and routines.
#[derive(Debug, Default)]
pub struct Names {
    /// The schemas that have it, by what of a name stands in a text as a word.
    places: HashMap<Word, Vec<(Word, Reached)>>,
}

/// A word, or the longest part of a name that is one, in lower case.
pub type Word = Box<[u8]>;

impl Names {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Takes in that `name` in `schema` leads there. False if that was known.
    pub fn add(&mut self, (schema, name): (&[u8], &[u8]), reached: Reached) -> bool {
        let (Some(schema), Some(name)) = (word_of(schema), word_of(name)) else {
            return false;
        };
        let places = self.places.entry(name).or_default();
        match places.iter_mut().find(|(known, _)| *known == schema) {
            Some((_, known)) if *known >= reached => false,
            Some((_, known)) => {
                *known = reached;
                true
            }
            None => {
                places.push((schema, reached));
                true
            }
        }
    }

    /// How a text that runs in one of these schemas leads there, if it does.
    pub fn reached(&self, text: &[u8], schemas: &[&[u8]]) -> Option<Reached> {
        let is = |schema: &Word, word: &[u8]| word.eq_ignore_ascii_case(schema);
        let selected = |schema: &Word| {
            let mut selected = schemas.iter().filter_map(|name| longest_word(name));
            selected.any(|word| is(schema, word))
        };
        let in_text = |schema: &Word| words(text).any(|word| is(schema, word));
        words(text)
            .filter_map(|word| self.places(word))
            .flatten()
            .filter(|(schema, _)| selected(schema) || in_text(schema))
            .map(|&(_, reached)| reached)
            .max()
    }

    fn places(&self, word: &[u8]) -> Option<&[(Word, Reached)]> {
        let mut lower = [0; WORD_MAX];
        let lower = lower.get_mut(..word.len())?;
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        self.places.get(&*lower).map(Vec::as_slice)
    }
}

/// The words of a text that may be names, or parts of such.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = text.split(|&byte| !is_plain(byte));
    parts.filter(|part| !part.is_empty())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$".contains(&byte) || byte >= 0x80
}

fn longest_word(name: &[u8]) -> Option<&[u8]> {
    words(name).max_by_key(|part| part.len())
}

/// What of a name stands in a text as a word; of several the longest.
fn word_of(name: &[u8]) -> Option<Word> {
    Some(longest_word(name)?.to_ascii_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_what_one_of_its_words_does_in_its_schema() {
        let mut names = Names::default();
        assert!(names.add((b"Shop", b"orders"), Reached::Written));
        assert!(!names.add((b"shop", b"Orders"), Reached::Written));
        assert!(names.add((b"shop", b"orders"), Reached::Named));
        assert!(!names.add((b"shop", b"orders"), Reached::Written));
        assert!(names.add((b"my-shop", b"a b'long one"), Reached::Written));
        for (text, schema, expected) in [
            (
                "INSERT INTO `Orders` VALUES (1)",
                "shop",
                Some(Reached::Named),
            ),
            ("INSERT INTO orders VALUES (1)", "other", None),
            (
                "INSERT INTO shop.orders VALUES (1)",
                "other",
                Some(Reached::Named),
            ),
            ("INSERT INTO orders_old VALUES (1)", "shop", None),
            ("SELECT 1 -- orders", "shop", Some(Reached::Named)),
            (
                "DELETE FROM `a b'long one`",
                "my-shop",
                Some(Reached::Written),
            ),
            ("SELECT 1", "shop", None),
        ] {
            let reached = names.reached(text.as_bytes(), &[schema.as_bytes()]);
            assert_eq!(reached, expected, "{text}");
        }
    }
}
