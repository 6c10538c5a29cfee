//! A challenge from beginning to end: settings, tables, one run after the other, the report.

use std::time::SystemTime;

use crate::bench::Bench;
use crate::database::{self, Database, TABLES, Wanted};
use crate::error::ChallengeError;
use crate::limits::{self, need, raise_open_files};
use crate::orders::{self, Phase};
use crate::settings::Changed;
use crate::{Case, Chapter, Course, Machine, Outcome, Part, Plan, Report, Row, Settings};
use crate::{Stop, Watcher, Way, door};

/// Files besides those of the connections, of any process.
const OTHER_FILES: u64 = 10_000;
/// Where the front door listens in what the report shows of the settings.
const EXAMPLE_PORT: u16 = 6033;
/// Connections that make the tables.
const LOADING: u32 = 32;

/// Does what `plan` says. The report is written after every run, so that whatever happens, what was
/// measured is kept; the settings of the host are put back in the end.
///
/// # Errors
/// Nothing could be measured, or the host's settings could not be put back. Runs that fail are
/// reported instead.
pub fn run(plan: &Plan, watcher: &mut dyn Watcher, stop: &Stop) -> Result<Report, ChallengeError> {
    std::fs::create_dir_all(&plan.out).map_err(ChallengeError::system("create", &plan.out))?;
    let most = plan.courses().map(|course| course.connections).max();
    raise_open_files(u64::from(most.unwrap_or(0)) + OTHER_FILES);
    let changed = Changed::make(plan, &plan.host(), watcher)?;
    let done = run_all(plan, watcher, stop, changed.changes());
    let put_back = changed.put_back(watcher);
    let report = done?;
    put_back.map(|()| report)
}

fn run_all(
    plan: &Plan,
    watcher: &mut dyn Watcher,
    stop: &Stop,
    changed: Vec<doctor::Change>,
) -> Result<Report, ChallengeError> {
    let mut challenge = Challenge::begin(plan, watcher, stop, changed)?;
    challenge.run()?;
    Ok(challenge.report)
}

struct Challenge<'a> {
    plan: &'a Plan,
    watcher: &'a mut dyn Watcher,
    stop: &'a Stop,
    report: Report,
    /// Runs begun so far, and how many there will be.
    number: usize,
    all: usize,
}

impl<'a> Challenge<'a> {
    /// Brings up the database for the first time and loads its tables.
    fn begin(
        plan: &'a Plan,
        watcher: &'a mut dyn Watcher,
        stop: &'a Stop,
        changed: Vec<doctor::Change>,
    ) -> Result<Self, ChallengeError> {
        watcher.prepare("starting the private MariaDB, and loading its tables");
        let wanted = Wanted {
            way: Way::Myriad,
            connections: LOADING,
            is_durable: false,
        };
        let database = Database::start(plan, wanted)?;
        let version = database.version()?;
        let reused = database.load_tables(plan, stop)?;
        drop(database);
        let rows = page::grouped(f64::from(TABLES * plan.table_size));
        let kept = if reused {
            "are there already"
        } else {
            "loaded"
        };
        watcher.say(&format!(
            "{version}: {TABLES} tables with {rows} rows {kept}"
        ));
        Ok(Self {
            plan,
            watcher,
            stop,
            report: Report {
                began: httpdate::fmt_http_date(SystemTime::now()),
                interrupted: false,
                machine: Machine::this(version),
                settings: settings(plan, changed),
                chapters: Vec::new(),
            },
            number: 0,
            all: plan.courses().count(),
        })
    }

    fn run(&mut self) -> Result<(), ChallengeError> {
        for chapter in &self.plan.chapters {
            match self.chapter(*chapter) {
                Ok(()) => {}
                Err(ChallengeError::Interrupted) => {
                    self.report.interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.report.write(self.plan)
    }

    fn chapter(&mut self, chapter: Chapter) -> Result<(), ChallengeError> {
        let courses = chapter.courses(self.plan);
        self.report.chapters.push(Part {
            chapter,
            duration_s: courses
                .first()
                .map_or(0.0, |course| course.duration.as_secs_f64()),
            rows: Vec::new(),
            reference: chapter.reference(self.plan),
            checks: Vec::new(),
        });
        let mut kept: Option<(Way, Bench)> = None;
        let mut failed: Vec<(Way, Option<Case>, u32)> = Vec::new();
        let most = courses.iter().map(|course| course.connections).max();
        for course in &courses {
            self.number += 1;
            self.watcher.begin(course, self.number, self.all);
            // Limits are read anew: memory, for one, comes and goes.
            let stopped = limits::stop(&self.plan.host(), self.plan, course);
            let same = |(way, case, at): &&(Way, Option<Case>, u32)| {
                (*way, *case) == (course.way, course.case) && *at <= course.connections
            };
            let before = failed.iter().find(same);
            let outcome = match (stopped, before) {
                (Some(limit), _) => Outcome::Stopped(limit),
                (None, Some((_, _, at))) => {
                    Outcome::Failed(format!("not tried: it failed at {at}"))
                }
                (None, None) if chapter.story().keeps_bench => {
                    self.keeping(&mut kept, course, most.unwrap_or(1))?
                }
                (None, None) => self.afresh(course)?,
            };
            if matches!(outcome, Outcome::Failed(_)) && before.is_none() {
                failed.push((course.way, course.case, course.connections));
            }
            self.add(course, outcome)?;
        }
        Ok(())
    }

    /// A run with a database and a front door of its own.
    fn afresh(&mut self, course: &Course) -> Result<Outcome, ChallengeError> {
        let text = format!("starting what is needed for {course}");
        self.watcher.prepare(&text);
        let bench = Bench::start(self.plan, course, self.stop);
        self.measured(bench, course).map(|(outcome, _)| outcome)
    }

    /// A run with those of the run before, if it went the same way.
    fn keeping(
        &mut self,
        kept: &mut Option<(Way, Bench)>,
        course: &Course,
        most: u32,
    ) -> Result<Outcome, ChallengeError> {
        // One at a time: they lie in the same folder.
        let old = kept.take();
        let largest = Course {
            connections: most,
            ..*course
        };
        let bench = match old.filter(|(way, _)| *way == course.way) {
            Some((_, bench)) => Ok(bench),
            None => Bench::start(self.plan, &largest, self.stop),
        };
        let (outcome, bench) = self.measured(bench, course)?;
        *kept = bench.map(|bench| (course.way, bench));
        Ok(outcome)
    }

    /// What became of a run, and what it ran on. Only what ends the challenge is an error.
    fn measured(
        &mut self,
        bench: Result<Bench, ChallengeError>,
        course: &Course,
    ) -> Result<(Outcome, Option<Bench>), ChallengeError> {
        let figures = bench.and_then(|bench| {
            let figures = bench.run(self.plan, course, self.watcher, self.stop)?;
            Ok((figures, bench))
        });
        match figures {
            Ok((figures, bench)) => Ok((Outcome::Measured(Box::new(figures)), Some(bench))),
            Err(ChallengeError::Interrupted) => Err(ChallengeError::Interrupted),
            Err(error) => Ok((Outcome::Failed(error.to_string()), None)),
        }
    }

    fn add(&mut self, course: &Course, outcome: Outcome) -> Result<(), ChallengeError> {
        let row = Row {
            connections: course.connections,
            way: course.way,
            case: course.case,
            outcome,
            rounds: Vec::new(),
        };
        self.watcher.done(&row);
        if let Some(part) = self.report.chapters.last_mut() {
            part.add(row);
            part.checks = part.chapter.checks(part);
        }
        self.report.write(self.plan)
    }
}

fn settings(plan: &Plan, changed: Vec<doctor::Change>) -> Settings {
    let through = plan.courses().filter(|course| course.way == Way::Myriad);
    let most = through.max_by_key(|course| course.connections);
    let host = most.map(|course| doctor::examine(&plan.host(), &need(plan, &course)));
    let findings = host.map_or_else(Vec::new, |report| report.findings);
    let generator = most.map(|course| {
        let arguments = orders::orders(plan, &course, EXAMPLE_PORT, Phase::All).arguments;
        format!("myriad {}", arguments.join(" "))
    });
    let myriad =
        most.map(|course| door::configuration(plan, &course, EXAMPLE_PORT, "mariadb.sock"));
    let database = database::arguments(Wanted {
        way: Way::Alone,
        connections: 0,
        is_durable: most.is_some_and(|course| course.is_durable()),
    });
    Settings {
        host: findings
            .iter()
            .map(|finding| format!("{}: {}", finding.check, finding.observation.found))
            .collect(),
        changed,
        database: database
            .into_iter()
            .filter(|argument| !argument.starts_with("--max-connections"))
            .collect(),
        myriad: myriad.unwrap_or_default(),
        generator: generator.unwrap_or_default(),
        backends: most.map_or(0, |course| course.backends()),
        threads: plan.threads(),
        tables: [TABLES, plan.table_size],
    }
}
