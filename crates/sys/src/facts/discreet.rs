//! What must not be written down: addresses of the network and of its hardware, serial numbers, identifiers of disks,
//! names of users. Texts that somebody else composed (the kernel's command line, mount options) pass through here.

use std::net::{Ipv4Addr, Ipv6Addr};

/// What stands in the place of what is not written down.
pub(super) const HIDDEN: &str = "(hidden)";

/// Parts of the names of options whose value says who or where, not how fast.
const PRIVATE_NAMES: [&str; 17] = [
    "addr", "cred", "domain", "hostname", "key", "lowerdir", "passw", "roothash", "secret", "serial", "token",
    "upperdir", "url", "user", "usrhash", "uuid", "workdir",
];

/// The names that are private only as a whole.
const PRIVATE_WHOLE_NAMES: [&str; 10] =
    ["bootif", "bootdev", "ifname", "ip", "mac", "nameserver", "netconsole", "nfsroot", "resume", "root"];

/// The kernel's command line: the kernel's own parameters (what follows ` -- ` is for init), the private ones hidden.
pub(super) fn command_line(text: &str) -> String {
    let own = text.split_whitespace().take_while(|&word| word != "--");
    own.map(option).collect::<Vec<_>>().join(" ")
}

/// Mount options, the private ones hidden.
pub(super) fn mount_options(text: &str) -> String {
    text.split(',').filter(|option| !option.is_empty()).map(option).collect::<Vec<_>>().join(",")
}

/// A device or a name: shown unless it holds an address or an identifier.
pub(super) fn name(text: &str) -> &str {
    if holds_address(text) || text.contains("://") || text.contains(":/") || text.starts_with("//") {
        HIDDEN
    } else {
        text
    }
}

fn option(word: &str) -> String {
    match word.split_once('=') {
        Some((name, value)) if is_private(name) || holds_address(value) || value.contains("://") => {
            format!("{name}={HIDDEN}")
        }
        None if holds_address(word) => HIDDEN.to_owned(),
        _ => word.to_owned(),
    }
}

fn is_private(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PRIVATE_WHOLE_NAMES.contains(&name.as_str()) || PRIVATE_NAMES.iter().any(|part| name.contains(part))
}

/// Whether an IPv4, IPv6 or hardware address or a UUID stands anywhere in the text.
fn holds_address(text: &str) -> bool {
    let not_in = |extra: &'static str| move |c: char| !(c.is_ascii_alphanumeric() || extra.contains(c));
    text.split(not_in(".")).any(|word| word.parse::<Ipv4Addr>().is_ok())
        || text.split(not_in(".:")).any(|word| word.parse::<Ipv6Addr>().is_ok())
        || text.split(not_in(":-")).any(|word| is_hardware_address(word) || is_uuid(word))
}

/// Whether groups of hexadecimal digits of these lengths follow each other somewhere in the word.
fn holds_hex_groups(word: &str, separator: char, lengths: &[usize]) -> bool {
    let hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(group.len());
    let groups: Vec<Option<usize>> = word.split(separator).map(hex).collect();
    groups
        .windows(lengths.len())
        .any(|window| window.iter().zip(lengths).all(|(group, length)| *group == Some(*length)))
}

fn is_hardware_address(word: &str) -> bool {
    [':', '-'].into_iter().any(|separator| holds_hex_groups(word, separator, &[2; 6]))
}

fn is_uuid(word: &str) -> bool {
    holds_hex_groups(word, '-', &[8, 4, 4, 4, 12])
}
