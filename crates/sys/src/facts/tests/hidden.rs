//! Facts identify neither users nor places.

use super::super::redact;

#[test]
fn private_options_of_the_command_line_are_hidden() {
    let text = "BOOT_IMAGE=/vmlinuz-6.1.0 root=UUID=0a1b2c3d-1111-2222-3333-0123456789ab mitigations=off isolcpus=1-3 \
        ip=192.0.2.7::192.0.2.1:255.255.255.0:box:eth0 BOOTIF=01-aa-bb-cc-dd-ee-ff rhash_entries=4096 \
        androidboot.serialno=A1B2C3 log=tcp://collector quiet 2001:db8::7 log_host=2001:db8::8 -- --addr 0.0.0.0:2024 --for alice";
    let shown = redact::command_line(text);
    for kept in ["mitigations=off", "isolcpus=1-3", "rhash_entries=4096", "quiet", "BOOT_IMAGE=/vmlinuz-6.1.0"] {
        assert!(shown.contains(kept), "{kept} in {shown}");
    }
    for hidden in ["192.0", "0a1b2c3d", "aa-bb", "A1B2C3", "collector", "2001:db8", "2024", "box", "alice"] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
}

#[test]
fn identifiers_of_the_machine_are_not_recorded() {
    let id = "0123456789abcdef0123456789abcdef";
    for text in [
        format!("systemd.machine_id={id}"),
        format!("systemd.machine-id=firmware {id}"),
        format!("ostree=/ostree/boot.1/linux/{id}{id}/0"),
        format!("other={id}"),
        id.to_owned(),
        "rd.iscsi.initiator=iqn.2026-01.org.example:box7".to_owned(),
    ] {
        let shown = redact::command_line(&text);
        assert!(!shown.contains(id) && !shown.contains("box7") && shown.contains("(hidden)"), "{shown}");
    }
    let kept = "memmap=0x10000$0x18690000 crashkernel=256M log_buf_len=1M hugepages=0123456789abcdef";
    assert_eq!(redact::command_line(kept), kept);
}

#[test]
fn addresses_are_hidden_in_any_text() {
    for (text, shown) in [
        ("connecting to 192.0.2.7:24766: refused", "connecting to (hidden): refused"),
        ("at [2001:db8::7]:80, then fe80::1%eth0.", "at [(hidden)]:80, then (hidden)%eth0."),
        ("host:192.0.2.7:/export -192.0.2.8-192.0.2.9", "host:(hidden):/export -(hidden)-(hidden)"),
        ("/media/0a1b2c3d-1111-2222-3333-0123456789ab/x", "/media/(hidden)/x"),
        ("ether 01-aa-bb-cc-dd-ee aa:bb:cc:dd:ee:ff", "ether (hidden) (hidden)"),
        ("net=2001:db8::/32", "net=(hidden)/32"),
        ("pod 0123456789abcdef0123456789abcdef", "pod (hidden)"),
    ] {
        assert_eq!(redact::hide_addresses(text), shown);
    }
    for text in ["127.0.0.1:80 ::1 0.0.0.0", "std::io 12:30:45 1.5 µs -3", "6.1.0-13-amd64", "a - b: c.", "size=64K"] {
        assert_eq!(redact::hide_addresses(text), text);
    }
}

/// The value looks harmless, so only the name of the option can hide it.
#[test]
fn private_options_are_hidden_by_their_names() {
    for name in [
        "addr",
        "clientaddr",
        "cred",
        "credentials",
        "domain",
        "hostname",
        "initiator",
        "iscsi_x",
        "key",
        "keyring",
        "lowerdir",
        "machine-id",
        "machine_id",
        "password",
        "passwd",
        "roothash",
        "secret",
        "serial",
        "token",
        "upperdir",
        "url",
        "user",
        "username",
        "usrhash",
        "uuid",
        "UUID",
        "workdir",
        "bootif",
        "BOOTIF",
        "bootdev",
        "ifname",
        "ip",
        "mac",
        "nameserver",
        "netconsole",
        "nfsroot",
        "resume",
        "root",
    ] {
        assert_eq!(redact::mount_options(&format!("{name}=x,ro")), format!("{name}=(hidden),ro"), "{name}");
    }
    for name in ["size", "vers", "mode", "ips", "macs", "rootflags", "resume_offset", "nr_inodes", "pcie_aspm"] {
        assert_eq!(redact::mount_options(&format!("{name}=x,,ro")), format!("{name}=x,ro"), "{name}");
    }
}

#[test]
fn names_with_hosts_or_identifiers_are_hidden() {
    for name in [
        "host:/export",
        "//server/share",
        "https://x",
        "192.0.2.7",
        "/dev/disk/by-uuid/0a1b2c3d-1111-2222-3333-0123456789ab",
    ] {
        assert_eq!(redact::name(name), "(hidden)", "{name}");
    }
    for name in ["/dev/sda1", "tmpfs", "unconfined", "system_u:object_r:x", "a/b"] {
        assert_eq!(redact::name(name), name);
    }
}
