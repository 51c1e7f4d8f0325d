// Getrf: LU factorisation of a tile without row interchanges (kernels/getrf.py).
#include <numeric>
#include <vector>

#include "../tasksim_core.h"

namespace tasksim {

namespace {

// LAPACK's own routine is tried first. If it interchanges rows, the tile is restored and factorised
// by halves, each in the same way.
template <class Real>
class Getrf {
 public:
  Getrf(void *const *routines, int lda, Real *work) : routines_(routines), lda_(lda), work_(work) {}

  // 0, or the number of the first pivot that is zero.
  int factorise(int order, Real *a) {
    std::vector<int> pivots(order), in_order(order);
    std::iota(in_order.begin(), in_order.end(), 1);
    int info = 0;
    call(LACPY, "A", &order, &order, a, &lda_, work_, &order);
    call(FACTORISE, &order, &order, a, &lda_, pivots.data(), &info);
    if (pivots == in_order) return info;
    call(LACPY, "A", &order, &order, work_, &order, a, &lda_);
    return by_halves(order, a);
  }

 private:
  enum Routine { LACPY, FACTORISE, TRSM, GEMM };

  // Fortran takes every argument by address.
  template <class... Arguments>
  void call(Routine routine, Arguments... arguments) {
    reinterpret_cast<void (*)(const Arguments...)>(routines_[routine])(arguments...);
  }

  int by_halves(int order, Real *a) {
    const int first = order / 2, rest = order - first;
    Real *const below = a + first, *const right = a + static_cast<std::ptrdiff_t>(first) * lda_;
    Real *const corner = right + first;
    if (const int info = factorise(first, a)) return info;
    const Real one = 1, minus_one = -1;
    call(TRSM, "L", "L", "N", "U", &first, &rest, &one, a, &lda_, right, &lda_);
    call(TRSM, "R", "U", "N", "N", &rest, &first, &one, a, &lda_, below, &lda_);
    call(GEMM, "N", "N", &rest, &rest, &first, &minus_one, below, &lda_, right, &lda_, &one,
         corner, &lda_);
    const int info = factorise(rest, corner);
    return info ? info + first : 0;
  }

  void *const *routines_;
  const int lda_;
  Real *const work_;
};

}  // namespace

}  // namespace tasksim

extern "C" {

void tasksim_getrf_float64(void *const *routines, const int32_t *n, double *a, const int32_t *lda,
                           double *work, int32_t *info) {
  *info = tasksim::Getrf<double>(routines, *lda, work).factorise(*n, a);
}

void tasksim_getrf_float32(void *const *routines, const int32_t *n, float *a, const int32_t *lda,
                           float *work, int32_t *info) {
  *info = tasksim::Getrf<float>(routines, *lda, work).factorise(*n, a);
}

}  // extern "C"
