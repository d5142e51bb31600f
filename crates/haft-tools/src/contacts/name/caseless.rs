//! Names in Arabic, Hebrew, Hindi and Korean. Nothing in their letters tells a name from prose, so only
//! what a title or a form announces is taken, and of that only what ends where the phrase does.

use std::sync::LazyLock;

use regex::Regex;

use super::super::{Confidence, Find, Finds, Kind, pattern};

/// Where a phrase ends.
const END: &str = r"\s*(?:$|[\n.,:;!?،؛؟।()<>@|/+\-–—0-9])";

/// One to three words of a script after what announces them, up to the end of the phrase or a word that
/// is in no name.
fn announced(script: &str, words: &str, others: &str) -> Regex {
    let word = format!(r"[\p{{{script}}}\p{{M}}'’׳״-]{{2,}}");
    let other = format!(r" (?:{others})(?:[^\p{{{script}}}\p{{M}}]|$)");
    pattern(&format!(
        r"(?m)(?:^|[^\p{{{script}}}\p{{M}}])(?:{words})[ \u{{a0}}]?((?:{word}[ \u{{a0}}]){{0,2}}?{word})(?:{other}|{END})"
    ))
}

/// Prepositions and pronouns, and whatever "and" is written onto.
const NOT_ARABIC: &str = r"على|في|من|إلى|عن|مع|هو|هي|لدى|عند|و\p{Arabic}+";

/// The same, and the verbs that most often follow a name: Hebrew puts them right behind it, and nothing
/// tells them from a family name.
const NOT_HEBREW: &str = "הוא|היא|לא|של|על|עם|אל|את|כי|גם|היום|מחר|אתמול|ו\\p{Hebrew}+|\
    אמרה?|אומרת?|היה|היתה|הייתה|יהיה|תהיה|[יה]?גיעה?|[ית]גיע|בא|באה|[ית]בוא|חזרה?|[ית]חזור|כתבה?|[ית]כתוב|שלחה?|[ית]שלח|\
    ביקשה?|מבקשת?|שאלה?|התקשרה?|[ית]תקשר|דיברה?|[ית]דבר|פתחה?|[ית]פתח|סגרה?|הרצה|הרצתה|הודיעה?|הציעה?|עובדת?|גרה?|[ית]שמח|\
    מנהלת?|נמצאת?|אישרה?|[ית]אשר|הזמינה?|ענתה|ענה|[ית]ענה|עזבה?|טיפלה?|[ית]טפל";

/// What stands between a name and the verb, and the parts of verbs that stand there first.
const NOT_HINDI: &str = "है|हैं|हूँ|हूं|जी|से|को|ने|का|के|की|में|पर|और|तक|कल|आज|अब|भी|तो|कर|करते|करता|करती|किया|\
    रहे|रहा|रही|गए|गया|गई|आए|आया|आई|आएँगे|आएँगी|आएंगे|आएंगी|द्वारा";

/// "My name is", "name:", and titles of men and women.
static ARABIC: LazyLock<Regex> = LazyLock::new(|| {
    announced(
        "Arabic",
        r"(?:اسمي(?: هو)?|السيدة?|الدكتورة?|الأستاذة?|المهندسة?|الآنسة) |د\. ?|(?:الاسم|المسؤول|جهة الاتصال) ?[:：]",
        NOT_ARABIC,
    )
});

static HEBREW: LazyLock<Regex> = LazyLock::new(|| {
    announced(
        "Hebrew",
        r#"(?:שמי(?: הוא)?|קוראים לי|מר|גברת|גב['׳]|ד["״]ר|פרופ['׳]) |(?:שם|איש קשר|אשת קשר) ?:"#,
        NOT_HEBREW,
    )
});

static HINDI: LazyLock<Regex> = LazyLock::new(|| {
    announced("Devanagari", r"(?:मेरा नाम|श्रीमती|श्री|सुश्री|डॉ\.?|प्रो\.?) |(?:नाम|संपर्क) ?:", NOT_HINDI)
});

/// A family name and a given name of two syllables, and what politeness puts behind them; or a form, or
/// how people introduce themselves.
static KOREAN: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r"(?:{FAMILIES})\p{{Hangul}}{{2}}");
    // A form says where the name begins and ends: it may be of one syllable, or stand apart.
    let entered = format!(r"(?:{FAMILIES})\s?\p{{Hangul}}{{1,2}}");
    let behind = "씨|님|선생님|교수님|대표님|부장님|과장님|팀장님|이사님|작가님|감독님";
    let form = r"(?:이름|성함|성명|담당자|연락처)\s?[:：]\s?";
    let before = r"제\s?이름은\s|저는\s";
    pattern(&format!(
        r"(?:^|[^\p{{Hangul}}])(?:({name})\s?(?:{behind})|{form}({entered})(?:[^\p{{Hangul}}]|$)|(?:{form}|{before})({name})(?:입니다|이에요|예요|이고|이라고|라고|[^\p{{Hangul}}]|$))"
    ))
});

/// Usual family names: most of all people have one of these.
const FAMILIES: &str = "김|이|박|최|정|강|조|윤|장|임|한|오|서|신|권|황|안|송|전|홍|유|고|문|양|손|배|백|허|노|심|하|주|구|곽|성|차|우|남궁|황보|선우";

/// What politeness calls people by who are not named.
const NOT_KOREAN: [&str; 10] = [
    "이용자",
    "신청자",
    "전문가",
    "이사장",
    "구매자",
    "주문자",
    "고객사",
    "한의사",
    "안내원",
    "배달원",
];

/// What follows a title and is none: offices, mostly, and they have the article.
fn is_name(words: &str) -> bool {
    !words.starts_with("ال") && !words.starts_with('ה')
}

pub(super) fn find(text: &str, finds: &mut Finds) {
    let mut take = |start: usize, name: &str| {
        let place = start..start + name.len();
        finds.take(Find::new(Kind::Name, place, name.to_owned(), Confidence::Likely));
    };
    for regex in [&ARABIC, &HEBREW, &HINDI] {
        for found in regex.captures_iter(text) {
            if let Some(name) = found.get(1).filter(|name| is_name(name.as_str())) {
                take(name.start(), name.as_str());
            }
        }
    }
    for found in KOREAN.captures_iter(text) {
        let name = found.iter().skip(1).flatten().next();
        if let Some(name) = name.filter(|name| !NOT_KOREAN.contains(&name.as_str())) {
            take(name.start(), name.as_str());
        }
    }
}
