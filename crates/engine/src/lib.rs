//! One worker of the front door: clients on one side, backends on the other, and all decisions
//! between them.
//!
//! Pure: events come in through [`events::Handler`], effects go out through [`events::Io`]; time
//! and random bytes are arguments. The engine composes `wire` (what packets say), `session` (what
//! statements do to a session) and `pool` (who may have which backend). It knows nothing of
//! sockets, of configuration files or of an admin interface.
//!
//! | folder | is about |
//! |---|---|
//! | `login` | the connection phase of clients: TLS, who they are, places and who is kept out, and logins that a backend decides (`relay`) |
//! | `commands` | the command phase: a command is cut out (`commands`), told what it is (`statements`), given a backend (`attach`), made ready (`dispatch`), sent (`sending`), answered (`answers`), and followed by what must follow (`settle`, `detach`) |
//! | `permits` | the right of a statement to run, and waiting for it; limits that statements set; what takes too long |
//! | `prepared` | prepared statements: those of a session, as sessions share them, what is prepared on a backend; texts that are prepared by name |
//! | `carried` | what follows a session from backend to backend, how it is learned, and what pins |
//! | `conditions` | what SHOW WARNINGS tells: where that is, and how it is told |
//! | `diagnostics` | counts of rows: captured, and asked for |
//! | `locks` | user-level locks: who holds them, and waiting for them without a backend |
//! | `lanes` | backends that several sessions share, and what was learned of plain reads |
//! | `backend` | backend connections: their records, how they log in and are set up, how many are busy, and whose slots they take |
//! | `client` | client connections: their records, and the list that each is on |
//! | `endings` | hang-ups, losses, closing, KILL, and plain reads that are run once more |
//! | `report` | what somebody who looks in is told |
//! | `handler`, `owner` | the events that drivers tell, whose connection each is about, and what deals with it |
//! | `timers`, `awake` | everything that is due at some time, and the keys for which something may be |
//! | `standstill` | all backends held by silent sessions while statements wait: noticed, and told |
//! | `settings`, `shared` | what an engine is told at its start; what the workers of a process share |
//! | `errors` | the errors that Myriad itself tells a client |

mod desk;
mod endings;
mod follow;
mod login;
mod matching;
mod record;
mod report;
mod steps;

pub use admission::AccountName;
pub use admission::AccountReport;
pub use admission::Quota;
pub use admission::Usage;
pub use carry::rewrite::PublicAddress;
pub use carry::trust::tracker_probe;
pub use carry::trust::untold_by_probe;
pub use carry::victim::Victim;
pub use desk::Engine;
pub use pool::Preference;
pub use record::address::Network;
pub use record::counters::Counters;
pub use record::counters::DisconnectReason;
pub use record::counters::Histogram;
pub use record::directory::AccountsOrder;
pub use record::full_exchange::Checker;
pub use record::full_exchange::PasswordCheck;
pub use record::full_exchange::Sent;
pub use record::kill::KillOrder;
pub use record::kill::KillOutcome;
pub use record::limits::LimitsChange;
pub use record::limits::LimitsOrder;
pub use record::long::LongCommand;
pub use record::long::PreparedCommand;
pub use record::long::Preparer;
pub use record::look::BackendLine;
pub use record::look::ClientLine;
pub use record::look::Look;
pub use record::look::PinLine;
pub use record::look::Reply;
pub use record::look::Slice;
pub use record::look::Whom;
pub use record::report::Gauges;
pub use record::report::Report;
pub use record::reservations::Reservation;
pub use record::settings::OnDisconnect;
pub use record::settings::Settings;
pub use record::settings::TlsMode;
pub use record::setup::TRACK_ALL;
pub use record::shared::FIRST_CONNECTION_ID;
pub use record::shared::Mail;
pub use record::shared::Shared;
pub use record::standstill::Standstill;
pub use record::strangers::BrokenHost;
pub use session::statement::Limit;
pub use session::statement::Limits;
pub use session::statement::PinReason;
pub use wire::AuthPlugin;
