// expect: scores are not compared by ==
#include "../../gputexel.hpp"
bool is_draw(gputexel::Value score) {
    return score == 0; // here
}
