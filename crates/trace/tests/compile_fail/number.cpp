// expect: a number is added to a pair
#include "../../gputexel.hpp"
gputexel::Pair with_tempo(gputexel::Pair score) {
    return score + 10; // here
}
