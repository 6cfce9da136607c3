//! The functions of `groma_ctx`, and those of the watch.
//!
//! # Safety
//! A `groma_ctx` is passed to C for the time of one call of the benchmark's functions and lives for
//! the whole round, on the stack of `round::run`. Strings and arrays are those that the header asks
//! for; C vouches for them.
#![expect(unsafe_code, reason = "pointers from C")]

use crate::abi::{self, Loop, PeerFn, borrowed, read_array};
use crate::call;
use crate::context::{Context, ENDED};
use crate::round::{self, loop_of};
use groma::harness::BenchError;
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr;

/// The context behind the pointer that C was given.
///
/// # Safety
/// See the module.
unsafe fn context<'c>(at: *const c_void) -> &'c Context<'c, 'c> {
    // SAFETY: see the module. The lifetimes are shorter than the true ones, and nothing that is
    // borrowed for longer is ever stored through this reference.
    unsafe { &*at.cast::<Context<'c, 'c>>() }
}

/// Ends the process: there is no round whose reason this could be.
fn end_without_context(function: &str) -> ! {
    eprintln!("{function}: the groma_ctx is a null pointer");
    std::process::abort()
}

/// Defines functions of the header: the context by that name, then the arguments.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($this:ident $(, $arg:ident: $type:ty)*) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the header says of its arguments.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($this: *const c_void $(, $arg: $type)*) $(-> $out)? {
            if $this.is_null() {
                end_without_context(stringify!($name));
            }
            // SAFETY: see the module.
            let $this = unsafe { context($this) };
            $body
        }
    )*};
}

functions! {
    /// The name of the benchmark.
    fn groma_name(this) -> *const c_char {
        this.name.as_ptr()
    }

    /// The number of this round.
    fn groma_round(this) -> u32 {
        this.member[0]
    }

    /// The number of this member of the worker group.
    fn groma_member(this) -> u32 {
        this.member[1]
    }

    /// Members of the worker group.
    fn groma_members(this) -> u32 {
        this.member[2]
    }

    /// The value of a size, integer or time parameter.
    fn groma_int(this, param: *const c_char) -> u64 {
        let name = text(param);
        let value = this.free("groma_int").and_then(|ctx| ctx.params().int(&name));
        value.unwrap_or_else(|| {
            this.end(BenchError::Failed(format!("groma_int: no size, integer or time '{name}' is declared")));
            0
        })
    }

    /// The value of a word or text parameter.
    fn groma_word(this, param: *const c_char) -> *const c_char {
        let name = text(param);
        let value = this.free("groma_word").and_then(|ctx| ctx.params().word(&name).map(|word| this.keep(word)));
        value.unwrap_or_else(|| {
            this.end(BenchError::Failed(format!("groma_word: no word or text '{name}' is declared")));
            c"".as_ptr()
        })
    }

    /// A random number.
    fn groma_random(this) -> u64 {
        this.free("groma_random").map_or(0, |mut ctx| ctx.rng().next_u64())
    }

    /// The private directory of this round; null, and the end of the round, without one.
    fn groma_work_dir(this) -> *const c_char {
        let Some(ctx) = this.free("groma_work_dir") else { return ptr::null() };
        match ctx.work_dir() {
            Ok(dir) => this.keep(&dir.to_string_lossy()),
            Err(why) => {
                this.end(why);
                ptr::null()
            }
        }
    }

    /// Operations or bytes of an iteration of `run`.
    fn groma_per_iter(this, n: f64) {
        if n > 0.0 && n.is_finite() {
            this.per_iter.set(n);
        } else {
            this.end(BenchError::Failed(format!("groma_per_iter: {n} is not above 0")));
        }
    }

    /// The most iterations of an interval.
    fn groma_max_iters(this, n: u64) {
        this.max_iters.set(n.max(1));
    }

    /// Forks the peer of a two-sided benchmark.
    fn groma_fork_peer(this, body: Option<PeerFn>, state: *mut c_void, fds: *const c_int, n: usize) -> c_int {
        let Some(ctx) = this.free("groma_fork_peer") else { return ENDED };
        let Some(body) = body else {
            return this.end(BenchError::Failed("groma_fork_peer: body is null".to_owned()));
        };
        // SAFETY: see the module; the child closes them, and has no other owner of them.
        let fds = unsafe { borrowed(fds, n) };
        // SAFETY: as above.
        let close: Vec<BorrowedFd<'_>> = fds.iter().map(|fd| unsafe { BorrowedFd::borrow_raw(*fd) }).collect();
        match ctx.fork_peer(&close, || call::peer(body, state)) {
            Ok(child) => {
                let pid = child.pid();
                this.peers.borrow_mut().push(child);
                pid
            }
            Err(why) => this.end(why),
        }
    }

    /// Measures loops in turn.
    fn groma_measure(this, loops: *const Loop, n: usize) -> c_int {
        // SAFETY: see the module.
        let loops = unsafe { read_array(loops, n, "groma_measure: loops") };
        let loops = match loops {
            Ok(loops) if !loops.is_empty() => loops,
            Ok(_) => return this.end(BenchError::Failed("groma_measure was given no loop".to_owned())),
            Err(why) => return this.end(BenchError::Failed(why)),
        };
        let Some(mut ctx) = this.free("groma_measure") else { return ENDED };
        let variants: Result<Vec<_>, BenchError> = loops.iter().map(|one| loop_of(this, one)).collect();
        match variants.and_then(|mut variants| ctx.measure_variants(&mut variants)) {
            Ok(()) => 0,
            Err(why) => this.end(why),
        }
    }

    /// States a value.
    fn groma_state(this, series: *const c_char, value: f64) {
        let Some(mut ctx) = this.free("groma_state") else { return };
        ctx.state_as(&text(series), value);
    }

    /// States that an output has no value.
    fn groma_unresolved(this, output: *const c_char, why: *const c_char) {
        let Some(mut ctx) = this.free("groma_unresolved") else { return };
        ctx.unresolved(&text(output), &text(why));
    }

    /// Iterations that were measured.
    fn groma_iterations(this, name: *const c_char) -> u64 {
        let Some(ctx) = this.free("groma_iterations") else { return 0 };
        if name.is_null() { ctx.iterations() } else { ctx.iterations_of(&text(name)) }
    }

    /// Proves something.
    fn groma_prove(this, what: *const c_char, seen: f64, least: f64, most: f64) {
        let Some(mut ctx) = this.free("groma_prove") else { return };
        let expected = if least == most { format!("{least}") } else { format!("{least}..{most}") };
        ctx.prove(&text(what), &expected, seen, least..=most);
    }

    /// A fact for the record.
    fn groma_fact(this, key: *const c_char, value: *const c_char) {
        let Some(mut ctx) = this.free("groma_fact") else { return };
        ctx.fact(&text(key), text(value));
    }

    /// A remark for the record.
    fn groma_note(this, note: *const c_char) {
        let Some(mut ctx) = this.free("groma_note") else { return };
        ctx.note(text(note));
    }

    /// Sets why the round ends.
    fn groma_end(this, state: c_int, why: *const c_char) -> c_int {
        let why = text(why);
        this.end(match state {
            1 => BenchError::Unsupported(why),
            2 => BenchError::Denied(why),
            _ => BenchError::Failed(why),
        })
    }

    /// The same for a call that failed with this error number.
    fn groma_end_errno(this, number: c_int, what: *const c_char) -> c_int {
        this.end(BenchError::from_io(&text(what), &io::Error::from_raw_os_error(number)))
    }
}

/// A text of C's.
fn text(at: *const c_char) -> String {
    // SAFETY: see the module.
    unsafe { abi::text(at) }
}

/// The timed part of an interval begins.
///
/// # Safety
/// `watch` is what `run_staged` was given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_start(watch: *mut c_void) {
    // SAFETY: the caller's duty; the harness waits for `run_staged` meanwhile.
    unsafe { round::watch(watch) }.start();
}

/// The timed part of an interval ends.
///
/// # Safety
/// As [`groma_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_stop(watch: *mut c_void) {
    // SAFETY: as above.
    unsafe { round::watch(watch) }.stop();
}
