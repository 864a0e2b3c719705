// expect: a score cannot become a number while it is recorded
#include "../../gputexel.hpp"
bool is_zero(gputexel::Pair score) {
    return score ? false : true; // here
}
