//! Arrays as NumPy sees a file: values in row-major order whatever the file's own order.

use std::{fs::File, io::BufReader, path::Path};

use npyz::{Deserialize, NpyFile, Order, TypeChar};

/// A file's dtype, shape, order, and elements as pairs of real and imaginary part.
#[derive(Debug, PartialEq)]
pub(super) struct Array {
    pub(super) descr: String,
    pub(super) shape: Vec<u64>,
    pub(super) fortran: bool,
    pub(super) elements: Vec<(f64, f64)>,
}

type Opened = NpyFile<BufReader<File>>;

impl Array {
    pub(super) fn read(path: &Path) -> Self {
        let file = NpyFile::new(BufReader::new(File::open(path).unwrap())).unwrap();
        let (shape, order) = (file.shape().to_vec(), file.order());
        let descr = file.dtype().descr();
        let npyz::DType::Plain(scalar) = file.dtype() else { panic!("{descr}") };
        let real = |value: f64| (value, 0.0);
        let elements = match (scalar.type_char(), scalar.size_field()) {
            (TypeChar::Bool, 1) => values(file, |value: bool| real(f64::from(value))),
            (TypeChar::Int, 1) => values(file, |value: i8| real(f64::from(value))),
            (TypeChar::Int, 2) => values(file, |value: i16| real(f64::from(value))),
            (TypeChar::Int, 4) => values(file, |value: i32| real(f64::from(value))),
            (TypeChar::Int, 8) => values(file, |value: i64| real(value as f64)),
            (TypeChar::Uint, 1) => values(file, |value: u8| real(f64::from(value))),
            (TypeChar::Uint, 2) => values(file, |value: u16| real(f64::from(value))),
            (TypeChar::Uint, 4) => values(file, |value: u32| real(f64::from(value))),
            (TypeChar::Uint, 8) => values(file, |value: u64| real(value as f64)),
            (TypeChar::Float, 2) => values(file, |value: tenferro::tensor::f16| real(value.into())),
            (TypeChar::Float, 4) => values(file, |value: f32| real(f64::from(value))),
            (TypeChar::Float, 8) => values(file, real),
            (TypeChar::Complex, 8) => values(file, |value: tenferro::tensor::Complex32| {
                (value.re.into(), value.im.into())
            }),
            (TypeChar::Complex, 16) => {
                values(file, |value: tenferro::tensor::Complex64| (value.re, value.im))
            }
            other => panic!("{other:?}"),
        };
        let fortran = order == Order::Fortran;
        let elements = if fortran { row_major(&shape, &elements) } else { elements };
        Self { descr, shape, fortran, elements }
    }

    /// The real parts.
    pub(super) fn real(&self) -> Vec<f64> {
        self.elements.iter().map(|element| element.0).collect()
    }
}

fn values<T: Deserialize>(file: Opened, convert: impl Fn(T) -> (f64, f64)) -> Vec<(f64, f64)> {
    file.into_vec::<T>().unwrap().into_iter().map(convert).collect()
}

/// Column-major elements in row-major order.
fn row_major(shape: &[u64], elements: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut index = vec![0; shape.len()];
    let mut ordered = Vec::with_capacity(elements.len());
    for _ in 0..elements.len() {
        let flat = index.iter().zip(shape).rev().fold(0, |flat, (&i, &extent)| flat * extent + i);
        ordered.push(elements[flat as usize]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    ordered
}
