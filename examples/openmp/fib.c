/* Fibonacci numbers, with a task per call that is larger than the cut-off: ./fib N CUTOFF */
#include <stdio.h>
#include <stdlib.h>

static int cutoff = 2;

static int fib(int n)
{
    if (n < 2) return n;
    if (n < cutoff) return fib(n - 1) + fib(n - 2);
    int a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int count, char **values)
{
    int n = count > 1 ? atoi(values[1]) : 16, result = 0;
    if (count > 2) cutoff = atoi(values[2]);
#pragma omp parallel
#pragma omp single
    result = fib(n);
    printf("%d\n", result);
    return 0;
}
