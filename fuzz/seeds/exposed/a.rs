mod m {
// gputexel: pair
pub static PAIRS: [S; 2] = [S(1, 2), S(3, 4)];
}
// gputexel: tempo
const TEMPO: i32 = 10;
fn f(n: i32) -> i32 { 4 * n + TEMPO } // gputexel: extra number 1
