use super::*;

#[track_caller]
fn check(language: Language, text: &str, expected: &[&str]) {
    assert_eq!(words(language, text), expected);
}

#[test]
fn the_list_of_small_words_is_sorted() {
    assert!(SMALL.is_sorted());
}

#[test]
fn case_accents_and_endings_make_no_difference() {
    check(
        Language::English,
        "Lanterns, LANTERN; the lantern's",
        &["lantern", "lantern", "the", "lantern"],
    );
    check(Language::English, "Mára Ionescu’s café", &["mara", "ionescu", "cafe"]);
    check(Language::English, "Ma\u{301}ra", &["mara"]);
    check(
        Language::English,
        "a café's bar, rock's'x it's's",
        &["a", "cafe", "bar", "rock", "x", "it", "s"],
    );
    check(Language::English, "naïve-x né2 e\u{301}s", &["naiv", "x", "ne2", "es"]);
    check(Language::German, "die Häuser", &["die", "haus"]);
    check(Language::None, "Die Häuser", &["die", "hauser"]);
}

#[test]
fn scripts_without_spaces_are_taken_in_pairs() {
    check(Language::English, "港の祭り", &["港の", "の祭", "祭り"]);
    check(Language::English, "灯", &["灯"]);
    check(Language::English, "LED灯を3台", &["led", "灯を", "3", "台"]);
}

#[test]
fn what_is_indexed_of_them_is_found_by_one_character() {
    let mut found = Vec::new();
    let mut reader = Reader { singles: true, ..Reader::new(Language::English) };
    reader.each("港の祭", |word| found.push((word.stem.to_owned(), word.place)));
    let expected = [("港の", 0..6), ("港", 0..3), ("の祭", 3..9), ("の", 3..6), ("祭", 6..9)];
    assert_eq!(found, expected.map(|(stem, place)| (stem.to_owned(), place)));
    assert!(is_single("灯") && !is_single("灯を") && !is_single("a") && !is_single(""));
}

#[test]
fn a_korean_word_is_taken_without_its_particle() {
    let check = |written: &str, word: &str| {
        assert_eq!(without_particle(written, 2).unwrap_or(written), word);
    };
    for particle in ["은", "이", "을", "과", "으로", "의", "에", "에서", "도", "만", "까지", "부터"]
    {
        check(&format!("조명{particle}"), "조명");
    }
    for particle in ["는", "가", "를", "와", "로", "의", "에게", "에서는"] {
        check(&format!("카메라{particle}"), "카메라");
    }
    check("서울로", "서울");
    // No particle of theirs, or too little would be left.
    for word in ["회의", "전문가", "가을", "지도", "조명", "조명를", "빛을", "LED", "", "조명2"]
    {
        check(word, word);
    }
    check("LED조명을", "LED조명");
    assert_eq!(words(Language::English, "조명을"), words(Language::English, "조명"));
}

#[test]
fn one_korean_syllable_is_found_with_its_particle() {
    let mut reader = Reader { singles: true, ..Reader::new(Language::English) };
    let mut check = |text: &str, expected: &[&str]| {
        let mut found = Vec::new();
        reader.each(text, |word| {
            let whole: String = word.stem.nfc().collect();
            assert_eq!(text.get(word.place), Some(whole.as_str()), "{text}");
            found.push(whole);
        });
        assert_eq!(found, expected, "{text}");
    };
    check("빛", &["빛"]);
    check("빛을", &["빛을", "빛"]);
    check("빛에서는", &["빛에서", "빛"]);
    check("물로", &["물로", "물"]);
    // Two or more are taken without, and what no particle fits stays whole.
    check("조명을", &["조명"]);
    check("빛를 빛나다", &["빛를", "빛나다"]);
    let [stem] = &words(Language::English, "빛")[..] else { panic!("one word") };
    assert!(is_single(stem) && is_single("빛") && !is_single("빛을"));
    assert_eq!(words(Language::English, "빛을").len(), 1);
}

#[test]
fn what_looks_like_syntax_is_only_punctuation() {
    check(
        Language::English,
        "title:\"a\" AND (b OR -c) ~2 *",
        &["titl", "a", "and", "b", "or", "c", "2"],
    );
    check(Language::English, " \t\u{0}-–—…", &[]);
}

#[test]
fn what_is_no_word_is_left_out() {
    check(Language::English, &format!("{} end", "x".repeat(101)), &["end"]);
}
