// expect: a macro S or V is defined
#define S(mg, eg) ((mg) + ((eg) << 16))
#include "../../gputexel.hpp"
