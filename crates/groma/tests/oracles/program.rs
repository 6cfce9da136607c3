//! The C programs: compiled, and run one after the other.

use crate::FIRST;
use crate::common::Place;
use groma_sys::affinity;
use groma_sys::topology::Topology;
use std::path::Path;
use std::process::Command;

/// The compiled C programs and the CPUs they run on.
pub(crate) struct Oracle {
    dir: tempfile::TempDir,
    pub(crate) cpu: u32,
    /// Another core, and groma's `--placement` word for the pair.
    pub(crate) other: Option<u32>,
    pub(crate) relation: Option<String>,
}

impl Oracle {
    /// Compiles the programs, and restricts this thread and its children to two CPUs.
    pub(crate) fn build(place: &Place) -> Oracle {
        let dir = tempfile::tempdir_in(place.path("")).expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles");
        let compile = |args: &[&str], from: &str, to: &str| {
            let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
            cc.args(["-O2", "-o"]).arg(dir.path().join(to)).arg(source.join(from)).args(args);
            cc.output().expect("a C compiler, which the build needs as well")
        };
        // Or the compiler turns the loop that copies into a call of memcpy.
        const LOOPS: &str = "-fno-tree-loop-distribute-patterns";
        let vector = format!("-DVECTOR={}", vector_bytes());
        let native = compile(&["-pthread", LOOPS, "-march=native", &vector], "oracle.c", "oracle");
        if !native.status.success() {
            let plain = compile(&["-pthread"], "oracle.c", "oracle");
            assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        }
        let leaf = compile(&["-static", "-nostdlib"], "leaf.c", "leaf");
        assert!(leaf.status.success(), "{}", String::from_utf8_lossy(&leaf.stderr));

        let topology = Topology::read();
        let cpus = affinity::allowed().expect("the allowed CPUs");
        let cpu = cpus[0];
        let far = |other: &u32| Some((*other, topology.relation(cpu, *other)?.name().to_owned()));
        let pair = cpus[1..].iter().filter_map(far).find(|(_, relation)| relation != "smt");
        let (other, relation) = pair.unzip();
        affinity::restrict(&[cpu].into_iter().chain(other).collect::<Vec<_>>()).expect("keeping to two CPUs");
        Oracle { dir, cpu, other, relation }
    }

    /// Runs one oracle. `apart` puts its second process on the other CPU.
    pub(crate) fn run(&self, name: &str, apart: bool) -> f64 {
        let peer = if apart { self.other.unwrap_or(self.cpu) } else { self.cpu };
        let mut command = Command::new(FIRST[0]);
        command.args(&FIRST[1..]).arg(self.dir.path().join("oracle"));
        command.args([self.cpu.to_string(), peer.to_string()]).arg(self.dir.path()).args(name.split(' '));
        let out = command.output().expect("the oracle starts");
        let text = String::from_utf8_lossy(&out.stdout);
        let number = text.trim().parse().ok().filter(|n| out.status.success() && *n > 0.0);
        number.unwrap_or_else(|| panic!("{name}: {} {text} {}", out.status, String::from_utf8_lossy(&out.stderr)))
    }
}

/// Bytes of the longest vectors of this CPU, which groma's kernels use as well.
fn vector_bytes() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            return 64;
        }
        if is_x86_feature_detected!("avx2") {
            return 32;
        }
    }
    16
}
