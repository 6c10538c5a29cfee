//! GET DIAGNOSTICS, answered from what was captured: user variables are set as the server would set them, and no
//! backend is asked. What only the server knows, or says better, is left to it.

use events::Io;
use membership::Key;
use session::statement::Kind;
use session::statement::{
    Asked, ConditionItem, Flavor, Place, Statement, StatementItem, Traits, get_diagnostics,
};
use session::{ColumnType, Told, UserValue, sqlstate};
use wire::Command;

use super::list::Condition;
use crate::backend::facts::Facts;
use crate::client::Client;
use crate::commands::Packet;
use crate::errors::ClientError;
use crate::{Engine, Mail, Turn};

/// Longer texts are not looked at.
const TEXT_MAX: usize = 4 << 10;

/// What a program signals has one of these numbers, if it does not say another.
const SIGNALLED: std::ops::RangeInclusive<u16> = 1642..=1644;

/// Variables, and what they become.
type Values = Vec<(Box<[u8]>, UserValue)>;

/// Who answers a GET DIAGNOSTICS.
enum Answer {
    /// The front door, by setting these.
    Own(Values),
    /// A backend.
    Backend,
    /// Nobody: the conditions are here, and what is asked of them is not known.
    Nobody,
}

impl Engine {
    /// Answers GET DIAGNOSTICS from the capture. False if the command is another, or a backend answers it.
    pub(crate) fn answered_conditions<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        text: &[u8],
    ) -> bool {
        let told = match self.conditions_for(key, text) {
            None | Some(Answer::Backend) => return false,
            Some(Answer::Own(values)) => self.set_user_variables(key, values),
            Some(Answer::Nobody) => false,
        };
        if !told {
            self.answer_err(turn, key, &ClientError::diagnostics_elsewhere());
            return true;
        }
        self.answer_ok(turn, key);
        true
    }

    fn conditions_for(&self, key: Key, text: &[u8]) -> Option<Answer> {
        if !may_be_get(text) {
            return None;
        }
        let (client, facts) = (self.clients.get(key)?, self.facts.as_ref()?);
        let asked = get_diagnostics(text, &facts.dialect(&client.session)?)?;
        let conditions = &client.capture.conditions;
        let live = conditions.is_there();
        if conditions.must_repeat() {
            return Some(Answer::Backend);
        }
        Some(match asked {
            Asked::OfStatement(items) => of_statement(client, items, live),
            _ if live || was_signalled(client) => Answer::Backend,
            Asked::Otherwise | Asked::OfCondition(..) if conditions.list().is_none() => {
                Answer::Backend
            }
            Asked::Otherwise => Answer::Nobody,
            Asked::OfCondition(Place::Number(number), items) => {
                of_condition((client, facts), number, items)
            }
            Asked::OfCondition(Place::Variable(name), _)
                if !self.knows_user_variable(client, &name) =>
            {
                Answer::Nobody
            }
            Asked::OfCondition(Place::Variable(name), items) => {
                let value = client
                    .session
                    .user
                    .as_ref()
                    .and_then(|user| user.get(&name));
                match value.filter(|value| !value.is_null()) {
                    None => Answer::Backend,
                    Some(value) => value.as_unsigned().map_or(Answer::Nobody, |number| {
                        of_condition((client, facts), number, items)
                    }),
                }
            }
        })
    }

    /// True for GET DIAGNOSTICS that is prepared and about a statement that ran on another backend: there is no
    /// bringing a condition across, and none would be a wrong answer.
    pub(crate) fn asks_in_vain(
        &self,
        client: Key,
        packet: Packet<'_>,
        statement: &Statement,
    ) -> bool {
        let asks = statement.kind == Kind::Diagnostics
            && statement.traits.contains(Traits::READS_DIAGNOSTICS);
        let is_text = packet.payload.first() == Some(&(Command::Query as u8));
        if !asks || is_text && may_be_get(packet.text()) {
            return false;
        }
        let client = self.clients.get(client);
        client.is_some_and(|client| client.capture.conditions.list().is_some())
    }
}

/// True for texts that may be a GET DIAGNOSTICS, or a RESIGNAL, which is never refused; the others are not looked at twice.
fn may_be_get(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let begins = matches!(
        text.first(),
        Some(b'g' | b'G' | b'r' | b'R' | b'/' | b'#' | b'-')
    );
    begins && text.len() <= TEXT_MAX
}

/// True if the backend knows more of the conditions, once what gave them has run again.
fn was_signalled(client: &Client) -> bool {
    let list = client.capture.conditions.list();
    list.is_some_and(|list| list.signal().is_some())
}

/// How many conditions there are is known to the backend alone, if it has newer ones.
fn of_statement(client: &Client, items: Vec<(Box<[u8]>, StatementItem)>, live: bool) -> Answer {
    let value = |item| match item {
        StatementItem::Number if live => None,
        StatementItem::Number => {
            let list = client.capture.conditions.list();
            let number = list.map_or(0, |list| list.count(false));
            Some(UserValue::unsigned(number.unsigned_abs()))
        }
        StatementItem::RowCount => Some(UserValue::integer(client.capture.row_count)),
    };
    let values = items
        .into_iter()
        .map(|(name, item)| Some((name, value(item)?)))
        .collect();
    Option::map_or(values, Answer::Backend, Answer::Own)
}

fn of_condition(
    (client, facts): (&Client, &Facts),
    number: u64,
    items: Vec<(Box<[u8]>, ConditionItem)>,
) -> Answer {
    let list = client.capture.conditions.list();
    let Some(condition) = list.and_then(|list| list.get(number)) else {
        // The server says that there is none, which is another condition.
        return Answer::Backend;
    };
    let values = items
        .into_iter()
        .map(|(name, item)| Some((name, value(item, &condition, facts)?)))
        .collect();
    Option::map_or(values, Answer::Nobody, Answer::Own)
}

/// What the server says; `None` if that is not known.
fn value(item: ConditionItem, condition: &Condition, facts: &Facts) -> Option<UserValue> {
    let usual = sqlstate(condition.code, facts.flavor);
    let told = condition.state.unwrap_or(usual);
    let signalled = SIGNALLED.contains(&condition.code) || told != usual;
    match item {
        ConditionItem::Code => Some(UserValue::unsigned(condition.code.into())),
        ConditionItem::Message => text(condition.message.as_deref()?, facts),
        ConditionItem::SqlState if signalled => text(&condition.state?, facts),
        ConditionItem::SqlState => text(&told, facts),
        // A program may have said any.
        ConditionItem::Origin | ConditionItem::Name if signalled => None,
        ConditionItem::Origin => text(origin(told, facts.flavor), facts),
        ConditionItem::Name => text(b"", facts),
        ConditionItem::RowNumber => None,
    }
}

/// Who has defined the class of a SQLSTATE. Source: the classes that ISO 9075 keeps to itself begin with 0 to
/// 4 and A to H. MariaDB leaves it open.
fn origin(state: [u8; 5], flavor: Flavor) -> &'static [u8] {
    match (flavor, state[0]) {
        (Flavor::MariaDb, _) => b"",
        (Flavor::MySql, b'0'..=b'4' | b'A'..=b'H') => b"ISO 9075",
        (Flavor::MySql, _) => b"MySQL",
    }
}

/// A text of the server's own, which is in UTF-8. Its collation is called otherwise since MariaDB 10.6 and MySQL 8.0.30; `None`
/// if the server has not said how.
fn text(utf8: &[u8], facts: &Facts) -> Option<UserValue> {
    let collation = &facts.charsets.of_names;
    let charset = collation.split(|&byte| byte == b'_').next()?;
    let hex: String = utf8.iter().map(|byte| format!("{byte:02X}")).collect();
    UserValue::told(&Told {
        column: ColumnType::Text,
        value: Some(utf8),
        hex: hex.as_bytes(),
        charset,
        collation,
    })
}
