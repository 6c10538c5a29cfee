//! What stands in braces: `{random:1..100}`, `{uniform:1..100}`, `{string:###-@@}`, `{token}`,
//! `{now}`; with a name, `{id=random:1..100}`, it can be used again in the same transaction: `{id}`, `{id+99}`.

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;

use crate::distribution::{Distribution, Numbers};
use crate::tables::put_form;
use crate::workload::Token;

use super::template::Draws;

/// A value that is put in the place of a placeholder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placeholder {
    source: Source,
    /// Added to a number.
    add: u64,
    /// The hash of the name under which a transaction draws it once only.
    name: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Source {
    Numbers(Numbers),
    Form(Box<str>),
    Token,
    /// When it is sent, in microseconds since 1970.
    Now,
}

/// The named placeholders of a statement, so that a name can be used again.
pub(super) type Names = Vec<(String, Placeholder)>;

impl Placeholder {
    /// Reads the text between the braces.
    pub(super) fn parse(
        text: &str,
        names: &mut Names,
        distribution: Distribution,
    ) -> Result<Self, String> {
        let (before, after) = text
            .split_once(':')
            .map_or((text, None), |(a, b)| (a, Some(b)));
        let Some(after) = after else {
            return Self::used_again(text, names);
        };
        let (name, kind) = match before.split_once('=') {
            Some((name, kind)) => (Some(name.trim()), kind.trim()),
            None => (None, before.trim()),
        };
        let source = match kind {
            "random" => Source::Numbers(Numbers::new(range(after)?, distribution)),
            "uniform" => Source::Numbers(Numbers::new(range(after)?, Distribution::Uniform)),
            "string" => Source::Form(after.into()),
            _ => return Err(unknown(text)),
        };
        let placeholder = Self {
            source,
            add: 0,
            name: name.map(hash),
        };
        if let Some(name) = name {
            names.push((name.to_owned(), placeholder.clone()));
        }
        Ok(placeholder)
    }

    fn used_again(text: &str, names: &Names) -> Result<Self, String> {
        let source = match text.trim() {
            "token" => Some(Source::Token),
            "now" => Some(Source::Now),
            _ => None,
        };
        if let Some(source) = source {
            return Ok(Self {
                source,
                add: 0,
                name: None,
            });
        }
        let (name, add) = text.split_once('+').unwrap_or((text, "0"));
        let found = names.iter().rev().find(|(known, _)| known == name.trim());
        let (_, placeholder) = found.ok_or_else(|| unknown(text))?;
        let add = add.trim().parse().map_err(|_| unknown(text))?;
        Ok(Self {
            add,
            ..placeholder.clone()
        })
    }

    /// Appends the value as text.
    pub(super) fn put(&self, out: &mut Vec<u8>, draws: &mut Draws<'_>) {
        match &self.source {
            Source::Numbers(_) => {
                let mut digits = itoa::Buffer::new();
                out.extend_from_slice(digits.format(self.number(draws)).as_bytes());
            }
            Source::Form(form) => self.with_rng(draws, |rng| put_form(out, form, rng)),
            Source::Now => {
                let mut digits = itoa::Buffer::new();
                out.extend_from_slice(digits.format(now_us()).as_bytes());
            }
            Source::Token => {
                let token = Token {
                    origin: draws.origin,
                    random: draws.rng.u64(..),
                };
                out.extend_from_slice(token.text().bytes());
                draws.token = Some(token);
            }
        }
    }

    /// The value, if it is a number, else 0.
    pub(super) fn number(&self, draws: &mut Draws<'_>) -> u64 {
        match &self.source {
            Source::Numbers(numbers) => self.with_rng(draws, |rng| numbers.draw(rng)) + self.add,
            Source::Form(_) | Source::Token | Source::Now => 0,
        }
    }

    /// The numbers it is drawn from, if it is one.
    pub(super) fn numbers(&self) -> Option<&Numbers> {
        match &self.source {
            Source::Numbers(numbers) => Some(numbers),
            Source::Form(_) | Source::Token | Source::Now => None,
        }
    }

    /// What a transaction draws by name is drawn from its seed, so that it need not be kept.
    fn with_rng<T>(&self, draws: &mut Draws<'_>, draw: impl FnOnce(&mut Rng) -> T) -> T {
        match self.name {
            Some(name) => draw(&mut Rng::with_seed(draws.seed ^ name)),
            None => draw(draws.rng),
        }
    }
}

/// Microseconds since 1970, so that the target can tell how long ago something was sent.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let bad = || format!("{text} is no range; write two whole numbers such as 1..100000");
    let (first, last) = text.split_once("..").ok_or_else(bad)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| bad());
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last - first == u64::MAX {
        return Err(bad());
    }
    Ok(first..=last)
}

fn unknown(text: &str) -> String {
    format!(
        "{{{text}}} is not known; write {{random:1..100}}, {{uniform:1..100}}, {{string:##@@}}, \
         {{token}}, {{now}}, or a name that was given before as in {{id=random:1..100}}"
    )
}

/// FNV-1a, spread over all bits.
fn hash(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
