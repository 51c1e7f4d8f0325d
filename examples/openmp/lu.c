/* LU factorisation by tiles, without pivoting: ./lu TILES SIZE */
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

static void factor(void)
{
    for (int k = 0; k < tiles; ++k) {
#pragma omp task depend(inout : *T(k, k)) firstprivate(k)
        getrf(T(k, k));
        for (int i = k + 1; i < tiles; ++i) {
#pragma omp task depend(in : *T(k, k)) depend(inout : *T(i, k)) firstprivate(k, i)
            upper(T(k, k), T(i, k));
#pragma omp task depend(in : *T(k, k)) depend(inout : *T(k, i)) firstprivate(k, i)
            lower(T(k, k), T(k, i));
        }
        for (int i = k + 1; i < tiles; ++i)
            for (int j = k + 1; j < tiles; ++j) {
#pragma omp task depend(in : *T(i, k), *T(k, j)) depend(inout : *T(i, j)) firstprivate(k, i, j)
                gemm(T(i, j), T(i, k), T(k, j));
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
