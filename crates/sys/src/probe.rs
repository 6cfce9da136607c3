//! Probes: events that the kernel counts, with a program attached or not, wherever this process
//! makes a certain system call or reaches a certain instruction.
//!
//! # Safety
//! The structures are the kernel's, of the sizes that the calls are told; the path, the program and
//! the licence that they point to outlive the calls.
#![expect(unsafe_code, reason = "perf_event_open, bpf, ioctl")]

use crate::io::{checked, read_full};
use std::ffi::CStr;
use std::fs::read_to_string;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// `struct perf_event_attr`, the first 72 bytes of it (`PERF_ATTR_SIZE_VER1`): all that these
/// events need.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    _sampling: [u64; 3],
    flags: u64,
    _wakeup: [u32; 2],
    /// The path of a probe.
    config1: u64,
    /// Its place in the file.
    config2: u64,
}

const _: () = assert!(size_of::<Attributes>() == 72);

/// `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;
/// `PERF_EVENT_IOC_SET_BPF`, `_IOW('$', 8, u32)`.
const SET_PROGRAM: u64 = 0x4004_2408;
/// `BPF_PROG_LOAD`, and the types of programs of tracepoints and of probes.
const LOAD_PROGRAM: libc::c_int = 5;
const TRACEPOINT_PROGRAM: u32 = 5;
const PROBE_PROGRAM: u32 = 2;
/// `r0 = 1` and `exit`: the event passes.
const PASSES: [u64; 2] = [0x0000_0001_0000_00b7, 0x95];

/// What is probed.
#[derive(Clone, Copy, Debug)]
pub enum Probed<'a> {
    /// The entry of a system call of this name.
    SystemCall(&'a str),
    /// A place in a mapped file of this path.
    Instruction(&'a CStr, u64),
    /// The return of the function at that place.
    Return(&'a CStr, u64),
}

/// A probe of this process, until this is dropped.
#[derive(Debug)]
pub struct Probe {
    event: OwnedFd,
    _program: Option<OwnedFd>,
}

impl Probe {
    /// Starts counting; `with_program` also runs an eBPF program each time, which lets the event
    /// pass.
    ///
    /// # Errors
    /// `NotFound` where the kernel has no such events, or hides them; those of `perf_event_open`
    /// and of `bpf`: `EACCES` or `EPERM` without the right.
    pub fn new(probed: Probed<'_>, with_program: bool) -> io::Result<Probe> {
        let number = |path: &str| -> io::Result<u64> {
            read_to_string(path)?.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
        };
        let attributes = match probed {
            Probed::SystemCall(name) => {
                let of = |root: &str| number(&format!("{root}/events/syscalls/sys_enter_{name}/id"));
                let id =
                    of("/sys/kernel/tracing").or_else(|error| of("/sys/kernel/debug/tracing").map_err(|_| error))?;
                Attributes { kind: TRACEPOINT, config: id, ..Attributes::default() }
            }
            Probed::Instruction(path, at) | Probed::Return(path, at) => {
                let kind = number("/sys/bus/event_source/devices/uprobe/type")? as u32;
                let config = u64::from(matches!(probed, Probed::Return(..)));
                let config1 = path.as_ptr().expose_provenance() as u64;
                Attributes { kind, config, config1, config2: at, ..Attributes::default() }
            }
        };
        let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
        // SAFETY: the structure has the size that it states. This process, on any CPU, no group.
        let event =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
        checked(event)?;
        // SAFETY: the kernel has just made it for this process.
        let event = unsafe { OwnedFd::from_raw_fd(event as i32) };
        if !with_program {
            return Ok(Probe { event, _program: None });
        }
        let kind = if matches!(probed, Probed::SystemCall(_)) { TRACEPOINT_PROGRAM } else { PROBE_PROGRAM };
        let program = load(kind)?;
        // SAFETY: an integer by value.
        checked(unsafe { libc::ioctl(event.as_raw_fd(), SET_PROGRAM as _, program.as_raw_fd()) })?;
        Ok(Probe { event, _program: Some(program) })
    }

    /// How often it was reached.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        read_full(self.event.as_fd(), &mut count)?;
        Ok(u64::from_ne_bytes(count))
    }
}

/// Loads the program.
fn load(kind: u32) -> io::Result<OwnedFd> {
    // The first 48 bytes of `union bpf_attr`: type and number of instructions, their address, that
    // of the licence, and no log.
    let licence = c"GPL";
    let attributes: [u64; 6] = [
        u64::from(kind) | (PASSES.len() as u64) << 32,
        PASSES.as_ptr().expose_provenance() as u64,
        licence.as_ptr().expose_provenance() as u64,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel reads the attributes and what they point to.
    let program = unsafe { libc::syscall(libc::SYS_bpf, LOAD_PROGRAM, attributes.as_ptr(), size_of_val(&attributes)) };
    checked(program)?;
    // SAFETY: the kernel has just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(program as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::testing::Scratch;
    use std::ffi::CString;

    #[test]
    fn every_call_is_counted_once() {
        for program in [false, true] {
            match Probe::new(Probed::SystemCall("getpgid"), program) {
                Ok(probe) => {
                    assert!((0..7).all(|_| crate::raw::getpgid(0) > 0));
                    assert_eq!(probe.count().expect("a count"), 7, "{program}");
                }
                Err(e) => println!("no probes here: {e}"),
            }
        }
    }

    #[test]
    fn every_turn_and_return_of_a_function_is_counted_once() {
        let place = Scratch::new("probe");
        let path = place.0.join("function");
        let function = Code::function_in(&path);
        let probed = CString::new(path.to_str().expect("a path")).expect("a path");
        if let Ok(function) = &function {
            for (at, program) in [(Probed::Instruction(&probed, 0), true), (Probed::Return(&probed, 0), false)] {
                match Probe::new(at, program) {
                    Ok(probe) => {
                        assert_eq!((0..5).map(|_| function.run(3)).sum::<u64>(), 15);
                        assert_eq!(probe.count().expect("a count"), 5, "{at:?}");
                    }
                    Err(e) => println!("no probes here: {e}"),
                }
            }
        }
    }
}
