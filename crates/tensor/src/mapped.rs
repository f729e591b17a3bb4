//! Tensors over mapped files: elements that the system reads when they are first touched.
//!
//! The file is mapped for reading only, so that a tensor over it never changes it; writing to the tensor copies it first.
//! What a file format puts before the elements is the caller's to know.

use std::{fs::File, ptr::NonNull};

use memmap2::MmapOptions;

use crate::{DType, Indices, Result, Shape, Tensor, error::Error, error::Validation};

const OP: &str = "from_mapped_file";

impl Tensor {
    /// A tensor over the elements of a file from byte `offset` on, in column-major order, without copying.
    ///
    /// Elements are in the machine's byte order. The mapping outlives `file`, which may be closed. As with any mapped file,
    /// other processes must leave it as it is meanwhile: elements would change under the tensor, and a file cut short
    /// ends the process with a bus error when a lost page is touched. Replacing the file by a rename is harmless.
    ///
    /// # Errors
    /// [`Validation::ElementCount`] if the file ends before the last element; [`Validation::MeaninglessDType`] for bool,
    /// whose bytes would have to be looked at; [`Validation::Rule`] for an empty tensor or an offset that is not a
    /// multiple of the element's alignment; [`Validation::SizeOverflow`]; [`Error::BackendSource`] with the system's error.
    pub fn from_mapped_file(
        dtype: DType,
        extents: impl Into<Indices>,
        file: &File,
        offset: u64,
    ) -> Result<Self> {
        let extents = extents.into();
        let shape = Shape::new(&extents).map_err(|problem| problem.of(OP))?;
        if dtype == DType::Bool {
            let expected = "bytes of a file may not be truth values; read them instead";
            return Err(Validation::MeaninglessDType { dtype, expected }.of(OP));
        }
        let system =
            |source: std::io::Error| Error::BackendSource { op: OP, source: source.into() };
        let length = file.metadata().map_err(system)?.len();
        let available = length.saturating_sub(offset) / dtype.size() as u64;
        let available = usize::try_from(available).unwrap_or(usize::MAX);
        if available < shape.elements() {
            return Err(Validation::ElementCount {
                shape: extents[..].into(),
                expected: shape.elements(),
                actual: available,
            }
            .of(OP));
        }
        let bytes = shape.elements().saturating_mul(dtype.size());
        if bytes == 0 {
            return Err(Validation::Rule { rule: "nothing to map for an empty tensor" }.of(OP));
        }
        let mut options = MmapOptions::new();
        options.offset(offset).len(bytes);
        // SAFETY: the mapping is for reading and never written by this process. That no other process changes the file
        // meanwhile is the documented condition of this function; every bit pattern is a number, as bool is refused.
        let map = unsafe { options.map(file) }.map_err(system)?;
        let data = NonNull::from(&map[..]);
        // SAFETY: the mapped bytes are readable for as long as the map lives and do not move with it.
        unsafe { Self::from_lender(dtype, extents, data, Box::new(map)) }
    }
}
