//! The text of a script: statements that end with `;`, and lines that begin with `--`.

use crate::answer::Expectation;
use crate::distribution::Distribution;

use super::placeholder::Names;
use super::template::Template;
use super::{Script, ScriptError, Transaction};

/// The weight of a transaction that names none.
const WEIGHT: u32 = 1;

/// A script that is being read.
struct Source {
    distribution: Distribution,
    transactions: Vec<Transaction>,
    /// What the next statement must be answered with.
    expectation: Option<Expectation>,
    /// The names given in the present transaction.
    names: Names,
    /// The statement so far, and the line where it began.
    text: String,
    begin: usize,
}

pub(super) fn parse(text: &str, distribution: Distribution) -> Result<Script, ScriptError> {
    let mut source = Source {
        distribution,
        transactions: Vec::new(),
        expectation: None,
        names: Names::new(),
        text: String::new(),
        begin: 0,
    };
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let taken = match line.strip_prefix("--") {
            Some(note) if source.text.is_empty() => source.note(note.trim()),
            _ => source.line(line, number),
        };
        taken.map_err(|what| ScriptError { line: number, what })?;
    }
    source.finish()
}

impl Source {
    /// A line that begins with two dashes: something for us, or a comment.
    fn note(&mut self, note: &str) -> Result<(), String> {
        let Some((name, value)) = note.split_once(':') else {
            return Ok(());
        };
        match name.trim() {
            "weight" => {
                self.names.clear();
                self.transactions.push(Transaction {
                    weight: number(value)?.max(1),
                    statements: Vec::new(),
                });
            }
            "rows" => {
                let (min, max) = value.split_once("..").unwrap_or((value, value));
                let (min, max) = (number(min)?, number(max)?);
                self.expectation = Some(Expectation::Rows { min, max });
            }
            "affected" => self.expectation = Some(Expectation::Affected(number(value)?)),
            "value" if value.trim() == "not null" => {
                self.expectation = Some(Expectation::OneValue);
            }
            "value" if value.trim() == "token" => self.expectation = Some(Expectation::OwnToken),
            "value" => return Err("write `value: not null` or `value: token`".to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        if self.text.is_empty() {
            self.begin = number;
        } else {
            self.text.push('\n');
        }
        self.text.push_str(line);
        if let Some(statement) = self.text.trim_end().strip_suffix(';') {
            let statement = statement.to_owned();
            self.text.clear();
            self.statement(&statement)?;
        } else if self.text.trim().is_empty() {
            self.text.clear();
        }
        Ok(())
    }

    fn statement(&mut self, text: &str) -> Result<(), String> {
        let expectation = self.expectation.take().unwrap_or(Expectation::Anything);
        let template = Template::parse(text, expectation, &mut self.names, self.distribution)?;
        if self.transactions.is_empty() {
            self.transactions.push(Transaction {
                weight: WEIGHT,
                statements: Vec::new(),
            });
        }
        if let Some(transaction) = self.transactions.last_mut() {
            transaction.statements.push(template);
        }
        Ok(())
    }

    fn finish(self) -> Result<Script, ScriptError> {
        let error = |line, what: &str| {
            Err(ScriptError {
                line,
                what: what.to_owned(),
            })
        };
        if !self.text.is_empty() {
            return error(
                self.begin,
                "the statement has no end; write ; at the end of a line",
            );
        }
        if self.transactions.is_empty() {
            return error(
                1,
                "there is no statement; write at least one, with ; at its end",
            );
        }
        if self
            .transactions
            .iter()
            .any(|transaction| transaction.statements.is_empty())
        {
            return error(
                1,
                "a weight has no statement; write its statements below it",
            );
        }
        let weights = self
            .transactions
            .iter()
            .map(|transaction| transaction.weight);
        Ok(Script {
            weights: weights.fold(0, u32::saturating_add),
            transactions: self.transactions,
        })
    }
}

fn number(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("{text} is no number; write a whole number"))
}
