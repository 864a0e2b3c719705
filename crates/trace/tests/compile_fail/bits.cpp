// expect: a score has no bits
#include "../../gputexel.hpp"
auto low_half(gputexel::Pair score) {
    return score & 0xffff; // here
}
