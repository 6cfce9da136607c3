//! Bandwidth of a TCP connection between two processes.
//!
//! **Measures:** A stream that the peer sends and this side reads, on the loopback or with `--host`
//! from another machine. Both touch every byte; with `touch=no` neither does, as in iperf3.
//!
//! **Does not measure:** Several connections at once (use `-P`), or the offloads of a network card
//! as such.
//!
//! **Method:** This side requests a stretch of 4 MiB, reads it in transfers of the given size, and
//! times it from the request to its last byte. So every byte that counts was sent and received
//! while the watch ran, whatever the buffers hold, at the price of one wake-up per stretch (1 to
//! 4 % of it). Reading a running stream, or starting after the first bytes, was tried and rejected:
//! TCP queues some megabytes while the reader waits for its CPU, and they then arrive at the speed
//! of memory (14.7 GB/s where 4.5 are true).
//!
//! Between machines the price would be a round trip for each stretch, 43 % at 1 Gb/s and 50 ms.
//! There the stream runs: the next stretch of 8 MiB is requested before this one is read, and a
//! stretch counts from the last byte of the one before to its own, including whatever this side did
//! in between. Before anything is measured 8 MiB pass, and between machines as many stretches as
//! TCP needs to open its window: until one is no faster than the one before.
//!
//! Each transfer carries its number in every word, and the reader compares it. With `by=sendfile`
//! the sender sends one file over and over and touches nothing; the reader still compares, unless
//! `touch=no` says otherwise. Nothing but the number of bytes is known then of what arrived.
//! `buffers=4M` requests 4 MiB in each direction, which stops the kernel's tuning of them; the
//! granted sizes are facts. The CPU time of each side per gigabyte is an output.
//!
//! **Pitfalls:**
//! - Bytes that are credited, not counted.
//! - Data that nobody touches, unless that is the question: the compiler removes lmbench's
//!   accesses.
//! - A wait for the other side between two stretches: a share that grows with the distance.
//! - Slow start, if the first bytes are timed.
//! - A buffer of 64 KiB stays in the cache.
//! - The loopback's packets are 64 KiB long, unlike those of Ethernet.
//!
//! **Sources:** lmbench 1996 tables 3 (loopback) and 4 (between machines); lmbench3 `bw_tcp`. See
//! docs/methods/operating-system.md#tcp-bandwidth.

use super::{FAMILY, PLACEMENTS, within};
use crate::payload::{TOUCH, fill, holds};
use crate::peer::{Family, Peer, Service, Session, Transport, receive_numbers, send_numbers};
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::io::{read_full, write_full};
use groma_harness::sys::pages::{Map, Policy};
use groma_harness::sys::splice::{memory_file, sendfile_full};
use groma_harness::sys::{net, socket};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of a TCP connection between two processes",
        about: about!("tcp_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "4 MiB (between machines 8) in transfers of that size, each read in full",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            cpu("cpu_sender", "CPU time of the sender for a gigabyte"),
            cpu("cpu_receiver", "CPU time of the receiver for a gigabyte"),
        ],
        params: &[
            Param::size("size", "bytes in one write, up to 1M").quick(&["64K"]).full(&["4K", "1M"]),
            Param::word("buffers", "socket buffers: tuned by the kernel, or 4 MiB requested", &["default", "4M"])
                .quick(&["default"]),
            Param::word(
                "by",
                "data source of the sender: memory that it writes each time, or a file",
                &["write", "sendfile"],
            )
            .quick(&["write"]),
            TOUCH,
            FAMILY,
        ],
        scaling: Scaling::processes("each copy forks its other side, which a process with threads must not"),
        placements: PLACEMENTS,
        needs: &[Need::Loopback],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        // 2: between machines the stream does not stop between two stretches.
        version: 2,
        ..Info::new("net.tcp_bandwidth")
    },
    run: Run::Here(run),
};

/// An output for the CPU time of one side.
const fn cpu(suffix: &'static str, summary: &'static str) -> Output {
    Output::named(suffix, summary).quantity(Quantity::TimePerGigabyte).detail()
}

/// Bytes timed at once on this machine, and between machines, where more may be in flight.
const TIMED: u64 = 4 << 20;
const TIMED_FAR: u64 = 8 << 20;
/// Bytes that pass before anything is measured.
const OPENING: u64 = 8 << 20;
/// Between machines, the least and the most time that they take, and the share of its time that a
/// stretch must save to show that the window still opens
/// (docs/methods/operating-system.md#tcp-bandwidth).
const OPENING_NS: u64 = 100_000_000;
const MAX_OPENING_NS: u64 = 2_000_000_000;
const OPENS: f64 = 0.05;
const LONGEST_TRANSFER: u64 = 1 << 20;
/// Transfers of a stretch at most: 8 MiB a byte at a time would take longer than a round may.
const MAX_TRANSFERS: u64 = 1 << 16;
/// `buffers=4M`.
const BUFFERS: usize = 4 << 20;

/// The peer.
pub(super) static SERVICE: Service = Service { name: "net.tcp_bandwidth", transport: Transport::Tcp, serve };

/// What the peer sends: memory that it fills each time, a file, or memory that it leaves alone.
const FILLED: u64 = 0;
const FILE: u64 = 1;
const ALONE: u64 = 2;

/// Sends the requested number of transfers. A request for 0 is answered with its CPU time, the
/// number of transfers and the segments sent again, and ends it.
fn serve(session: Session) -> io::Result<()> {
    let Some(connection) = session.accept()? else { return Ok(()) };
    let [size, wide, source] = receive_numbers(&connection)?;
    let size = within(size, LONGEST_TRANSFER)?;
    if wide == 1 {
        socket::set_buffers(connection.as_fd(), BUFFERS)?;
    }
    let mut map = Map::anonymous(size, Policy::Base)?;
    map.populate();
    let buffer = &mut map[..size];
    let file = if source == FILE { Some(memory_file()?) } else { None };
    if let Some(file) = &file {
        file.write_all_at(buffer, 0)?;
    }
    let before = Usage::thread();
    let mut number = 0;
    loop {
        let [transfers] = receive_numbers(&connection)?;
        for _ in 0..transfers {
            match &file {
                Some(file) => sendfile_full(connection.as_fd(), file.as_fd(), 0, size)?,
                None => {
                    if source == FILLED {
                        fill(buffer, number);
                    }
                    write_full(connection.as_fd(), buffer)?;
                }
            }
            number += 1;
        }
        if transfers == 0 {
            let used = Usage::thread().since(&before);
            let again = net::connection(connection.as_fd())?.retransmits;
            send_numbers(&connection, [used.user_ns + used.system_ns, number, again])?;
            // The client closes by a reset, so no port stays in TIME_WAIT. Had this side closed
            // first, its port would.
            let _ = receive_numbers::<1>(&connection);
            return Ok(());
        }
    }
}

/// A connection to the peer, with large buffers if they are wanted.
fn connect(ctx: &mut Ctx, peer: &Peer, wide: bool) -> Result<TcpStream, BenchError> {
    let here = socket::tcp(peer.address()).context("making a socket")?;
    if wide {
        let (send, receive) = socket::set_buffers(here.as_fd(), BUFFERS).context("setting buffers")?;
        ctx.fact("buffers.granted", format!("{send} to send, {receive} to receive"));
    }
    socket::connect(here.as_fd(), &peer.address()).context("connecting")?;
    let here = TcpStream::from(here);
    here.set_nodelay(true).context("setting TCP_NODELAY")?;
    Ok(here)
}

/// Whether another stretch has to pass before anything is measured. So far `bytes` have, in
/// `spent_ns`; the last stretch took `took_ns`, and the one before it `before_ns`.
fn is_opening(far: bool, bytes: u64, spent_ns: u64, took_ns: u64, before_ns: u64) -> bool {
    let gains = (took_ns as f64) < before_ns as f64 * (1.0 - OPENS);
    bytes < OPENING || far && spent_ns < MAX_OPENING_NS && (spent_ns < OPENING_NS || gains)
}

fn run(ctx: &mut Ctx) -> Outcome {
    measure(ctx, &SERVICE)
}

#[expect(clippy::too_many_lines, reason = "set-up, opening, loop and proofs share one connection, and read in order")]
fn measure(ctx: &mut Ctx, service: &'static Service) -> Outcome {
    let size = ctx.int("size");
    if size > LONGEST_TRANSFER {
        return Err(BenchError::Unsupported("a transfer has no more than 1 MiB".to_owned()));
    }
    let (wide, touch) = (ctx.word("buffers") == "4M", ctx.word("touch") == "yes");
    let source = match ctx.word("by") {
        "sendfile" => FILE,
        _ if touch => FILLED,
        _ => ALONE,
    };
    let peer = Peer::start_by(ctx, service, Family::of_word(ctx.word("family")))?;
    let here = connect(ctx, &peer, wide)?;
    send_numbers(&here, [size, u64::from(wide), source]).context("asking for a stream")?;

    let mut map = Map::anonymous(size as usize, Policy::Base).context("mapping the buffer")?;
    map.populate();
    let buffer = &mut map[..size as usize];
    let mut number = 0;
    let mut take = |transfers: u64| {
        for _ in 0..transfers {
            read_full(here.as_fd(), buffer).context("reading from the socket")?;
            if touch && !holds(buffer, if source == FILE { 0 } else { number }) {
                return Err(BenchError::Failed(format!("transfer {number} did not arrive as it was sent")));
            }
            number += 1;
        }
        Ok(())
    };
    let ask = |transfers: u64| send_numbers(&here, [transfers]).context("asking for transfers");
    let far = peer.is_remote();
    let timed = (if far { TIMED_FAR } else { TIMED } / size).min(MAX_TRANSFERS);
    let mut untimed = 0;
    // Between machines one more stretch than is read has always been asked for.
    if far {
        ask(timed)?;
    }
    let opened = ctx.now_ns();
    let (mut until, mut last) = (opened, u64::MAX);
    loop {
        ask(timed)?;
        take(timed)?;
        untimed += timed;
        let now = ctx.now_ns();
        let (took, before) = (now - until, last);
        (until, last) = (now, took);
        // Of the smallest transfers, two stretches.
        let passed = if untimed >= 2 * timed { OPENING } else { untimed * size };
        if !is_opening(far, passed, now - opened, took, before) {
            break;
        }
    }
    let before = Usage::thread();
    ctx.measure_variants(&mut [Variant::staged("", |iters, watch| {
        for _ in 0..iters {
            if !far {
                until = watch.now_ns();
            }
            ask(timed)?;
            take(timed)?;
            let arrived = watch.now_ns();
            watch.span(until, arrived);
            until = arrived;
        }
        Ok(())
    })
    .per_iter((timed * size) as f64)])?;
    let receiver = Usage::thread().since(&before);
    if far {
        take(timed)?;
        untimed += timed;
    }

    ask(0)?;
    let [sender_ns, sent, again] = receive_numbers(&here).context("reading what was sent")?;
    let credited = ctx.iterations() * timed;
    ctx.prove("transfers read per transfer credited", "1", number as f64 / (credited + untimed) as f64, 1.0..=1.0);
    ctx.prove("transfers read per transfer sent", "1", number as f64 / sent as f64, 1.0..=1.0);
    let seconds_per_gb = |ns: u64, transfers: u64| ns as f64 / (transfers * size) as f64;
    // Nanoseconds per byte equal seconds per gigabyte.
    ctx.state_as("cpu_sender", seconds_per_gb(sender_ns, sent));
    ctx.state_as("cpu_receiver", seconds_per_gb(receiver.user_ns + receiver.system_ns, credited));
    if again > 0 {
        ctx.note(format!("TCP sent {again} segments again"));
    }
    net::reset_on_close(here.as_fd()).context("setting SO_LINGER")?;
    drop(here);
    if let Some(peer) = peer.end()? {
        proofs::peer_ended_well(ctx, &peer);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Limits, Socket};
    use groma_harness::sys::io::pipe;
    use groma_harness::sys::thread::spawn;
    use groma_harness::testing::try_out;

    /// Between machines the window opens first; the loopback never shows whether that is waited
    /// for.
    #[test]
    fn nothing_is_measured_while_the_window_opens() {
        const MS: u64 = 1_000_000;
        let (most, half) = (OPENING, OPENING / 2);
        for (far, bytes, spent_ns, took_ns, before_ns, opening) in [
            // On this machine only the bytes count.
            (false, half, 5000 * MS, 9 * MS, 9 * MS, true),
            (false, most, MS, MS, 9 * MS, false),
            // Elsewhere no less than 100 ms.
            (true, most, 99 * MS, 9 * MS, 9 * MS, true),
            (true, half, 101 * MS, 9 * MS, 9 * MS, true),
            (true, most, 101 * MS, 9 * MS, 9 * MS, false),
            // As long as a stretch saves 5 % of the time of the one before.
            (true, most, 500 * MS, 94 * MS, 100 * MS, true),
            (true, most, 500 * MS, 96 * MS, 100 * MS, false),
            (true, most, 500 * MS, 100 * MS, 94 * MS, false),
            // But not for ever.
            (true, most, 2001 * MS, 10 * MS, 100 * MS, false),
        ] {
            let seen = is_opening(far, bytes, spent_ns, took_ns, before_ns);
            assert_eq!(seen, opening, "{far} {bytes} {spent_ns} {took_ns} {before_ns}");
        }
    }

    #[test]
    fn the_sender_fills_its_memory_only_where_it_is_to() {
        for (source, filled) in [(FILLED, true), (FILE, false), (ALONE, false)] {
            let socket = Socket::bind(Transport::Tcp, Family::V4.loopback()).expect("loopback");
            let to = socket.address().expect("bound");
            let (hold, held) = pipe().expect("a pipe");
            let session = Session { socket, hold, client: None, limits: Limits::default() };
            let serving = spawn(256 << 10, move || serve(session)).expect("a thread");
            let here = TcpStream::connect(to).expect("loopback");
            here.set_nodelay(true).expect("TCP_NODELAY");
            send_numbers(&here, [1001, 0, source]).expect("what is wanted");
            send_numbers(&here, [3]).expect("a request");
            let mut transfer = [1; 1001];
            for number in 0..3 {
                read_full(here.as_fd(), &mut transfer).expect("a transfer");
                assert!(holds(&transfer, if filled { number } else { 0 }), "source {source}, transfer {number}");
            }
            send_numbers(&here, [0]).expect("the last request");
            let [_, sent, _] = receive_numbers(&here).expect("what was sent");
            assert_eq!(sent, 3);
            drop((here, held));
            serving.join().expect("no panic").expect("it ended well");
        }
    }

    /// Sends as much as it is asked for, and nothing that it should.
    fn serve_wrong(session: Session) -> io::Result<()> {
        let Some(connection) = session.accept()? else { return Ok(()) };
        let [size, ..] = receive_numbers::<3>(&connection)?;
        let wrong = vec![0xff; size as usize];
        let mut sent = 0;
        loop {
            let [transfers] = receive_numbers(&connection)?;
            for _ in 0..transfers {
                write_full(connection.as_fd(), &wrong)?;
                sent += 1;
            }
            if transfers == 0 {
                send_numbers(&connection, [1, sent, 0])?;
                let _ = receive_numbers::<1>(&connection);
                return Ok(());
            }
        }
    }

    static WRONG: Service = Service { name: "net.test", transport: Transport::Tcp, serve: serve_wrong };
    static FROM_WRONG: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(|ctx| measure(ctx, &WRONG)) };

    #[test]
    fn the_receiver_looks_at_what_arrives_unless_nobody_touches_it() {
        for by in ["write", "sendfile"] {
            let wrong = try_out(&FROM_WRONG, &[("by", by), ("touch", "yes")], None).err();
            assert!(matches!(&wrong, Some(BenchError::Failed(why)) if why.contains("did not arrive")), "{wrong:?}");
            let tried = try_out(&FROM_WRONG, &[("by", by), ("touch", "no")], None).expect("a stream unseen");
            // This sender says that it took a nanosecond for all.
            let cpu = |side: &str| tried.stated(side).expect("its CPU time");
            assert!(cpu("cpu_sender") < cpu("cpu_receiver") / 100.0, "{} {}", cpu("cpu_sender"), cpu("cpu_receiver"));
        }
    }

    #[test]
    fn every_byte_that_counts_was_moved() {
        for (size, buffers, by, touch) in [
            ("64K", "default", "write", "yes"),
            ("1001", "default", "write", "yes"),
            ("1M", "4M", "write", "no"),
            ("64K", "4M", "sendfile", "yes"),
            ("64K", "4M", "sendfile", "no"),
        ] {
            let chosen = [("size", size), ("buffers", buffers), ("by", by), ("touch", touch)];
            let tried = try_out(&BENCH, &chosen, None).expect("loopback");
            assert!(tried.samples("") >= 3);
            let per_iter = tried.result.series("").map(|s| s.per_iter);
            assert_eq!(per_iter, Some(if size == "1001" { 4190.0 * 1001.0 } else { TIMED as f64 }));
            assert_eq!(tried.proven("transfers read per transfer credited"), 1.0);
            assert_eq!(tried.proven("transfers read per transfer sent"), 1.0);
            assert_eq!(tried.proven("exit code of the peer"), 0.0);
            for side in ["cpu_sender", "cpu_receiver"] {
                assert!(tried.result.series(side).is_some_and(|s| s.values.iter().all(|v| *v > 0.0)), "{side}");
            }
            assert_eq!(tried.result.output.facts.iter().any(|f| f.key == "buffers.granted"), buffers == "4M");
        }
    }

    #[test]
    fn a_transfer_too_long_is_refused() {
        assert!(matches!(try_out(&BENCH, &[("size", "2M")], None), Err(BenchError::Unsupported(_))));
    }

    const BEFORE_NS: u64 = 400_000_000;

    /// As the benchmark, after this thread has worked for a while.
    fn after_work(ctx: &mut Ctx) -> Outcome {
        let used = || Usage::thread().user_ns + Usage::thread().system_ns;
        let from = used();
        while used() - from < BEFORE_NS {
            std::hint::spin_loop();
        }
        match BENCH.run {
            Run::Here(run) => run(ctx),
            Run::NotHere(why) => Err(BenchError::Unsupported(why.to_owned())),
        }
    }

    static AFTER_WORK: Benchmark = Benchmark { info: BENCH.info, run: Run::Here(after_work) };

    #[test]
    fn the_receiver_pays_for_what_is_credited_and_not_for_what_was_before() {
        let tried = try_out(&AFTER_WORK, &[("size", "64K")], None).expect("loopback");
        let stated = tried.stated("cpu_receiver").expect("stated");
        let gigabytes = tried.iterations as f64 * TIMED as f64 / 1e9;
        // It received for a fraction of the time that was spent before.
        assert!(stated * gigabytes < BEFORE_NS as f64 * 1e-9, "{stated} s for each of {gigabytes} GB");
    }
}
