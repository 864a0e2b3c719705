// gputexel: material
const Score V[5] = {S(82, 94), S(337, 281), S(365, 297), S(477, 512), S(1025, 936)};
// gputexel: mobility.mg rows 2/1 min -50 max 50
int m[2][3] = {{1, 2, 0}, {3, 0, 0}};
x += 4 * (n - 3); // gputexel: step number 1/2
// gputexel: worth.both pieces -pnbrq colors negated
int w[12] = {0,1,2,3,4,5,0,-1,-2,-3,-4,-5};
