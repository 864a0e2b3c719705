
#ifdef EVALUATION_MAIN

// Reads lines that begin with a FEN and prints them as FEN | SCORE | 0.5, scores from White's view, which is what
// `gputexel verify` reads.

#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        Position position;
        line[strcspn(line, "|\r\n")] = 0;
        size_t length = strlen(line);
        while (length && line[length - 1] == ' ') {
            line[--length] = 0;
        }
        if (!length) {
            continue;
        }
        if (!read_fen(line, &position)) {
            fprintf(stderr, "not a position: %s\n", line);
            return 1;
        }
        int score = evaluate(&position);
        printf("%s | %d | 0.5\n", line, position.side_to_move == WHITE ? score : -score);
    }
    return 0;
}

#endif
