//! The engine panics in the middle of what it does: the clients that this concerns are cut off, and every rule holds for
//! all others.

#[cfg(test)]
mod tests {
    use sim::{Options, Scenario, Stats, run};

    /// So all scenarios take less than 20 s together. `MYRIAD_SIM_SEEDS` plays more.
    const SEEDS: u64 = 50;

    /// Runs worlds in which the engine panics at one of so many of its effects.
    fn assert_survived(scenario: Option<Scenario>, one_in: u32) {
        let number = |name: &str| std::env::var(name).ok()?.parse().ok();
        let (first, count) = match number("MYRIAD_SIM_SEED") {
            Some(seed) => (seed, 1),
            None => (1, number("MYRIAD_SIM_SEEDS").unwrap_or(SEEDS)),
        };
        let options = Options {
            scenario,
            panics: one_in,
            full_trace: count == 1,
            ..Options::default()
        };
        let (mut stats, mut failures) = (Stats::default(), Vec::new());
        for seed in first..first + count {
            match run(seed, &options) {
                Ok(ran) => stats.add(&ran),
                Err(failure) => failures.push(failure),
            }
        }
        println!("{stats:?}");
        for failure in failures.iter().skip(1) {
            println!("seed {} broke {}", failure.seed, failure.broken);
        }
        if let Some(first) = failures.first() {
            panic!("{first}\n{} seeds of {count} failed", failures.len());
        }
        assert!(stats.panics * 2 > count, "next to no panics: {stats:?}");
        // The one that the event is about, the session of the backend, and whoever was written to.
        assert!(stats.cut_off <= 3 * stats.panics, "{stats:?}");
    }

    #[test]
    fn whatever_happens() {
        assert_survived(None, 500);
    }

    #[test]
    fn panics_one_after_the_other() {
        assert_survived(None, 40);
    }

    #[test]
    fn in_lanes() {
        assert_survived(Some(Scenario::Readers), 500);
    }

    #[test]
    fn with_quotas() {
        assert_survived(Some(Scenario::ChangingQuotas), 200);
    }

    #[test]
    fn with_texts_prepared_by_name() {
        assert_survived(Some(Scenario::Texts), 200);
    }

    #[test]
    fn with_logins_that_the_database_decides() {
        assert_survived(Some(Scenario::Questions), 100);
    }
}
