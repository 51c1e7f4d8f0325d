/* Patients of villages, in a tree of them, for some days: ./health LEVELS BRANCHES DAYS */
#include <stdio.h>
#include <stdlib.h>

typedef struct Village {
    struct Village *below;
    unsigned seed;
    long ill, healed;
} Village;

static int branches = 3;

static void settle(Village *v, int level, unsigned seed)
{
    v->seed = seed;
    v->ill = v->healed = 0;
    v->below = NULL;
    if (level <= 1) return;
    v->below = malloc(sizeof *v->below * branches);
    for (int b = 0; b < branches; ++b) settle(v->below + b, level - 1, seed * 31 + b + 1);
}

static void day(Village *v)
{
    if (v->below)
        for (int b = 0; b < branches; ++b) {
#pragma omp task untied firstprivate(b)
            day(v->below + b);
        }
    for (int patient = 0; patient < 2000; ++patient) {
        v->seed = v->seed * 1103515245u + 12345u;
        v->ill += (v->seed >> 16) % 10 == 0;
    }
#pragma omp taskwait
    v->healed += v->ill / 2;
    v->ill -= v->ill / 2;
}

static long healed(const Village *v)
{
    long sum = v->healed;
    for (int b = 0; v->below && b < branches; ++b) sum += healed(v->below + b);
    return sum;
}

int main(int count, char **values)
{
    int levels = count > 1 ? atoi(values[1]) : 4, days = count > 3 ? atoi(values[3]) : 3;
    if (count > 2) branches = atoi(values[2]);
    Village top;
    settle(&top, levels, 7);
#pragma omp parallel
#pragma omp single
    for (int d = 0; d < days; ++d) day(&top);
    printf("%ld\n", healed(&top));
    return 0;
}
