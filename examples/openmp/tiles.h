/* Tiles of a square matrix, and a sum over all of them that any order of tasks leaves the same. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef double *Tile;

static int tiles = 6, size = 32;
static Tile *A;

#define T(i, j) A[(i) * tiles + (j)]
#define AT(t, i, j) (t)[(i) * size + (j)]

static void arguments(int count, char **values)
{
    if (count > 1) tiles = atoi(values[1]);
    if (count > 2) size = atoi(values[2]);
}

/* A matrix with a heavy diagonal: nothing has to be exchanged. */
static void fill(void)
{
    A = malloc(sizeof *A * tiles * tiles);
    double *all = malloc(sizeof *all * tiles * tiles * size * size);
    for (int i = 0; i < tiles; ++i)
        for (int j = 0; j < tiles; ++j) {
            T(i, j) = all + (size_t)(i * tiles + j) * size * size;
            for (int r = 0; r < size; ++r)
                for (int c = 0; c < size; ++c) {
                    int row = i * size + r, column = j * size + c;
                    AT(T(i, j), r, c) = row == column ? 2.0 * tiles * size
                                                      : 1.0 / (1 + abs(row - column));
                }
        }
}

static void print_sum(void)
{
    double sum = 0;
    for (int i = 0; i < tiles; ++i)
        for (int j = 0; j < tiles; ++j)
            for (int k = 0; k < size * size; ++k)
                if (T(i, j)) sum += T(i, j)[k] * (1 + k % 7);
    printf("%.17g\n", sum);
}

/* c -= a b */
static void gemm(Tile c, Tile a, Tile b)
{
    for (int i = 0; i < size; ++i)
        for (int k = 0; k < size; ++k)
            for (int j = 0; j < size; ++j) AT(c, i, j) -= AT(a, i, k) * AT(b, k, j);
}
