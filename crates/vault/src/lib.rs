//! Secrets in memory that is locked: it is never written to swap space, is part of no core dump, and is
//! not there in processes that this one forks. What is kept is overwritten when it is dropped.
//!
//! Secrets share pages, since the kernel locks no less than a page and bounds how many of them a process
//! may lock (`RLIMIT_MEMLOCK`). A page without secrets is given back. What a secret is, and what becomes of
//! one that is refused, is decided elsewhere.

mod page;

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use page::{Opened, PAGE_BYTES, Page};

/// Memory for secrets.
#[derive(Debug)]
pub struct Vault {
    /// Those that have secrets; some may have been given back.
    pages: Mutex<Vec<Weak<Page>>>,
    pages_max: usize,
}

/// A secret; overwritten when dropped.
#[derive(Debug)]
pub struct Kept {
    page: Arc<Page>,
    first_cell: usize,
    bytes: usize,
}

/// A secret while it is looked at; nothing is kept in or dropped from its page meanwhile.
pub struct Shown<'a> {
    page: Opened<'a>,
    kept: &'a Kept,
}

/// Why a secret is not kept.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The kernel locks no further page.
    #[error("no more memory can be locked ({0}); raise the limit of locked memory (ulimit -l)")]
    Kernel(#[from] io::Error),
    /// The vault may have no further page.
    #[error("there are {0} pages of secrets already")]
    Full(usize),
    /// No page has room for so many bytes.
    #[error("it is {0} bytes long, and {PAGE_BYTES} is the limit")]
    Long(usize),
}

impl Default for Vault {
    /// One that has as many pages as the kernel allows.
    fn default() -> Self {
        Self::of(usize::MAX)
    }
}

impl Vault {
    /// One that has this many pages of 4 KiB at most.
    pub fn of(pages_max: usize) -> Self {
        Self {
            pages: Mutex::default(),
            pages_max,
        }
    }

    /// Keeps a secret. The copy that the caller has is not overwritten.
    pub fn keep(&self, secret: &[u8]) -> Result<Kept, Refused> {
        if secret.len() > PAGE_BYTES {
            return Err(Refused::Long(secret.len()));
        }
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|page| page.strong_count() > 0);
        // Low pages first, so that high ones become vacant.
        let mut there = pages.iter().filter_map(Weak::upgrade);
        let placed = there.find_map(|page| Some((page.put(secret)?, page)));
        if let Some((first_cell, page)) = placed {
            return Ok(Kept::at(page, first_cell, secret));
        }
        if pages.len() >= self.pages_max {
            return Err(Refused::Full(pages.len()));
        }
        let page = Arc::new(Page::lock()?);
        let first_cell = page.put(secret).ok_or(Refused::Long(secret.len()))?;
        pages.push(Arc::downgrade(&page));
        Ok(Kept::at(page, first_cell, secret))
    }

    /// How many pages of 4 KiB are locked.
    pub fn pages(&self) -> usize {
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter().filter(|page| page.strong_count() > 0).count()
    }
}

impl Kept {
    fn at(page: Arc<Page>, first_cell: usize, secret: &[u8]) -> Self {
        Self {
            page,
            first_cell,
            bytes: secret.len(),
        }
    }

    /// The secret. Do not hold it while others are kept or dropped: they would wait for it.
    pub fn show(&self) -> Shown<'_> {
        Shown {
            page: self.page.open(),
            kept: self,
        }
    }
}

impl Deref for Shown<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.page.bytes(self.kept.first_cell, self.kept.bytes)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.page.take(self.first_cell, self.bytes);
    }
}

#[cfg(test)]
mod tests;
