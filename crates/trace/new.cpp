// Traces the evaluation of an engine. Adapt the three marked places, and build it with the engine's sources but its own
// main, once with -DGPUTEXEL, which records, and once without, which prints what is played:
//
//     g++ -std=c++20 -O2 -DGPUTEXEL trace.cpp evaluate.cpp position.cpp -o engine-trace
//     gputexel tune ./engine-trace quiet.fens --out tuned
#include "gputexel.hpp"

#include "evaluate.h" // 1. what declares the evaluation, which returns gputexel::Value

int main(int argc, char **argv) {
    init(); // 2. what the engine sets up once
    const auto evaluation = [](const std::string &fen) {
        return evaluate(Position(fen)); // 3. the evaluation of a position; an exception leaves it out
    };
    // Or View::white, if the evaluation is from White's view.
    return gputexel::trace(argc, argv, evaluation, gputexel::View::side_to_move);
}
