//! The log, as the configuration asks for it, on standard error; what panics say goes there, too.
//!
//! Lines are written by a thread of their own ([`output::Outlet`]): neither a full disk nor a reader that has gone or does
//! not read ends the process, or holds anybody up.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::IsTerminal;
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use output::{Descriptor, Outlet};
use tracing_subscriber::EnvFilter;

/// The way to standard error, once logging has started.
static LOG: OnceLock<Outlet> = OnceLock::new();

/// Panics of threads that are not workers.
static PANICS: AtomicU64 = AtomicU64::new(0);

/// How long the end of the process waits for lines to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// The names of worker threads begin so.
pub(crate) const WORKER: &str = "worker-";

/// Starts logging.
pub(crate) fn start(log: &config::Log) -> anyhow::Result<()> {
    let tell_lost = |lines| {
        tracing::error!(
            lines,
            "lines of the log were lost: it could not be written in time"
        );
    };
    let started = Outlet::start("log", Descriptor(std::io::stderr()), tell_lost);
    let outlet = LOG.get_or_init({
        let started = started.context("cannot start a thread for the log")?;
        || started
    });
    let filter = EnvFilter::new(log.level.as_str());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        // It would be told on standard error.
        .log_internal_errors(false)
        .with_writer(|| outlet.clone());
    match log.format {
        config::Format::Text => subscriber.with_target(false).init(),
        config::Format::Json => subscriber.json().init(),
    }
    std::panic::set_hook(Box::new(tell_panic));
    Ok(())
}

/// Lines that were lost so far.
pub(crate) fn lines_lost() -> u64 {
    LOG.get().map_or(0, Outlet::lines_lost)
}

/// Panics so far, but for those of workers.
pub(crate) fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Says why the process ends with an error.
pub(crate) fn complain(error: &anyhow::Error) {
    match LOG.get() {
        Some(outlet) => outlet.put(format!("myriad: {error:#}\n").as_bytes()),
        None => output::complain(format_args!("myriad: {error:#}\n")),
    }
}

/// The process ends: what was said is written if that can be done soon.
pub(crate) fn finish() {
    if let Some(outlet) = LOG.get() {
        outlet.finish(LAST_LINES);
    }
}

/// Where a panic began and what it says. What becomes of it is said by whoever catches it.
fn tell_panic(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    if !thread.starts_with(WORKER) {
        PANICS.fetch_add(1, Ordering::Relaxed);
    }
    let payload = panic.payload();
    let message = match payload.downcast_ref::<String>() {
        Some(message) => message.as_str(),
        None => payload.downcast_ref::<&str>().unwrap_or(&"no text"),
    };
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    // Only where RUST_BACKTRACE asks for it: it takes long.
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => {
            tracing::error!(thread, place, message, %backtrace, "panic: this is a defect of Myriad; report it");
        }
        _ => tracing::error!(
            thread,
            place,
            message,
            "panic: this is a defect of Myriad; report it"
        ),
    }
}
