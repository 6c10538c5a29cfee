//! A thread that looks at the passwords that clients send in the full exchange of `caching_sha2_password`:
//! each takes milliseconds, so that no worker has time for it. It has the key pair of this process, made when
//! the first client asks for it and never written down.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

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
            let ((worker, client), mail): (_, fn(Key, bool) -> Mail);
            let right = match order {
                Order::Check(check) => {
                    (worker, client) = check.asker;
                    mail = Mail::PasswordChecked;
                    self.is_right(check)
                }
                Order::Key(asker) => {
                    (worker, client) = asker;
                    mail = |client, _| Mail::PublicKey(client);
                    self.has_key()
                }
            };
            // If that worker has ended, so has its client.
            let _ended = self.postboxes.post(worker, mail(client, right));
        }
    }

    fn is_right(&mut self, check: PasswordCheck) -> bool {
        let password = match check.sent {
            Sent::Clear(password) => Some(password),
            Sent::Encrypted(bytes, nonce) => self.decrypt(&bytes, &nonce),
        };
        let nobody = accounts::Credential::Nothing;
        let credential = check
            .account
            .as_ref()
            .map_or(&nobody, |account| &account.credential);
        password.is_some_and(|password| credential.is_password(&password))
    }

    fn decrypt(&mut self, bytes: &[u8], nonce: &[u8; 20]) -> Option<Zeroizing<Vec<u8>>> {
        let key = self.key.get()?;
        key.decrypt_password(bytes, nonce, &mut self.random)
    }

    fn has_key(&mut self) -> bool {
        if self.key.get().is_none()
            && let Some(key) = PrivateKey::generate(&mut self.random)
        {
            self.key.get_or_init(|| key);
        }
        self.key.get().is_some()
    }
}
