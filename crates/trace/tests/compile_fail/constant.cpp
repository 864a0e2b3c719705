// expect: constexpr
#include "../../gputexel.hpp"
constexpr gputexel::Pair PAWN = gputexel::S(82, 94), CENTRE = gputexel::S(5, 3);
constexpr gputexel::Pair PAWN_IN_CENTRE = PAWN + CENTRE; // here
