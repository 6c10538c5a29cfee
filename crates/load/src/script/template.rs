//! A statement with placeholders, and how it is sent: as text, or prepared with parameters.

use fastrand::Rng;
use wire::{Command, PacketWriter, put_lenenc_bytes};

use crate::answer::Expectation;
use crate::distribution::Distribution;
use crate::workload::{Origin, Token};

use super::parts::Parts;
use super::placeholder::{Names, Placeholder};

/// Types of parameters, as the binary protocol numbers them.
const LONGLONG: u8 = 0x08;
const VAR_STRING: u8 = 0xfd;

/// A statement of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
    pub(crate) expectation: Expectation,
    pub(crate) kind: Kind,
    /// The number of its first variant among all of the script.
    first_variant: u32,
}

/// What a statement does, as far as its first word tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It reads.
    Read,
    /// It writes rows.
    Write,
    /// Transactions, settings and the like: never prepared.
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Literal(Box<[u8]>),
    /// Part of a name: for each of its values there is a prepared statement.
    Variant(Placeholder),
    /// Stands alone; a parameter once prepared.
    Number(Placeholder),
    /// A text in quotes; a parameter once prepared.
    Quoted(Vec<Part>),
}

/// Where values come from.
pub(crate) struct Draws<'a> {
    /// For what is drawn anew each time.
    pub(crate) rng: &'a mut Rng,
    /// The transaction's own, for what is drawn once.
    pub(crate) seed: u64,
    /// Which statement it is.
    pub(crate) origin: Origin,
    /// The token that was drawn.
    pub(crate) token: Option<Token>,
}

impl Template {
    /// Reads a statement.
    pub(super) fn parse(
        text: &str,
        expectation: Expectation,
        names: &mut Names,
        distribution: Distribution,
    ) -> Result<Self, String> {
        let parts = Parts::parse(text, names, distribution)?;
        let variants = parts.iter().filter(|part| matches!(part, Part::Variant(_)));
        if variants.count() > 1 {
            return Err(
                "only one placeholder may be part of a name; write a second statement".into(),
            );
        }
        Ok(Self {
            parts,
            expectation,
            kind: Kind::of(text),
            first_variant: 0,
        })
    }

    /// Appends the COM_QUERY.
    pub(crate) fn put_query(&self, out: &mut Vec<u8>, draws: &mut Draws<'_>) {
        let mut packet = PacketWriter::begin(out, 0);
        packet.payload().push(Command::Query as u8);
        put_text(&self.parts, packet.payload(), draws);
        packet.finish();
    }

    /// The number of the prepared statement that is needed, among all of the script.
    pub(crate) fn variant(&self, draws: &mut Draws<'_>) -> u32 {
        let variant = self.parts.iter().find_map(Part::variant);
        let offset = variant.and_then(|placeholder| {
            let first = placeholder.numbers()?.first();
            u32::try_from(placeholder.number(draws) - first).ok()
        });
        self.first_variant + offset.unwrap_or(0)
    }

    /// Appends the COM_STMT_PREPARE of that variant.
    pub(crate) fn put_prepare(&self, out: &mut Vec<u8>, variant: u32) {
        let mut packet = PacketWriter::begin(out, 0);
        let text = packet.payload();
        text.push(Command::StmtPrepare as u8);
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.extend_from_slice(literal),
                Part::Number(_) | Part::Quoted(_) => text.push(b'?'),
                Part::Variant(placeholder) => {
                    let first = placeholder.numbers().map_or(0, |numbers| numbers.first());
                    let number = first + u64::from(variant - self.first_variant);
                    text.extend_from_slice(number.to_string().as_bytes());
                }
            }
        }
        packet.finish();
    }

    /// Appends the COM_STMT_EXECUTE of the prepared statement with this id.
    pub(crate) fn put_execute(&self, out: &mut Vec<u8>, id: u32, draws: &mut Draws<'_>) {
        let mut packet = PacketWriter::begin(out, 0);
        let payload = packet.payload();
        payload.push(Command::StmtExecute as u8);
        payload.extend_from_slice(&id.to_le_bytes());
        // No cursor, one iteration.
        payload.extend_from_slice(&[0, 1, 0, 0, 0]);
        let types: Vec<u8> = self.parts.iter().filter_map(Part::parameter).collect();
        if !types.is_empty() {
            payload.resize(payload.len() + types.len().div_ceil(8), 0);
            payload.push(1);
            payload.extend(types.iter().flat_map(|kind| [*kind, 0]));
            for part in &self.parts {
                part.put_value(payload, draws);
            }
        }
        packet.finish();
    }

    /// Numbers its variants from `first` on. Returns where the next statement's begin.
    pub(super) fn number_variants(&mut self, first: u32) -> u32 {
        self.first_variant = first;
        let numbers = self.parts.iter().find_map(Part::variant);
        let count = numbers
            .and_then(Placeholder::numbers)
            .map_or(1, |n| n.count());
        first.saturating_add(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

impl Kind {
    fn of(text: &str) -> Self {
        let word: String = text
            .trim_start_matches([' ', '\n', '\t', '('])
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect();
        match word.to_ascii_uppercase().as_str() {
            "SELECT" | "WITH" => Self::Read,
            "INSERT" | "UPDATE" | "DELETE" | "REPLACE" => Self::Write,
            _ => Self::Other,
        }
    }
}

impl Part {
    fn variant(&self) -> Option<&Placeholder> {
        match self {
            Self::Variant(placeholder) => Some(placeholder),
            _ => None,
        }
    }

    /// Its type, if it is a parameter.
    fn parameter(&self) -> Option<u8> {
        match self {
            Self::Number(_) => Some(LONGLONG),
            Self::Quoted(_) => Some(VAR_STRING),
            Self::Literal(_) | Self::Variant(_) => None,
        }
    }

    fn put_value(&self, out: &mut Vec<u8>, draws: &mut Draws<'_>) {
        match self {
            Self::Number(placeholder) => {
                out.extend_from_slice(&placeholder.number(draws).to_le_bytes());
            }
            Self::Quoted(parts) => {
                let mut text = Vec::new();
                put_text(parts, &mut text, draws);
                put_lenenc_bytes(out, &text);
            }
            Self::Literal(_) | Self::Variant(_) => {}
        }
    }
}

fn put_text(parts: &[Part], out: &mut Vec<u8>, draws: &mut Draws<'_>) {
    for part in parts {
        match part {
            Part::Literal(literal) => out.extend_from_slice(literal),
            Part::Variant(placeholder) | Part::Number(placeholder) => placeholder.put(out, draws),
            Part::Quoted(parts) => {
                out.push(b'\'');
                put_text(parts, out, draws);
                out.push(b'\'');
            }
        }
    }
}
