// An engine that is nothing but its margins, to show how sources are patched.
#include <cstdio>

// What a tuner is offered: parameters by name, with a range.
struct Range {
    double min, max;
};
static Range SetRange(double min, double max) { return {min, max}; }
template <class T>
static void offer(const char* name, Range range, T value) {
    std::printf("option name %s type string default %g min %g max %g\n", name, double(value), range.min, range.max);
}
#define TUNE(range, name, rest) offer(#name, range, name)

// %%TUNE_DECLARATION%%

static int razor_margin(int depth) {
    return -25 * depth * depth + 485; // at most
}

static int futility_margin(int depth, bool improving) {
    return 140 * (depth-improving);
}

static double time_share(int ply) {
    return 0.75 / (ply + 12);
}

static void offer_options() {
    // %%TUNE_OPTIONS%%
}

int main() {
    (void)offer<int>;
    (void)SetRange;
    offer_options();
    std::printf("%d %d %g\n", razor_margin(3), futility_margin(4, true), time_share(20));
}
