//! Names in scripts without capitals, told by what politeness puts behind them and forms before.

use std::sync::LazyLock;

use regex::Regex;

use super::super::{Confidence, Find, Finds, Kind, pattern};

/// What Japanese puts behind a name. The script changes where prose begins.
static JAPANESE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"([\p{Han}々ー\p{Katakana}]{1,12})(?:さん|さま|様|氏|くん|ちゃん)"));

/// What Chinese puts behind a name; the prose before it is written in the same script.
static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(\p{Han}{1,12}?)(?:先生|女士|小姐|经理|經理|老师|老師|教授|医生|醫生|主任|总监)")
});

/// What announces a name: forms, and how people introduce themselves.
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:姓名|名字|联系人|聯絡人|氏名|お名前|担当者|担当)\s?[:：]\s?(?:(\p{Han}{1,3}[ 　]\p{Han}{1,3})(?:[^\p{Han}\p{Hiragana}]|$)|(\p{Han}{1,4}))|(?:我叫|我的名字是)(\p{Han}{2,3})(?:[^\p{Han}]|$)",
    )
});

/// Usual family names. Without one a run of Han characters is prose.
const FAMILIES: &str = "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖田董袁潘于蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆陸汪范石廖贾賈夏韦韋付方白邹鄒孟熊秦邱江尹薛闫阎閻段雷侯龙龍史陶黎贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤湯";
const DOUBLE_FAMILIES: [&str; 6] = ["欧阳", "歐陽", "司马", "司馬", "诸葛", "上官"];

/// Where a Japanese firm's words end and a name begins.
const OFFICES: [char; 9] = ['部', '課', '社', '室', '長', '店', '会', '係', '局'];

pub(super) fn find(text: &str, finds: &mut Finds) {
    let mut take = |start: usize, name: &str| {
        let place = start..start + name.len();
        finds.take(Find::new(Kind::Name, place, name.to_owned(), Confidence::Likely));
    };
    for found in JAPANESE.captures_iter(text) {
        let Some(run) = found.get(1) else { continue };
        let from = run.as_str().rfind(OFFICES).map_or(0, |at| at + '部'.len_utf8());
        let name = run.as_str().get(from..).unwrap_or_default();
        if !name.is_empty() && name.chars().count() <= 8 {
            take(run.start() + from, name);
        }
    }
    for found in CHINESE.captures_iter(text) {
        let Some(run) = found.get(1) else { continue };
        if let Some(name) = family(run.as_str()) {
            take(run.end() - name.len(), name);
        }
    }
    for found in ANNOUNCED.captures_iter(text) {
        if let Some(name) = found.iter().skip(1).flatten().next() {
            take(name.start(), name.as_str());
        }
    }
}

/// The end of a run that is a family name, alone or with a given name of one or two characters.
fn family(run: &str) -> Option<&str> {
    let mut best = None;
    for (at, c) in run.char_indices().rev().take(4) {
        let end = run.get(at..)?;
        let count = end.chars().count();
        let double = DOUBLE_FAMILIES.iter().any(|family| end.starts_with(family));
        if double && count <= 4 || FAMILIES.contains(c) && count <= 3 {
            best = Some(end);
        }
    }
    best
}
