//! Makes identifiers from arbitrary names.

use std::collections::HashSet;

use crate::languages::NameStyle;

/// Words that are not usable as identifiers in one of the languages: keywords, common types and functions, macros of
/// common headers.
const RESERVED: &str = "\
    abstract alignas alignof and and_eq any append as asm assert async await auto base become bitand bitor bool boolean box break \
    byte cap case catch chan char char16_t char32_t char8_t checked class clear close co_await co_return co_yield compl complex complex128 complex64 concept const consteval \
    constexpr constinit const_cast continue copy crate decimal decltype def default defer del delegate delete do \
    double dyn dynamic_cast elif else enum errno error event except explicit export extern fallthrough false False far \
    final finally fixed float float32 float64 fn for foreach friend from func gen global go goto if imag \
    impl implicit import in init inline int int16 int32 int64 int8 interface internal iota is lambda len let \
    linux lock long loop macro main make map match max min mod move mut mutable namespace near new nil noexcept None nonlocal not \
    not_eq null nullptr object offsetof operator or or_eq out override package panic params pass priv print println private protected \
    public pub pure raise range readonly real recover ref register reinterpret_cast requires restrict return rune sbyte sealed \
    select self Self short signed sizeof small stackalloc static static_assert static_cast stderr stdin stdout string String struct super \
    switch template this thread_local throw trait true True try tuple type typedef typeid typename typeof typeof_unqual uint uint16 \
    uint32 uint64 uint8 uintptr ulong unchecked union unix unsafe unsigned unsized use ushort using var virtual \
    void volatile wchar_t where while with xor xor_eq yield \
    CONST DELETE DOMAIN EOF ERROR FALSE HUGE I IN NAN NULL INFINITY OPTIONAL OUT OVERFLOW S TRUE UNDERFLOW VOID Equals Finalize GetHashCode GetType MemberwiseClone ReferenceEquals ToString \
    i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 str usize isize Option Some Ok Err Result Vec";

pub struct Identifiers {
    style: NameStyle,
    endings: Vec<String>,
    reserved: HashSet<String>,
    taken: HashSet<String>,
}

impl Identifiers {
    /// None of the identifiers is `reserved`, with any of the `endings`.
    pub fn new(style: NameStyle, endings: &[String], reserved: Option<&str>) -> Self {
        let words = RESERVED.split_whitespace().chain(reserved);
        let endings = if endings.is_empty() { vec![String::new()] } else { endings.to_vec() };
        Self { style, endings, reserved: words.map(str::to_string).collect(), taken: HashSet::new() }
    }

    /// The identifier of a name, without an ending; with a number if others collide.
    pub fn take(&mut self, name: &str) -> String {
        let mut first = self.style.identifier(name);
        let with_endings = |own: &str| -> Vec<String> {
            self.endings.iter().map(|ending| format!("{own}{ending}")).collect()
        };
        if with_endings(&first).iter().any(|name| self.reserved.contains(name)) {
            first.push('_');
        }
        let mut number = 1;
        loop {
            let own =
                if number == 1 { first.clone() } else { format!("{}_{number}", first.trim_end_matches('_')) };
            let all = with_endings(&own);
            if !all.iter().any(|name| self.taken.contains(name)) {
                self.taken.extend(all);
                return own;
            }
            number += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_an_identifier() {
        for (name, snake, pascal, screaming) in [
            ("knight_mobility", "knight_mobility", "KnightMobility", "KNIGHT_MOBILITY"),
            ("KnightOutpost", "knight_outpost", "KnightOutpost", "KNIGHT_OUTPOST"),
            ("passed <pawn> \"x\"", "passed_pawn_x", "PassedPawnX", "PASSED_PAWN_X"),
            ("3rd rank", "n3rd_rank", "N3rdRank", "N3RD_RANK"),
            ("<>", "unnamed", "Unnamed", "UNNAMED"),
            ("\u{200b}", "unnamed", "Unnamed", "UNNAMED"),
        ] {
            let styles = [NameStyle::Snake, NameStyle::Pascal, NameStyle::Screaming];
            assert_eq!(styles.map(|style| style.identifier(name)), [snake, pascal, screaming], "{name}");
        }
        assert_eq!(NameStyle::Snake.identifier("北京"), "u5317u4eac");
    }

    #[test]
    fn identifiers_are_unique_and_no_keywords() {
        let mut plain = Identifiers::new(NameStyle::Snake, &[], Some("tables"));
        let names = ["while", "a b", "a-b", "a b 2", "A B", "tables", "return", "restrict"];
        let got: Vec<String> = names.iter().map(|name| plain.take(name)).collect();
        let expected = ["while_", "a_b", "a_b_2", "a_b_2_2", "a_b_3", "tables_", "return_", "restrict_"]
            .map(str::to_string);
        assert_eq!(got, expected);
        // With an ending, keywords are valid.
        let endings = [NameStyle::Snake.ending("mg"), NameStyle::Snake.ending("eg")];
        let mut ended = Identifiers::new(NameStyle::Snake, &endings, None);
        assert_eq!(ended.take("while"), "while");
    }
}
