//! The first write to a file of a container's image.
//!
//! **Measures:** Opening for writing a file that an overlay file system has in its lower layer, the
//! image, and closing it: the overlay copies the file, with its attributes, to the upper layer
//! before the open returns. Later opens find the copy.
//!
//! **Does not measure:** Disks: both layers are in memory. There the copy of the contents comes on
//! top of it.
//!
//! **Method:** An overlay is mounted, for this process alone, over a layer with some files, each of
//! which is opened once. Then the next overlay is made, untimed. Each open is a value of its own.
//!
//! **Proofs:** Each open has taken an inode of the upper layer, and what the file then holds is
//! what the lower layer has.
//!
//! **Pitfalls:** It takes root or user namespaces, and a kernel with overlayfs.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#tmpfs-control.

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::overlay::{Files, Overlay};
use std::ffi::CString;
use std::io::Read;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "The first open for writing of a file in an overlay's lower layer",
        about: about!("copy_up.rs"),
        iteration: "one open and one close",
        timing: Timing::Stated,
        params: &[Param::size("size", "bytes in the file")
            .takes(Memory::PerMember(FILES as u64 * 2))
            .quick(&["4K"])
            .full(&["0", "64K", "1M"])],
        scaling: Scaling::alone("it mounts a file system again and again"),
        needs: &[Need::WorkDir],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("file.copy_up")
    },
    run: Run::Here(run),
};

/// Files in the lower layer.
const FILES: usize = 32;

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size");
    let names: Vec<CString> = (0..FILES)
        .map(|n| CString::new(Files::name(n)).map_err(|e| BenchError::Failed(e.to_string())))
        .collect::<Result<_, _>>()?;
    let at = Scratch::apart(ctx)?;
    let (mut opened, mut copied, mut wrong) = (0u64, 0u64, 0u64);
    let (begun, end) = (ctx.now_ns(), ctx.now_ns() + ctx.time_limit_ns());
    while opened == 0 || ctx.now_ns() < end {
        // Twice the contents, the layers' directories, and room for what tmpfs adds.
        let room = 2 * FILES as u64 * size.next_multiple_of(4096) + (4 << 20);
        let overlay = Overlay::with_files(room, at.path(), Files { count: FILES, bytes: size })
            .map_err(|e| BenchError::Unsupported(format!("mounting an overlay in memory: {e}")))?;
        let root = overlay.root().context("opening the directory")?;
        let free = files::free_inodes(&root).context("fstatfs")?;
        for name in &names {
            let start = ctx.now_ns();
            let file = files::open_to_write(root.as_fd(), name);
            let file = file.map(drop);
            let took = ctx.now_ns() - start;
            file.context("opening a file for writing")?;
            ctx.state(took as f64 * 1e-9);
            opened += 1;
        }
        copied += free.saturating_sub(files::free_inodes(&root).context("fstatfs")?);
        let mut content = Vec::new();
        files::open(root.as_fd(), &names[0])
            .and_then(|mut file| file.read_to_end(&mut content))
            .context("reading a file")?;
        wrong += u64::from(content.len() as u64 != size || content.iter().any(|byte| *byte != Files::BYTE));
    }
    ctx.sampled_since(begun);
    // A few more hold the notes of the overlay.
    let each = copied as f64 / opened as f64;
    ctx.prove("inodes of the upper layer taken, per open", "1 (to 1.25)", each, 1.0..=1.25);
    ctx.prove("files whose copy has other contents", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}
