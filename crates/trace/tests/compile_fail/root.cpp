// expect: the evaluation returns gputexel::Value
#include "../../gputexel.hpp"
int main(int argc, char **argv) {
    return gputexel::trace(argc, argv, [](const std::string &) { return gputexel::S(1, 2); }); // here
}
