//! Scripts: SQL with placeholders, in transactions with weights. The workloads of sysbench are
//! scripts, too. The language is described in `docs/LOAD.md`.
//!
//! [`source`] cuts a text into transactions and statements, [`parts`] cuts a statement up,
//! [`placeholder`] reads what stands in braces, and [`template`] is a statement ready to be sent in either protocol.

mod parts;
mod placeholder;
mod source;
mod template;

use fastrand::Rng;

use crate::distribution::Distribution;

pub(crate) use template::{Draws, Kind, Template};

/// A script that was read: transactions, each with its weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(crate) transactions: Vec<Transaction>,
    weights: u32,
}

/// Statements that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transaction {
    weight: u32,
    pub(crate) statements: Vec<Template>,
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script: {what}")]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl Script {
    /// Reads a script. `distribution` is that of its `random` placeholders.
    ///
    /// # Errors
    /// The text is no script.
    pub fn parse(text: &str, distribution: Distribution) -> Result<Self, ScriptError> {
        source::parse(text, distribution)
    }

    /// The number of one of the transactions, by weight.
    pub(crate) fn choose(&self, rng: &mut Rng) -> usize {
        if self.transactions.len() == 1 {
            return 0;
        }
        let mut left = rng.u32(..self.weights);
        let chosen = self.transactions.iter().position(|transaction| {
            let found = left < transaction.weight;
            left = left.saturating_sub(transaction.weight);
            found
        });
        chosen.unwrap_or(0)
    }

    /// The statement.
    pub(crate) fn statement(&self, transaction: usize, step: usize) -> Option<&Template> {
        self.transactions.get(transaction)?.statements.get(step)
    }

    /// How many statements a connection may have to prepare, and where those of each statement
    /// begin.
    pub(crate) fn number_variants(&mut self) -> u32 {
        let mut next = 0;
        for transaction in &mut self.transactions {
            for statement in &mut transaction.statements {
                next = statement.number_variants(next);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests;
