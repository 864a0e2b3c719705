// expect: conver
#include "../../gputexel.hpp"
gputexel::Value evaluate();
void search() {
    int alpha = evaluate(); // here
    (void)alpha;
}
