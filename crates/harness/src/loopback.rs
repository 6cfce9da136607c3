//! Whether the loopback interface can be used, and if not, why and what helps. Measures nothing.

use crate::error::{BenchError, Outcome};
use std::fs::read_to_string;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The errors of a network that is not there, the same on every architecture of Linux but MIPS and
/// SPARC.
mod errno {
    pub(super) const EAFNOSUPPORT: i32 = 97;
    pub(super) const EADDRNOTAVAIL: i32 = 99;
    pub(super) const ENETUNREACH: i32 = 101;
}

/// Fails unless packets can be sent over the loopback, by IPv4 or by IPv6.
///
/// # Errors
/// `Unsupported`, with the reason and what helps; `Denied` where the system refuses sockets.
pub fn check(v6: bool) -> Outcome {
    let ip = if v6 { IpAddr::from(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
    let Err(e) = reach(ip) else { return Ok(()) };
    let other = || reach(Ipv4Addr::LOCALHOST.into()).err().and_then(|e| e.raw_os_error());
    match missing(ip, e.raw_os_error(), other) {
        Some(why) => Err(BenchError::Unsupported(why)),
        None => Err(BenchError::from_io("using the loopback network", &e)),
    }
}

/// Binds to an address and connects to it, which takes an address, a route and a port, and sends
/// nothing.
fn reach(ip: IpAddr) -> io::Result<()> {
    let socket = UdpSocket::bind((ip, 0))?;
    socket.connect(socket.local_addr()?)
}

/// What an error of [`reach`] says about the interface; `v4` is that of IPv4. The address of IPv6,
/// unlike that of IPv4, vanishes when the interface goes down.
fn missing(ip: IpAddr, error: Option<i32>, v4: impl Fn() -> Option<i32>) -> Option<String> {
    const DOWN: &str = "the loopback interface is down: ip link set lo up";
    let off = || read_to_string("/proc/sys/net/ipv6/conf/lo/disable_ipv6").is_ok_and(|text| text.trim() == "1");
    Some(match error? {
        errno::EAFNOSUPPORT => format!("the kernel has no IPv{}", if ip.is_ipv6() { 6 } else { 4 }),
        errno::ENETUNREACH => DOWN.to_owned(),
        errno::EADDRNOTAVAIL if ip.is_ipv4() => {
            format!("the loopback interface has no address {ip}: ip addr add {ip}/8 dev lo")
        }
        errno::EADDRNOTAVAIL if v4() == Some(errno::ENETUNREACH) => DOWN.to_owned(),
        errno::EADDRNOTAVAIL if off() => {
            "the loopback interface has no IPv6: sysctl -w net.ipv6.conf.lo.disable_ipv6=0".to_owned()
        }
        errno::EADDRNOTAVAIL => format!("the loopback interface has no address {ip}: ip addr add {ip}/128 dev lo"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_what_helps() {
        let [v4, v6]: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let told = |ip, error, other: Option<i32>| missing(ip, error, || other).unwrap_or_default();
        assert!(told(v4, Some(101), None).ends_with("is down: ip link set lo up"));
        assert!(told(v6, Some(99), Some(101)).ends_with("is down: ip link set lo up"));
        assert!(told(v4, Some(99), None).ends_with("ip addr add 127.0.0.1/8 dev lo"));
        let no_v6 = told(v6, Some(99), None);
        assert!(no_v6.ends_with("ip addr add ::1/128 dev lo") || no_v6.ends_with("disable_ipv6=0"), "{no_v6}");
        assert_eq!(told(v6, Some(97), None), "the kernel has no IPv6");
        assert_eq!((told(v4, Some(1), None), told(v4, None, None)), (String::new(), String::new()));
    }
}
