//! The kernel for one kind of dependent access;
//! [`Chains::access`](crate::parallel_chase::Chains::access) runs it.

use crate::arch::access::{Access, AccessKernel, access_kernels};

/// How to access the nodes of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Accessor {
    kernel: &'static AccessKernel,
}

impl Accessor {
    /// The best kernel of this kind.
    ///
    /// # Errors
    ///
    /// Says why there is none.
    pub fn new(kind: Access) -> Result<Self, String> {
        let kernel = access_kernels().into_iter().find(|kernel| kernel.kind == kind);
        let kernel = kernel.ok_or_else(|| format!("this CPU has no instruction for '{}'", kind.word()))?;
        Ok(Self { kernel })
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static AccessKernel {
        self.kernel
    }
}
