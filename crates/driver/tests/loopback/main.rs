//! The epoll loop over real sockets on loopback, driven from the outside through a puppet handler.
//! The same tests run over io_uring in `loopback_io_uring.rs`; a new file belongs into both.

#[cfg(test)]
mod accept;
#[cfg(test)]
mod backpressure;
#[cfg(test)]
mod churn;
#[cfg(test)]
mod close;
#[cfg(test)]
mod connect;
#[cfg(test)]
mod echo;
#[cfg(test)]
mod hang_up;
#[cfg(test)]
mod idle;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod panics;
#[cfg(test)]
mod puppet;
#[cfg(test)]
mod shortage;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod stale;
#[cfg(test)]
mod timer;

/// What the tests of this binary run over.
#[cfg(test)]
fn driver() -> driver::Driver {
    driver::Driver::Epoll
}
