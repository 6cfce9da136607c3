//! Hides what must not be recorded: addresses of the network and of its hardware, serial numbers,
//! identifiers of disks, user names. Texts that others composed (the kernel's command line, mount
//! options) pass through here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The replacement for what is hidden.
pub const HIDDEN: &str = "(hidden)";

/// Parts of the names of options whose values identify a user, a host or a place.
const PRIVATE_NAMES: [&str; 21] = [
    "addr",
    "cred",
    "domain",
    "hostname",
    "initiator",
    "iscsi",
    "key",
    "lowerdir",
    "machine-id",
    "machine_id",
    "passw",
    "roothash",
    "secret",
    "serial",
    "token",
    "upperdir",
    "url",
    "user",
    "usrhash",
    "uuid",
    "workdir",
];

/// Names that are private only as a whole.
const PRIVATE_WHOLE_NAMES: [&str; 10] =
    ["bootif", "bootdev", "ifname", "ip", "mac", "nameserver", "netconsole", "nfsroot", "resume", "root"];

/// The kernel's command line: the kernel's own parameters, with private ones hidden (what follows
/// ` -- ` is for init).
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

/// A text with every address and identifier hidden, and the words around them kept. The loopback
/// and the unspecified address identify no one.
pub fn hide_addresses(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ".:-".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
        out.push_str(&rest[..start]);
        push_redacted(&mut out, &rest[start..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// A word of letters, digits, dots, colons and hyphens. Parts of a word that is not an address may
/// be addresses.
fn push_redacted(out: &mut String, word: &str) {
    let bare = word.trim_matches(['.', ':', '-']);
    if is_address(bare) {
        // Only one without digits may end in colons: `2001:db8::`.
        out.push_str(&word.replacen(bare, HIDDEN, 1));
    } else if is_address(word) {
        out.push_str(HIDDEN);
    } else if let Some(separator) = ['-', ':'].into_iter().find(|c| word.contains(*c)) {
        for (i, part) in word.split(separator).enumerate() {
            if i > 0 {
                out.push(separator);
            }
            push_redacted(out, part);
        }
    } else {
        out.push_str(word);
    }
}

/// Whether a whole word is an address or an identifier of something on a network or in a machine.
fn is_address(word: &str) -> bool {
    let ip = word.parse::<IpAddr>().or_else(|_| word.parse::<SocketAddr>().map(|at| at.ip()));
    ip.is_ok_and(|ip| !ip.is_loopback() && !ip.is_unspecified())
        || is_hardware_address(word)
        || is_uuid(word)
        || is_identifier(word)
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

/// Whether the text contains an IPv4, IPv6 or hardware address, a UUID or a long identifier.
fn holds_address(text: &str) -> bool {
    let not_in = |extra: &'static str| move |c: char| !(c.is_ascii_alphanumeric() || extra.contains(c));
    text.split(not_in(".")).any(|word| word.parse::<Ipv4Addr>().is_ok())
        || text.split(not_in(".:")).any(|word| word.parse::<Ipv6Addr>().is_ok())
        || text.split(not_in(":-")).any(|word| is_hardware_address(word) || is_uuid(word))
        || text.split(not_in("")).any(is_identifier)
}

/// Whether it looks like a machine id: at least 128 bits in hexadecimal. No number that the kernel
/// takes is that long.
fn is_identifier(word: &str) -> bool {
    word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
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
