//! More connections than the process may have open files. A test binary of its own, because the
//! limit is the process's.

#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/puppet.rs"]
mod puppet;
#[cfg(test)]
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "loopback/stage.rs"]
mod stage;

#[cfg(test)]
fn driver() -> driver::Driver {
    driver::Driver::IoUring
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use driver::Driver;
    use events::{Close, HangUp, Tag};
    use rustix::process::{Resource, Rlimit, setrlimit};

    use crate::puppet::Heard;
    use crate::stage::{Setup, Stage};

    const OPEN_FILES: u64 = 60;
    /// Each of them has both of its ends in this process.
    const CONNECTIONS: usize = 500;
    /// While it is made, a connection is an open file; so it is until it has been accepted.
    const AT_ONCE: usize = 8;

    #[test]
    fn io_uring_holds_more_connections_than_there_may_be_open_files() {
        if let Err(error) = Driver::IoUring.probe() {
            println!("io_uring is not tested, it is refused here: {error}");
            return;
        }
        let (current, maximum) = (Some(OPEN_FILES), Some(OPEN_FILES));
        setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
        let stage = mirror();
        let mut ends = Ends::default();
        while ends.ours.len() < CONNECTIONS {
            let count = AT_ONCE.min(CONNECTIONS - ends.ours.len());
            ends.make(&stage, count);
        }
        assert_eq!(stage.counters[0].read().accepts, CONNECTIONS as u64);
        ends.close(&stage);
        stage.end();
    }

    /// A worker that connects to itself, and whose accepted ends send back what they hear.
    fn mirror() -> Stage {
        let stage = Setup {
            backend: None,
            ..Setup::default()
        }
        .start();
        let mut accepted = HashSet::new();
        stage.ask(|puppet, _| {
            puppet.reflex = Some(Box::new(move |heard, handles, io| match heard {
                Heard::Accepted(tag, _) => {
                    accepted.insert(*tag);
                }
                Heard::Received(tag, bytes) if accepted.contains(tag) => {
                    io.outbox(handles[tag]).extend_from_slice(bytes);
                }
                _ => {}
            }));
        });
        stage
    }

    #[derive(Default)]
    struct Ends {
        ours: Vec<Tag>,
        theirs: HashSet<Tag>,
    }

    impl Ends {
        /// Makes so many connections, says its number on each and hears it come back.
        fn make(&mut self, stage: &Stage, count: usize) {
            let tags = stage.ask(move |puppet, io| {
                let tags = (0..count).map(|_| {
                    let tag = puppet.connect(io);
                    let word = tag.0.to_be_bytes();
                    io.outbox(puppet.handle(tag)).extend_from_slice(&word);
                    tag
                });
                tags.collect::<Vec<_>>()
            });
            self.ours.extend(&tags);
            let mut awaited: BTreeMap<_, _> =
                tags.into_iter().map(|tag| (tag, Vec::new())).collect();
            while awaited
                .iter()
                .any(|(tag, word)| word.as_slice() != tag.0.to_be_bytes())
            {
                match stage.hear() {
                    Heard::Accepted(tag, _) => assert!(self.theirs.insert(tag)),
                    Heard::Connected(tag) => assert!(awaited.contains_key(&tag)),
                    Heard::Received(tag, bytes) => match awaited.get_mut(&tag) {
                        Some(word) => word.extend(bytes),
                        None => assert!(self.theirs.contains(&tag)),
                    },
                    other => panic!("heard {other:?}"),
                }
            }
        }

        /// Closes all of ours, and each of theirs when it hears of that.
        fn close(mut self, stage: &Stage) {
            let ours = self.ours;
            stage.ask(move |puppet, io| {
                for tag in ours {
                    io.close(puppet.handle(tag), Close::Flush);
                }
            });
            while !self.theirs.is_empty() {
                match stage.hear() {
                    Heard::HungUp(tag, HangUp::Closed) => {
                        assert!(self.theirs.remove(&tag));
                        stage.close(tag, Close::Flush);
                    }
                    other => panic!("heard {other:?}"),
                }
            }
        }
    }
}
