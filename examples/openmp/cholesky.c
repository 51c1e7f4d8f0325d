/* Cholesky factorisation by tiles: ./cholesky TILES SIZE */
#include "tiles.h"

static void potrf(Tile a)
{
    for (int k = 0; k < size; ++k) {
        AT(a, k, k) = sqrt(AT(a, k, k));
        for (int i = k + 1; i < size; ++i) AT(a, i, k) /= AT(a, k, k);
        for (int j = k + 1; j < size; ++j)
            for (int i = j; i < size; ++i) AT(a, i, j) -= AT(a, i, k) * AT(a, j, k);
    }
}

static void trsm(Tile l, Tile a)
{
    for (int r = 0; r < size; ++r)
        for (int c = 0; c < size; ++c) {
            for (int k = 0; k < c; ++k) AT(a, r, c) -= AT(a, r, k) * AT(l, c, k);
            AT(a, r, c) /= AT(l, c, c);
        }
}

static void update(Tile c, Tile a, Tile b)
{
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j)
            for (int k = 0; k < size; ++k) AT(c, i, j) -= AT(a, i, k) * AT(b, j, k);
}

static void factor(void)
{
    for (int k = 0; k < tiles; ++k) {
#pragma omp task depend(inout : *T(k, k)) firstprivate(k)
        potrf(T(k, k));
        for (int m = k + 1; m < tiles; ++m) {
#pragma omp task depend(in : *T(k, k)) depend(inout : *T(m, k)) firstprivate(k, m)
            trsm(T(k, k), T(m, k));
        }
        for (int n = k + 1; n < tiles; ++n) {
#pragma omp task depend(in : *T(n, k)) depend(inout : *T(n, n)) firstprivate(k, n)
            update(T(n, n), T(n, k), T(n, k));
            for (int m = n + 1; m < tiles; ++m) {
#pragma omp task depend(in : *T(m, k), *T(n, k)) depend(inout : *T(m, n)) firstprivate(k, m, n)
                update(T(m, n), T(m, k), T(n, k));
            }
        }
    }
}

int main(int count, char **values)
{
    arguments(count, values);
    fill();
#pragma omp parallel
#pragma omp single
    factor();
    print_sum();
    return 0;
}
