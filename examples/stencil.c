// One sweep of Jacobi's iteration over a block of rows: each cell becomes the mean of its four
// neighbours, and the border of the grid stays as it is. There is no block above the first.
#include <stdint.h>
#include <string.h>

void sweep(double *after, const double *before, const double *above, const double *below,
           int64_t rows, int64_t columns, int64_t above_rows) {
  for (int64_t i = 0; i < rows; ++i) {
    const double *row = before + i * columns;
    const double *up = i > 0 ? row - columns : above ? above + (above_rows - 1) * columns : 0;
    const double *down = i < rows - 1 ? row + columns : below;
    double *out = after + i * columns;
    if (!up || !down) {
      memcpy(out, row, columns * sizeof(double));
      continue;
    }
    out[0] = row[0];
    for (int64_t j = 1; j < columns - 1; ++j)
      out[j] = 0.25 * (((up[j] + down[j]) + row[j - 1]) + row[j + 1]);
    out[columns - 1] = row[columns - 1];
  }
}
