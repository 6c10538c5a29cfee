//! Thousands of worlds from their seeds.

use fastrand::Rng;

use super::world::{Plan, World};

const SEEDS: u64 = 2_000;

#[test]
fn no_permit_and_no_wake_up_is_lost_over_all_workers() {
    let (mut served, mut order_checked) = (0, 0);
    for seed in 0..SEEDS {
        let result = std::panic::catch_unwind(|| {
            let mut rng = Rng::with_seed(seed);
            let plan = Plan::of(&mut rng);
            let mut world = World::new(rng, plan);
            world.run();
            (world.served, world.order_checked)
        });
        let Ok(counts) = result else {
            panic!("seed {seed}");
        };
        served += counts.0;
        order_checked += counts.1;
    }
    assert!(served > 50 * SEEDS as u32, "{served} statements are few");
    assert!(
        order_checked > 10_000,
        "the order of {order_checked} statements was checked"
    );
}
