/* Merge sort, in halves down to a length: ./sort COUNT CUTOFF */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cutoff = 1000;

static int compare(const void *a, const void *b)
{
    return (*(const unsigned *)a > *(const unsigned *)b) - (*(const unsigned *)a < *(const unsigned *)b);
}

static void sort(unsigned *x, unsigned *other, int n)
{
    if (n <= cutoff) {
        qsort(x, n, sizeof *x, compare);
        return;
    }
    int half = n / 2;
#pragma omp task
    sort(x, other, half);
#pragma omp task
    sort(x + half, other + half, n - half);
#pragma omp taskwait
    for (int i = 0, j = half, k = 0; k < n; ++k)
        other[k] = j == n || (i < half && x[i] <= x[j]) ? x[i++] : x[j++];
    memcpy(x, other, sizeof *x * n);
}

int main(int count, char **values)
{
    int n = count > 1 ? atoi(values[1]) : 16000;
    if (count > 2) cutoff = atoi(values[2]);
    unsigned *x = malloc(sizeof *x * n), *other = malloc(sizeof *x * n), sum = 0;
    for (int i = 0; i < n; ++i) x[i] = 2654435761u * (unsigned)i;
#pragma omp parallel
#pragma omp single
    sort(x, other, n);
    for (int i = 1; i < n; ++i) sum += (x[i] >= x[i - 1]) * (x[i] ^ (unsigned)i);
    printf("%u\n", sum);
    return 0;
}
