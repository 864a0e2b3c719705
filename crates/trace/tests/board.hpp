// A board that reads a FEN and knows attacks: enough for small evaluations.
#pragma once
#include <cctype>
#include <stdexcept>
#include <string>

enum { PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING };

struct Board {
    int piece[64]; // 0 to 5, -1: none
    bool black[64];
    int king[2] = {0, 0}, phase = 0;
    bool black_to_move = false;

    explicit Board(const std::string &fen) {
        static const std::string letters = "pnbrqk";
        static const int units[] = {0, 1, 1, 2, 4, 0};
        for (int &p : piece) p = -1;
        int square = 56;
        std::size_t i = 0;
        for (; fen[i] != ' '; i++) {
            const char c = fen[i];
            if (c == '/') square -= 16;
            else if (c >= '1' && c <= '8') square += c - '0';
            else {
                const std::size_t p = letters.find(static_cast<char>(std::tolower(c)));
                if (p == std::string::npos) throw std::runtime_error("not a FEN");
                piece[square] = static_cast<int>(p), black[square] = std::islower(c) != 0, phase += units[p];
                if (p == KING) king[black[square]] = square;
                square++;
            }
        }
        if (phase > 24) phase = 24;
        black_to_move = fen[i + 1] == 'b';
    }

    template <class F> void attacks(int from, F &&on) const { // of a knight, bishop, rook or queen
        static const int steps[16][2] = {{1, 1},  {1, -1}, {-1, 1}, {-1, -1}, {1, 0},  {-1, 0},  {0, 1},   {0, -1},
                                         {1, 2},  {2, 1},  {-1, 2}, {-2, 1},  {1, -2}, {2, -1},  {-1, -2}, {-2, -1}};
        static const int first[] = {0, 8, 0, 4, 0}, end[] = {0, 16, 4, 8, 8};
        const int p = piece[from];
        for (int k = first[p]; k < end[p]; k++) {
            int file = from % 8, rank = from / 8;
            do {
                file += steps[k][0], rank += steps[k][1];
                if (file < 0 || file > 7 || rank < 0 || rank > 7) break;
                on(rank * 8 + file);
            } while (p != KNIGHT && piece[rank * 8 + file] < 0);
        }
    }
    bool near_king(int square, int side) const {
        const int f = square % 8 - king[side] % 8, r = square / 8 - king[side] / 8;
        return f >= -1 && f <= 1 && r >= -1 && r <= 1;
    }
};
