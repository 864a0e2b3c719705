#include <a.h>
// gputexel: pair
constexpr S Pair[2] = {S{1, 2}, {3, 4}};
#define TEMPO 10 // gputexel: tempo
int f(int n) { return 4 * n + TEMPO; } // gputexel: extra number 1
