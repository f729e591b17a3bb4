/* Functions that libraries of linear algebra call in themselves, made so that they compute nothing and count their calls.
 *
 * Opened for the whole process, it is what every library opened later would call, if it were opened carelessly.
 */

static int calls;

int intruder_calls(void)
{
    return calls;
}

#define INTRUDER(name) \
    long name(void)    \
    {                  \
        ++calls;       \
        return 0;      \
    }

/* What products and factors go through. */
INTRUDER(cblas_place)
INTRUDER(cblas_dgemm)
INTRUDER(cblas_zgemm)
INTRUDER(dgemm_)
INTRUDER(sgemm_)
INTRUDER(cgemm_)
INTRUDER(zgemm_)
INTRUDER(dgemv_)
INTRUDER(dtrsm_)
INTRUDER(dtrmm_)
INTRUDER(dsyrk_)
INTRUDER(ddot_)
INTRUDER(dscal_)
INTRUDER(dnrm2_)
INTRUDER(dswap_)
INTRUDER(dlaswp_)
INTRUDER(dgetrf2_)
INTRUDER(dpotrf2_)
INTRUDER(dlarfg_)
INTRUDER(dlarfb_)
INTRUDER(dlarft_)
INTRUDER(dsteqr_)
INTRUDER(dstedc_)
INTRUDER(dsytrd_)
INTRUDER(dgebrd_)
INTRUDER(dhseqr_)
INTRUDER(dlamch_)
INTRUDER(ilaenv_)
INTRUDER(xerbla_)
INTRUDER(blas_memory_alloc)
INTRUDER(blas_memory_free)
INTRUDER(exec_blas)
INTRUDER(gotoblas)
INTRUDER(bli_gemm)
INTRUDER(bli_init_once)
INTRUDER(bli_cntx_init)
INTRUDER(bli_gks_query_cntx)
