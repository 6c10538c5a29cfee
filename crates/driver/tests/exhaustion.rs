//! A process without descriptors left. A test binary of its own, because the limit is the
//! process's.

#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/puppet.rs"]
mod puppet;
#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/stage.rs"]
mod stage;

/// What a stage runs over unless told otherwise.
#[cfg(test)]
fn driver() -> driver::Driver {
    driver::Driver::Epoll
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpStream;

    use driver::Driver;
    use events::Close;
    use rustix::process::{Resource, Rlimit, setrlimit};

    use crate::puppet::Heard;
    use crate::stage::{Setup, until};

    #[test]
    fn a_client_waits_until_there_is_a_descriptor_and_nothing_spins() {
        let (current, maximum) = (Some(100), Some(100));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        for driver in [Driver::Epoll, Driver::IoUring] {
            match driver.probe() {
                Ok(()) => exhaust(driver),
                Err(error) => println!("{driver} is not tested, it is refused here: {error}"),
            }
        }
    }

    fn exhaust(driver: Driver) {
        let stage = Setup {
            driver,
            ..Setup::default()
        }
        .start();
        // Says one word to whoever comes.
        stage.ask(|puppet, _| {
            puppet.reflex = Some(Box::new(|heard, handles, io| {
                if let Heard::Accepted(tag, _) = heard {
                    io.outbox(handles[tag]).extend_from_slice(b"welcome");
                    io.close(handles[tag], Close::Flush);
                }
            }));
        });
        let mut hoard = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            hoard.push(file);
        }
        hoard.pop();
        let client = TcpStream::connect(stage.tcp()).unwrap();
        let counters = &stage.counters[0];
        until("accepting fails", || counters.read().accept_errors >= 3);
        let turns = counters.read().turns;
        until("it fails again", || counters.read().accept_errors >= 5);
        assert!(counters.read().turns - turns < 20);
        drop(hoard);
        assert!(welcomed(client));
        stage.end();
    }

    fn welcomed(mut client: TcpStream) -> bool {
        let mut word = String::new();
        client.read_to_string(&mut word).is_ok() && word == "welcome"
    }
}
