=== source.cpp
// gputexel: material.mg
const int values[6] = { 100, 300, 300, 500, 900, 0 };
// gputexel: knight.mg number 1
int x = 3 * 7;
