//! The io_uring loop through all tests of `loopback`.

#[cfg(test)]
#[path = "loopback/accept.rs"]
mod accept;
#[cfg(test)]
#[path = "loopback/backpressure.rs"]
mod backpressure;
#[cfg(test)]
#[path = "loopback/churn.rs"]
mod churn;
#[cfg(test)]
#[path = "loopback/close.rs"]
mod close;
#[cfg(test)]
#[path = "loopback/connect.rs"]
mod connect;
#[cfg(test)]
#[path = "loopback/echo.rs"]
mod echo;
#[cfg(test)]
#[path = "loopback/hang_up.rs"]
mod hang_up;
#[cfg(test)]
#[path = "loopback/idle.rs"]
mod idle;
#[cfg(test)]
#[path = "loopback/mail.rs"]
mod mail;
#[cfg(test)]
#[path = "loopback/panics.rs"]
mod panics;
#[cfg(test)]
#[path = "loopback/puppet.rs"]
mod puppet;
#[cfg(test)]
#[path = "loopback/shortage.rs"]
mod shortage;
#[cfg(test)]
#[path = "loopback/stage.rs"]
mod stage;
#[cfg(test)]
#[path = "loopback/stale.rs"]
mod stale;
#[cfg(test)]
#[path = "loopback/timer.rs"]
mod timer;

/// What the tests of this binary run over. Where io_uring is refused it says so, and the tests
/// show once more that epoll works.
#[cfg(test)]
fn driver() -> driver::Driver {
    match driver::Driver::IoUring.probe() {
        Ok(()) => driver::Driver::IoUring,
        Err(error) => {
            println!("io_uring is not tested, it is refused here: {error}");
            driver::Driver::Epoll
        }
    }
}
