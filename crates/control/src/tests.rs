//! The control plane with fake workers, over real sockets.

mod api;
mod documented;
mod entrance;
mod health;
mod limits;
mod metrics;
mod paths;
mod rounds;
mod sql;
mod stage;

pub(crate) use stage::client_line;
