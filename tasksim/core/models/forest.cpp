// Sums of trees that ask the same questions of all rows (models/learned/forest.py).
#include <cstring>
#include <new>
#include <vector>

#include "../tasksim_core.h"
#include "forest.h"
#include "wide.h"

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

  // The sums for *count* rows, at most a block. Trees are added by twos.
  TASKSIM_INLINED void add(const double *rows, int64_t count, double *across, uint8_t *answers,
                           double *out) const {
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
      const double *one = values + tree * LEAVES, *other = one + LEAVES;
      for (int64_t r = 0; r < BLOCK; ++r) total[r] += one[first[r]] + other[second[r]];
    }
    std::memcpy(out, total, count * sizeof(double));
  }

  TASKSIM_INLINED void all(const double *rows, int64_t n, double *across, uint8_t *answers,
                           double *out) const {
    for (int64_t at = 0; at < n; at += BLOCK)
      add(rows + at * columns, n - at < BLOCK ? n - at : BLOCK, across, answers, out + at);
  }
};

TASKSIM_AVX512 void widest(const Trees &trees, const double *rows, int64_t n, double *across,
                           uint8_t *answers, double *out) {
  trees.all(rows, n, across, answers, out);
}

TASKSIM_AVX2 void wider(const Trees &trees, const double *rows, int64_t n, double *across,
                        uint8_t *answers, double *out) {
  trees.all(rows, n, across, answers, out);
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
    else all.all(rows, n, across.data(), answers.data(), out);
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
  return TASKSIM_DONE;
}
