
int evaluate_with(const Position *position, const Sums *sums)
{
    return blend(sums->score, sums->phase, position->side_to_move);
}
