//! A thread that looks at the passwords that clients send in the full exchange of `caching_sha2_password`:
//! each takes milliseconds, so that no worker has time for it. It has the key pair of this process, made when
//! the first client asks for it and never written down.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use accounts::Proof;
use anyhow::Context;
use driver::Postboxes;
use engine::{Checker, Mail, PasswordCheck, Sent};
use membership::Key;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use wire::PrivateKey;
use zeroize::Zeroizing;

/// So many may wait; one more login is refused.
const WAITING_MAX: usize = 1_024;

/// The way to the thread.
pub(crate) struct Office {
    orders: SyncSender<Order>,
    key: Arc<OnceLock<PrivateKey>>,
}

enum Order {
    Check(PasswordCheck),
    Key((usize, Key)),
}

/// Starts the thread. It ends when nobody can give it an order any more.
pub(crate) fn start(postboxes: Postboxes<Mail>) -> anyhow::Result<Office> {
    let seed = driver::seed().context("the kernel has no random bytes to give")?;
    let (orders, ordered) = sync_channel(WAITING_MAX);
    let key: Arc<OnceLock<PrivateKey>> = Arc::default();
    let desk = Desk {
        key: key.clone(),
        random: ChaCha20Rng::from_seed(seed),
        postboxes,
    };
    let thread = std::thread::Builder::new().name("passwords".to_owned());
    thread.spawn(move || desk.serve(&ordered))?;
    Ok(Office { orders, key })
}

impl Checker for Office {
    fn public_key(&self) -> Option<&[u8]> {
        self.key.get().map(|key| key.public_pem().as_bytes())
    }

    fn check(&self, check: PasswordCheck) -> bool {
        self.orders.try_send(Order::Check(check)).is_ok()
    }

    fn make_key(&self, asker: (usize, Key)) -> bool {
        self.orders.try_send(Order::Key(asker)).is_ok()
    }
}

struct Desk {
    key: Arc<OnceLock<PrivateKey>>,
    random: ChaCha20Rng,
    postboxes: Postboxes<Mail>,
}

impl Desk {
    fn serve(mut self, ordered: &Receiver<Order>) {
        while let Ok(order) = ordered.recv() {
            let (worker, mail) = match order {
                Order::Check(check) => {
                    let (worker, client) = check.asker;
                    let proof = catch_unwind(AssertUnwindSafe(|| self.proof(check)));
                    // What could not be checked is not believed.
                    let proof = proof.unwrap_or(Proof::Wrong);
                    (worker, Mail::PasswordChecked(client, proof))
                }
                Order::Key((worker, client)) => {
                    if catch_unwind(AssertUnwindSafe(|| self.make_key())).is_err() {
                        // It would be asked for again at once; so the login ends when it has taken too long.
                        continue;
                    }
                    (worker, Mail::PublicKey(client))
                }
            };
            // If that worker has ended, so has its client.
            let _ended = self.postboxes.post(worker, mail);
        }
    }

    fn proof(&mut self, check: PasswordCheck) -> Proof {
        let password = match check.sent {
            Sent::Clear(password) => Some(password),
            Sent::Encrypted(bytes, nonce) => self.decrypt(&bytes, &nonce),
        };
        let nobody = accounts::Credential::Nothing;
        let credential = check
            .account
            .as_ref()
            .map_or(&nobody, |account| &account.credential);
        password.map_or(Proof::Wrong, |password| {
            credential.is_password(&password, &check.vault)
        })
    }

    fn decrypt(&mut self, bytes: &[u8], nonce: &[u8; 20]) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.key.get()?;
        key.decrypt_password(bytes, nonce, &mut self.random)
    }

    fn make_key(&mut self) {
        if self.key.get().is_none()
            && let Some(key) = PrivateKey::generate(&mut self.random)
        {
            self.key.get_or_init(|| key);
        }
    }
}
