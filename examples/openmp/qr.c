/* QR factorisation by tiles, flat tree, with Householder's reflections: ./qr TILES SIZE */
#include "tiles.h"

/* Scales of the reflections: of a diagonal tile, and of a tile below it. */
static double *scales;

#define SCALES(m, k) (scales + ((m) * tiles + (k)) * size)

/* Make a reflection of a head and the column k of v from a row on; return its scale. */
static double reflect(double *head, Tile v, int k, int first)
{
    double norm = *head * *head;
    for (int i = first; i < size; ++i) norm += AT(v, i, k) * AT(v, i, k);
    double alpha = *head > 0 ? -sqrt(norm) : sqrt(norm), scale = (alpha - *head) / alpha;
    for (int i = first; i < size; ++i) AT(v, i, k) /= *head - alpha;
    *head = alpha;
    return scale;
}

static void apply(double *head, Tile v, int k, int first, double scale, Tile c, int j)
{
    double sum = *head;
    for (int i = first; i < size; ++i) sum += AT(v, i, k) * AT(c, i, j);
    *head -= scale * sum;
    for (int i = first; i < size; ++i) AT(c, i, j) -= scale * sum * AT(v, i, k);
}

static void geqrt(Tile a, double *scale)
{
    for (int k = 0; k < size; ++k) {
        scale[k] = reflect(&AT(a, k, k), a, k, k + 1);
        for (int j = k + 1; j < size; ++j) apply(&AT(a, k, j), a, k, k + 1, scale[k], a, j);
    }
}

static void gemqrt(Tile v, double *scale, Tile c)
{
    for (int k = 0; k < size; ++k)
        for (int j = 0; j < size; ++j) apply(&AT(c, k, j), v, k, k + 1, scale[k], c, j);
}

static void tpqrt(Tile r, Tile a, double *scale)
{
    for (int k = 0; k < size; ++k) {
        scale[k] = reflect(&AT(r, k, k), a, k, 0);
        for (int j = k + 1; j < size; ++j) apply(&AT(r, k, j), a, k, 0, scale[k], a, j);
    }
}

static void tpmqrt(Tile v, double *scale, Tile top, Tile c)
{
    for (int k = 0; k < size; ++k)
        for (int j = 0; j < size; ++j) apply(&AT(top, k, j), v, k, 0, scale[k], c, j);
}

static void factor(void)
{
    for (int k = 0; k < tiles; ++k) {
#pragma omp task depend(inout : *T(k, k)) depend(out : *SCALES(k, k)) firstprivate(k)
        geqrt(T(k, k), SCALES(k, k));
        for (int n = k + 1; n < tiles; ++n) {
#pragma omp task depend(in : *SCALES(k, k)) depend(inout : *T(k, n)) firstprivate(k, n)
            gemqrt(T(k, k), SCALES(k, k), T(k, n));
        }
        for (int m = k + 1; m < tiles; ++m) {
#pragma omp task depend(inout : *T(k, k), *T(m, k)) firstprivate(k, m)
            tpqrt(T(k, k), T(m, k), SCALES(m, k));
            for (int n = k + 1; n < tiles; ++n) {
#pragma omp task depend(in : *T(m, k)) depend(inout : *T(k, n), *T(m, n)) firstprivate(k, m, n)
                tpmqrt(T(m, k), SCALES(m, k), T(k, n), T(m, n));
            }
        }
    }
}

int main(int count, char **values)
{
    arguments(count, values);
    fill();
    scales = malloc(sizeof *scales * tiles * tiles * size);
#pragma omp parallel
#pragma omp single
    factor();
    print_sum();
    return 0;
}
