/* Product of matrices by Strassen's method, with tasks down to a depth: ./strassen SIZE DEPTH */
#include <stdio.h>
#include <stdlib.h>

/* c = a b, all of size n with rows ld apart. */
static void multiply(double *c, const double *a, const double *b, int n, int ld, int depth);

static double *block(int n) { return malloc(sizeof(double) * n * n); }

/* A quarter of x plus a sign times another, copied so that rows are n apart. */
static double *sum(const double *x, const double *y, int sign, int n, int ld)
{
    double *s = block(n);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) s[i * n + j] = x[i * ld + j] + (y ? sign * y[i * ld + j] : 0);
    return s;
}

static void product(double *p, double *left, double *right, int n, int depth)
{
    multiply(p, left, right, n, n, depth);
    free(left);
    free(right);
}

static void multiply(double *c, const double *a, const double *b, int n, int ld, int depth)
{
    if (!depth) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                double s = 0;
                for (int k = 0; k < n; ++k) s += a[i * ld + k] * b[k * ld + j];
                c[i * n + j] = s;
            }
        return;
    }
    int h = n / 2;
    const double *a11 = a, *a12 = a + h, *a21 = a + h * ld, *a22 = a21 + h;
    const double *b11 = b, *b12 = b + h, *b21 = b + h * ld, *b22 = b21 + h;
    const double *left[7][2] = {{a11, a22}, {a21, a22}, {a11, 0}, {a22, 0},
                                {a11, a12}, {a21, a11}, {a12, a22}};
    const double *right[7][2] = {{b11, b22}, {b11, 0}, {b12, b22}, {b21, b11},
                                 {b22, 0}, {b11, b12}, {b21, b22}};
    const int left_sign[7] = {1, 1, 1, 1, 1, -1, -1}, right_sign[7] = {1, 1, -1, -1, 1, 1, 1};
    double *p[7];
    for (int k = 0; k < 7; ++k) {
        p[k] = block(h);
#pragma omp task firstprivate(k) shared(p, left, right, left_sign, right_sign)
        product(p[k], sum(left[k][0], left[k][1], left_sign[k], h, ld),
                sum(right[k][0], right[k][1], right_sign[k], h, ld), h, depth - 1);
    }
#pragma omp taskwait
    for (int i = 0; i < h; ++i)
        for (int j = 0; j < h; ++j) {
            int at = i * h + j;
            c[i * n + j] = p[0][at] + p[3][at] - p[4][at] + p[6][at];
            c[i * n + j + h] = p[2][at] + p[4][at];
            c[(i + h) * n + j] = p[1][at] + p[3][at];
            c[(i + h) * n + j + h] = p[0][at] - p[1][at] + p[2][at] + p[5][at];
        }
    for (int k = 0; k < 7; ++k) free(p[k]);
}

int main(int count, char **values)
{
    int n = count > 1 ? atoi(values[1]) : 64, depth = count > 2 ? atoi(values[2]) : 2;
    double *a = block(n), *b = block(n), *c = block(n), total = 0;
    for (int i = 0; i < n * n; ++i) a[i] = i % 17, b[i] = i % 13;
#pragma omp parallel
#pragma omp single
    multiply(c, a, b, n, n, depth);
    for (int i = 0; i < n * n; ++i) total += c[i];
    printf("%.17g\n", total);
    return 0;
}
