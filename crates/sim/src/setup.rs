//! What kind of world a seed makes: how many workers, slots and clients, which limits, how much
//! goes wrong.

use std::sync::Arc;

use accounts::{Credential, Directory, Found, Reading, Register, Requires, Standing, View};
use engine::{AccountName, OnDisconnect, Preference, PublicAddress, Settings, TlsMode};
use events::Span;
use fastrand::Rng;

use crate::Scenario;
use crate::catalog::ACCOUNTS;
use crate::client::{Client, Profile};
use crate::database::{Health, Incidents};
use crate::quotas::Quotas;
use admission::Quota;

/// One world.
pub(crate) struct Setup {
    pub(crate) workers: usize,
    pub(crate) slots: usize,
    pub(crate) clients: usize,
    /// Who they are.
    pub(crate) cast: Cast,
    /// Clients come within this time.
    pub(crate) arrivals_us: u64,
    /// The workers are told to drain at this time, while clients are there.
    pub(crate) drain_at_us: Option<u64>,
    pub(crate) settings: Settings,
    /// What each account may do at once.
    pub(crate) quotas: Quotas,
    /// When that changes.
    pub(crate) changes_us: Vec<u64>,
    /// So many clients hold backends for long; if as many as there are slots, all of them by reading slowly.
    pub(crate) holders: Option<usize>,
}

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cast {
    /// Whoever chance wants.
    Anybody,
    /// So many come first, and stay in a transaction; the others behave well.
    IdleInTransaction(usize),
    /// Sessions in the same state that read.
    Readers,
    /// Those who prepare texts by name.
    Texts,
    /// Those who ask about their statements, and mostly hang up while one runs.
    Abrupt,
    /// Those whom the database asks itself, and some whom it does not.
    Questioned,
    /// So many come first and hold backends, in as many ways as are known; the others are busy.
    Holders(usize),
}

impl Setup {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let clients = rng.usize(2..24);
        Self {
            workers: rng.usize(1..=3),
            slots: rng.usize(1..=6),
            clients,
            cast: Cast::Anybody,
            arrivals_us: [1_000, 30_000, 400_000][rng.usize(..3)],
            drain_at_us: (rng.u8(0..6) == 0).then(|| rng.u64(1_000..500_000)),
            settings: settings(rng, clients),
            quotas: Quotas::default(),
            changes_us: Vec::new(),
            holders: None,
        }
    }
}

impl Setup {
    /// A world for a scenario.
    pub(crate) fn of(scenario: Scenario, rng: &mut Rng) -> Self {
        match scenario {
            Scenario::IdleTransactions => Self::idle_transactions(rng),
            Scenario::Readers => Self::readers(rng),
            Scenario::Quotas => Self::quotas(rng),
            Scenario::Questions => Self::questions(rng),
            Scenario::Holders => Self::holders(rng),
            Scenario::Texts => Self::texts(rng),
            Scenario::HangUps => Self::hang_ups(rng),
            Scenario::ChangingQuotas => {
                let setup = Self::quotas(rng);
                let within = [10_000, 100_000, 800_000][rng.usize(..3)];
                let changes = 0..rng.usize(1..6);
                Self {
                    changes_us: changes.map(|_| rng.u64(..within)).collect(),
                    ..setup
                }
            }
        }
    }

    fn readers(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let stall = [500, 2_000, 5_000][rng.usize(..3)];
        let settings = Settings {
            max_connections: 1_000_000,
            answer_buffer: [300, 4_096, 65_536][rng.usize(..3)],
            answer_buffer_total: 1 << 28,
            lane_stall: Some(Span::from_us(stall)),
            ..setup.settings
        };
        Self {
            workers: rng.usize(1..=2),
            slots: rng.usize(1..=4),
            clients: 40,
            arrivals_us: 3_000,
            cast: Cast::Readers,
            settings,
            ..setup
        }
    }

    fn questions(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let settings = Settings {
            accounts: asked_by_the_database(),
            max_connections: 1_000_000,
            max_relays: 1,
            max_relayed_per_account: rng.usize(1..=6),
            login_timeout: Span::from_ms([300, 2_000, 10_000][rng.usize(..3)]),
            ..setup.settings
        };
        Self {
            slots: rng.usize(2..=12),
            clients: rng.usize(2..40),
            cast: Cast::Questioned,
            settings,
            ..setup
        }
    }

    /// More sessions than backends, so that they meet what others have left there.
    fn texts(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let settings = Settings {
            max_connections: 1_000_000,
            max_pinned: usize::MAX,
            ..setup.settings
        };
        Self {
            slots: rng.usize(2..=5),
            clients: rng.usize(4..16),
            cast: Cast::Texts,
            settings,
            ..setup
        }
    }

    /// Many sessions of two keys, one of which has CLIENT_FOUND_ROWS, over few backends.
    fn hang_ups(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let settings = Settings {
            max_connections: 1_000_000,
            max_pinned: usize::MAX,
            lane_stall: setup.settings.lane_stall.filter(|_| rng.bool()),
            ..setup.settings
        };
        Self {
            workers: rng.usize(1..=2),
            slots: rng.usize(2..=4),
            clients: rng.usize(20..60),
            arrivals_us: [30_000, 300_000][rng.usize(..2)],
            cast: Cast::Abrupt,
            settings,
            ..setup
        }
    }

    fn quotas(rng: &mut Rng) -> Self {
        let readers = rng.u8(0..3) == 0;
        let setup = match readers {
            true => Self::readers(rng),
            false => Self::new(rng),
        };
        Self {
            workers: rng.usize(1..=3),
            quotas: Quotas::new(rng),
            ..setup
        }
    }

    fn holders(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let slots = rng.usize(2..=8);
        // The others are busy with at least one; or slow clients have all, until some are closed.
        let holders = match rng.u8(0..4) {
            0 => slots + rng.usize(0..4),
            _ => rng.usize(0..slots),
        };
        let settings = Settings {
            max_connections: 1_000_000,
            idle_transaction_timeout: Some(Span::from_ms(1_500)),
            wait_timeout: None,
            client_write_timeout: Span::from_secs(60),
            // None of a slow client's answers fits, or some do.
            answer_buffer: 300,
            answer_buffer_total: [1_000, 100_000, 1 << 28][rng.usize(..3)],
            max_pinned: usize::MAX,
            connect_timeout: Span::from_secs(1),
            queue_timeout: Span::from_secs(5),
            ..setup.settings
        };
        let weight = |weight| Quota {
            weight,
            ..Quota::NONE
        };
        Self {
            workers: rng.usize(1..=2),
            slots,
            clients: holders + rng.usize(2..12),
            cast: Cast::Holders(holders),
            arrivals_us: 20_000,
            drain_at_us: None,
            settings,
            quotas: Quotas {
                accounts: vec![weight(rng.u32(1..4)), weight(rng.u32(1..4))],
                schema: None,
            },
            holders: Some(holders),
            ..setup
        }
    }

    fn idle_transactions(rng: &mut Rng) -> Self {
        let setup = Self::new(rng);
        let settings = Settings {
            max_connections: 1_000_000,
            idle_transaction_timeout: Some(Span::from_ms(100)),
            wait_timeout: None,
            max_pinned: usize::MAX,
            connect_timeout: Span::from_secs(1),
            queue_timeout: Span::from_secs(5),
            ..setup.settings
        };
        Self {
            slots: 8,
            clients: 52,
            cast: Cast::IdleInTransaction(40),
            arrivals_us: 30_000,
            drain_at_us: None,
            settings,
            ..setup
        }
    }

    /// The client with that number.
    pub(crate) fn client(&self, mut rng: Rng, number: usize) -> Client {
        let profile = match self.cast {
            Cast::Anybody => return Client::new(rng, number),
            Cast::Readers => Profile::reader(&mut rng, number),
            Cast::Texts => Profile::with_texts(&mut rng, number),
            Cast::Abrupt => Profile::abrupt(&mut rng, number),
            Cast::Questioned => Profile::questioned(&mut rng, number),
            Cast::IdleInTransaction(first) if number < first => {
                Profile::idle_in_transaction(&mut rng, number)
            }
            Cast::IdleInTransaction(_) => Profile::well_behaved(&mut rng, number),
            Cast::Holders(first) if number >= first => Profile::busy(&mut rng, number),
            Cast::Holders(first) if first >= self.slots => Profile::slow_reader(&mut rng, number),
            Cast::Holders(_) => Profile::holder(&mut rng, number),
        };
        Client::with_profile(rng, profile)
    }

    /// When it comes at the earliest.
    pub(crate) fn arrives_after_us(&self, number: usize) -> u64 {
        match self.cast {
            Cast::IdleInTransaction(first) | Cast::Holders(first) if number >= first => {
                self.arrivals_us
            }
            _ => 0,
        }
    }
}

/// The accounts as they are known where the database alone can tell who is the first.
fn asked_by_the_database() -> Arc<Directory> {
    let [(first, _), (user, password)] = ACCOUNTS;
    let configured = (user.to_owned(), password.to_owned().into());
    let mut register = Register::new([configured], None);
    let found = Found {
        name: AccountName::new(first, "%"),
        credential: Credential::Other("questions".into()),
        standing: Standing::Open,
        requires: Requires::Nothing,
        privileges: 0,
    };
    let reading = Reading {
        accounts: vec![found],
        view: View::default(),
    };
    let read = register.update(reading);
    read.unwrap_or_else(|| register.directory())
}

/// How the database feels in this world.
pub(crate) fn health(rng: &mut Rng) -> Health {
    let service_us = [60, 300, 2_000][rng.usize(..3)];
    let lock_wait_us = [20_000, 200_000, 2_000_000][rng.usize(..3)];
    let often = [0, 0, 20, 200];
    let incidents = Incidents {
        dies_before: often[rng.usize(..4)],
        dies_after: often[rng.usize(..4)],
        strays: 0,
        every_us: [0, 0, 20_000, 200_000][rng.usize(..4)],
        until_us: rng.u64(100_000..3_000_000),
    };
    Health::new(incidents, service_us, lock_wait_us)
}

fn settings(rng: &mut Rng, clients: usize) -> Settings {
    let account = |(user, password): (&str, &str)| (user.to_owned(), password.to_owned().into());
    let sometimes = |rng: &mut Rng, span| (rng.u8(0..5) == 0).then_some(span);
    Settings {
        // The network has no TLS; the layer for that has tests of its own.
        tls: TlsMode::Off,
        backend_tls: false,
        accounts: Directory::configured(ACCOUNTS.into_iter().map(account)).into(),
        max_connections: match rng.u8(0..10) {
            0 => rng.usize(1..=clients),
            _ => 1_000_000,
        },
        max_logins: 100_000,
        max_relays: 4,
        max_relayed_per_account: 8,
        // Chance breaks more handshakes than a host may.
        max_connect_errors: None,
        connect_errors_exempt: Vec::new(),
        proxy_networks: Vec::new(),
        default_auth_plugin: None,
        login_timeout: Span::from_secs(10),
        idle_transaction_timeout: sometimes(rng, Span::from_ms(100)),
        wait_timeout: sometimes(rng, Span::from_ms(300)),
        client_write_timeout: Span::from_ms([1_500, 60_000][rng.usize(..2)]),
        client_read_timeout: Span::from_secs(60),
        command_buffer_total: 512 << 20,
        session_memory: 256 << 20,
        answer_buffer: [0, 300, 4_096, 65_536][rng.usize(..4)],
        answer_buffer_total: [1_000, 1 << 28][rng.usize(..2)],
        max_allowed_packet: 1 << 24,
        compression: false,
        connect_timeout: Span::from_ms([20, 200, 1_000][rng.usize(..3)]),
        backend_on_unix_socket: true,
        max_pinned: match rng.u8(0..4) {
            0 => rng.usize(0..4),
            _ => usize::MAX,
        },
        max_pinned_per_account: usize::MAX,
        max_prepared_statements: [1, 2, 128][rng.usize(..3)],
        queue_timeout: Span::from_ms([50, 500, 5_000][rng.usize(..3)]),
        min_connections: rng.usize(0..4),
        busy_at_first: [None, Some(1), Some(2)][rng.usize(..3)],
        backend_idle_timeout: sometimes(rng, Span::from_ms(20)),
        backend_max_age: sometimes(rng, Span::from_ms(50)),
        on_disconnect: [
            OnDisconnect::KillReads,
            OnDisconnect::KillAll,
            OnDisconnect::Finish,
        ][rng.usize(..3)],
        lane_stall: [300, 2_000, 10_000]
            .get(rng.usize(..4))
            .map(|&us| Span::from_us(us)),
        preference: [Preference::Fitting, Preference::Foreign][rng.usize(..2)],
        server_version: "8.0.11-Myriad".to_owned(),
        address: PublicAddress::default(),
    }
}
