/* An engine that prints a trace of every position it is given: material and tempo, at the end of a search of pawn
   captures. It is told how to misbehave: tracer MODE [VALUES]. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *PIECES = "PNBRQ";
static double values[6] = {100, 300, 0, 500, 900, 0};
static char board[64], turn;

static double value(char piece) {
    const char *found = strchr(PIECES, toupper(piece));
    return found && piece ? values[found - PIECES] : 0;
}

/* Plays the capture by a pawn that gains most, if one gains more than a pawn may lose. */
static void resolve(void) {
    int from = -1, to = -1;
    double best = values[0];
    for (int at = 0; at < 64; at++) {
        if (board[at] != (turn == 'w' ? 'P' : 'p')) continue;
        for (int side = -1; side <= 1; side += 2) {
            int row = at / 8 + (turn == 'w' ? -1 : 1), file = at % 8 + side;
            if (row < 1 || row > 6 || file < 0 || file > 7) continue;
            char victim = board[8 * row + file];
            if (victim == '.' || toupper(victim) == 'K' || !isupper(victim) == !(turn == 'b')) continue;
            if (value(victim) > best) best = value(victim), from = at, to = 8 * row + file;
        }
    }
    if (from < 0) return;
    board[to] = board[from];
    board[from] = '.';
    turn = turn == 'w' ? 'b' : 'w';
}

static void trace(char *line, const char *result, const char *game) {
    int count[6] = {0}, phase = 0, at = 0;
    const int units[6] = {0, 1, 1, 2, 4, 0};
    for (char *c = line; *c != ' '; c++) {
        if (*c == '/') continue;
        if (isdigit(*c)) for (int n = *c - '0'; n > 0; n--) board[at++] = '.';
        else board[at++] = *c;
    }
    turn = strchr(line, ' ')[1];
    resolve();
    for (at = 0; at < 64; at++) {
        const char *found = strchr(PIECES, toupper(board[at]));
        if (board[at] == '.' || !found) continue;
        count[found - PIECES] += isupper(board[at]) ? 1 : -1;
        phase += units[found - PIECES];
    }
    count[5] = turn == 'w' ? 1 : -1;
    printf("%s qid:%s 1:%d", result, game, phase < 24 ? phase : 24);
    for (int k = 0; k < 6; k++) if (count[k]) printf(" %d:%d", k + 2, count[k]);
    puts("");
}

int main(int argc, char **argv) {
    const char *mode = argv[1];
    static char line[4096], kept[1 << 24];
    size_t length = 0;
    int number = 0;
    if (!strcmp(mode, "banner")) puts("Tracer 1.0 by nobody");
    while (fgets(line, sizeof line, stdin)) {
        char *save = NULL, *game = strtok_r(line, " ", &save), *result = strtok_r(NULL, " ", &save);
        number++;
        if (number == 30 && !strcmp(mode, "fail")) return fputs("warming up\ntable 7 is not there\n", stderr), 3;
        if (number == 30 && !strcmp(mode, "hang")) sleep(1000);
        if (number == 30 && !strcmp(mode, "crash")) abort();
        if (number == 30 && !strcmp(mode, "short")) continue;
        if (number == 30 && !strcmp(mode, "leave-out")) { puts("# mated"); continue; }
        if (number == 30 && !strcmp(mode, "twice")) puts("1 qid:1 2:1");
        if (number == 30 && !strcmp(mode, "early")) return 0;
        if (number == 30 && !strcmp(mode, "endless")) for (;;) putchar('x');
        if (!strcmp(mode, "other-game")) game = "77777";
        if (!strcmp(mode, "uci")) { puts("info string unknown command"); continue; }
        if (!strcmp(mode, "other-features")) printf("%s qid:%s 1:3 9:1\n", result, game);
        else if (!strcmp(mode, "at-the-end")) length += sprintf(kept + length, "%s %s %s", game, result, save);
        else trace(save, result, game);
    }
    for (char *next = kept, *end; length && (end = strchr(next, '\n')); next = end + 1) {
        *end = 0;
        char *save = NULL, *game = strtok_r(next, " ", &save), *result = strtok_r(NULL, " ", &save);
        trace(save, result, game);
    }
    if (!strcmp(mode, "more")) puts("1 1:3 2:1");
    return 0;
}
