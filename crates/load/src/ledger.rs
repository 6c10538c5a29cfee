//! The books of a run: what the workers reported, summed up for progress and summary.

use std::time::{Duration, Instant};

use events::Span;

use crate::book::Book;
use crate::error::LoadError;
use crate::figures::Figures;
use crate::generator::Report;
use crate::plan::Plan;
use crate::progress::{Progress, Stage};
use crate::summary::{GroupSummary, Summary};
use crate::tally::{DESCRIBED_MAX, Tally};
use crate::watch::Watches;

/// All that is known of a run so far.
pub(crate) struct Ledger {
    connections: u32,
    /// One per group.
    books: Vec<Book>,
    empty: Tally,
    interval_begin: Instant,
    begin: Instant,
    /// How long the ramp took.
    ramp: Span,
    measure_begin: Instant,
    measured: Duration,
    /// Wrong answers that were logged.
    logged: usize,
    watches: Watches,
    series: Vec<Progress>,
}

impl Ledger {
    /// The ledger of a run that begins now. Fails if a process to be watched is not there.
    pub(crate) fn begin(plan: &Plan, empty: &Tally) -> Result<Self, LoadError> {
        let now = Instant::now();
        let books = plan.groups.iter().map(|group| Book::new(group, empty));
        Ok(Self {
            connections: plan.connections(),
            books: books.collect(),
            empty: empty.clone(),
            interval_begin: now,
            begin: now,
            ramp: Span::ZERO,
            measure_begin: now,
            measured: Duration::ZERO,
            logged: 0,
            watches: Watches::begin(&plan.watched)?,
            series: Vec::new(),
        })
    }

    /// Takes in what the workers reported.
    pub(crate) fn take(&mut self, report: Report) {
        for (number, part) in report.into_iter().enumerate() {
            self.log_described(&part.tally);
            self.books[number].take(part);
        }
    }

    /// Connections logged in.
    pub(crate) fn open(&self) -> usize {
        self.books.iter().map(Book::open).sum()
    }

    /// Logins done so far.
    pub(crate) fn logins(&self) -> u64 {
        self.books.iter().map(Book::logins).sum()
    }

    /// Why the ramp is given up.
    pub(crate) fn stalled(&mut self) -> LoadError {
        self.settle();
        let total = self.total();
        let fixes = crate::figures::explanations(&total);
        let mut last = total.errors_text();
        if !fixes.is_empty() {
            last = format!("{last}; {}", fixes.join("; "));
        }
        LoadError::Stalled {
            open: self.open(),
            wanted: self.connections,
            last,
        }
    }

    /// All connections are logged in.
    pub(crate) fn end_ramp(&mut self) {
        self.settle();
        // The workers' clock began with the run.
        self.ramp = Span::from_us(self.total().last_login.as_us());
    }

    /// What happened since the last interval was closed.
    pub(crate) fn close_interval(&mut self, stage: Stage) -> Progress {
        self.watches.look();
        let seconds = self.interval_begin.elapsed();
        let mut interval = self.empty.clone();
        let groups = self
            .books
            .iter()
            .map(|book| book.progress(seconds, &mut interval));
        let groups: Vec<_> = groups.collect();
        self.settle();
        let progress = Progress::of(
            (self.begin.elapsed(), stage),
            (&interval, seconds),
            (&self.total(), self.open()),
            groups,
        );
        self.series.push(progress.clone());
        progress
    }

    /// Statements count from here.
    pub(crate) fn begin_measuring(&mut self) {
        self.settle();
        for book in &mut self.books {
            book.total.forget_measures();
        }
        self.watches.begin_measuring();
        self.measure_begin = Instant::now();
    }

    /// Statements count up to here.
    pub(crate) fn end_measuring(&mut self) {
        self.measured = self.measure_begin.elapsed();
        self.watches.end_measuring();
        self.settle();
    }

    /// The result; `rest` is what the workers counted after the measuring.
    pub(crate) fn summary(mut self, rest: Vec<Tally>, threads: u32) -> Summary {
        for (number, mut rest) in rest.into_iter().enumerate() {
            self.log_described(&rest);
            rest.forget_measures();
            self.books[number].total.add(rest);
        }
        let ramp_s = Duration::from(self.ramp).as_secs_f64().max(1e-6);
        let figures = |tally: &Tally, connections: u32, reconnects| {
            Figures::of(
                tally,
                self.measured,
                f64::from(connections) / ramp_s,
                reconnects,
            )
        };
        let groups = self.books.iter().map(|book| {
            let mut figures = figures(&book.total, book.connections, book.reconnects);
            figures.backlog = book.backlog();
            book.summary(figures)
        });
        let groups: Vec<GroupSummary> = groups.collect();
        let reconnects = self.books.iter().any(|book| book.reconnects);
        let mut total = figures(&self.total(), self.connections, reconnects);
        total.backlog = groups.iter().map(|group| group.figures.backlog).sum();
        Summary {
            connections: self.connections,
            duration_s: self.measured.as_secs_f64(),
            generator_cpu_us_per_statement: self.watches.own_cpu_us_per(total.statements),
            generator_busy: self.watches.own_share(self.measured, threads),
            generator_rss_bytes_max: self.watches.own_rss_bytes_max(),
            slab_bytes_per_connection: self.watches.slab_bytes_per(self.connections),
            watched: self.watches.results(total.statements, self.connections),
            total,
            groups,
            series: self.series,
        }
    }

    fn total(&self) -> Tally {
        let mut total = self.empty.clone();
        for book in &self.books {
            total.add(book.total.clone());
        }
        total
    }

    /// Moves the interval into the total.
    fn settle(&mut self) {
        self.books.iter_mut().for_each(Book::settle);
        self.interval_begin = Instant::now();
    }

    /// Logs the first wrong answers of the run.
    fn log_described(&mut self, tally: &Tally) {
        let room = DESCRIBED_MAX.saturating_sub(self.logged);
        for description in tally.described.iter().take(room) {
            self.logged += 1;
            tracing::warn!("wrong answer: {description}");
        }
    }
}
