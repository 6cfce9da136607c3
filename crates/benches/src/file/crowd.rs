//! Filling a directory with as many names as a parameter says.

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::files;
use groma_harness::sys::raw;
use std::ffi::CString;

/// Puts `names` names into the directory and returns them in the order of their creation.
///
/// They are names of a few files. What makes a directory full is its names, and a file for each
/// would leave an inode that every later creation on an ext4 without a journal passes over for
/// minutes.
pub(super) fn crowd(ctx: &Ctx, scratch: &Scratch, names: u64) -> Result<Vec<CString>, BenchError> {
    let mut crowd: Vec<CString> = Vec::with_capacity(names as usize);
    let mut first = 0;
    for n in 0..names {
        let name = name(format!("crowd-{}-{n:06}", ctx.member()))?;
        // If the file has all the names it can have (65000 on ext4), or can have only one, create
        // another.
        if crowd.is_empty() || files::link(scratch.dir(), &crowd[first], &name).is_err() {
            check_made(raw::create_at(scratch.dir(), &name, &[]), "filling the directory")?;
            first = n as usize;
        }
        crowd.push(name);
    }
    Ok(crowd)
}

/// A name as the kernel takes it.
pub(super) fn name(text: String) -> Result<CString, BenchError> {
    CString::new(text).map_err(|e| BenchError::Failed(e.to_string()))
}

/// The outcome of a call that returns 0 on success.
#[inline]
pub(super) fn check_made(answer: isize, what: &str) -> Outcome {
    if answer == 0 {
        Ok(())
    } else {
        Err(BenchError::from_io(what, &std::io::Error::from_raw_os_error(-answer as i32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_made_is_no_fast_one() {
        assert!(
            matches!(check_made(-28, "making a file"), Err(BenchError::Failed(why)) if why.contains("No space left"))
        );
        assert!(matches!(check_made(-13, "making a file"), Err(BenchError::Denied(_))));
    }
}
