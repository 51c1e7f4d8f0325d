// The questions of a tree: those that explain most of what is left over (models/learned/forest.py).
#include <algorithm>
#include <new>
#include <vector>

#include "../tasksim_core.h"
#include "forest.h"
#include "wide.h"

namespace tasksim::models {

namespace {

struct Growth {
  int64_t rows, columns;
  const uint8_t *cells;      // [columns, rows]
  const int64_t *first;      // columns + 1: the number of each column's first cell
  const double *left;
  double ridge;

  int64_t total() const { return first[columns]; }

  bool legal() const {
    if (columns < 1 || first[0] != 0) return false;
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t length = first[c + 1] - first[c];
      if (length < 1 || length > 256) return false;
      for (int64_t r = 0; r < rows; ++r)
        if (cells[c * rows + r] >= length) return false;
    }
    return true;
  }

  // Sums and numbers of rows by leaf and cell, then their sums up to each cell of a column.
  void count(const uint8_t *leaf, int leaves, double *sums, double *counts,
             std::vector<double> &pairs) const {
    std::fill_n(pairs.begin(), 2 * leaves * total(), 0.0);
    for (int64_t c = 0; c < columns; ++c) {
      const uint8_t *cell = cells + c * rows;
      double *pair = pairs.data() + 2 * first[c];
      for (int64_t r = 0; r < rows; ++r) {
        double *one = pair + 2 * (leaf[r] * total() + cell[r]);
        one[0] += left[r];
        one[1] += 1.0;
      }
    }
    for (int f = 0; f < leaves; ++f) {
      const double *pair = pairs.data() + 2 * f * total();
      double sum = 0.0, number = 0.0;
      for (int64_t c = 0; c < columns; ++c) {
        const double sum_before = sum, number_before = number;
        for (int64_t k = first[c]; k < first[c + 1]; ++k) {
          sum += pair[2 * k];
          number += pair[2 * k + 1];
          sums[f * total() + k] = sum - sum_before;
          counts[f * total() + k] = number - number_before;
        }
      }
    }
  }

  // What each question explains, of all leaves.
  TASKSIM_INLINED void gains(int leaves, const double *sums, const double *counts,
                             double *gain) const {
    std::fill_n(gain, total(), 0.0);
    for (int f = 0; f < leaves; ++f)
      for (int64_t c = 0; c < columns; ++c) {
        const double *below = sums + f * total(), *number = counts + f * total();
        const int64_t last = first[c + 1] - 1;
        const double all = below[last], rows_of_all = number[last];
        for (int64_t k = first[c]; k <= last; ++k) {
          const double above = all - below[k], rows_above = rows_of_all - number[k];
          gain[k] += below[k] * below[k] / (number[k] + ridge) + above * above / (rows_above + ridge);
        }
      }
  }

  // The first of the best questions: a column's last cell asks nothing.
  int64_t best(const double *gain) const {
    int64_t found = -1;
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t k = first[c]; k + 1 < first[c + 1]; ++k)
        if (found < 0 || gain[k] > gain[found]) found = k;
    return found;
  }
};

TASKSIM_AVX512 void widest(const Growth &growth, int leaves, const double *sums,
                           const double *counts, double *gain) {
  growth.gains(leaves, sums, counts, gain);
}

TASKSIM_AVX2 void wider(const Growth &growth, int leaves, const double *sums, const double *counts,
                        double *gain) {
  growth.gains(leaves, sums, counts, gain);
}

bool choose(const Growth &growth, int64_t *questions) {
  const int64_t size = growth.total() * (1 << (DEPTH - 1));
  std::vector<double> sums(size), counts(size), pairs(2 * size), gain(growth.total());
  std::vector<uint8_t> leaf(growth.rows, 0);
  const bool wide = has_avx512(), middle = has_avx2();
  for (int depth = 0; depth < DEPTH; ++depth) {
    const int leaves = 1 << depth;
    growth.count(leaf.data(), leaves, sums.data(), counts.data(), pairs);
    if (wide) widest(growth, leaves, sums.data(), counts.data(), gain.data());
    else if (middle) wider(growth, leaves, sums.data(), counts.data(), gain.data());
    else growth.gains(leaves, sums.data(), counts.data(), gain.data());
    const int64_t found = growth.best(gain.data());
    if (found < 0) return false;
    questions[depth] = found;
    const int64_t *column = std::upper_bound(growth.first, growth.first + growth.columns, found) - 1;
    const uint8_t *cell = growth.cells + (column - growth.first) * growth.rows;
    const int border = static_cast<int>(found - *column);
    for (int64_t r = 0; r < growth.rows; ++r)
      leaf[r] = static_cast<uint8_t>(2 * leaf[r] + (cell[r] > border));
  }
  return true;
}

}  // namespace

}  // namespace tasksim::models

int32_t tasksim_questions(int64_t rows, int64_t columns, const uint8_t *cells, const int64_t *first,
                          const double *left, double ridge, int64_t *questions) {
  using namespace tasksim::models;
  const Growth growth{rows, columns, cells, first, left, ridge};
  try {
    return growth.legal() && choose(growth, questions) ? TASKSIM_DONE : TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
}
