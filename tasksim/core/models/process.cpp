// Means of Gaussian processes with a rational kernel (models/learned/process.py).
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../tasksim_core.h"
#include "wide.h"

namespace tasksim::models {

namespace {

constexpr int LANES = 16;          // process.LANES
constexpr int GROUP = 4 * LANES;   // process.GROUP
constexpr double LARGEST = 0x1p29; // process.LARGEST

// As many numbers as fit into a register: all lanes, or some of them. Compilers that make two or
// four registers of a wider vector leave them in memory.
template <class Real, int BYTES>
struct Vector {
  typedef Real type __attribute__((vector_size(BYTES)));
  typedef Real anywhere __attribute__((vector_size(BYTES), aligned(alignof(Real)), may_alias));
  typedef std::conditional_t<sizeof(Real) == 4, int32_t, int64_t> Bits;
  typedef Bits bits __attribute__((vector_size(BYTES)));
  static constexpr int WIDTH = BYTES / sizeof(Real);

  // Lowers positive numbers to *most*. They are in the order of their bits: compilers have an
  // instruction for whole numbers only. By reference: wide vectors as values warn of another ABI.
  static TASKSIM_INLINED void lower(type &numbers, const type &most) {
    const bits a = reinterpret_cast<bits>(numbers), b = reinterpret_cast<bits>(most);
    numbers = reinterpret_cast<type>(a < b ? a : b);
  }
};

template <class Real>
struct Sum {
  const Real *rows;
  int64_t columns;
  const Real *centres, *weights;
  int64_t groups;
  double *out;

  // 2 + r² of ROWS rows and the centres of a lane: |a|², before the other columns of rows, plus
  // 2 + |b|², before those of centres, plus products of the others.
  template <int ROWS, class Lanes, class Anywhere>
  TASKSIM_INLINED void by_products(const Real *own, const Real *centre, Lanes (*x)[4]) const {
    for (int r = 0; r < ROWS; ++r)
      for (int k = 0; k < 4; ++k)
        x[r][k] = own[r * columns] + *reinterpret_cast<const Anywhere *>(centre + k * LANES);
    for (int64_t c = 1; c < columns; ++c) {
      centre += GROUP;
      Lanes of[4];
      for (int k = 0; k < 4; ++k) of[k] = *reinterpret_cast<const Anywhere *>(centre + k * LANES);
      for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < 4; ++k) x[r][k] += own[r * columns + c] * of[k];
    }
  }

  // The same by differences, of columns alone.
  template <int ROWS, class Lanes, class Anywhere>
  TASKSIM_INLINED void by_differences(const Real *own, const Real *centre, Lanes (*x)[4]) const {
    for (int r = 0; r < ROWS; ++r)
      for (int k = 0; k < 4; ++k) x[r][k] = Lanes{} + Real(2);
    for (int64_t c = 0; c < columns; ++c, centre += GROUP) {
      Lanes of[4];
      for (int k = 0; k < 4; ++k) of[k] = *reinterpret_cast<const Anywhere *>(centre + k * LANES);
      for (int r = 0; r < ROWS; ++r)
        for (int k = 0; k < 4; ++k) {
          const Lanes apart = own[r * columns + c] - of[k];
          x[r][k] += apart * apart;
        }
    }
  }

  // The sums of ROWS rows from row *at*, in the lanes from *lane*. A lane of a group has four
  // centres: two fractions of a common denominator take one division, and so do four.
  template <bool PRODUCTS, int ROWS, int BYTES>
  TASKSIM_INLINED void some(int64_t at, int lane, Real (*sums)[LANES]) const {
    using Lanes = typename Vector<Real, BYTES>::type;
    using Anywhere = typename Vector<Real, BYTES>::anywhere;
    const Real *weight = weights + lane;
    const Real *own = rows + at * columns;
    Lanes total[ROWS] = {};
    for (int64_t g = 0; g < groups; ++g) {
      Lanes x[ROWS][4];
      const Real *centre = centres + g * columns * GROUP + lane;
      if constexpr (PRODUCTS) by_products<ROWS, Lanes, Anywhere>(own, centre, x);
      else by_differences<ROWS, Lanes, Anywhere>(own, centre, x);
      Lanes w[4];
      for (int k = 0; k < 4; ++k, weight += LANES)
        w[k] = *reinterpret_cast<const Anywhere *>(weight);
      const Lanes most = Lanes{} + Real(LARGEST);
      for (int r = 0; r < ROWS; ++r) {
        for (int k = 0; k < 4; ++k) Vector<Real, BYTES>::lower(x[r][k], most);
        const Lanes over = w[0] * x[r][1] + w[1] * x[r][0], under = x[r][0] * x[r][1];
        const Lanes over2 = w[2] * x[r][3] + w[3] * x[r][2], under2 = x[r][2] * x[r][3];
        total[r] += (over * under2 + over2 * under) / (under * under2);
      }
    }
    for (int r = 0; r < ROWS; ++r) std::memcpy(sums[r] + lane, &total[r], sizeof total[r]);
  }

  template <bool PRODUCTS, int ROWS, int BYTES>
  TASKSIM_INLINED void together(int64_t at) const {
    Real sums[ROWS][LANES];
    for (int lane = 0; lane < LANES; lane += Vector<Real, BYTES>::WIDTH)
      some<PRODUCTS, ROWS, BYTES>(at, lane, sums);
    for (int r = 0; r < ROWS; ++r) {
      double sum = 0.0;
      for (int k = 0; k < LANES; ++k) sum += sums[r][k];
      out[at + r] = sum;
    }
  }

  template <bool PRODUCTS, int ROWS, int BYTES>
  TASKSIM_INLINED void all(int64_t n) const {
    int64_t at = 0;
    for (; at + ROWS <= n; at += ROWS) together<PRODUCTS, ROWS, BYTES>(at);
    for (; at < n; ++at) together<PRODUCTS, 1, BYTES>(at);
  }
};

template <class Real, bool PRODUCTS>
TASKSIM_AVX512 void widest(const Sum<Real> &sum, int64_t n) {
  sum.template all<PRODUCTS, 4, 64>(n);
}

template <class Real, bool PRODUCTS>
TASKSIM_AVX2 void wider(const Sum<Real> &sum, int64_t n) {
  sum.template all<PRODUCTS, 2, 32>(n);
}

template <bool PRODUCTS, class Real>
void mean(const Real *rows, int64_t n, int64_t columns, const Real *centres, const Real *weights,
          int64_t groups, double *out) {
  const Sum<Real> sum{rows, columns, centres, weights, groups, out};
  if (has_avx512()) widest<Real, PRODUCTS>(sum, n);
  else if (has_avx2()) wider<Real, PRODUCTS>(sum, n);
  else sum.template all<PRODUCTS, 2, 16>(n);
}

}  // namespace

}  // namespace tasksim::models

void tasksim_process_float32(const float *rows, int64_t n, int64_t columns, const float *centres,
                             const float *weights, int64_t groups, double *out) {
  tasksim::models::mean<false>(rows, n, columns, centres, weights, groups, out);
}

void tasksim_process_float64(const double *rows, int64_t n, int64_t columns, const double *centres,
                             const double *weights, int64_t groups, double *out) {
  tasksim::models::mean<false>(rows, n, columns, centres, weights, groups, out);
}

void tasksim_products_float32(const float *rows, int64_t n, int64_t columns, const float *centres,
                              const float *weights, int64_t groups, double *out) {
  tasksim::models::mean<true>(rows, n, columns, centres, weights, groups, out);
}

void tasksim_products_float64(const double *rows, int64_t n, int64_t columns, const double *centres,
                              const double *weights, int64_t groups, double *out) {
  tasksim::models::mean<true>(rows, n, columns, centres, weights, groups, out);
}
