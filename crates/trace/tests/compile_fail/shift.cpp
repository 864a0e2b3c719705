// expect: a score is not shifted
#include "../../gputexel.hpp"
int unpack(gputexel::Pair score) {
    return score >> 16; // here
}
