//! The cells of the matrix as data: accounts, how they come to be and change, and who tries what.

use localdb::Family;

use crate::support::Server;

/// A plugin of accounts.
struct Plugin {
    name: &'static str,
    family: Family,
    /// Behind `IDENTIFIED`, `{}` being the password.
    identified: &'static str,
    /// The database decides: an account of the configuration cannot have it.
    relayed: bool,
}

const PLUGINS: [Plugin; 3] = [
    Plugin {
        name: "native",
        family: Family::MariaDb,
        identified: "VIA mysql_native_password USING PASSWORD('{}')",
        relayed: false,
    },
    Plugin {
        name: "ed25519",
        family: Family::MariaDb,
        identified: "VIA ed25519 USING PASSWORD('{}')",
        relayed: true,
    },
    Plugin {
        name: "sha2",
        family: Family::MySql,
        identified: "WITH caching_sha2_password BY '{}'",
        relayed: false,
    },
];

/// What is tried as an account of each plugin: its name behind the plugin's, the password, and when.
const TRIED: [(&str, &str, When); 9] = [
    ("", "right", When::Before),
    ("", "wrong", When::Before),
    ("", "", When::Before),
    ("_changed", "right", When::Before),
    ("_changed", "right", When::After),
    ("_changed", "new", When::After),
    ("_expired", "right", When::Before),
    ("_expired", "right", When::After),
    ("_expired", "wrong", When::After),
];

/// The same of those that have no plugin in their name.
const TRIED_BESIDES: [(&str, &str, When); 4] = [
    ("m_empty", "", When::Before),
    ("m_empty", "wrong", When::Before),
    ("m_nobody", "right", When::Before),
    ("m_nobody", "", When::Before),
];

/// Before or after passwords change and expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Before,
    After,
}

/// How a client comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Tcp,
    TcpOverTls,
    Unix,
}

/// One login.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) user: String,
    pub(super) password: &'static str,
    pub(super) way: Way,
}

impl Cell {
    /// Whether the account can stand in a configuration.
    pub(super) fn is_configurable(&self) -> bool {
        let is_its = |plugin: &Plugin| self.user.starts_with(&format!("m_{}", plugin.name));
        !plugins().any(|plugin| plugin.relayed && is_its(plugin))
    }
}

/// What the server needs for them, besides what it has.
pub(super) fn installed() -> &'static str {
    match Server::is_mariadb() && Server::chosen().has_plugins() {
        true => "INSTALL SONAME 'auth_ed25519'",
        false => "DO 0",
    }
}

fn plugins() -> impl Iterator<Item = &'static Plugin> {
    let chosen = Server::chosen();
    PLUGINS.iter().filter(move |plugin| {
        let is_there = plugin.name != "ed25519" || chosen.has_plugins();
        plugin.family == chosen.family() && is_there
    })
}

/// All logins at that time.
pub(super) fn cells(when: When) -> Vec<Cell> {
    let of_plugins = plugins().flat_map(|plugin| {
        TRIED.map(|(suffix, password, when)| (format!("m_{}{suffix}", plugin.name), password, when))
    });
    let besides = TRIED_BESIDES.map(|(user, password, when)| (user.to_owned(), password, when));
    let tried: Vec<_> = of_plugins
        .chain(besides)
        .filter(|tried| tried.2 == when)
        .collect();
    let ways = [Way::Tcp, Way::TcpOverTls, Way::Unix];
    let at = |way| {
        tried.iter().map(move |(user, password, _)| Cell {
            user: user.clone(),
            password,
            way,
        })
    };
    ways.into_iter().flat_map(at).collect()
}

/// Makes all accounts anew, as they are before.
pub(super) fn made() -> String {
    let mut sql = "DROP USER IF EXISTS 'm_empty'@'%'; CREATE USER 'm_empty'@'%';\n".to_owned();
    for plugin in plugins() {
        let identified = plugin.identified.replace("{}", "right");
        for suffix in ["", "_changed", "_expired"] {
            let user = format!("'m_{}{suffix}'@'%'", plugin.name);
            sql += &format!(
                "DROP USER IF EXISTS {user}; CREATE USER {user} IDENTIFIED {identified};\n"
            );
        }
    }
    sql + "FLUSH PRIVILEGES"
}

/// The statements that change and expire passwords.
pub(super) fn changes() -> Vec<String> {
    let of = |plugin: &Plugin| {
        let identified = plugin.identified.replace("{}", "new");
        let name = plugin.name;
        [
            format!("ALTER USER 'm_{name}_changed'@'%' IDENTIFIED {identified}"),
            format!("ALTER USER 'm_{name}_expired'@'%' PASSWORD EXPIRE"),
        ]
    };
    plugins().flat_map(of).collect()
}

/// The same accounts as sections of a configuration.
pub(super) fn configured(when: When) -> String {
    let section = |user: &str, password: &str| {
        format!("[[account]]\nuser = \"{user}\"\npassword = \"{password}\"\n")
    };
    let mut text = "[[account]]\nuser = \"m_empty\"\n".to_owned();
    for plugin in plugins().filter(|plugin| !plugin.relayed) {
        let user = format!("m_{}", plugin.name);
        let changed = if when == When::Before { "right" } else { "new" };
        text += &section(&user, "right");
        text += &section(&format!("{user}_changed"), changed);
        text += &section(&format!("{user}_expired"), "right");
    }
    text
}
