
int evaluate_with(const Position *position, const Sums *sums)
{
    Side sides[2];
    return blend(linear_score(position, sums, sides), sums->phase, position->side_to_move);
}
