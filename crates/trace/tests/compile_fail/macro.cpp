// expect: a macro S is defined
#define S(mg, eg) ((mg) + ((eg) << 16))
#include "../../gputexel.hpp"
