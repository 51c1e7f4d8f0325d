/* Conjugate gradients on a rank's block of a square, as one of many ranks would do them.

   solver POINTS RANKS STEPS: POINTS in a row of the square, RANKS that share it in blocks.
   Messages are left out; what each rank does for its own, whatever their number, is not. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline))

static long block;
static double *x, *r, *p, *q, *edges;

/* Read the input: each rank reads all of it. */
APART static double read_input(long count)
{
    double sum = 0.0;
    for (long i = 0; i < count; i++)
        sum += sin((double)i);
    return sum;
}

APART static void fill(double value)
{
    for (long i = 0; i < block * block; i++) {
        x[i] = 0.0;
        r[i] = p[i] = value + (double)(i % 7);
    }
}

APART static void pack_edges(void)
{
    for (long i = 0; i < block; i++) {
        edges[i] = p[i];
        edges[block + i] = p[(block - 1) * block + i];
        edges[2 * block + i] = p[i * block];
        edges[3 * block + i] = p[i * block + block - 1];
    }
}

APART static void stencil(void)
{
    for (long i = 1; i < block - 1; i++)
        for (long j = 1; j < block - 1; j++) {
            const double *at = p + i * block + j;
            q[i * block + j] = 4.0 * at[0] - at[-1] - at[1] - at[-block] - at[block];
        }
}

APART static double dot(const double *a, const double *b)
{
    double sum = 0.0;
    for (long i = 0; i < block * block; i++)
        sum += a[i] * b[i];
    return sum;
}

APART static void axpy(double alpha)
{
    for (long i = 0; i < block * block; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
}

APART static void update(double beta)
{
    for (long i = 0; i < block * block; i++)
        p[i] = r[i] + beta * p[i];
}

/* Add up over the ranks: a step for each doubling of them. */
APART static double sum_over_ranks(double part, long ranks)
{
    for (long distance = 1; distance < ranks; distance *= 2)
        part += 1e-9 * part;
    return part;
}

int main(int count, char **texts)
{
    if (count != 4) {
        fprintf(stderr, "solver POINTS RANKS STEPS\n");
        return 2;
    }
    long points = atol(texts[1]), ranks = atol(texts[2]), steps = atol(texts[3]);
    block = points / lround(sqrt((double)ranks));
    if (block < 2 || steps < 1) {
        fprintf(stderr, "solver: blocks need two points in a row, and one step\n");
        return 2;
    }
    double *memory = calloc(4 * block * block + 4 * block, sizeof(double));
    if (memory == NULL)
        return 1;
    x = memory;
    r = x + block * block;
    p = r + block * block;
    q = p + block * block;
    edges = q + block * block;
    fill(read_input(60 * points));
    double square = sum_over_ranks(dot(r, r), ranks);
    for (long step = 0; step < steps; step++) {
        pack_edges();
        stencil();
        double alpha = square / (1.0 + fabs(sum_over_ranks(dot(p, q), ranks)));
        axpy(alpha);
        double after = sum_over_ranks(dot(r, r), ranks);
        update(after / (1.0 + square));
        square = after;
    }
    printf("%g\n", square);
    free(memory);
    return 0;
}
