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

/// What Japanese puts behind a family name at work. Most words with it are offices, so that only usual
/// names count.
static AT_WORK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"(?:^|[^\p{{Han}}])({JAPANESE_FAMILIES})(?:社長|部長|課長|係長|専務|常務|店長|室長|教授|先生)"
    ))
});

/// What announces a name: forms, and how people introduce themselves.
static ANNOUNCED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:姓名|名字|联系人|聯絡人|氏名|お名前|担当者|担当)\s?[:：]\s?(?:(\p{Han}{1,3}[ 　]\p{Han}{1,3})(?:[^\p{Han}\p{Hiragana}]|$)|(\p{Han}{1,4}))|(?:我叫|我的名字是)(\p{Han}{2,3})(?:[^\p{Han}]|$)|(?:私は|わたくしは|名前は)([\p{Han}\p{Katakana}ー]{2,8})(?:と申し|と言い|といい)",
    )
});

/// Usual family names. Without one a run of Han characters is prose.
const FAMILIES: &str = "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖田董袁潘于蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆陸汪范石廖贾賈夏韦韋付方白邹鄒孟熊秦邱江尹薛闫阎閻段雷侯龙龍史陶黎贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤湯";
const DOUBLE_FAMILIES: [&str; 6] = ["欧阳", "歐陽", "司马", "司馬", "诸葛", "上官"];

/// "I am" is said of many things; of people with a family name.
static CHINESE_I: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:我是)(\p{Han}{2,4})(?:[^\p{Han}]|$)"));

const JAPANESE_FAMILIES: &str = "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|林|斎藤|\
    清水|山崎|森|池田|橋本|阿部|石川|山下|中島|石井|小川|前田|岡田|長谷川|藤田|後藤|近藤|村上|遠藤|青木|坂本|福田|太田|西村|藤井|\
    金子|岡本|藤原|中野|三浦|原田|中川|松田|竹内|小野|田村|中山|和田|石田|森田|上田|原|内田|柴田|酒井|宮崎|横山|高木|安藤|宮本";

/// What politeness calls people by who are not named.
const NOT_JAPANESE: [&str; 22] = [
    "皆",
    "客",
    "何",
    "神",
    "王",
    "殿",
    "奥",
    "旦那",
    "父",
    "母",
    "兄",
    "姉",
    "姫",
    "娘",
    "息子",
    "子供",
    "患者",
    "利用者",
    "会員",
    "ユーザー",
    "メンバー",
    "同",
];

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
        if !name.is_empty() && name.chars().count() <= 8 && !NOT_JAPANESE.contains(&name) {
            take(run.start() + from, name);
        }
    }
    for found in CHINESE.captures_iter(text) {
        let Some(run) = found.get(1) else { continue };
        if let Some(name) = family(run.as_str()) {
            take(run.end() - name.len(), name);
        }
    }
    for found in CHINESE_I.captures_iter(text) {
        let name = found.get(1).filter(|run| family(run.as_str()) == Some(run.as_str()));
        name.into_iter().for_each(|name| take(name.start(), name.as_str()));
    }
    for found in AT_WORK.captures_iter(text) {
        found.get(1).into_iter().for_each(|name| take(name.start(), name.as_str()));
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
