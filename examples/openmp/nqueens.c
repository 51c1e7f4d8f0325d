/* Ways to place queens, with tasks for the first rows: ./nqueens N ROWS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n = 8, rows = 3;

static int is_free(const char *board, int row, int column)
{
    for (int r = 0; r < row; ++r)
        if (board[r] == column || abs(board[r] - column) == row - r) return 0;
    return 1;
}

static int place(const char *board, int row)
{
    if (row == n) return 1;
    int found[32] = {0}, total = 0;
    for (int column = 0; column < n; ++column) {
        if (!is_free(board, row, column)) continue;
        if (row < rows) {
#pragma omp task shared(found) firstprivate(column, row)
            {
                char next[32];
                memcpy(next, board, row);
                next[row] = column;
                found[column] = place(next, row + 1);
            }
        } else {
            char next[32];
            memcpy(next, board, row);
            next[row] = column;
            found[column] = place(next, row + 1);
        }
    }
    if (row < rows) {
#pragma omp taskwait
    }
    for (int column = 0; column < n; ++column) total += found[column];
    return total;
}

int main(int count, char **values)
{
    int total = 0;
    if (count > 1) n = atoi(values[1]);
    if (count > 2) rows = atoi(values[2]);
#pragma omp parallel
#pragma omp single
    total = place("", 0);
    printf("%d\n", total);
    return 0;
}
