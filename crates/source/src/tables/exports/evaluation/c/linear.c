
// Blends the middlegame and the endgame value by phase.
static int blend(Score score, int phase, int side_to_move)
{
    int64_t mg = mg_of(score), eg = eg_of(score);
    phase = phase < PHASE_MAX ? phase : PHASE_MAX;
    return finish(mg * phase + eg * (PHASE_MAX - phase), PHASE_MAX, side_to_move);
}
