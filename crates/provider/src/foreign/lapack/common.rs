//! Routines whose arguments are the same for all dtypes: factors, solutions and inverses.

use super::{
    Letter, Matrix, Stop,
    functions::{Common, Routines},
    letter, set,
    work::{asked, integer, judge},
};
use crate::{
    foreign::functions::Integer,
    lapack::{
        Columns, Diagonal, Entries, Gels, Geqrf, Getrf, Getrs, Orgqr, Potrf, Transposition,
        Triangle, Trtri, Trtrs,
    },
};

pub(super) fn half(triangle: Triangle) -> Letter {
    match triangle {
        Triangle::Lower => letter!(b'L'),
        Triangle::Upper => letter!(b'U'),
    }
}

fn unit(diagonal: Diagonal) -> Letter {
    match diagonal {
        Diagonal::Stored => letter!(b'N'),
        Diagonal::Unit => letter!(b'U'),
    }
}

/// The operation's letter. Where there is no conjugation, some routines do not know the letter of the adjoint.
fn operation<T: Routines<I>, I>(op: Transposition) -> Letter {
    match op {
        Transposition::Plain => letter!(b'N'),
        Transposition::Adjoint if T::IS_COMPLEX => letter!(b'C'),
        Transposition::Adjoint | Transposition::Transposed => letter!(b'T'),
    }
}

/// Whether a matrix has no elements.
fn is_empty(a: Columns) -> bool {
    a.rows == 0 || a.cols == 0
}

// SAFETY, for all calls below: the table's functions are LAPACK's, which is the promise of whoever made it; matrices and
// vectors are those of a request that is borrowed meanwhile, with elements `T` and the extents and leading dimensions
// that are passed, and each is passed once; text is one letter long, as the lengths say.

pub(super) fn getrf<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Getrf,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let Matrix { data, rows, cols, leading } = Matrix::<T, I>::of(call.a)?;
    let (mut pivots, mut info) = (vec![I::ZERO; call.pivots.len], I::ZERO);
    // SAFETY: as said above; there is room for a pivot of each step.
    unsafe {
        (table.getrf)(&rows, &cols, data, &leading, pivots.as_mut_ptr(), &mut info);
    }
    for (step, pivot) in pivots.iter().enumerate() {
        // SAFETY: the entries are the request's, one a step.
        unsafe { set::<i64>(call.pivots, step, pivot.get() - 1) };
    }
    judge(info)
}

pub(super) fn getrs<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Getrs,
) -> Result<(), Stop> {
    if is_empty(call.b) {
        return Ok(());
    }
    let (lu, b) = (Matrix::<T, I>::of(call.lu)?, Matrix::<T, I>::of(call.b)?);
    let pivots = pivots(call.pivots)?;
    let (op, mut info) = (operation::<T, I>(call.op), I::ZERO);
    let (n, count) = (&lu.rows, &b.cols);
    // SAFETY: as said above; the factors are only read, and every pivot is a row.
    unsafe {
        (table.getrs)(
            op,
            n,
            count,
            lu.data,
            &lu.leading,
            pivots.as_ptr(),
            b.data,
            &b.leading,
            &mut info,
            1,
        );
    }
    judge(info)
}

/// Pivots as Fortran counts them.
fn pivots<I: Integer>(entries: Entries) -> Result<Vec<I>, Stop> {
    let pivot = |step| {
        // SAFETY: the entries are those of a request that is borrowed, i64, and were written.
        let pivot = unsafe { entries.pointer::<i64>().add(step).read() };
        integer(usize::try_from(pivot + 1).expect("invariant: pivots were checked"))
    };
    (0..entries.len).map(pivot).collect()
}

pub(super) fn potrf<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Potrf,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let Matrix { data, rows, leading, .. } = Matrix::<T, I>::of(call.a)?;
    let mut info = I::ZERO;
    // SAFETY: as said above.
    unsafe { (table.potrf)(half(call.triangle), &rows, data, &leading, &mut info, 1) };
    judge(info)
}

pub(super) fn geqrf<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Geqrf,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let Matrix { data, rows, cols, leading } = Matrix::<T, I>::of(call.a)?;
    let tau = call.tau.pointer::<T>();
    // SAFETY: as said above; there is room for a factor of each reflector.
    asked::<T, I>(|work, len, info| unsafe {
        (table.geqrf)(&rows, &cols, data, &leading, tau, work, len, info);
    })
}

pub(super) fn orgqr<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Orgqr,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let Matrix { data, rows, cols, leading } = Matrix::<T, I>::of(call.a)?;
    let (reflectors, tau) = (integer::<I>(call.tau.len)?, call.tau.pointer::<T>());
    // SAFETY: as said above; there are as many factors as reflectors.
    asked::<T, I>(|work, len, info| unsafe {
        (table.orgqr)(&rows, &cols, &reflectors, data, &leading, tau, work, len, info);
    })
}

pub(super) fn trtri<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Trtri,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let Matrix { data, rows, leading, .. } = Matrix::<T, I>::of(call.a)?;
    let mut info = I::ZERO;
    // SAFETY: as said above.
    unsafe {
        let (half, unit) = (half(call.triangle), unit(call.diagonal));
        (table.trtri)(half, unit, &rows, data, &leading, &mut info, 1, 1);
    }
    judge(info)
}

pub(super) fn trtrs<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Trtrs,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        return Ok(());
    }
    let (a, b) = (Matrix::<T, I>::of(call.a)?, Matrix::<T, I>::of(call.b)?);
    let op = operation::<T, I>(call.op);
    let mut info = I::ZERO;
    // SAFETY: as said above; the triangular matrix is only read.
    unsafe {
        (table.trtrs)(
            half(call.triangle),
            op,
            unit(call.diagonal),
            &a.rows,
            &b.cols,
            a.data,
            &a.leading,
            b.data,
            &b.leading,
            &mut info,
            1,
            1,
            1,
        );
    }
    judge(info)
}

pub(super) fn gels<T: Routines<I>, I: Integer>(
    table: &Common<T, I>,
    call: Gels,
) -> Result<(), Stop> {
    if is_empty(call.a) {
        // Nothing is asked of the solutions, or no equation is there: the least ones are zeros.
        for (row, col) in
            (0..call.b.cols).flat_map(|col| (0..call.b.rows).map(move |row| (row, col)))
        {
            let place = call.b.pointer::<T>().wrapping_add(row + col * call.b.leading);
            // SAFETY: the element is inside of the right sides, which are the request's to write.
            unsafe { place.write(T::default()) };
        }
        return Ok(());
    }
    if is_empty(call.b) {
        return Ok(());
    }
    let (a, b) = (Matrix::<T, I>::of(call.a)?, Matrix::<T, I>::of(call.b)?);
    let op = operation::<T, I>(call.op);
    // SAFETY: as said above.
    asked::<T, I>(|work, len, info| unsafe {
        (table.gels)(
            op, &a.rows, &a.cols, &b.cols, a.data, &a.leading, b.data, &b.leading, work, len, info,
            1,
        );
    })
}
