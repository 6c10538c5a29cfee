//! The rows of a table, a part at a time, as far as LIKE and LIMIT let them through.

use std::mem;

use engine::{BackendLine, ClientLine, Look, Whom};

use super::queue::Oldest;
use super::walk::Walk;
use super::{Column, Row, Subject, Value};
use super::{accounts, backends, hosts, pins, schemas, sessions, status, variables};
use crate::desk::Desk;
use crate::like::like;

/// How many rows there are unless LIMIT says otherwise.
const ROWS: u64 = 1_000;

/// How many of the oldest waiters are kept at most, whatever LIMIT says.
const WAITERS: u64 = 100_000;

/// What is wanted of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// A pattern with `%` and `_`.
    pub(crate) like: Option<String>,
    /// How many rows are left out first.
    pub(crate) offset: u64,
    /// How many there may be then; `None`: [`ROWS`].
    pub(crate) limit: Option<u64>,
}

/// The rows of a table.
pub(crate) struct Listing {
    subject: Subject,
    source: Source,
    filter: Filter,
    offset: u64,
    room: u64,
    cut: bool,
    silent: Vec<usize>,
    left_out: u64,
}

enum Source {
    Ready(Vec<Row>),
    Sessions(Walk<ClientLine>),
    Backends(Walk<BackendLine>),
    Over,
}

impl Listing {
    /// Begins to ask for what is to be shown.
    pub(crate) async fn new(desk: &Desk, subject: Subject, filter: Filter) -> Self {
        let room = filter.limit.unwrap_or(ROWS);
        let mut listing = Self {
            subject,
            source: Source::Over,
            offset: filter.offset,
            room,
            filter,
            cut: false,
            silent: Vec::new(),
            left_out: 0,
        };
        listing.source = match subject {
            Subject::Sessions => Source::Sessions(walk_clients(desk, Whom::All)),
            Subject::Backends => Source::Backends(desk.walk(Look::Backends)),
            Subject::Queue => Source::Ready(listing.queue(desk).await),
            Subject::Pins => Source::Ready(listing.pins(desk).await),
            Subject::Hosts => Source::Ready(hosts::rows(desk.facts.shared.broken_hosts())),
            Subject::Variables => Source::Ready(variables::rows((desk.facts.variables)())),
            Subject::Accounts => {
                let sighting = desk.watch.look().await;
                listing.note_silent(&sighting.collected.reports);
                let usage = desk.facts.shared.admission.usage();
                let told = &sighting.collected.total.accounts;
                Source::Ready(accounts::rows(&usage, told))
            }
            Subject::Schemas => Source::Ready(schemas::rows(&desk.facts.shared.admission.usage())),
            Subject::Status => {
                let sighting = desk.watch.look().await;
                listing.note_silent(&sighting.collected.reports);
                Source::Ready(status::rows(desk, &sighting))
            }
        };
        listing
    }

    /// The columns of all rows.
    pub(crate) fn columns(&self) -> &'static [Column] {
        self.subject.columns()
    }

    /// Some rows more, perhaps none; `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Vec<Row>> {
        let rows: Vec<Row> = match &mut self.source {
            Source::Over => return None,
            Source::Ready(rows) => {
                let rows = mem::take(rows);
                self.source = Source::Over;
                rows
            }
            Source::Sessions(walk) => match walk.next().await {
                Some(lines) => lines.into_iter().map(sessions::row).collect(),
                None => return self.end(),
            },
            Source::Backends(walk) => match walk.next().await {
                Some(lines) => lines.into_iter().map(backends::row).collect(),
                None => return self.end(),
            },
        };
        Some(self.let_through(rows))
    }

    /// What the reader should know besides the rows, once they are all there.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.cut {
            let limit = self.filter.limit.unwrap_or(ROWS);
            warnings.push(format!(
                "there are more than these {limit} rows; LIMIT offset, count asks for others"
            ));
        }
        if self.left_out > 0 {
            let count = self.left_out;
            warnings.push(format!("{count} more wait, younger than these"));
        }
        for worker in &self.silent {
            warnings.push(format!(
                "worker {worker} did not answer; its part is missing"
            ));
        }
        warnings
    }

    fn end(&mut self) -> Option<Vec<Row>> {
        match mem::replace(&mut self.source, Source::Over) {
            Source::Sessions(walk) => self.silent.extend(walk.silent),
            Source::Backends(walk) => self.silent.extend(walk.silent),
            Source::Ready(_) | Source::Over => {}
        }
        None
    }

    /// What LIKE and LIMIT leave. What is beyond LIMIT is not even asked for, unless to say that
    /// there is more where no LIMIT was written.
    fn let_through(&mut self, rows: Vec<Row>) -> Vec<Row> {
        let column = self.subject.like_column();
        let mut through = Vec::new();
        for row in rows {
            let is_like = match (&self.filter.like, &row[column]) {
                (None, _) => true,
                (Some(pattern), Value::Text(text)) => like(pattern, text),
                (Some(_), _) => false,
            };
            if !is_like {
                continue;
            }
            if self.offset > 0 {
                self.offset -= 1;
            } else if self.room > 0 {
                self.room -= 1;
                through.push(row);
            } else {
                self.cut = self.filter.limit.is_none();
                self.end();
                break;
            }
        }
        through
    }

    async fn queue(&mut self, desk: &Desk) -> Vec<Row> {
        let wanted = self.offset.saturating_add(self.room).min(WAITERS);
        // A pattern chooses among those who are kept.
        let most = if self.filter.like.is_some() {
            WAITERS
        } else {
            wanted
        };
        let mut oldest = Oldest::new(usize::try_from(most).unwrap_or(usize::MAX));
        let mut walk = walk_clients(desk, Whom::Waiting);
        while let Some(lines) = walk.next().await {
            lines.into_iter().for_each(|line| oldest.add(line));
        }
        self.silent = walk.silent;
        self.left_out = oldest.left_out;
        oldest.rows()
    }

    async fn pins(&mut self, desk: &Desk) -> Vec<Row> {
        let answers = desk.ask_all(Look::Pins).await;
        self.note_silent(&answers);
        pins::rows(answers.into_iter().flatten().flatten())
    }

    fn note_silent<T>(&mut self, answers: &[Option<T>]) {
        let answers = answers.iter().enumerate();
        let silent = answers.filter_map(|(worker, answer)| answer.is_none().then_some(worker));
        self.silent.extend(silent);
    }
}

fn walk_clients(desk: &Desk, whom: Whom) -> Walk<ClientLine> {
    match whom {
        Whom::All => desk.walk(|place, reply| Look::Clients(Whom::All, place, reply)),
        Whom::Waiting => desk.walk(|place, reply| Look::Clients(Whom::Waiting, place, reply)),
    }
}

impl Desk {
    fn walk<T: Send + 'static>(&self, question: super::walk::Question<T>) -> Walk<T> {
        Walk::new(self.workers.clone(), self.answer_time, question)
    }
}
