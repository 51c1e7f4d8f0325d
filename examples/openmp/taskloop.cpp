// A sum over a vector: a loop that makes tasks, then tasks that add up in any order.
// ./taskloop TASKS SIZE
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char **values)
{
    const int tasks = count > 1 ? std::atoi(values[1]) : 10;
    const int size = count > 2 ? std::atoi(values[2]) : 1000;
    std::vector<double> x(tasks * size);
    double total = 0;
    double *y = x.data();
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop num_tasks(tasks)
        for (int i = 0; i < tasks * size; ++i) y[i] = i % 7;
        for (int t = 0; t < tasks; ++t) {
#pragma omp task depend(mutexinoutset : total) firstprivate(t) shared(total)
            for (int i = 0; i < size; ++i) total += y[t * size + i];
        }
#pragma omp task depend(in : total) shared(total)
        std::printf("%.17g\n", total);
    }
}
