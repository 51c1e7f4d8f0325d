// Sums of trees that ask the same questions of all rows (models/learned/forest.py).
#include <cstring>
#include <new>
#include <vector>

#include "../tasksim_core.h"
#include "forest.h"
#include "wide.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace tasksim::models {

namespace {

constexpr int LEAVES = 1 << DEPTH;
constexpr int64_t BLOCK = 256;  // rows whose answers stay in the cache of the core

struct Trees {
  int64_t columns, questions;
  const int32_t *column;
  const double *border;
  int64_t trees;
  const int32_t *asked;
  const double *values;

  bool legal() const {
    if (trees % 2) return false;
    for (int64_t q = 0; q < questions; ++q)
      if (column[q] < 0 || column[q] >= columns) return false;
    for (int64_t k = 0; k < trees * DEPTH; ++k)
      if (asked[k] < 0 || asked[k] >= questions) return false;
    return true;
  }

  // The leaf of each row of a block in a tree: its answers are the bits, the first one highest.
  TASKSIM_INLINED void leaves(int64_t tree, const uint8_t *answers, uint8_t *leaf) const {
    const uint8_t *of[DEPTH];
    for (int k = 0; k < DEPTH; ++k) of[k] = answers + asked[tree * DEPTH + k] * BLOCK;
    for (int64_t r = 0; r < BLOCK; ++r) {
      uint8_t number = of[0][r];
      for (int k = 1; k < DEPTH; ++k) number = number + number + of[k][r];
      leaf[r] = number;
    }
  }

  // The sums for *count* rows, at most a block. *Pairs* adds two trees to them at once.
  template <class Pairs>
  TASKSIM_INLINED void add(const double *rows, int64_t count, double *across, uint8_t *answers,
                           const Pairs &pairs, double *out) const {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < count; ++r) across[c * BLOCK + r] = rows[r * columns + c];
    for (int64_t q = 0; q < questions; ++q) {
      const double *value = across + column[q] * BLOCK, least = border[q];
      uint8_t *answer = answers + q * BLOCK;
      for (int64_t r = 0; r < BLOCK; ++r) answer[r] = value[r] >= least;
    }
    uint8_t first[BLOCK], second[BLOCK];
    double total[BLOCK] = {};
    for (int64_t tree = 0; tree < trees; tree += 2) {
      leaves(tree, answers, first);
      leaves(tree + 1, answers, second);
      pairs.add(tree, first, second, total);
    }
    std::memcpy(out, total, count * sizeof(double));
  }

  template <class Pairs>
  TASKSIM_INLINED void all(const double *rows, int64_t n, double *across, uint8_t *answers,
                           const Pairs &pairs, double *out) const {
    for (int64_t at = 0; at < n; at += BLOCK)
      add(rows + at * columns, n - at < BLOCK ? n - at : BLOCK, across, answers, pairs, out + at);
  }
};

// Two trees, whose values are read from memory.
struct InMemory {
  const double *values;

  TASKSIM_INLINED void add(int64_t tree, const uint8_t *first, const uint8_t *second,
                           double *total) const {
    const double *one = values + tree * LEAVES, *other = one + LEAVES;
    for (int64_t r = 0; r < BLOCK; ++r) total[r] += one[first[r]] + other[second[r]];
  }
};

#if defined(__x86_64__) && defined(__GNUC__)
// Two trees of single precision, whose values are looked up in registers, four for a tree. The sums
// have double precision, so they are the same.
struct InRegisters {
  std::vector<float> values;

  // Whether all values of *trees* are numbers of single precision; they are then held.
  bool hold(const Trees &trees) {
    values.resize(trees.trees * LEAVES);
    bool same = true;
    for (size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(trees.values[k]);
      same &= values[k] == trees.values[k];
    }
    return same;
  }

  TASKSIM_AVX512 void add(int64_t tree, const uint8_t *first, const uint8_t *second,
                          double *total) const {
    __m512 of[8];
    for (int k = 0; k < 8; ++k) of[k] = _mm512_loadu_ps(values.data() + tree * LEAVES + 16 * k);
    const __m512i upper = _mm512_set1_epi32(LEAVES / 2);
    for (int64_t r = 0; r < BLOCK; r += 16) {
      __m512 found[2];
      for (int t = 0; t < 2; ++t) {
        const void *leaf = (t ? second : first) + r;
        const __m512i place = _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(leaf)));
        found[t] = _mm512_mask_blend_ps(_mm512_test_epi32_mask(place, upper),
                                        _mm512_permutex2var_ps(of[4 * t], place, of[4 * t + 1]),
                                        _mm512_permutex2var_ps(of[4 * t + 2], place, of[4 * t + 3]));
      }
      for (int half = 0; half < 2; ++half) {
        __m512d both[2];
        for (int t = 0; t < 2; ++t)
          both[t] = _mm512_cvtps_pd(half ? _mm512_extractf32x8_ps(found[t], 1)
                                         : _mm512_castps512_ps256(found[t]));
        double *sum = total + r + 8 * half;
        _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), _mm512_add_pd(both[0], both[1])));
      }
    }
  }
};

TASKSIM_AVX512 void widest(const Trees &trees, const InRegisters &pairs, const double *rows,
                           int64_t n, double *across, uint8_t *answers, double *out) {
  trees.all(rows, n, across, answers, pairs, out);
}

// Whether the sums are written: values are held in registers if there are rows enough.
bool by_registers(const Trees &trees, const double *rows, int64_t n, double *across,
                  uint8_t *answers, double *out) {
  InRegisters pairs;
  if (n < BLOCK || !pairs.hold(trees)) return false;
  widest(trees, pairs, rows, n, across, answers, out);
  return true;
}
#else
bool by_registers(const Trees &, const double *, int64_t, double *, uint8_t *, double *) {
  return false;
}
#endif

TASKSIM_AVX512 void widest(const Trees &trees, const double *rows, int64_t n, double *across,
                           uint8_t *answers, double *out) {
  if (!by_registers(trees, rows, n, across, answers, out))
    trees.all(rows, n, across, answers, InMemory{trees.values}, out);
}

TASKSIM_AVX2 void wider(const Trees &trees, const double *rows, int64_t n, double *across,
                        uint8_t *answers, double *out) {
  trees.all(rows, n, across, answers, InMemory{trees.values}, out);
}

}  // namespace

}  // namespace tasksim::models

int32_t tasksim_forest(const double *rows, int64_t n, int64_t columns, int64_t questions,
                       const int32_t *column, const double *border, int64_t trees,
                       const int32_t *asked, const double *values, double *out) {
  using namespace tasksim::models;
  const Trees all{columns, questions, column, border, trees, asked, values};
  if (!all.legal()) return TASKSIM_BAD_ARRAYS;
  try {
    std::vector<double> across(columns * BLOCK);
    std::vector<uint8_t> answers(questions * BLOCK);
    if (has_avx512()) widest(all, rows, n, across.data(), answers.data(), out);
    else if (has_avx2()) wider(all, rows, n, across.data(), answers.data(), out);
    else all.all(rows, n, across.data(), answers.data(), InMemory{values}, out);
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
  return TASKSIM_DONE;
}
