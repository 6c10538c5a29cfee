//! Many worlds: from a fixed seed on, those that failed once, and whatever the environment asks
//! for (`MYRIAD_SIM_SEED` for one with its full trace, `MYRIAD_SIM_SEEDS` for so many).

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use sim::{Failure, Options, Stats, run};

    const FIRST: u64 = 1;
    const SEEDS: u64 = 1_000;

    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }

    /// Runs all seeds on two threads. Returns what failed, at most a few of them.
    fn run_all(seeds: &[u64]) -> (Stats, Vec<Failure>) {
        let next = AtomicU64::new(0);
        let results = Mutex::new((Stats::default(), Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize)
                    {
                        let result = run(seed, &Options::default());
                        let mut results = results.lock().unwrap();
                        match result {
                            Ok(stats) => results.0.add(&stats),
                            Err(failure) => results.1.push(*failure),
                        }
                    }
                });
            }
        });
        results.into_inner().unwrap()
    }

    fn assert_none(stats: Stats, mut failures: Vec<Failure>) {
        println!("{stats:?}");
        failures.sort_by_key(|failure| failure.seed);
        for failure in failures.iter().skip(1) {
            println!("seed {} broke {}", failure.seed, failure.broken);
        }
        if let Some(first) = failures.first() {
            panic!("{first}\n{} seeds failed", failures.len());
        }
    }

    #[test]
    fn no_rule_is_broken_in_many_worlds() {
        if let Some(seed) = number("MYRIAD_SIM_SEED") {
            let options = Options {
                full_trace: true,
                ..Options::default()
            };
            let failure = run(seed, &options).err().map(|failure| *failure);
            return assert_none(Stats::default(), failure.into_iter().collect());
        }
        let count = number("MYRIAD_SIM_SEEDS").unwrap_or(SEEDS);
        let seeds: Vec<u64> = (FIRST..FIRST + count).collect();
        let (stats, failures) = run_all(&seeds);
        assert_none(stats, failures);
        let interrupted = stats.interrupted * 10 >= count;
        assert!(interrupted, "next to no KILL ended a statement: {stats:?}");
        let enough = stats.executed > count
            && stats.prepared * 5 >= count
            && stats.files * 10 >= count
            && stats.moved * 20 >= count;
        assert!(
            enough,
            "too few prepared statements, files or ends of pins: {stats:?}"
        );
    }

    #[test]
    fn seeds_that_failed_once_do_not_fail_again() {
        let seeds: Vec<u64> = include_str!("seeds.txt")
            .lines()
            .filter_map(|line| line.split('#').next()?.trim().parse().ok())
            .collect();
        let (stats, failures) = run_all(&seeds);
        assert_none(stats, failures);
    }

    #[test]
    fn a_seed_repeats_its_run() {
        for seed in 1..20 {
            let stats = run(seed, &Options::default()).ok();
            assert_eq!(stats, run(seed, &Options::default()).ok());
        }
    }
}
