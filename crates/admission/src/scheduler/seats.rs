//! Logins, default schemas and changed rules. Owns what a session keeps of them, its [`Seat`].

use std::sync::Arc;

use events::Timestamp;

use crate::pattern::{AccountName, Identity};
use crate::permit::Needs;
use crate::rejection::{Rejection, Why};
use crate::row::{Connected, RowRef};
use crate::rules::Subject;

use super::account::{Account, LocalGate, Schema, gates, rejection};
use super::{Counters, Scheduler};

/// What a session keeps: the account that it is counted under, and its default schema's quota if
/// there is one. Dropping it says that the client is gone. It is of use at one worker only.
#[derive(Debug)]
pub struct Seat {
    pub(super) account: u32,
    pub(super) schema: Option<u32>,
    _connected: Connected,
    in_schema: Option<Connected>,
}

impl Seat {
    /// Whether a default schema's quota holds for the session.
    pub fn is_in_schema(&self) -> bool {
        self.schema.is_some()
    }
}

impl<T: Copy> Scheduler<T> {
    /// A client has proved who it is.
    ///
    /// # Errors
    ///
    /// The account's `max_connections` or `max_connects_per_second`.
    pub fn login(&mut self, who: &Identity<'_>, now: Timestamp) -> Result<Seat, Rejection> {
        let account = self.account(self.rules.account_of(who));
        let Account { row, quota, .. } = &self.accounts[account as usize];
        let row = *row;
        let seat = row.connect(quota.max_connections).map(|connected| Seat {
            account,
            schema: None,
            _connected: connected,
            in_schema: None,
        });
        let why = match seat {
            Some(seat) if row.is_on_time(quota.max_connects_per_second, now) => return Ok(seat),
            Some(_) => Why::Connects(quota.max_connects_per_second),
            None => Why::Connections(quota.max_connections),
        };
        Err(rejection(row, why))
    }

    /// The session's default schema is `schema` from now on. To be called again for every session
    /// after [`Scheduler::rules_changed`].
    ///
    /// # Errors
    ///
    /// The schema's `max_connections`; the seat is as it was.
    pub fn use_schema(&mut self, seat: &mut Seat, schema: Option<&str>) -> Result<(), Rejection> {
        let schema = self.limited_schema(schema);
        let max = schema.map(|schema| self.schemas[schema as usize].quota.max_connections);
        if self.take_place(seat, schema, max.unwrap_or_default()) {
            return Ok(());
        }
        let row = schema.map(|schema| self.schemas[schema as usize].row);
        let row = row.unwrap_or(self.accounts[seat.account as usize].row);
        Err(rejection(row, Why::Connections(max.unwrap_or_default())))
    }

    /// As [`Scheduler::use_schema`], of a session that is in the schema already: it is counted there and
    /// limited as the others, however many there are.
    pub fn follow_schema(&mut self, seat: &mut Seat, schema: Option<&str>) {
        let schema = self.limited_schema(schema);
        self.take_place(seat, schema, 0);
    }

    /// The number of a schema, if it has a quota.
    fn limited_schema(&mut self, schema: Option<&str>) -> Option<u32> {
        let schema = schema.filter(|name| self.rules.schema(name).is_some());
        schema.map(|name| self.schema(name))
    }

    /// Counts a session among those of a schema, unless `max` are there. False if it is not.
    fn take_place(&self, seat: &mut Seat, schema: Option<u32>, max: u32) -> bool {
        if schema == seat.schema {
            return true;
        }
        let row = schema.map(|schema| self.schemas[schema as usize].row);
        let connected = row.map(|row| row.connect(max));
        if matches!(connected, Some(None)) {
            return false;
        }
        seat.schema = schema;
        seat.in_schema = connected.flatten();
        true
    }

    /// Other rules are in force. Whoever waits for room that there is now is served by
    /// [`Scheduler::next`].
    pub fn rules_changed(&mut self) {
        self.rules = self.ledger.rules();
        for (number, account) in self.accounts.iter_mut().enumerate() {
            account.quota = account.subject.quota(&self.rules);
            account.counts = account.quota.counts_statements();
            account.limits = account.quota.limits_statements();
            self.fair.set_weight(number as u32, account.quota.weight);
        }
        for schema in &mut self.schemas {
            schema.quota = schema.subject.quota(&self.rules);
        }
        for index in 0..self.registered.len() {
            self.touch(self.registered[index]);
        }
    }

    /// The longest that a statement of this session may take, its wait included; zero = for ever.
    pub fn max_statement_time(&self, seat: &Seat) -> events::Span {
        let account = &self.accounts[seat.account as usize].quota;
        let schema = seat
            .schema
            .map(|schema| &self.schemas[schema as usize].quota);
        let spans = [Some(account), schema].into_iter().flatten();
        let spans = spans.map(|quota| quota.max_statement_time);
        let spans = spans.filter(|span| *span != events::Span::ZERO);
        spans.min().unwrap_or_default()
    }

    /// Whether any schema has a quota: else default schemas need not be told.
    pub fn knows_schemas(&self) -> bool {
        self.rules.has_schemas()
    }

    /// The account that the session is counted under, `'user'@'host'`.
    pub fn name(&self, seat: &Seat) -> Arc<str> {
        self.accounts[seat.account as usize].row.name.clone()
    }

    /// The share of the backends that the session's account has, relative to others'.
    pub fn weight(&self, seat: &Seat) -> u32 {
        self.accounts[seat.account as usize].quota.weight.max(1)
    }

    /// The rows that statements are counted in: only those that have limits.
    pub(super) fn rows(&self, account: u32, schema: Option<u32>) -> [Option<RowRef>; 2] {
        let account = &self.accounts[account as usize];
        let schema = schema.map(|schema| self.schemas[schema as usize].row);
        [account.counts.then_some(account.row), schema]
    }

    fn account(&mut self, name: AccountName) -> u32 {
        let subject = Subject::Account(name);
        if let Some(&number) = self.numbers.get(&subject) {
            return number;
        }
        let number = self.accounts.len() as u32;
        let row = self.open_row(&subject, number);
        let quota = subject.quota(&self.rules);
        self.fair.add(quota.weight);
        self.accounts.push(Account {
            subject,
            row,
            counts: quota.counts_statements(),
            limits: quota.limits_statements(),
            quota,
            waiting: 0,
            standing_since: Timestamp::ZERO,
            ready: Vec::new(),
            counters: Counters::default(),
        });
        number
    }

    fn schema(&mut self, name: &str) -> u32 {
        let subject = Subject::Schema(Arc::from(name));
        if let Some(&number) = self.numbers.get(&subject) {
            return number;
        }
        let number = self.schemas.len() as u32;
        let row = self.open_row(&subject, number);
        let quota = subject.quota(&self.rules);
        self.schemas.push(Schema {
            subject,
            row,
            quota,
        });
        number
    }

    fn open_row(&mut self, subject: &Subject, number: u32) -> RowRef {
        self.numbers.insert(subject.clone(), number);
        let (_, row) = self.ledger.row(subject);
        for gate in gates([Some(row), None], Needs::Transaction) {
            let id = gate.id() as usize;
            if self.gates.len() <= id {
                self.gates.resize_with(id + 1, || None);
            }
            self.gates[id] = Some(LocalGate {
                gate,
                is_shared: matches!(subject, Subject::Schema(_)),
                blocked: Vec::new(),
                published: None,
                is_watched: false,
                is_touched: false,
                place: 0,
            });
        }
        row
    }
}
