/* LU factorisation of a matrix with empty tiles, which fill up: ./sparselu TILES SIZE */
#include "tiles.h"

static void getrf(Tile a)
{
    for (int k = 0; k < size; ++k)
        for (int i = k + 1; i < size; ++i) {
            AT(a, i, k) /= AT(a, k, k);
            for (int j = k + 1; j < size; ++j) AT(a, i, j) -= AT(a, i, k) * AT(a, k, j);
        }
}

static void lower(Tile l, Tile a)
{
    for (int k = 0; k < size; ++k)
        for (int i = k + 1; i < size; ++i)
            for (int j = 0; j < size; ++j) AT(a, i, j) -= AT(l, i, k) * AT(a, k, j);
}

static void upper(Tile u, Tile a)
{
    for (int k = 0; k < size; ++k)
        for (int i = 0; i < size; ++i) {
            AT(a, i, k) /= AT(u, k, k);
            for (int j = k + 1; j < size; ++j) AT(a, i, j) -= AT(a, i, k) * AT(u, k, j);
        }
}

/* Tiles far from the diagonal are empty, as BOTS has them, but for every third. */
static int is_empty(int i, int j)
{
    return abs(i - j) > 1 && (i % 3 || j % 3);
}

int main(int count, char **values)
{
    arguments(count, values);
    fill();
    for (int i = 0; i < tiles; ++i)
        for (int j = 0; j < tiles; ++j)
            if (is_empty(i, j)) T(i, j) = NULL;
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < tiles; ++k) {
        getrf(T(k, k));
        for (int j = k + 1; j < tiles; ++j)
            if (T(k, j)) {
#pragma omp task firstprivate(k, j)
                lower(T(k, k), T(k, j));
            }
        for (int i = k + 1; i < tiles; ++i)
            if (T(i, k)) {
#pragma omp task firstprivate(k, i)
                upper(T(k, k), T(i, k));
            }
#pragma omp taskwait
        for (int i = k + 1; i < tiles; ++i)
            for (int j = k + 1; j < tiles; ++j)
                if (T(i, k) && T(k, j)) {
                    if (!T(i, j)) T(i, j) = calloc(size * size, sizeof(double));
#pragma omp task firstprivate(k, i, j)
                    gemm(T(i, j), T(i, k), T(k, j));
                }
#pragma omp taskwait
    }
    print_sum();
    return 0;
}
