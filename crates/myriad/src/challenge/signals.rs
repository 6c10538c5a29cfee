//! Signals that ask for an early end.

use anyhow::Context;
use challenge::Stop;
use tokio::signal::unix::{SignalKind, signal};

/// Has SIGINT, SIGTERM and SIGHUP ask for an end from now on.
pub(super) fn request_stop(stop: Stop) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    // They are taken from here on, not from when the thread runs.
    let signals: std::io::Result<Vec<_>> = {
        let _context = runtime.enter();
        kinds.into_iter().map(signal).collect()
    };
    let [mut interrupt, mut terminate, mut hangup] = <[_; 3]>::try_from(signals?)
        .map_err(|_| anyhow::anyhow!("a signal is missing; report this as a defect"))?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread
        .spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            stop.request();
        })
        .context("cannot start a thread")?;
    Ok(())
}
