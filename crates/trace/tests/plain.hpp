// Prints the evaluations of a build that plays, White's view, one for each line GAME RESULT FEN.
#pragma once
#include <iostream>
#include <sstream>
#include <string>

template <class F> int plain(const F &evaluate, bool side_to_move) {
    std::string line, game, result, fen, rest;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        words >> game >> result;
        fen.clear();
        for (int i = 0; i < 6 && words >> rest; i++) fen += (i ? " " : "") + rest;
        const int value = gputexel::result(evaluate(fen));
        GPUTEXEL_LEAF(fen);
        std::cout << (side_to_move && fen.find(" b ") != std::string::npos ? -value : value) << '\n';
    }
    return 0;
}
