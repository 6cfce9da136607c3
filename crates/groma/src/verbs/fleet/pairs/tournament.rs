//! Who measures whom, when: in each round a host has one peer at most, and in all rounds each pair
//! meets once (the circle method of round-robin tournaments).

/// The rounds of a tournament of so many hosts.
pub(super) fn rounds(hosts: usize) -> usize {
    match hosts {
        0 | 1 => 0,
        n => n - 1 + n % 2,
    }
}

/// The peer of a host in a round; `None` in the round in which it has to wait, since the number of
/// hosts is odd.
pub(super) fn peer(hosts: usize, round: usize, host: usize) -> Option<usize> {
    let circle = rounds(hosts);
    // With an even number the last host stands in the middle of the circle.
    let middle = (hosts.is_multiple_of(2)).then_some(hosts - 1);
    if Some(host) == middle {
        return Some(round % circle);
    }
    // Two hosts on the circle meet in the round that is their sum.
    let other = (2 * round + circle - host) % circle;
    if other == host { middle } else { Some(other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_pair_meets_once_and_no_host_has_two_peers_at_once() {
        for hosts in 2..40 {
            let mut met = BTreeSet::new();
            for round in 0..rounds(hosts) {
                let mut waiting = 0;
                for host in 0..hosts {
                    let Some(other) = peer(hosts, round, host) else {
                        waiting += 1;
                        continue;
                    };
                    assert!(other != host && other < hosts, "{hosts} hosts, round {round}: {host} and {other}");
                    assert_eq!(peer(hosts, round, other), Some(host), "{hosts} hosts, round {round}: {host}");
                    if host < other {
                        assert!(met.insert((host, other)), "{hosts} hosts: {host} and {other} meet twice");
                    }
                }
                assert_eq!(waiting, hosts % 2, "{hosts} hosts, round {round}");
            }
            assert_eq!(met.len(), hosts * (hosts - 1) / 2, "{hosts} hosts");
        }
        assert_eq!([rounds(0), rounds(1), rounds(2), rounds(3)], [0, 0, 1, 3]);
    }

    /// A sample is some rounds that follow each other: their pairs connect all hosts.
    #[test]
    fn two_rounds_in_a_row_connect_all_hosts() {
        for hosts in [4, 6, 10, 200, 201] {
            let mut reached = BTreeSet::from([0]);
            for _ in 0..hosts {
                let more: Vec<usize> = reached
                    .iter()
                    .flat_map(|host| (3..6).filter_map(|round| peer(hosts, round % rounds(hosts), *host)))
                    .collect();
                reached.extend(more);
            }
            assert_eq!(reached.len(), hosts);
        }
    }
}
