//! What a benchmark in C sees of the harness: `groma_ctx`. Its functions are in `functions.rs`.
//!
//! The harness's context is borrowed while a loop runs. Functions that need it then refuse, and the
//! round fails with the name of the function; errors and [`Context::end`] need it at no time.

use groma::harness::sys::fork::Child;
use groma::harness::{BenchError, Ctx, Outcome};
use std::cell::{Cell, RefCell, RefMut};
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::ptr;

/// What a function returns whose error is kept in the context.
pub(crate) const ENDED: c_int = -1;

/// `groma_ctx`.
pub struct Context<'a, 'j> {
    ctx: RefCell<&'a mut Ctx<'j>>,
    pub(crate) name: CString,
    /// Why the round ends, once that is known.
    ending: RefCell<Option<BenchError>>,
    pub(crate) per_iter: Cell<f64>,
    pub(crate) max_iters: Cell<u64>,
    pub(crate) peers: RefCell<Vec<Child>>,
    /// Texts that C holds until the end of the round.
    texts: RefCell<Vec<CString>>,
    /// Its round, its number in the worker group, and the size of that.
    pub(crate) member: [u32; 3],
}

impl<'a, 'j> Context<'a, 'j> {
    pub(crate) fn new(ctx: &'a mut Ctx<'j>) -> Context<'a, 'j> {
        let member = [ctx.round(), ctx.member(), ctx.workers()];
        Context {
            name: c_string(ctx.id()),
            ctx: RefCell::new(ctx),
            ending: RefCell::default(),
            per_iter: Cell::new(1.0),
            max_iters: Cell::new(u64::MAX),
            peers: RefCell::default(),
            texts: RefCell::default(),
            member,
        }
    }

    /// The pointer that C gets.
    pub(crate) fn as_c(&self) -> *const c_void {
        ptr::from_ref(self).cast()
    }

    /// What a function of the benchmark returned, as an outcome.
    pub(crate) fn outcome(&self, function: &str, returned: c_int) -> Outcome {
        if let Some(why) = self.ending.borrow_mut().take() {
            return Err(why);
        }
        match returned {
            0 => Ok(()),
            n if n > 0 => Err(BenchError::from_io(function, &io::Error::from_raw_os_error(n))),
            n => Err(BenchError::Failed(format!("{function} returned {n}"))),
        }
    }

    /// Ends the round for this reason, unless there is one.
    pub(crate) fn end(&self, why: BenchError) -> c_int {
        self.ending.borrow_mut().get_or_insert(why);
        ENDED
    }

    /// The harness's context for a function of the header. `None` while a loop runs, which ends the
    /// round.
    pub(crate) fn free(&self, function: &str) -> Option<RefMut<'_, &'a mut Ctx<'j>>> {
        let free = self.ctx.try_borrow_mut().ok();
        if free.is_none() {
            self.end(BenchError::Failed(format!("{function} was called while a loop runs")));
        }
        free
    }

    /// The same for the steps of the round itself.
    pub(crate) fn with<T>(&self, step: impl FnOnce(&mut Ctx<'j>) -> T) -> T {
        step(&mut self.ctx.borrow_mut())
    }

    /// A text that lives until the end of the round.
    pub(crate) fn keep(&self, text: &str) -> *const c_char {
        let text = c_string(text);
        let at = text.as_ptr();
        self.texts.borrow_mut().push(text);
        at
    }
}

/// Without the zero bytes that a string of C cannot hold.
fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// What the peers of a round left behind: they have a moment to end, then they are ended.
pub(crate) fn end_peers(context: &Context<'_, '_>) -> Outcome {
    /// Looks at each peer; a millisecond apart.
    const LOOKS: u32 = 20;
    for mut peer in context.peers.take() {
        for _ in 0..LOOKS {
            match peer.poll() {
                Ok(None) => std::thread::sleep(std::time::Duration::from_millis(1)),
                Ok(Some(exit)) if !exit.success() => {
                    return Err(BenchError::Failed(format!("the peer {exit}")));
                }
                _ => break,
            }
        }
    }
    Ok(())
}
