mod world;

use super::*;
use serde_json::json;

fn found(text: &str, region: Option<&str>) -> Vec<Contact> {
    let asked = json!({"text": text, "kinds": ["name", "email", "phone", "url", "handle"], "default_region": region});
    let contacts = extract(serde_json::from_value(asked).unwrap()).unwrap().contacts;
    let characters: Vec<char> = text.chars().collect();
    for one in &contacts {
        assert_eq!(characters[one.start..one.end].iter().collect::<String>(), one.text, "{one:?}");
    }
    contacts
}

/// Finds are written `kind=value`, with `?` behind what is only likely.
#[track_caller]
fn check(text: &str, region: Option<&str>, expected: &[&str]) {
    assert_eq!(shown_as(text, region), expected, "{text}");
}

/// Every row is tried, and all that are wrong are told at once.
#[track_caller]
fn check_each(rows: &[(&str, Option<&str>, &[&str])]) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, region, expected)| (text, shown_as(text, *region), expected))
        .filter(|(_, found, expected)| found != *expected)
        .map(|(text, found, expected)| {
            format!("{text}\n  found    {found:?}\n  expected {expected:?}")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn shown_as(text: &str, region: Option<&str>) -> Vec<String> {
    found(text, region)
        .iter()
        .map(|one| {
            let kind = json!(one.kind);
            let mark = if one.confidence == Confidence::Likely { "?" } else { "" };
            format!("{}={}{mark}", kind.as_str().unwrap(), one.value)
        })
        .collect()
}

#[test]
fn a_signature_in_english() {
    check(
        "Thanks,\nSiobhán O'Connell\nNorthlight Ltd, 12 Quay Street\nM: +44 (0)7700 900123 | T 020 7946 0958\n\
         <siobhan.oconnell@Northlight.co.uk> www.northlight.co.uk/team",
        Some("GB"),
        &[
            "name=Siobhán O'Connell?",
            "phone=+442079460958",
            "email=siobhan.oconnell@northlight.co.uk",
            "url=https://www.northlight.co.uk/team?",
        ],
    );
}

#[test]
fn a_letter_in_german() {
    check(
        "Guten Tag Frau Schäfer,\nbitte rufen Sie Petra von der Heide unter 030 / 901820 oder 0151 23456789 an.\n\
         Am 15.01.2026 um 14:05 Uhr sind 1.250.000 € fällig.\n\nMit freundlichen Grüßen\nJörg Weiß",
        Some("DE"),
        &[
            "name=Schäfer?",
            "name=Petra von der Heide?",
            "phone=+4930901820",
            "phone=+4915123456789",
            "name=Jörg Weiß?",
        ],
    );
}

#[test]
fn other_languages() {
    check(
        "Vă rog să o sunați pe Mara Ionescu la 0722 123 456, sau scrieți la mara@northlight.example.",
        Some("RO"),
        &["name=Mara Ionescu?", "phone=+40722123456", "email=mara@northlight.example"],
    );
    check(
        "Contactez Mme Élodie Lefèvre au 01 42 68 53 00 (elodie.lefevre@exemple.fr).",
        Some("FR"),
        &["name=Élodie Lefèvre?", "phone=+33142685300", "email=elodie.lefevre@exemple.fr"],
    );
    check(
        "Me llamo Lucía Fernández y mi móvil es 612 34 56 78.",
        Some("ES"),
        &["name=Lucía Fernández?", "phone=+34612345678"],
    );
    check(
        "Меня зовут Ольга Смирнова, телефон 8 (495) 123-45-67",
        Some("RU"),
        &["name=Ольга Смирнова?", "phone=+74951234567"],
    );
    check("田中さんの電話は03-3224-5000です。", Some("JP"), &["name=田中?", "phone=+81332245000"]);
    check("اتصل على ٠٢١ ٢٢٣ ٤٥٦٧ أو ‎+20 2 2735 0000", None, &["phone=+20227350000"]);
}

#[test]
fn numbers_carry_their_country() {
    let regions: Vec<(String, Option<String>)> =
        found("+1 613 782 7274, +1 520 878 2491, 0041 44 668 18 00, +800 1234 0000", None)
            .into_iter()
            .map(|one| (one.value, one.region))
            .collect();
    let expected = [
        ("+16137827274", Some("CA")),
        ("+15208782491", Some("US")),
        ("+41446681800", Some("CH")),
        ("+80012340000", None),
    ];
    assert_eq!(
        regions,
        expected.map(|(value, region)| (value.to_owned(), region.map(str::to_owned)))
    );
}

#[test]
fn what_only_looks_like_a_number_is_left_out() {
    for text in [
        "on 2026-01-15 and 15/01/2026 and 15.01.2026 14:05",
        "the server 192.168.100.200 and version 10.20.30",
        "order 4111111111111111, invoice #1234567, ISBN 978-3-16-148410-0",
        "between 1998-2004, 1 250 000 people, 3.14159265",
        "a1234567b and x=02079460958",
    ] {
        check(text, Some("GB"), &[]);
    }
}

#[test]
fn addresses_that_are_hidden_are_read() {
    check("mara [at] northlight [dot] example", None, &["email=mara@northlight.example?"]);
    check("write to mara(at)northlight.example!", None, &["email=mara@northlight.example?"]);
    check("mara DOT ionescu AT northlight DOT com", None, &["email=mara.ionescu@northlight.com?"]);
    check("mara.ionescu arroba northlight punto es", None, &["email=mara.ionescu@northlight.es?"]);
    check("mara @ northlight . com", None, &["email=mara@northlight.com?"]);
    check("john dot smith at example dot com", None, &["email=john.smith@example.com?"]);
    check("ana punkt maria punkt weiß ät post punkt de", None, &["email=ana.maria.weiß@post.de?"]);
    check("meet me at noon at the quay", None, &[]);
    check("We met at Paris. Then dot com came.", None, &[]);
    check("mara＠northlight．example", None, &["email=mara@northlight.example"]);
    check(
        "'mara+news@northlight.example', <mailto:jo@client.example>.",
        None,
        &["email=mara+news@northlight.example", "email=jo@client.example"],
    );
    check("not@an address, a@b, ..@x.example, a..b@x.example", None, &[]);
}

#[test]
fn links_end_before_the_sentence_does() {
    check(
        "See (https://en.wikipedia.org/wiki/Haft_(tool)), HTTPS://Client.Example/Team?a=1. Or https://x.example/a,b;",
        None,
        &[
            "url=https://en.wikipedia.org/wiki/Haft_(tool)",
            "url=https://client.example/Team?a=1",
            "url=https://x.example/a,b",
        ],
    );
    check(
        "northlight.example/team and client.co.uk, not README.md, main.rs or word.It is",
        None,
        &["url=https://northlight.example/team?", "url=https://client.co.uk?"],
    );
    check("http:// and https://. are nothing", None, &[]);
    check("https://user:pw@Host.example/x", None, &["url=https://user:pw@host.example/x"]);
}

#[test]
fn handles_are_not_addresses() {
    check(
        "ping @mara_io or @mara@mastodon.example; Telegram: maraion; mara@northlight.example; @1; 5@2; a @ b",
        None,
        &[
            "handle=@mara_io",
            "handle=@mara@mastodon.example",
            "handle=@maraion?",
            "email=mara@northlight.example",
        ],
    );
}

#[test]
fn what_only_looks_like_a_handle_is_none() {
    check("\"weird name\"@example.com", None, &[]);
    check("@import url(x.css); @media print", None, &["handle=@import?", "handle=@media?"]);
    check(
        "@mara and @media@social.example",
        None,
        &["handle=@mara", "handle=@media@social.example"],
    );
}

#[test]
fn numbers_side_by_side_are_all_found() {
    let both = &["phone=+14155552671", "phone=+14155552672"][..];
    let london = &["phone=+442079460958", "phone=+442079460959"][..];
    let german = &["phone=+494213610", "phone=+491712345678"][..];
    check_each(&[
        (
            "Jane Doe\n(415) 555-2671\n(415) 555-2672",
            Some("US"),
            &["name=Jane Doe?", both[0], both[1]],
        ),
        ("(415) 555-2671 (415) 555-2672", Some("US"), both),
        ("415-555-2671 / 415-555-2672", Some("US"), both),
        ("415-555-2671\r\n415-555-2672", Some("US"), both),
        ("0421 3610\n0171 2345678", Some("DE"), german),
        ("0421 3610 0171 2345678", Some("DE"), german),
        ("020 7946 0958 020 7946 0959", Some("GB"), london),
        ("020 7946 0958/020 7946 0959", Some("GB"), london),
        ("2026-03-12 020 7946 0958", Some("GB"), &london[..1]),
        ("12.03.2026 415-555-2671", Some("US"), &both[..1]),
        ("PLZ 10115 030 901820", Some("DE"), &["phone=+4930901820"]),
        ("020 7946 0958 5pm", Some("GB"), &london[..1]),
        ("4111 0207 9460 9580", Some("GB"), &[]),
    ]);
}

#[test]
fn what_may_count_something_else_is_likely_at_most() {
    check_each(&[
        ("4155552671", Some("US"), &["phone=+14155552671?"][..]),
        ("call 4155552671", Some("US"), &["phone=+14155552671"]),
        ("+14155552671", None, &["phone=+14155552671"]),
        ("732 829 320", Some("FR"), &["phone=+33732829320?"]),
        ("SIREN 732 829 320", Some("FR"), &[]),
        ("SIRET : 732 829 320 00074", Some("FR"), &[]),
        ("timestamp 1700000000", Some("US"), &[]),
        ("timestamp 1700000000", Some("CN"), &[]),
    ]);
}

#[test]
fn an_extension_is_kept_apart() {
    for (text, whole, extension) in [
        ("613-782-7274x99", "613-782-7274x99", Some("99")),
        ("613-782-7274 ext. 1204, please", "613-782-7274 ext. 1204", Some("1204")),
        ("613-782-7274 extra", "613-782-7274", None),
    ] {
        let contacts = found(text, Some("CA"));
        let [one] = &contacts[..] else { panic!("{text}: {contacts:?}") };
        assert_eq!((one.value.as_str(), one.text.as_str()), ("+16137827274", whole));
        assert_eq!(one.extension.as_deref(), extension, "{text}");
    }
}

#[test]
fn what_stands_before_a_name_announces_it() {
    check(
        "Please call Nkechi Obi or ring Tunde Bello.",
        None,
        &["name=Nkechi Obi?", "name=Tunde Bello?"],
    );
    check("Hi Tunde,\nname: Xiulan", None, &["name=Tunde?", "name=Xiulan?"]);
    check("Dr. Okafor and Prof Lindqvist", None, &["name=Okafor?", "name=Lindqvist?"]);
    check(
        "j.mwangi@client.example is Joyce Mwangi",
        None,
        &["email=j.mwangi@client.example", "name=Joyce Mwangi?"],
    );
}

#[test]
fn places_and_firms_are_no_names() {
    for text in [
        "The Harbour Festival in New York on Monday Morning",
        "Northlight Studio GmbH, Unter den Linden",
        "Kind Regards from Great Britain",
        "Herzliche Grüße aus Bad Homburg",
        "We come from Berlin, call Monday, contact Sales, I am German",
    ] {
        check(text, None, &[]);
    }
}

#[test]
fn nothing_breaks_on_anything() {
    for text in [
        "",
        "@",
        "+",
        "((((((((((((",
        "\u{202e}\u{0}",
        "++++++++1111111111111111111111111",
        "@@@a@a@a@",
        "www.",
        "://",
    ] {
        found(text, Some("US"));
    }
    let long: String =
        "call 020 7946 0958 (https://x.example/) mara [at] x [dot] example Mara Ionescu @x_y "
            .repeat(220);
    assert_eq!(found(&long, Some("GB")).len(), 220 * 5);
}

#[test]
fn an_address_ends_where_prose_without_spaces_begins() {
    check("请联系mara@northlight.example谢谢", None, &["email=mara@northlight.example"]);
    check(
        "メールはmara@northlight.exampleまで、またはjo@client.exampleへ。",
        None,
        &["email=mara@northlight.example", "email=jo@client.example"],
    );
    check(
        "发到mara@x.example和jo@y.example.cn，谢谢",
        None,
        &["email=mara@x.example", "email=jo@y.example.cn"],
    );
    check("이메일mara@northlight.example입니다", None, &["email=mara@northlight.example"]);
    // Addresses that are written in such a script stay whole.
    check("用户@例子.公司", None, &["email=用户@例子.公司"]);
    check(
        "mara@例子.公司 dürst@bücher.example",
        None,
        &["email=mara@例子.公司", "email=dürst@bücher.example"],
    );
}

#[test]
fn three_groups_of_three_are_dialled_or_counted() {
    check_each(&[
        ("Mi móvil es 612 345 678.", Some("ES"), &["phone=+34612345678"][..]),
        ("Zadzwoń: 600 100 200", Some("PL"), &["phone=+48600100200"]),
        ("tel. 600.100.200 wieczorem", Some("PL"), &["phone=+48600100200"]),
        ("600 100 200, najlepiej po 17", Some("PL"), &["phone=+48600100200"]),
        ("Kosztowało 600 100 200 zł", Some("PL"), &[]),
        ("Hay 612 345 678 habitantes", Some("ES"), &[]),
        ("612.345.678 en total", Some("ES"), &[]),
    ]);
}

#[test]
fn numbers_of_documents_are_not_dialled() {
    let filed = [
        ("Rechnung Nr. 2024-001234", "DE"),
        ("Kundennummer: 030 901820", "DE"),
        ("Order no. 020 7946 0958", "GB"),
        ("facture n° 01 42 68 53 00", "FR"),
        ("Faktura nr 600 100 200", "PL"),
        ("Заказ № 8 495 123-45-67", "RU"),
        ("订单编号：010 6552 9988", "CN"),
    ];
    check_each(&filed.map(|(text, region)| (text, Some(region), &[] as &[&str])));
    check("Tel. Nr. 030 901820", Some("DE"), &["phone=+4930901820"]);
    check("Phone no.: 020 7946 0958", Some("GB"), &["phone=+442079460958"]);
}

#[test]
fn a_title_announces_a_family_name() {
    check_each(&[
        (
            "Sehr geehrte Frau Dr. Schmidt, sehr geehrter Herr Prof. Weber,",
            None,
            &["name=Schmidt?", "name=Weber?"][..],
        ),
        ("Bitte an Herrn Krüger weitergeben.", None, &["name=Krüger?"]),
        ("M. Dupont et Mme Lefèvre seront là.", None, &["name=Dupont?", "name=Lefèvre?"]),
        ("La Sra. García y el Sr. Núñez", None, &["name=García?", "name=Núñez?"]),
        (
            "Gentile Sig.ra Bianchi, il Dott. Verdi conferma.",
            None,
            &["name=Bianchi?", "name=Verdi?"],
        ),
        (
            "Szanowna Pani Nowak, proszę przekazać panu Zielińskiemu",
            None,
            &["name=Nowak?", "name=Zielińskiemu?"],
        ),
        ("Уважаемая госпожа Иванова, г-н Петров ждёт.", None, &["name=Иванова?", "name=Петров?"]),
        ("請聯絡陳先生或林小姐", None, &["name=陳?", "name=林?"]),
        ("请联系王经理和李小明先生", None, &["name=王?", "name=李小明?"]),
        ("営業部田中様、佐藤さんもご一緒に", None, &["name=田中?", "name=佐藤?"]),
    ]);
}

#[test]
fn prose_in_many_languages() {
    check_each(&[
        (
            "Guten Tag, ich bin Anke Petersen. Sie erreichen mich unter 0421 361 0 oder 0171 2345678 (anke.petersen@werft.example).",
            Some("DE"),
            &[
                "name=Anke Petersen?",
                "phone=+494213610",
                "phone=+491712345678",
                "email=anke.petersen@werft.example",
            ][..],
        ),
        (
            "Bonjour, je suis Benoît Girard ; joignez-moi au 06 12 34 56 78 ou b.girard@atelier.example avant le 12/03/2026.",
            Some("FR"),
            &["name=Benoît Girard?", "phone=+33612345678", "email=b.girard@atelier.example"],
        ),
        (
            "Para el presupuesto llame a Íñigo Urrutia al 944 123 456, factura 2026/00123.",
            Some("ES"),
            &["name=Íñigo Urrutia?", "phone=+34944123456"],
        ),
        (
            "Mi chiamo Giulia Conti, il mio cellulare è 347 123 4567, scrivetemi a giulia.conti@studio.example.",
            Some("IT"),
            &["name=Giulia Conti?", "phone=+393471234567", "email=giulia.conti@studio.example"],
        ),
        (
            "Proszę dzwonić do Anny Kowalskiej, tel. 22 123 45 67, e-mail: biuro@studio.example.",
            Some("PL"),
            &["name=Anny Kowalskiej?", "phone=+48221234567", "email=biuro@studio.example"],
        ),
        (
            "担当者：山田太郎 電話は03-3224-5000、メールはyamada@studio.exampleです。",
            Some("JP"),
            &["name=山田太郎?", "phone=+81332245000", "email=yamada@studio.example"],
        ),
        (
            "我叫李雷，电话是138 0013 8000，邮箱lilei@studio.example，订单号20240012345。",
            Some("CN"),
            &["name=李雷?", "phone=+8613800138000", "email=lilei@studio.example"],
        ),
        (
            "Позвоните Марии Соколовой по телефону +7 916 123-45-67 или пишите на maria@studio.example.",
            Some("RU"),
            &["name=Марии Соколовой?", "phone=+79161234567", "email=maria@studio.example"],
        ),
    ]);
}

#[test]
fn names_in_arabic_hebrew_hindi_and_korean() {
    check_each(&[
        ("اسمي ليلى منصور.", None, &["name=ليلى منصور?"]),
        ("اتصل بالمكتب. السيد أحمد محمود، هاتف", None, &["name=أحمد محمود?"]),
        ("الاسم: سارة الخطيب\nالمدينة: عمان", None, &["name=سارة الخطيب?"]),
        ("السيد الرئيس، شكرا", None, &[]),
        ("السيد أحمد وصل إلى المكتب اليوم مع الجميع", None, &["name=أحمد?"]),
        ("هذا نص عادي بلا أسماء.", None, &[]),
        ("שמי יעל כהן.", None, &["name=יעל כהן?"]),
        ("נא לפנות אל: ד\"ר דוד לוי, המחלקה", None, &["name=דוד לוי?"]),
        ("שם: רות בן דוד\nעיר: חיפה", None, &["name=רות בן דוד?"]),
        ("מר הנשיא, תודה", None, &[]),
        ("זה טקסט רגיל בלי שמות.", None, &[]),
        ("मेरा नाम राहुल शर्मा है।", None, &["name=राहुल शर्मा?"]),
        ("श्रीमती अनीता देसाई, मुंबई", None, &["name=अनीता देसाई?"]),
        ("नाम: प्रिया सिंह\nशहर: पुणे", None, &["name=प्रिया सिंह?"]),
        ("यह एक साधारण वाक्य है।", None, &[]),
        ("김민준 씨에게 전화하세요.", None, &["name=김민준?"]),
        ("담당자: 이서연\n부서: 영업", None, &["name=이서연?"]),
        ("안녕하세요, 저는 박지훈입니다.", None, &["name=박지훈?"]),
        ("고객님, 이사님, 이용자님 안녕하세요. 저는 학생입니다.", None, &[]),
        ("오늘 회의는 세 시입니다.", None, &[]),
    ]);
}
