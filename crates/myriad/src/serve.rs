//! `myriad serve`: the front door.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use driver::{Address, Listeners, Postboxes};
use engine::{LimitsOrder, Mail};
use events::Span;
use output::{Descriptor, Outlet};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::certificates::Certificates;
use crate::office::Office;
use crate::quotas::{Book, Sources};
use crate::workers::{Prepared, Workers, drain};
use crate::{admin, confinement, credentials, doctor, local, log};

/// How long the end waits for what still writes to a disk that does not answer, or says its last words.
const FAREWELL: Duration = Duration::from_secs(1);

/// How to serve.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The configuration file; `myriad config default` prints one to begin with.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Start a private MariaDB with a sample schema and serve that.
    #[arg(long)]
    local: bool,
    /// Where the private MariaDB lives.
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "var/mariadb",
        requires = "local"
    )]
    local_folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut settings = match &arguments.config {
        Some(file) => config::load(file)?,
        None if arguments.local => config::Settings::default(),
        None => anyhow::bail!(
            "no configuration; give --config FILE (`myriad config default` prints one to begin \
             with), or --local to try Myriad with a private MariaDB"
        ),
    };
    log::start(&settings.log)?;
    // Nobody may be reading what is said here; the front door serves all the same.
    let words = Outlet::start("words", Descriptor(std::io::stdout()), |_| {})?;
    confinement::confine(&settings.server)?;
    // Signals are taken from here on: a Ctrl-C while the database starts must stop it again.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let signals = runtime.block_on(async { Signals::new() })?;
    let backlog = i32::try_from(settings.server.listen_backlog).unwrap_or(i32::MAX);
    // All of them before anything is begun: who finds an address taken leaves no client half served.
    let listeners = Listeners::bind(&listen_addresses(&settings), backlog)?;
    listeners.keep_slow_clients(settings.server.client_write_timeout)?;
    let admin = admin::Listeners::bind(&settings.admin)?;
    let mut database = None;
    if arguments.local {
        let folder = arguments.local_folder.display();
        words.put(format!("Starting a private MariaDB in {folder} …\n").as_bytes());
        database = Some(local::start(&arguments.local_folder, &mut settings)?);
    }
    if settings.has_no_accounts() {
        tracing::warn!("nobody can log in: the configuration has no [monitor] and no [[account]]");
    }
    let roll = credentials::Roll::new(&settings);
    let sources = Sources::new(arguments.config.as_deref(), &arguments.local_folder);
    let rules = sources.rules(&settings)?;
    doctor::warn_of_obstacles(&settings);
    let certificates = Certificates::load(&settings, sources.auto())?;
    let entrance = admin::entrance(&settings.admin, certificates.server());
    let parties = certificates.parties();
    let prepared = Prepared::new(&settings, rules)?;
    let read = (sources, settings.clone());
    let book = Book::new(read, &prepared, certificates, roll.clone());
    let (orders, ordered) = unbounded_channel();
    // Each client has one order under way at most.
    prepared.shared.keep_limits_with(move |order| {
        // While the process ends, nobody is there to keep it.
        let _ending = orders.send(order);
    });
    let office = Office::new(book, prepared.postboxes.clone());
    let reader = credentials::Reader::new(&settings, &prepared, roll.clone())?;
    let workers = prepared.start(&settings, &listeners, roll.directory(), &parties)?;
    for address in listeners.local_addresses() {
        tracing::info!(%address, backend = %settings.backend.address, "listening");
    }
    if arguments.local {
        let invitation = local::invitation(&listeners.local_addresses());
        words.put(format!("{invitation}\n").as_bytes());
    }
    let desk = (signals, office, ordered);
    let accounts = settings.monitor.as_ref().map(|_| roll.status());
    let administration = (admin, entrance);
    runtime.block_on(control(
        &settings,
        &workers,
        desk,
        administration,
        (reader, accounts),
    ))?;
    runtime.shutdown_timeout(FAREWELL);
    workers.join()?;
    drop(listeners);
    if let Some(mut database) = database {
        words.put("Stopping the private MariaDB …\n".as_bytes());
        database.stop()?;
    }
    words.finish(FAREWELL);
    tracing::info!("ended");
    Ok(())
}

/// Everything that is not the data path, until a signal ends it.
async fn control(
    settings: &config::Settings,
    workers: &Workers,
    (mut signals, office, ordered): (Signals, Office, UnboundedReceiver<LimitsOrder>),
    (admin, entrance): (admin::Listeners, Arc<control::Entrance>),
    (reader, accounts): (
        Option<credentials::Reader>,
        Option<Arc<control::AccountsStatus>>,
    ),
) -> anyhow::Result<()> {
    let draining = Arc::new(AtomicBool::new(false));
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let in_force = office.clone();
    let mut facts = facts(workers, draining.clone())
        .with_office(Arc::new(office.clone()))
        .with_variables(move || in_force.settings().entries());
    if let Some(status) = accounts {
        let in_force = office.clone();
        let are_all = move || in_force.settings().accounts.is_empty();
        facts = facts.with_accounts(status, are_all);
    }
    let desk = control::Desk::new(Arc::new(Posts(workers.postboxes.clone())), facts);
    let listeners = admin.serve(&desk, &entrance, &stopped)?;
    let reading = reader.map(|reader| tokio::spawn(reader.run(stopped.clone())));
    tokio::select! {
        () = signals.end(&office, ordered) => {}
        number = workers.failure() => {
            tracing::error!(worker = number, "this worker cannot go on; the others drain, and Myriad ends");
        }
    }
    tracing::info!(timeout = ?settings.server.drain_timeout, "draining; a second signal ends at once");
    draining.store(true, Ordering::Relaxed);
    drain(&workers.postboxes, settings.server.drain_timeout.into());
    tokio::select! {
        () = signals.next() => drain(&workers.postboxes, Span::ZERO),
        () = workers.finished() => {}
    }
    stop.send_replace(true);
    if let Some(reading) = reading {
        reading.await?;
    }
    listeners.ended().await
}

fn facts(workers: &Workers, draining: Arc<AtomicBool>) -> control::Facts {
    let counters = workers.counters.clone();
    let shared = workers.shared.clone();
    let pin_reasons = engine::PinReason::ALL.iter().map(|reason| reason.name());
    let sums = move || driver::DriverCounts::sum(&counters);
    let memory = sums.clone();
    let counts = move || {
        let mut counts = sums().each();
        counts.extend([
            (
                "log_lines_lost",
                "Lines of the log that could not be written in time.",
                log::lines_lost(),
            ),
            (
                "control_panics",
                "Panics of threads that are not workers. Each is a defect, and in the log.",
                log::panics(),
            ),
        ]);
        counts
    };
    control::Facts::new(shared, counts)
        .with_driver_memory(move || memory().memory())
        .with_pin_reasons(pin_reasons)
        .with_draining(move || draining.load(Ordering::Relaxed))
}

/// The signals that the front door listens to.
struct Signals {
    hang_up: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self {
            hang_up: signal(SignalKind::hangup())?,
            interrupt,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns when the front door is to end. Until then SIGHUP has the configuration read again.
    async fn end(&mut self, office: &Office, mut ordered: UnboundedReceiver<LimitsOrder>) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => office.reload(),
                Some(order) = ordered.recv() => office.carry_out(order),
            }
        }
    }

    /// The next that ends it.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The workers as the control plane sees them.
struct Posts(Postboxes<Mail>);

impl control::Workers for Posts {
    fn count(&self) -> usize {
        self.0.workers()
    }

    fn post(&self, worker: usize, mail: Mail) -> Result<(), Mail> {
        self.0.post(worker, mail)
    }
}

fn listen_addresses(settings: &config::Settings) -> Vec<Address> {
    let address = |listen: &config::Listen| match listen {
        config::Listen::Tcp(address) => Address::Tcp(*address),
        config::Listen::Unix(path) => Address::Unix(path.clone()),
    };
    settings.server.listen.iter().map(address).collect()
}
