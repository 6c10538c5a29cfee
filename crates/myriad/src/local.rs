//! A private local database behind the front door, for trying things out.

use std::path::Path;

use anyhow::Context;
use localdb::{LocalDb, Options};

/// The sample account, as `localdb` creates it.
const USER: &str = "app";
const PASSWORD: &str = "secret";

/// Starts the database in `folder`, loads the sample schema, and points `settings` at it.
pub(crate) fn start(folder: &Path, settings: &mut config::Settings) -> anyhow::Result<LocalDb> {
    let options = Options::in_folder(folder).server_arg("--max-connections=2000");
    let database = LocalDb::start(options).context("the private MariaDB did not start")?;
    database
        .load_sample()
        .context("the sample schema could not be loaded")?;
    settings.backend.address = config::Address::Unix(database.socket().to_owned());
    if settings.accounts.is_empty() {
        let password = config::Secret::new(PASSWORD.to_owned());
        settings.accounts.push(config::Account {
            user: USER.to_owned(),
            password,
            require: config::Require::None,
        });
    }
    Ok(database)
}

/// The line to paste.
pub(crate) fn invitation(listen: &[driver::Address]) -> String {
    let tcp = listen.iter().find_map(|address| match address {
        driver::Address::Tcp(address) => Some(*address),
        driver::Address::Unix(_) => None,
    });
    match tcp {
        Some(address) => format!(
            "Ready. In another terminal:\n\n  mariadb -h{} -P{} -u{USER} -p{PASSWORD} shop\n\n\
             Ctrl-C stops Myriad and the database.",
            address.ip(),
            address.port()
        ),
        None => "Ready. Ctrl-C stops Myriad and the database.".to_owned(),
    }
}
