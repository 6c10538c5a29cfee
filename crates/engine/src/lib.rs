//! One worker of the front door: clients on one side, backends on the other, and all decisions
//! between them.
//!
//! Pure: events come in through [`events::Handler`], effects go out through [`events::Io`]; time
//! and random bytes are arguments. The engine composes `wire` (what packets say), `session` (what
//! statements do to a session) and `pool` (who may have which backend). It knows nothing of
//! sockets, of configuration files or of an admin interface.
//!
//! It is a house of rooms, each of which knows only itself and those above it (`cargo xtask tidy`):
//!
//! | room | owns |
//! |---|---|
//! | `record` | clients, backends, keys, settings, what is known of the server, what all workers share |
//! | `follow` | how what follows a session (crate `carry`) gets from backend to backend |
//! | `endings` | connections that end, KILL, reads that may run once more |
//! | `login` | the connection phase, on either side |
//! | `matching` | who waits for a permit, a lane, a slot, a turn or a lock, and who is next |
//! | `report` | what somebody who looks in is told |
//! | `steps` | the steps of a command that need nothing but records |
//! | `desk` | [`Engine`]: takes events, asks the rooms, carries out what they decide |

mod desk;
mod endings;
mod follow;
mod login;
mod matching;
mod record;
mod report;
mod steps;

pub use admission::{AccountName, AccountReport, Quota, Usage};
pub use carry::rewrite::PublicAddress;
pub use carry::trust::{tracker_probe, untold_by_probe};
pub use carry::victim::Victim;
pub use desk::Engine;
pub use pool::Preference;
pub use record::address::Network;
pub use record::counters::{Counters, DisconnectReason, Histogram};
pub use record::directory::AccountsOrder;
pub use record::full_exchange::{Checker, PasswordCheck, Sent};
pub use record::kill::{KillOrder, KillOutcome};
pub use record::limits::{LimitsChange, LimitsOrder};
pub use record::long::{LongCommand, PreparedCommand, Preparer};
pub use record::look::{BackendLine, ClientLine, Look, PinLine, Reply, Slice, Whom};
pub use record::report::{Gauges, Report};
pub use record::reservations::Reservation;
pub use record::settings::{OnDisconnect, Settings, TlsMode};
pub use record::setup::TRACK_ALL;
pub use record::shared::{FIRST_CONNECTION_ID, Mail, Shared};
pub use record::standstill::Standstill;
pub use record::strangers::BrokenHost;
pub use session::statement::{Limit, Limits, PinReason};
pub use wire::AuthPlugin;
