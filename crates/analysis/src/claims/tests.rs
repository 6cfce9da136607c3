use super::caches::{holds, match_levels};
use super::*;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

#[test]
fn a_size_agrees_by_the_snap_rule() {
    for (hard, soft, declared, agree) in [
        (946.0, None, 1024.0, true),
        (922.0, None, 1024.0, true),
        (921.0, None, 1024.0, false),
        (1177.0, None, 1024.0, true),
        (1178.0, None, 1024.0, false),
        // Half-octave steps: the edge is between the last point on the level and the half-way
        // point.
        (1536.0, Some(2300.0), 2048.0, true),
        (1536.0, Some(1900.0), 2048.0, true),
        (1536.0, Some(1700.0), 2048.0, false),
        // However slowly the curve rises, a twentieth of the declared size does not match.
        (24.0, Some(250.0), 260.0, false),
        (1024.0, Some(2048.0), 2048.0, true),
        (1000.0, Some(2048.0), 2048.0, false),
    ] {
        assert_eq!(holds(hard, soft, declared), agree, "{hard} {soft:?} {declared}");
    }
}

#[test]
fn levels_are_matched_to_declared_caches() {
    let machine = [Some(48.0 * KIB), Some(2.0 * MIB), Some(260.0 * MIB)];
    let found = |sizes: &[f64]| match_levels(machine, sizes);
    assert_eq!(found(&[48.0 * KIB, 2.0 * MIB, 24.0 * MIB]), [Some(0), Some(1), Some(2)]);
    // No flat stretch between L2 and memory.
    assert_eq!(found(&[48.0 * KIB, 1.5 * MIB]), [Some(0), Some(1), None]);
    // The second level was not seen: the one that ends at 24 MiB is the third.
    assert_eq!(found(&[48.0 * KIB, 24.0 * MIB]), [Some(0), None, Some(1)]);
    // One level is not a cache: it comes from address translation.
    assert_eq!(found(&[48.0 * KIB, 384.0 * KIB, 2.0 * MIB, 24.0 * MIB]), [Some(0), Some(2), Some(3)]);
    assert_eq!(found(&[]), [None; 3]);
    assert_eq!(match_levels([None; 3], &[32.0 * KIB, MIB]), [Some(0), Some(1), None]);
    assert_eq!(match_levels([Some(32.0 * KIB), Some(MIB), None], &[32.0 * KIB, MIB]), [Some(0), Some(1), None]);
}

#[test]
fn sizes_and_sets_in_facts() {
    assert_eq!(bytes("48 KiB"), Some(49152.0));
    assert_eq!(bytes("24684084 KiB"), Some(24684084.0 * 1024.0));
    assert_eq!(bytes("1.50 MiB"), Some(1.5 * MIB));
    assert_eq!(bytes("65536"), Some(65536.0));
    assert_eq!(bytes("max"), None);
    assert_eq!(cpus("0-2,8"), Some(BTreeSet::from([0, 1, 2, 8])));
    assert_eq!(cpus("x"), None);
}
