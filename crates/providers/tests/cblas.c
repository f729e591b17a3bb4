/* A CBLAS of plain loops, whole or with one defect that real libraries have had.
 *
 * INTEGER is the type of its integers, NAME(x) how its symbols are called. The defects:
 *   TRANSPOSED_UNIT  a transposed operand with an extent of 1 is read as if it were not transposed
 *   BETA_READS       the output is multiplied with a beta of 0 instead of not being read
 *   COMPLEX_RETURN   complex dot products come back as values instead of being written
 *   MISSING_ZGEMM    there is no zgemm
 */

#include <complex.h>

#ifndef INTEGER
#define INTEGER int
#endif
#ifndef NAME
#define NAME(name) name
#endif

enum { PLAIN = 111, ADJOINT = 113, ROW_MAJOR = 101 };

/* Not static, so that another library's function of this name can take its place if it is opened carelessly. */
INTEGER cblas_place(INTEGER order, INTEGER leading, INTEGER row, INTEGER col)
{
    return order == ROW_MAJOR ? row * leading + col : row + col * leading;
}
#define place cblas_place

#define GEMM(T, CONJ, name, FACTOR, VALUE)                                                      \
    void NAME(name)(int order, int ta, int tb, INTEGER m, INTEGER n, INTEGER k, FACTOR alpha,   \
                    const T *a, INTEGER lda, const T *b, INTEGER ldb, FACTOR beta, T *c,        \
                    INTEGER ldc)                                                                \
    {                                                                                           \
        for (INTEGER j = 0; j < n; j++)                                                         \
            for (INTEGER i = 0; i < m; i++) {                                                   \
                T sum = 0;                                                                      \
                for (INTEGER p = 0; p < k; p++) {                                               \
                    int rows_a = ta == PLAIN || (SWAPS && (m == 1 || k == 1));                  \
                    int rows_b = tb == PLAIN || (SWAPS && (n == 1 || k == 1));                  \
                    T x = a[rows_a ? place(order, lda, i, p) : place(order, lda, p, i)];        \
                    T y = b[rows_b ? place(order, ldb, p, j) : place(order, ldb, j, p)];        \
                    sum += (ta == ADJOINT ? CONJ(x) : x) * (tb == ADJOINT ? CONJ(y) : y);       \
                }                                                                               \
                T *out = c + place(order, ldc, i, j);                                           \
                *out = VALUE(alpha) * sum + (READS || VALUE(beta) != 0 ? VALUE(beta) * *out : 0); \
            }                                                                                   \
    }

#define SAME(x) (x)
#define AT_FLOAT(p) (*(const float complex *)(p))
#define AT_DOUBLE(p) (*(const double complex *)(p))

#ifdef TRANSPOSED_UNIT
#define SWAPS 1
#else
#define SWAPS 0
#endif
#ifdef BETA_READS
#define READS 1
#else
#define READS 0
#endif

GEMM(float, SAME, cblas_sgemm, float, SAME)
GEMM(double, SAME, cblas_dgemm, double, SAME)
GEMM(float complex, conjf, cblas_cgemm, const void *, AT_FLOAT)
#ifndef MISSING_ZGEMM
GEMM(double complex, conj, cblas_zgemm, const void *, AT_DOUBLE)
#endif

/* The first element of a vector that is walked backwards lies at its end. */
static INTEGER first(INTEGER n, INTEGER step)
{
    return step < 0 ? place(ROW_MAJOR, -step, n - 1, 0) : place(ROW_MAJOR, 0, 0, 0);
}

#define SUM(T, CONJ)                                             \
    T sum = 0;                                                   \
    INTEGER ix = first(n, sx), iy = first(n, sy);                \
    for (INTEGER i = 0; i < n; i++, ix += sx, iy += sy)          \
        sum += CONJ(x[ix]) * y[iy];

#define DOT(T, name)                                                                \
    T NAME(name)(INTEGER n, const T *x, INTEGER sx, const T *y, INTEGER sy)         \
    {                                                                               \
        SUM(T, SAME)                                                                \
        return sum;                                                                 \
    }

#ifdef COMPLEX_RETURN
#define COMPLEX_DOT(T, CONJ, name)                                                  \
    T NAME(name)(INTEGER n, const T *x, INTEGER sx, const T *y, INTEGER sy, T *out) \
    {                                                                               \
        SUM(T, CONJ)                                                                \
        (void)out;                                                                  \
        return sum;                                                                 \
    }
#else
#define COMPLEX_DOT(T, CONJ, name)                                                     \
    void NAME(name)(INTEGER n, const T *x, INTEGER sx, const T *y, INTEGER sy, T *out) \
    {                                                                                  \
        SUM(T, CONJ)                                                                   \
        *out = sum;                                                                    \
    }
#endif

DOT(float, cblas_sdot)
DOT(double, cblas_ddot)
COMPLEX_DOT(float complex, SAME, cblas_cdotu_sub)
COMPLEX_DOT(float complex, conjf, cblas_cdotc_sub)
COMPLEX_DOT(double complex, SAME, cblas_zdotu_sub)
COMPLEX_DOT(double complex, conj, cblas_zdotc_sub)
