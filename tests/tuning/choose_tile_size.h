#ifndef TASKSIM_CHOOSE_TILE_SIZE_H
#define TASKSIM_CHOOSE_TILE_SIZE_H

/* Which graph.tile_size: a tree of 5 nodes, trained on 6 examples, for which it reaches 99.00 % of the best performance. */
/* n: graph.n */
/* platform_a_b: platform=a-b */
/* for_: for */
static inline long choose_tile_size(double n, double platform_a_b, double for_)
{
    (void)n;
    (void)platform_a_b;
    (void)for_;
    if (n <= 3000.0) {
        return 256;
    } else {
        if (platform_a_b <= 0.5) {
            return 512;
        } else {
            return 256;
        }
    }
}

#endif
