// expect: compile the evaluation as C++
#include "../../gputexel.hpp"
