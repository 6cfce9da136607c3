//! A benchmark and its partners: the processes and threads that work beside it, how they meet, what
//! they are told to do, and how they end.
//!
//! A partner prepares, reports that it is ready ([`Control::arrive`]), and then does what the
//! command word says. The command starts as 0; the benchmark gives its other values a meaning,
//! except for [`LEAVE`]. Every wait of the benchmark notices a partner that has died. Partners that
//! are processes die with the benchmark, so theirs need not look.
//!
//! A timed loop uses the words as plain atomics. A word that is itself what a benchmark measures
//! stays in that benchmark.

use crate::ctx::Ctx;
use crate::error::{BenchError, Context, Outcome};
use crate::sys::fork::{self, Child, PeerWatch};
use crate::sys::process::Exit;
use crate::sys::shared::{Shared, Word};
use crate::sys::thread;
use std::fmt::Display;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The command to end.
pub const LEAVE: u32 = u32::MAX;

/// Stack size of a partner that is a thread.
const STACK: usize = 128 << 10;

/// The words that all partners see: the command, and how many partners are ready.
#[derive(Debug)]
pub struct Control(Shared<Word>);

impl Control {
    /// The command, 0 at first.
    pub fn command(&self) -> &Word {
        &self.0[0]
    }

    fn ready(&self) -> &Word {
        &self.0[1]
    }

    /// Reports a partner as ready.
    pub fn arrive(&self) {
        self.ready().count();
    }

    /// Reports a partner as ready and sleeps until the first command, which it returns.
    pub fn await_command(&self) -> u32 {
        self.arrive();
        self.command().wait_while(0)
    }
}

/// Runs the body of a process; returns its exit code.
fn live<E: Display>(name: &str, control: &Control, body: impl FnOnce(&Control) -> Result<(), E>) -> i32 {
    match body(control) {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("{name}: {e}");
            1
        }
    }
}

/// The partners of a benchmark. Dropping this ends them: threads are told to leave and waited for,
/// processes are killed.
#[derive(Debug)]
pub struct Partners {
    control: Arc<Control>,
    /// The processes, and what messages call them.
    processes: Vec<(String, Child)>,
    threads: Vec<JoinHandle<()>>,
}

impl Partners {
    /// Nobody yet.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new() -> Result<Partners, BenchError> {
        let control = Control(Shared::new(2).context("sharing memory with the partners")?);
        Ok(Partners { control: Arc::new(control), processes: Vec::new(), threads: Vec::new() })
    }

    /// Forks a process with [`Ctx::fork_peer`]. An error of `body` is printed, and becomes the exit
    /// code 1.
    ///
    /// # Errors
    /// Those of the fork.
    pub fn fork<E: Display>(
        &mut self,
        ctx: &Ctx,
        name: impl Into<String>,
        body: impl FnOnce(&Control) -> Result<(), E>,
    ) -> Outcome {
        let name = name.into();
        let child = ctx.fork_peer(&[], || live(&name, &self.control, body))?;
        self.processes.push((name, child));
        Ok(())
    }

    /// As [`Partners::fork`], wherever the placement wants the peer.
    ///
    /// # Errors
    /// Those of the fork.
    pub fn fork_unplaced<E: Display>(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce(&Control) -> Result<(), E>,
    ) -> Outcome {
        let name = name.into();
        let child = fork::fork(|| live(&name, &self.control, body)).context(&format!("forking {name}"))?;
        self.processes.push((name, child));
        Ok(())
    }

    /// Starts a thread, which leaves when the command says so. Processes come first: a process with
    /// threads must not fork.
    ///
    /// # Errors
    /// Those of thread creation.
    pub fn spawn(&mut self, body: impl FnOnce(&Control) + Send + 'static) -> Outcome {
        let control = Arc::clone(&self.control);
        self.threads.push(thread::spawn(STACK, move || body(&control)).context("starting a thread")?);
        Ok(())
    }

    /// The ids of those that are processes, in the order of their start.
    pub fn pids(&self) -> impl Iterator<Item = i32> {
        self.processes.iter().map(|(_, child)| child.pid())
    }

    /// Gives all partners a command.
    pub fn send_command(&self, command: u32) {
        self.control.command().set(command);
    }

    /// Fails if a process has ended.
    ///
    /// # Errors
    /// Who has ended, and how.
    pub fn check_alive(&mut self) -> Outcome {
        for (name, child) in &mut self.processes {
            if let Some(exit) = child.poll().context("polling a partner")? {
                return Err(BenchError::Failed(format!("{name} {exit}")));
            }
        }
        Ok(())
    }

    /// Sleeps until the value of the word is the one that is waited for, and returns it.
    ///
    /// # Errors
    /// As [`Partners::check_alive`].
    pub fn wait_for(&mut self, word: &Word, done: impl Fn(u32) -> bool) -> Result<u32, BenchError> {
        word.wait_until(done, || self.check_alive())
    }

    /// Sleeps until all partners have arrived.
    ///
    /// # Errors
    /// As [`Partners::check_alive`].
    pub fn all_ready(&mut self) -> Outcome {
        let (control, all) = (Arc::clone(&self.control), self.processes.len() + self.threads.len());
        match self.wait_for(control.ready(), |ready| ready as usize == all) {
            Err(BenchError::Failed(why)) => Err(BenchError::Failed(format!("{why} before it was ready"))),
            other => other.map(drop),
        }
    }

    /// From now on, the end of a process interrupts the benchmark's blocking calls.
    ///
    /// # Errors
    /// Those of `sigaction`; as [`Partners::check_alive`].
    pub fn watch(&mut self) -> Result<Option<PeerWatch>, BenchError> {
        let Some((name, child)) = self.processes.first_mut() else { return Ok(None) };
        let watch = PeerWatch::over(child).context(&format!("watching {name}"))?;
        self.check_alive()?;
        Ok(watch)
    }

    /// An error, told with the partner that has ended, if one has.
    pub fn explain(&mut self, stop: BenchError) -> BenchError {
        match self.check_alive() {
            Err(end) => BenchError::Failed(format!("{end}; {stop}")),
            Ok(()) => stop,
        }
    }

    /// Waits until all partners have ended by themselves. Returns the ends of the processes, in the
    /// order in which they were forked.
    ///
    /// # Errors
    /// Those of `wait4`; `Failed` when a thread has panicked.
    pub fn wait(mut self) -> Result<Vec<Exit>, BenchError> {
        self.reap().map(|ended| ended.into_iter().map(|(_, exit)| exit).collect())
    }

    /// As [`Partners::wait`], for partners that must all exit with 0.
    ///
    /// # Errors
    /// The first who did not, and how it ended.
    pub fn wait_for_success(mut self) -> Outcome {
        match self.reap()?.iter().find(|(_, exit)| !exit.success()) {
            Some((name, exit)) => Err(BenchError::Failed(format!("{name} {exit}"))),
            None => Ok(()),
        }
    }

    /// Tells all partners to leave, then as [`Partners::wait`].
    ///
    /// # Errors
    /// As [`Partners::wait`].
    pub fn end(self) -> Result<Vec<Exit>, BenchError> {
        self.send_command(LEAVE);
        self.wait()
    }

    fn reap(&mut self) -> Result<Vec<(String, Exit)>, BenchError> {
        if self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count() > 0 {
            return Err(BenchError::Failed("a thread panicked".to_owned()));
        }
        let ended = self.processes.drain(..).map(|(name, child)| {
            let exit = child.wait().context(&format!("waiting for {name}"))?;
            Ok((name, exit))
        });
        ended.collect()
    }
}

impl Drop for Partners {
    fn drop(&mut self) {
        self.send_command(LEAVE);
        // Nobody asks any more whether a thread panicked. The children are killed by their own
        // drop.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::SeqCst;

    /// Does nothing until it has to leave.
    fn obey(control: &Control) -> Result<(), String> {
        match control.await_command() {
            LEAVE => Ok(()),
            command => Err(format!("told {command}")),
        }
    }

    fn partners(names: &[&str], body: impl Fn(&str, &Control) -> Result<(), String>) -> Partners {
        let mut partners = Partners::new().expect("memory");
        for name in names {
            partners.fork_unplaced(*name, |control| body(name, control)).expect("fork");
        }
        partners
    }

    #[test]
    fn every_wait_notices_a_dead_partner() {
        let body = |name: &str, control: &Control| if name == "the dead" { Err("dies".into()) } else { obey(control) };
        let mut partners = partners(&["the living", "the dead"], body);
        let failed = |why: &str| BenchError::Failed(format!("the dead exited with code 1{why}"));
        assert_eq!(partners.all_ready(), Err(failed(" before it was ready")));
        assert_eq!(partners.wait_for(&Word::default(), |value| value == 1), Err(failed("")));
        assert_eq!(partners.check_alive(), Err(failed("")));
        assert_eq!(partners.watch().map(drop), Err(failed("")));
        assert_eq!(partners.explain(BenchError::Denied("no answer".into())), failed("; no answer"));
        partners.send_command(LEAVE);
        assert_eq!(partners.wait_for_success(), Err(failed("")));
    }

    #[test]
    fn partners_are_waited_for_until_all_are_ready_and_sleep_until_they_leave() {
        let mut partners = partners(&["a", "b", "c"], |_, control| obey(control));
        let left = Arc::new(AtomicU32::new(0));
        for _ in 0..2 {
            let left = Arc::clone(&left);
            partners.spawn(move |control| left.store(control.await_command(), SeqCst)).expect("a thread");
        }
        partners.all_ready().expect("all are alive");
        assert_eq!(partners.control.ready().load(SeqCst), 5);
        partners.check_alive().expect("nobody was told to leave");
        assert_eq!(partners.explain(BenchError::Denied("no".into())), BenchError::Denied("no".into()));
        let ended = partners.end().expect("wait");
        assert_eq!(ended.iter().map(Exit::code).collect::<Vec<_>>(), [Some(0); 3]);
        assert_eq!(left.load(SeqCst), LEAVE);
    }

    #[test]
    fn the_commands_of_a_benchmark_reach_its_partners() {
        let partners = partners(&["a", "b"], |_, control| match control.await_command() {
            3 => Ok(()),
            command => Err(format!("told {command}")),
        });
        partners.send_command(3);
        assert_eq!(partners.wait_for_success(), Ok(()));
    }

    #[test]
    fn a_panicked_thread_is_reported() {
        let mut partners = Partners::new().expect("memory");
        partners.spawn(|_| panic!("as the test wants it")).expect("a thread");
        assert_eq!(partners.end().map(drop), Err(BenchError::Failed("a thread panicked".to_owned())));
    }

    #[test]
    fn dropping_partners_ends_them() {
        let mut partners = partners(&["deaf", "obedient"], |name, control| match name {
            "deaf" => loop {
                std::thread::park();
            },
            _ => obey(control),
        });
        let left = Arc::new(AtomicU32::new(0));
        let own = Arc::clone(&left);
        partners.spawn(move |control| own.store(control.await_command(), SeqCst)).expect("a thread");
        let pids: Vec<i32> = partners.processes.iter().map(|(_, child)| child.pid()).collect();
        drop(partners);
        assert_eq!(left.load(SeqCst), LEAVE);
        assert!(pids.into_iter().all(|pid| process::reap(pid).is_err()), "a process is left");
    }
}
