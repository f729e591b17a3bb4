//! Reading a NumPy file in two steps: what it holds, then its elements.
//!
//! The first step checks the whole file but its elements, so that a contraction can be planned and refused before any
//! large file is read. Large files in the machine's byte order are mapped and not copied.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use npyz::{Deserialize, NpyFile};
use tenferro::tensor::{self, DType, Scalar, Shape, Tensor, TensorView, dispatch};

use super::{Order, Problem, header::Header};
use crate::failure::Failure;

/// Files with as many bytes of elements are mapped; smaller ones are read faster than mapped.
const MAPPED_FROM: u64 = 4 << 20;

/// A NumPy file whose elements have yet to be read.
pub(crate) struct Input {
    path: PathBuf,
    reader: BufReader<File>,
    header: Header,
    shape: Shape,
    /// Bytes of the file, for files that can tell; pipes cannot.
    length: Option<u64>,
}

/// An array read from a file.
pub(crate) struct Array {
    /// The elements in the order of the file: for C's order, with axes reversed.
    tensor: Tensor,
    order: Order,
}

impl Input {
    /// Opens a file and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        Self::try_open(path).map_err(|problem| Failure::Input { path: path.to_owned(), problem })
    }

    fn try_open(path: &Path) -> Result<Self, Problem> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(Problem::Directory);
        }
        let length = metadata.is_file().then_some(metadata.len());
        let mut reader = BufReader::new(file);
        let header = Header::read(&mut reader)?;
        let shape = Shape::new(&header.shape).map_err(|_| Problem::TooLarge)?;
        let promised = header.promised()?;
        if let Some(length) = length {
            let actual = length.saturating_sub(header.length);
            if actual < promised {
                return Err(Problem::CutShort { promised, actual });
            }
            if actual > promised {
                return Err(Problem::Trailing(actual - promised));
            }
        }
        Ok(Self { path: path.to_owned(), reader, header, shape, length })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dtype(&self) -> DType {
        self.header.dtype
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn order(&self) -> Order {
        self.header.order
    }

    /// The bytes that the elements take.
    pub(crate) fn bytes(&self) -> u64 {
        self.shape.elements() as u64 * self.header.dtype.size() as u64
    }

    /// Reads or maps the elements.
    pub(crate) fn read(self) -> Result<Array, Failure> {
        let path = self.path.clone();
        self.try_read().map_err(|problem| Failure::Input { path, problem })
    }

    fn try_read(mut self) -> Result<Array, Problem> {
        let order = self.header.order;
        let mut extents = self.header.shape.clone();
        if order == Order::C {
            extents.reverse();
        }
        let tensor = if self.can_be_mapped() {
            let offset = self.header.length;
            Tensor::from_mapped_file(self.dtype(), extents, self.reader.get_ref(), offset)?
        } else {
            let dtype = self.dtype();
            let tensor = decode(&mut self, dtype, extents)?;
            if self.length.is_none() {
                expect_end(&mut self.reader)?;
            }
            tensor
        };
        Ok(Array { tensor, order })
    }

    fn can_be_mapped(&self) -> bool {
        // 16 is a multiple of the alignment of every number.
        self.length.is_some()
            && self.bytes() >= MAPPED_FROM
            && self.header.native
            && self.dtype() != DType::Bool
            && self.header.length.is_multiple_of(16)
    }
}

impl Array {
    /// The array, its axes in the order of its shape.
    pub(crate) fn view(&self) -> TensorView<'_> {
        match self.order {
            Order::Fortran => self.tensor.view(),
            Order::C => self.tensor.view().transpose(),
        }
    }
}

/// Reads the elements from where the header ended.
fn decode(input: &mut Input, dtype: DType, extents: Vec<usize>) -> Result<Tensor, Problem> {
    dispatch!(dtype, integer T => elements::<T>(input, extents), else
    dispatch!(dtype, complex T => elements::<T>(input, extents), else
        match dtype {
            DType::F64 => elements::<f64>(input, extents),
            DType::F32 => elements::<f32>(input, extents),
            DType::F16 => elements::<tensor::f16>(input, extents),
            DType::Bool => elements::<bool>(input, extents),
            other => Err(Problem::DType { descr: other.to_string() }),
        }))
}

fn elements<T: Scalar + Deserialize>(
    input: &mut Input,
    extents: Vec<usize>,
) -> Result<Tensor, Problem> {
    let file = NpyFile::with_header(input.header.parsed.clone(), &mut input.reader);
    let promised = input.shape.elements() as u64 * T::DTYPE.size() as u64;
    let elements = file.into_vec::<T>().map_err(|error| match error.kind() {
        // A file was measured before; a pipe, or a file that shrank meanwhile, ends here.
        std::io::ErrorKind::UnexpectedEof => Problem::PipeCutShort { promised },
        std::io::ErrorKind::InvalidData => Problem::Element(error.to_string()),
        _ => Problem::System(error),
    })?;
    Ok(Tensor::from_vec_col_major(extents, elements)?)
}

/// Refuses what a pipe has to say after its array.
fn expect_end(reader: &mut impl Read) -> Result<(), Problem> {
    let trailing = std::io::copy(reader, &mut std::io::sink())?;
    if trailing > 0 { Err(Problem::Trailing(trailing)) } else { Ok(()) }
}
