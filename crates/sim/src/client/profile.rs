//! What kind of client it is: how it logs in, how it reads and how it leaves. By chance.

use fastrand::Rng;
use wire::Capabilities;

use super::Request;
use crate::catalog::{ACCOUNTS, FICKLE, OWN_KEYS, SCHEMAS, SHARED_KEYS};
use crate::database::sql::{Assignment, Sql};
use crate::network::Pace;

/// The account of all slow readers.
pub(crate) const SLOW_READERS: usize = 0;

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// COM_QUIT after its script.
    Quit,
    /// It closes the connection after its script.
    Close,
    /// It closes or drops the connection some time after it sent this command.
    During(u32),
    /// It does nothing more after its script, and stays.
    Stay,
    /// Nothing is heard of it any more after this command.
    Vanish(u32),
    /// It closes or drops the connection once a part of the answer to this command, or all of it, has come.
    Amid(u32),
    /// It sends half of this command and drops the connection.
    Half(u32),
    /// It sends nonsense in place of this command.
    Garbage(u32),
}

/// One client.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Its number.
    pub(crate) client: usize,
    pub(crate) user: String,
    pub(crate) password: String,
    /// True if user and password are right.
    pub(crate) known: bool,
    /// Place in the catalog's accounts, if known.
    pub(crate) account: usize,
    pub(crate) schema: Option<String>,
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u8,
    /// Names another plugin, so that it has to be switched.
    pub(crate) other_plugin: bool,
    /// Sends its first command together with the handshake response.
    pub(crate) eager: bool,
    pub(crate) pace: Pace,
    /// Commands that it sends.
    pub(crate) commands: u32,
    /// The longest it thinks between them, in µs.
    pub(crate) think_us: u64,
    /// Of 256 commands, so many are sent without waiting for the answer before.
    pub(crate) pipelines: u8,
    /// Of 256 commands, so many end somebody, or what somebody runs.
    pub(crate) kills: u8,
    /// Of 256 commands, so many are about prepared statements.
    pub(crate) prepares: u8,
    /// Of 256 commands, so many are about texts prepared by name.
    pub(crate) texts: u8,
    /// Reads most of the time.
    pub(crate) reads: bool,
    /// Uses what pins a session.
    pub(crate) pins: bool,
    /// Mostly runs what leaves counts, ids and conditions, and asks about them.
    pub(crate) asks: bool,
    pub(crate) exit: Exit,
    /// What it sends, the first last; after that, what chance wants.
    pub(crate) script: Vec<Request>,
}

impl Profile {
    /// Somebody who reads a row without autocommit, and then leaves the session alone.
    pub(crate) fn idle_in_transaction(rng: &mut Rng, client: usize) -> Self {
        let autocommit = Sql::Set(vec![Assignment {
            name: "autocommit".to_owned(),
            value: Some("0".to_owned()),
        }]);
        let own = SHARED_KEYS + client as u32 * OWN_KEYS;
        let script = [Sql::ReadKey(own), autocommit].map(Request::Query).to_vec();
        Self {
            commands: script.len() as u32,
            exit: Exit::Stay,
            script,
            ..Self::well_behaved(rng, client)
        }
    }

    /// A client that holds a backend for long: by a transaction, a pin, long statements, or by reading slowly.
    pub(crate) fn holder(rng: &mut Rng, client: usize) -> Self {
        let pinned = Sql::GetLock(format!("own {client}"));
        let (script, exit) = match rng.u8(0..4) {
            0 => return Self::idle_in_transaction(rng, client),
            1 => (vec![Request::Query(pinned)], Exit::Stay),
            2 => (vec![Request::Query(Sql::Sleep(300)); 5], Exit::Quit),
            _ => return Self::slow_reader(rng, client),
        };
        Self {
            commands: script.len() as u32,
            exit,
            think_us: 50,
            script,
            ..Self::well_behaved(rng, client)
        }
    }

    /// A client of the first account that hardly reads its answer.
    pub(crate) fn slow_reader(rng: &mut Rng, client: usize) -> Self {
        Self {
            commands: 1,
            pace: Pace::Clogged,
            script: vec![Request::Query(Sql::Repeat(rng.usize(80_000..160_000)))],
            account: SLOW_READERS,
            ..Self::well_behaved(rng, client)
        }
    }

    /// A client of either account that sends one statement after the other, and keeps no backend.
    pub(crate) fn busy(rng: &mut Rng, client: usize) -> Self {
        let account = rng.usize(..ACCOUNTS.len());
        let (user, password) = ACCOUNTS[account];
        let own = SHARED_KEYS + client as u32 * OWN_KEYS;
        let commands = rng.u32(200..1_500);
        let (schema, writes) = (rng.u8(0..6) > 0, rng.u8(0..4));
        let script = (0..commands).map(|number| match rng.u8(0..4) {
            _ if !schema => Sql::Literal(format!("{number}")),
            chance if chance < writes => Sql::WriteKey(own, rng.i64(..9)),
            _ => Sql::ReadKey(own),
        });
        let script = script.map(Request::Query).collect();
        let capabilities = match rng.bool() {
            true => Capabilities::FOUND_ROWS,
            false => Capabilities::empty(),
        };
        let any = Self::well_behaved(rng, client);
        Self {
            script,
            schema: any.schema.clone().filter(|_| schema),
            capabilities: (any.capabilities - Capabilities::FOUND_ROWS) | capabilities,
            user: user.to_owned(),
            password: password.to_owned(),
            account,
            commands,
            think_us: [1, 1, 50, 5_000][rng.usize(..4)],
            pipelines: 0,
            prepares: 0,
            pins: false,
            collation: 45,
            ..any
        }
    }

    /// Somebody who reads, in the same state as others of that kind.
    pub(crate) fn reader(rng: &mut Rng, client: usize) -> Self {
        let (user, password) = ACCOUNTS[0];
        let any = Self::new(rng, client);
        let answer_changing = Capabilities::FOUND_ROWS
            | Capabilities::LOCAL_FILES
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS;
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            known: true,
            account: 0,
            schema: Some(SCHEMAS[0].to_owned()),
            capabilities: any.capabilities - answer_changing,
            collation: 45,
            commands: rng.u32(10..40),
            think_us: [10, 100, 1_000][rng.usize(..3)],
            prepares: 0,
            reads: true,
            pins: false,
            ..any
        }
    }

    /// Somebody whom the database asks itself who it is, most of the time; in one schema.
    pub(crate) fn questioned(rng: &mut Rng, client: usize) -> Self {
        let place = usize::from(rng.u8(0..4) == 0);
        let (user, password) = ACCOUNTS[place];
        let known = rng.u8(0..10) > 0;
        let password = if known { password } else { "wrong" };
        let any = Self::new(rng, client);
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            known,
            account: place,
            schema: Some(SCHEMAS[0].to_owned()),
            eager: false,
            kills: 0,
            reads: rng.bool(),
            pins: false,
            ..any
        }
    }

    /// Somebody who asks about each statement, on the same backends as those who hang up while theirs run. Every third
    /// stays to the end.
    pub(crate) fn abrupt(rng: &mut Rng, client: usize) -> Self {
        let any = Self::well_behaved(rng, client);
        // Two keys, of many sessions each.
        let mut capabilities = any.capabilities
            | Capabilities::LOCAL_FILES
            | Capabilities::MULTI_STATEMENTS
            | Capabilities::MULTI_RESULTS;
        capabilities.set(Capabilities::FOUND_ROWS, rng.u8(0..3) == 0);
        let stays = client.is_multiple_of(3);
        let commands = if stays {
            rng.u32(20..50)
        } else {
            rng.u32(1..8)
        };
        let at = rng.u32(..commands);
        Self {
            commands,
            capabilities,
            collation: 45,
            think_us: [50, 500, 3_000][rng.usize(..3)],
            asks: true,
            exit: match rng.u8(0..8) {
                _ if stays => Exit::Quit,
                0..4 => Exit::During(at),
                4..7 => Exit::Amid(at),
                _ => Exit::Half(at),
            },
            ..any
        }
    }

    /// Somebody who prepares texts by name.
    pub(crate) fn with_texts(rng: &mut Rng, client: usize) -> Self {
        Self {
            commands: rng.u32(10..50),
            texts: [20, 60, 160, 220][rng.usize(..4)],
            ..Self::new(rng, client)
        }
    }

    /// Somebody who does by chance what needs nobody's forbearance.
    pub(crate) fn well_behaved(rng: &mut Rng, client: usize) -> Self {
        let (user, password) = ACCOUNTS[0];
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
            known: true,
            account: 0,
            schema: Some(SCHEMAS[0].to_owned()),
            other_plugin: false,
            eager: false,
            pace: Pace::Even,
            kills: 0,
            exit: Exit::Quit,
            ..Self::new(rng, client)
        }
    }

    /// Asks for what nobody is refused: whoever is refused by a worker that has met no backend yet is closed, and
    /// its texts are gone with it.
    pub(super) fn ask_for_little(&mut self, password: &str) {
        (self.known, self.password) = (true, password.to_owned());
        self.schema = self
            .schema
            .take()
            .filter(|schema| SCHEMAS[..2].contains(&&schema[..]));
    }

    pub(crate) fn new(rng: &mut Rng, client: usize) -> Self {
        let account = rng.usize(..ACCOUNTS.len());
        let (user, password) = ACCOUNTS[account];
        let (user, password, known) = match rng.u8(0..40) {
            0 => ("stranger", password, false),
            1 => (user, "wrong", false),
            _ => (user, password, true),
        };
        let commands = rng.u32(1..25);
        Self {
            client,
            user: user.to_owned(),
            password: password.to_owned(),
            known,
            account,
            schema: schema(rng),
            capabilities: capabilities(rng),
            collation: [45, 45, 45, 8, 33, 28, 46][rng.usize(..7)],
            other_plugin: rng.u8(0..12) == 0,
            eager: rng.u8(0..16) == 0,
            pace: match rng.u8(0..100) {
                0 => Pace::Stuck,
                1..10 => Pace::Slow,
                10..30 => Pace::Choppy,
                _ => Pace::Even,
            },
            commands,
            think_us: [50, 500, 5_000, 50_000][rng.usize(..4)],
            pipelines: [0, 0, 0, 60][rng.usize(..4)],
            kills: [0, 0, 0, 0, 20, 100][rng.usize(..6)],
            prepares: [0, 0, 0, 60, 160][rng.usize(..5)],
            texts: 0,
            reads: false,
            pins: rng.u8(0..5) == 0,
            asks: false,
            script: Vec::new(),
            exit: match rng.u8(0..13) {
                0..6 => Exit::Quit,
                6 | 7 => Exit::Close,
                8 | 9 => Exit::During(rng.u32(..commands)),
                10 => Exit::Half(rng.u32(..commands)),
                11 => Exit::Vanish(rng.u32(..commands)),
                _ => Exit::Garbage(rng.u32(..commands)),
            },
        }
    }
}

/// The schema that a login names.
pub(super) fn schema(rng: &mut Rng) -> Option<String> {
    let name = match rng.u8(0..20) {
        0 => "nosuch",
        1 => FICKLE,
        2..12 => SCHEMAS[rng.usize(..2)],
        _ => return None,
    };
    Some(name.to_owned())
}

fn capabilities(rng: &mut Rng) -> Capabilities {
    let mut capabilities = Capabilities::LONG_FLAG
        | Capabilities::CONNECT_WITH_DB
        | Capabilities::PROTOCOL_41
        | Capabilities::TRANSACTIONS
        | Capabilities::SECURE_CONNECTION
        | Capabilities::PLUGIN_AUTH;
    let often = [
        Capabilities::LONG_PASSWORD,
        Capabilities::DEPRECATE_EOF,
        Capabilities::SESSION_TRACK,
        Capabilities::PLUGIN_AUTH_LENENC_DATA,
    ];
    for flag in often {
        capabilities.set(flag, rng.u8(0..4) > 0);
    }
    capabilities.set(Capabilities::FOUND_ROWS, rng.u8(0..4) == 0);
    capabilities.set(Capabilities::LOCAL_FILES, rng.bool());
    if rng.u8(0..3) == 0 {
        capabilities |= Capabilities::MULTI_STATEMENTS | Capabilities::MULTI_RESULTS;
    }
    capabilities
}
