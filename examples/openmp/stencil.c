/* Jacobi's iteration over blocks of a line, ordered by their neighbours: ./stencil STEPS BLOCKS SIZE */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **values)
{
    int steps = count > 1 ? atoi(values[1]) : 8, blocks = count > 2 ? atoi(values[2]) : 6;
    int size = count > 3 ? atoi(values[3]) : 500;
    /* A block of zeros on either side stays as it is. */
    double *x[2], sum = 0;
    for (int b = 0; b < 2; ++b) x[b] = calloc((blocks + 2) * size, sizeof(double));
    for (int i = 0; i < blocks * size; ++i) x[0][size + i] = i % 11;
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < steps; ++t)
        for (int b = 1; b <= blocks; ++b) {
            double *from = x[t % 2] + b * size, *to = x[(t + 1) % 2] + b * size;
#pragma omp task depend(in : from[-size], from[0], from[size]) depend(out : to[0])
            for (int i = 0; i < size; ++i) to[i] = (from[i - 1] + from[i] + from[i + 1]) / 3;
        }
    for (int i = 0; i < blocks * size; ++i) sum += x[steps % 2][size + i];
    printf("%.17g\n", sum);
    return 0;
}
