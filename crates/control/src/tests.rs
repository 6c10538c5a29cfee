//! The control plane with fake workers, over real sockets.

mod documented;
mod health;
mod limits;
mod metrics;
mod paths;
mod rounds;
mod stage;
