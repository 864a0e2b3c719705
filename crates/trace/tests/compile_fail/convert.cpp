// expect: a score cannot become a number while it is recorded
#include "../../gputexel.hpp"
int unpack(gputexel::Value score) {
    return int(score); // here
}
