// expect: scores are compared only with 0: use max, min or clamp
#include "../../gputexel.hpp"
gputexel::Value larger(gputexel::Value a, gputexel::Value b) {
    return a > b ? a : b; // here
}
