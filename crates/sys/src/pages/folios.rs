//! Memory for pieces between the base page and the huge page.

use super::{Map, Policy, huge_page_size, page_size, round_up};
use std::io;

impl Map {
    /// New private memory as long as a huge page, aligned so that it contains no whole one, and
    /// willing to have larger pieces than base pages.
    ///
    /// # Errors
    /// Those of `mmap` and `madvise`.
    pub fn without_huge_page() -> io::Result<Map> {
        let huge = huge_page_size().unwrap_or(512 * page_size());
        let mut map = Map::anonymous(2 * huge, Policy::Base)?;
        // From half a huge page on; the part in front of it has other advice.
        map.offset = round_up(map.base as usize, huge) - map.base as usize + huge / 2;
        if map.offset + huge > map.mapped {
            map.offset -= huge;
        }
        map.len = huge;
        map.advise(libc::MADV_HUGEPAGE)?;
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A whole huge page would have to begin and end inside.
    #[test]
    fn no_huge_page_fits() {
        for _ in 0..20 {
            let Ok(map) = Map::without_huge_page() else { return println!("no advice about huge pages here") };
            let huge = huge_page_size().unwrap_or(512 * page_size());
            let (start, end) = (map.as_ptr().addr(), map.as_ptr().addr() + map.len());
            assert!(map.len() == huge && round_up(start, huge) + huge > end && start.is_multiple_of(huge / 2));
        }
    }
}
