//! Tests that every descriptor that this crate creates is closed on exec. Left open in a program
//! that a benchmark starts, it would keep others from seeing end-of-file, and every `execve` would
//! have more to close.

use crate::testing::Scratch;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{FdFlags, fcntl_getfd};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

/// The descriptors of something that this machine may not have.
fn optional<T>(name: &str, made: io::Result<T>, take: impl FnOnce(T) -> Vec<OwnedFd>) -> Vec<OwnedFd> {
    made.map_or_else(
        |e| {
            println!("skipped: {name}: {e}");
            Vec::new()
        },
        take,
    )
}

fn both((one, other): (OwnedFd, OwnedFd)) -> Vec<OwnedFd> {
    vec![one, other]
}

/// Files and directories in the test's directory.
fn files(scratch: &Path) -> Vec<(&'static str, Vec<OwnedFd>)> {
    use crate::{dirs, disk, files, opened};
    let dir = File::open(scratch).expect("the directory");
    std::fs::write(scratch.join("file"), "x").expect("a file");
    let held = dirs::Dir::open(scratch).expect("the directory");
    let one = |file: File| vec![file.into()];
    vec![
        ("files::create", one(files::create(dir.as_fd(), c"made").expect("a file"))),
        ("files::open", one(files::open(dir.as_fd(), c"made").expect("a file"))),
        ("opened::to_read", one(opened::to_read(&scratch.join("file"), false).expect("a file"))),
        ("opened::to_write", one(opened::to_write(&scratch.join("file"), opened::Writing::default()).expect("a file"))),
        ("opened::alone", optional("/proc", opened::alone(dir.as_fd()), one)),
        ("dirs::nameless", one(held.nameless().expect("a file"))),
        ("disk::create", optional("direct", disk::create(&scratch.join("direct")), one)),
        ("disk::open_to_read", optional("direct", disk::open_to_read(&scratch.join("direct")), one)),
        ("disk::open_shared", optional("direct", disk::open_shared(&scratch.join("direct")), one)),
        ("kernel_objects::fifo", both(crate::kernel_objects::fifo(&scratch.join("fifo")).expect("a FIFO"))),
    ]
}

/// Sockets of every family.
fn sockets() -> Vec<(&'static str, Vec<OwnedFd>)> {
    use crate::socket::{self, UnixName};
    use crate::unix::{Kind, connected, pair};
    let here = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let listener = socket::listen(here, 4).expect("loopback");
    let to = listener.local_addr().expect("bound");
    let connection = socket::connect_from(here, to).expect("loopback");
    let accepted = socket::accept(listener.as_fd()).expect("a connection");
    let named = UnixName::nowhere(&format!("groma-closed-{}", crate::process::id())).expect("a name");
    let mut all = vec![
        ("socket::tcp", vec![socket::tcp(here).expect("a socket")]),
        ("socket::listen_again", vec![socket::listen_again(here, 1).expect("loopback").into()]),
        ("socket::udp", vec![socket::udp(here).expect("loopback").into()]),
        ("socket::listen", vec![listener.into()]),
        ("socket::connect_from", vec![connection.into()]),
        ("socket::accept", vec![accepted]),
        ("UnixName::socket", vec![UnixName::socket().expect("a socket")]),
        ("UnixName::listen", vec![named.listen(1).expect("a name of its own")]),
    ];
    for kind in [Kind::Stream, Kind::Dgram, Kind::SeqPacket] {
        all.push(("unix::pair", both(pair(kind).expect("sockets"))));
        all.push(("unix::connected", both(connected(kind).expect("sockets"))));
    }
    all
}

/// Pipes, counters, timers, queues, memory.
fn others() -> Vec<(&'static str, Vec<OwnedFd>)> {
    let keeps = |name, fd: &dyn AsFd| {
        assert!(fcntl_getfd(fd.as_fd()).expect("F_GETFD").contains(FdFlags::CLOEXEC), "{name}");
    };
    keeps("signals::Watch", &crate::signals::Watch::new(&[libc::SIGUSR2]).expect("signalfd"));
    match crate::uring::Ring::new(4) {
        Ok(ring) => keeps("uring::Ring", &ring),
        Err(e) => println!("skipped: {e}"),
    }
    let one = |fd: OwnedFd| vec![fd];
    let task = crate::spawn::Task { code: 0, action: crate::spawn::ChildAction::Nothing };
    let child = crate::clone::fork_pidfd(&task);
    if let Ok(child) = &child {
        crate::clone::wait_pidfd(child).expect("its end");
    }
    let root = crate::tmpfs::Tmpfs::new(1 << 20).and_then(|tmpfs| tmpfs.root());
    vec![
        ("io::pipe", both(crate::io::pipe().expect("a pipe"))),
        ("io::duplicate", one(crate::io::duplicate(2).expect("F_DUPFD"))),
        ("kernel_objects::eventfd", one(crate::kernel_objects::eventfd().expect("eventfd"))),
        ("ready::timer", one(crate::ready::timer().expect("timerfd"))),
        ("ready::move_up", one(crate::ready::move_up(crate::io::pipe().expect("a pipe").0, 50).expect("F_DUPFD"))),
        ("mapping::memory_file", one(crate::mapping::memory_file(1).expect("memory").into())),
        ("splice::memory_file", one(crate::splice::memory_file().expect("memory").into())),
        ("mq::queue", optional("mq::queue", crate::mq::queue(1, 1), one)),
        ("clone::fork_pidfd", optional("clone3", child, one)),
        ("tmpfs::root", optional("tmpfs", root, |root| one(root.into()))),
    ]
}

#[test]
fn every_descriptor_is_closed_on_exec() {
    let scratch = Scratch::new("closed");
    let all: Vec<_> = [files(&scratch.0), sockets(), others()].into_iter().flatten().collect();
    for (name, fds) in &all {
        for fd in fds {
            assert!(fcntl_getfd(fd).expect("F_GETFD").contains(FdFlags::CLOEXEC), "{name}");
        }
    }
    assert!(all.iter().map(|(_, fds)| fds.len()).sum::<usize>() > 30);
}
