//! The library of which `target-many` wants twenty: the same file under as many names, which a
//! loader takes for as many libraries. Each one announces itself to the program when it is
//! initialised.
//!
//! # Safety
//!
//! The program has a function of that name; the loader calls the initialiser once, after it has
//! found it.
#![no_std]
#![expect(unsafe_code, reason = "a library without a standard library")]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

unsafe extern "C" {
    fn groma_library_loaded();
}

#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = {
    extern "C" fn announce() {
        // SAFETY: see above; the program counts in an atomic.
        unsafe { groma_library_loaded() };
    }
    announce
};
