// gputexel: knight.mg
static const int knight[8] = { -167, 0x1F, 1'000, 0b11, '\n', "a\"b" /* 3 */, r#"x"#, };
# 12 """doc""" `raw` @"verbatim" $"{1}"
