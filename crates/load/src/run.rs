//! A run from beginning to end, as the main thread leads it: ramp, warm-up, measuring, stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use driver::Clock;

use crate::crew::Crew;
use crate::error::LoadError;
use crate::latencies::Latencies;
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::progress::{Progress, Stage};
use crate::summary::Summary;
use crate::tally::Tally;

/// How often the ramp is looked at.
const RAMP_LOOK: Duration = Duration::from_millis(20);

/// Does what `plan` says and returns what was measured. `progress` is called every interval.
///
/// # Errors
/// The run could not be done; single statements and connections that fail are counted instead.
pub fn run(plan: Plan, mut progress: impl FnMut(&Progress)) -> Result<Summary, LoadError> {
    run_while(plan, |at| {
        progress(at);
        ControlFlow::Continue(())
    })
}

/// The same, but `progress` may end the run.
///
/// # Errors
/// As [`run`], and [`LoadError::Stopped`].
pub fn run_while(
    plan: Plan,
    progress: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Summary, LoadError> {
    plan.check()?;
    let empty = Tally::new(Latencies::new()?);
    let threads = plan.workers();
    let ledger = Ledger::begin(&plan, &empty)?;
    let plan = Arc::new(plan);
    let mut run = Run {
        crew: Crew::start(&plan, Clock::start(), &empty)?,
        next_line: Instant::now() + plan.report_interval,
        plan,
        ledger,
        empty,
        progress,
    };
    let done = run.lead();
    // Why a worker ended says more than that it did, so its error comes first.
    let rest = run.crew.finish(&run.empty)?;
    done?;
    Ok(run.ledger.summary(rest, threads))
}

struct Run<F> {
    plan: Arc<Plan>,
    crew: Crew,
    ledger: Ledger,
    empty: Tally,
    progress: F,
    next_line: Instant,
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Run<F> {
    fn lead(&mut self) -> Result<(), LoadError> {
        self.ramp()?;
        self.crew.begin_work()?;
        self.work(Stage::Warmup, self.plan.warmup)?;
        self.ledger.begin_measuring();
        self.work(Stage::Measure, self.plan.duration)?;
        self.ledger.end_measuring();
        Ok(())
    }

    /// Waits until all connections are logged in, or for as long as the ramp is to take.
    fn ramp(&mut self) -> Result<(), LoadError> {
        if !self.plan.ramp.is_zero() {
            self.work(Stage::Ramp, self.plan.ramp)?;
            self.ledger.end_ramp();
            return Ok(());
        }
        let (mut logins, mut since) = (0, Instant::now());
        while self.ledger.open() < self.plan.connections() as usize {
            self.look(Stage::Ramp, Instant::now() + RAMP_LOOK)?;
            if self.ledger.logins() > logins {
                (logins, since) = (self.ledger.logins(), Instant::now());
            }
            if since.elapsed() > self.plan.login_timeout {
                return Err(self.ledger.stalled());
            }
        }
        self.ledger.end_ramp();
        Ok(())
    }

    /// Lets the workers do their work for so long.
    fn work(&mut self, stage: Stage, span: Duration) -> Result<(), LoadError> {
        let begin = Instant::now();
        self.next_line = begin + self.plan.report_interval;
        while begin.elapsed() < span {
            self.look(stage, self.next_line.min(begin + span))?;
        }
        Ok(())
    }

    /// Waits until `time`, asks the workers, and tells if an interval is over.
    fn look(&mut self, stage: Stage, time: Instant) -> Result<(), LoadError> {
        self.crew.wait_until(time)?;
        self.ledger.take(self.crew.report(&self.empty)?);
        if Instant::now() >= self.next_line {
            self.next_line += self.plan.report_interval;
            let progress = self.ledger.close_interval(stage);
            if (self.progress)(&progress).is_break() {
                return Err(LoadError::Stopped);
            }
        }
        Ok(())
    }
}
