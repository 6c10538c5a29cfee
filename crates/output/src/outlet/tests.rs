//! The outlet before every kind of writer that does not do what it should.

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, pipe};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::fs::{OFlags, fcntl_setfl};

use super::*;
use crate::Descriptor;

/// Nothing here takes longer unless it is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// A line of 100 bytes.
fn line(number: usize) -> Vec<u8> {
    format!("{number:>99}\n").into_bytes()
}

/// More lines than there is room for.
const TOO_MANY: usize = 2 * ROOM / 100;

fn outlet(writer: impl Write + Send + 'static) -> Outlet {
    let retry = Duration::from_millis(1);
    Outlet::start_patiently("outlet", (writer, |_| {}), retry).unwrap()
}

fn put_too_many(outlet: &Outlet) {
    (0..TOO_MANY).for_each(|number| outlet.put(&line(number)));
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "never: {what}");
        thread::yield_now();
    }
}

/// The lines that come out of a pipe until it ends, which must be whole.
fn read_all(mut reader: PipeReader) -> Vec<String> {
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "half a line");
    text.lines().map(|line| line.trim().to_owned()).collect()
}

/// What is read and what is lost is all there was; what is read is in order.
fn assert_complete(read: &[String], lost: u64, put: usize) {
    assert_eq!(read.len() + lost as usize, put);
    let numbers = read.iter().map(|line| line.parse().unwrap());
    assert!(numbers.collect::<Vec<usize>>().is_sorted());
}

#[test]
fn everything_is_written_in_order_and_at_the_end() {
    let (reader, writer) = pipe().unwrap();
    let outlet = outlet(Descriptor(writer));
    let lines = thread::spawn(|| read_all(reader));
    (0..1_000).for_each(|number| outlet.put(&line(number)));
    outlet.finish(PATIENCE);
    drop(outlet);
    assert_complete(&lines.join().unwrap(), 0, 1_000);
}

#[test]
fn writers_that_always_fail_hold_nobody_up() {
    let full: File = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let read_only = File::open("/dev/null").unwrap();
    let (reader, nobody_reads) = pipe().unwrap();
    drop(reader);
    let writers: [(&str, Box<dyn Write + Send>); 3] = [
        ("ENOSPC", Box::new(Descriptor(full))),
        ("EBADF", Box::new(Descriptor(read_only))),
        ("EPIPE", Box::new(Descriptor(nobody_reads))),
    ];
    for (name, writer) in writers {
        let outlet = outlet(writer);
        put_too_many(&outlet);
        let room = ROOM / 100;
        assert_eq!(outlet.lines_lost() as usize, TOO_MANY - room, "{name}");
        let begin = Instant::now();
        outlet.finish(PATIENCE);
        assert!(begin.elapsed() < PATIENCE / 2, "{name}");
        assert_eq!(outlet.lines_lost() as usize, TOO_MANY, "{name}");
    }
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up_and_then_gets_whole_lines() {
    for non_blocking in [false, true] {
        let (reader, writer) = pipe().unwrap();
        if non_blocking {
            fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        }
        let outlet = outlet(Descriptor(writer));
        put_too_many(&outlet);
        assert!(outlet.lines_lost() > 0);
        let begin = Instant::now();
        outlet.finish(Duration::from_millis(50));
        assert!(begin.elapsed() < PATIENCE / 2, "the end is bounded");
        let lost = outlet.lines_lost();
        drop(outlet);
        assert_complete(&read_all(reader), lost, TOO_MANY);
    }
}

/// Takes a few bytes at a time, and nothing while it is broken.
struct Moody {
    is_broken: Arc<AtomicBool>,
    taken: Arc<Mutex<Vec<u8>>>,
}

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(33);
        self.taken.lock().unwrap().extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_works_again_gets_what_waited_and_is_told_what_was_lost() {
    let (is_broken, taken) = (Arc::new(AtomicBool::new(true)), Arc::default());
    let moody = Moody {
        is_broken: Arc::clone(&is_broken),
        taken: Arc::clone(&taken),
    };
    let told = Arc::new(AtomicU64::new(0));
    let tell = Arc::clone(&told);
    let tell = move |lost| {
        tell.fetch_add(lost, Ordering::SeqCst);
    };
    let retry = Duration::from_millis(1);
    let outlet = Outlet::start_patiently("outlet", (moody, tell), retry).unwrap();
    put_too_many(&outlet);
    let lost = outlet.lines_lost();
    assert!(lost > 0);
    assert_eq!(told.load(Ordering::SeqCst), 0, "nobody could be told");
    is_broken.store(false, Ordering::SeqCst);
    until("it is told", || told.load(Ordering::SeqCst) == lost);
    outlet.finish(PATIENCE);
    let text = String::from_utf8(taken.lock().unwrap().clone()).unwrap();
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    assert_complete(&lines, lost, TOO_MANY);
    assert_eq!(outlet.lines_lost(), lost, "nothing more");
}

#[test]
fn a_thread_that_panics_goes_on() {
    let (reader, writer) = pipe().unwrap();
    let panics = Arc::new(AtomicBool::new(true));
    struct Panicking(Arc<AtomicBool>, Descriptor<std::io::PipeWriter>);
    impl Write for Panicking {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(!self.0.swap(false, Ordering::SeqCst), "on purpose");
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let outlet = outlet(Panicking(panics, Descriptor(writer)));
    outlet.put(&line(1));
    outlet.finish(PATIENCE);
    drop(outlet);
    assert_eq!(read_all(reader), ["1"]);
}
