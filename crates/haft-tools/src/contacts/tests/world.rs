//! Sentences as people write them, in eleven languages.

use super::check_each;

#[test]
fn arabic() {
    check_each(&[
        ("مرحبا، اسمي خالد العتيبي وأعمل في الرياض.", None, &["name=خالد العتيبي?"][..]),
        (
            "يرجى التواصل مع السيدة نورة القحطاني على الرقم 0501234567.",
            Some("SA"),
            &["name=نورة القحطاني?", "phone=+966501234567"],
        ),
        (
            "الاسم: محمد عبد الله\nالهاتف: +962 79 123 4567",
            None,
            &["name=محمد عبد الله?", "phone=+962791234567"],
        ),
        ("د. سلمى حداد، مستشفى الجامعة", None, &["name=سلمى حداد?"]),
        ("شكرا للسيد المدير على وقته.", None, &[]),
        (
            "الأستاذة هدى يوسف: huda@studio.example",
            None,
            &["name=هدى يوسف?", "email=huda@studio.example"],
        ),
        ("السيد الوزير المحترم، نشكركم على الدعوة.", None, &[]),
        ("اتصل بي على ٠٥٠ ١٢٣ ٤٥٦٧ بعد الظهر.", Some("SA"), &["phone=+966501234567"]),
        ("الاجتماع يوم الأحد الساعة العاشرة في القاعة الكبيرة.", None, &[]),
        ("اسمي رنا. أسكن في بيروت.", None, &["name=رنا?"]),
    ]);
}

#[test]
fn hebrew() {
    check_each(&[
        ("שלום, שמי נועה פרידמן ואני מתל אביב.", None, &["name=נועה פרידמן?"][..]),
        ("מר כהן אמר שיגיע מחר.", None, &["name=כהן?"]),
        ("גב' רונית שגב תחזור אליך היום.", None, &["name=רונית שגב?"]),
        (
            "קוראים לי איתי, הטלפון שלי 052-234-5678",
            Some("IL"),
            &["name=איתי?", "phone=+972522345678"],
        ),
        (
            "איש קשר: אבי מזרחי, avi@studio.example",
            None,
            &["name=אבי מזרחי?", "email=avi@studio.example"],
        ),
        ("פרופ' מיכל לבון הרצתה אתמול.", None, &["name=מיכל לבון?"]),
        ("הפגישה ביום שלישי בשעה עשר במשרד הראשי.", None, &[]),
        ("מר הנשיא פתח את הכנס.", None, &[]),
        ("שם: דנה\nטלפון: 03-1234567", Some("IL"), &["name=דנה?", "phone=+97231234567"]),
        ("ד״ר יוסי ביטון, מנהל המחלקה", None, &["name=יוסי ביטון?"]),
    ]);
}

#[test]
fn hindi() {
    check_each(&[
        ("मेरा नाम संजय वर्मा है और मैं दिल्ली में रहता हूँ।", None, &["name=संजय वर्मा?"][..]),
        (
            "श्री अमित पटेल से 98765 43210 पर बात करें।",
            Some("IN"),
            &["name=अमित पटेल?", "phone=+919876543210?"],
        ),
        ("डॉ. सुनीता राव कल आएँगी।", None, &["name=सुनीता राव?"]),
        ("नाम: विकास\nफ़ोन: +91 98765 43210", None, &["name=विकास?", "phone=+919876543210"]),
        ("श्रीमती मीरा जोशी ने फ़ोन किया।", None, &["name=मीरा जोशी?"]),
        ("बैठक सोमवार को दस बजे है।", None, &[]),
        (
            "संपर्क: अनिल कुमार, anil@studio.example",
            None,
            &["name=अनिल कुमार?", "email=anil@studio.example"],
        ),
        ("श्री गणेश करते हैं काम का।", None, &["name=गणेश?"]),
        ("सुश्री कविता नायर जी, नमस्ते!", None, &["name=कविता नायर?"]),
        ("प्रो. रमेश गुप्ता को लिखें।", None, &["name=रमेश गुप्ता?"]),
    ]);
}

#[test]
fn korean() {
    check_each(&[
        (
            "이름: 김 민수\n전화: 010-1234-5678",
            Some("KR"),
            &["name=김 민수?", "phone=+821012345678"][..],
        ),
        ("저는 최유진이라고 합니다.", None, &["name=최유진?"]),
        ("정하늘 대표님께 전달 부탁드립니다.", None, &["name=정하늘?"]),
        ("담당자 : 한지민 (02-123-4567)", Some("KR"), &["name=한지민?", "phone=+8221234567"]),
        ("제 이름은 오세훈입니다.", None, &["name=오세훈?"]),
        ("성명: 남궁민", None, &["name=남궁민?"]),
        ("성명: 이준\n주소: 서울", None, &["name=이준?"]),
        ("고객님의 주문이 접수되었습니다.", None, &[]),
        ("내일 오전 열 시에 회의실에서 만나요.", None, &[]),
        ("윤서연 씨와 강도현 팀장님이 참석합니다.", None, &["name=윤서연?", "name=강도현?"]),
    ]);
}

#[test]
fn japanese() {
    check_each(&[
        ("私は鈴木一郎と申します。", None, &["name=鈴木一郎?"][..]),
        ("高橋様、お世話になっております。", None, &["name=高橋?"]),
        (
            "お名前：佐々木 希\n電話：090-1234-5678",
            Some("JP"),
            &["name=佐々木 希?", "phone=+819012345678"],
        ),
        ("株式会社ノースライト 営業部 渡辺", None, &[]),
        ("ジョンさんに連絡してください。", None, &["name=ジョン?"]),
        ("皆様、ようこそ。お客様各位", None, &[]),
        ("会議は月曜日の十時からです。", None, &[]),
        ("担当: 伊藤 (ito@studio.example)", None, &["name=伊藤?", "email=ito@studio.example"]),
        ("中村くんと小林ちゃんも来ます。", None, &["name=中村?", "name=小林?"]),
        (
            "山本部長は外出中です。03-3224-5000へ。",
            Some("JP"),
            &["name=山本?", "phone=+81332245000"],
        ),
    ]);
}

#[test]
fn chinese() {
    check_each(&[
        ("您好，我叫张伟，来自北京。", None, &["name=张伟?"][..]),
        (
            "请联系刘洋女士，电话138-0013-8000。",
            Some("CN"),
            &["name=刘洋?", "phone=+8613800138000"],
        ),
        ("联系人：陈静\n手机：13800138000", Some("CN"), &["name=陈静?", "phone=+8613800138000"]),
        ("王教授明天上课。", None, &["name=王?"]),
        ("姓名：欧阳娜娜", None, &["name=欧阳娜娜?"]),
        ("女士们先生们，大家好！", None, &[]),
        ("會議在星期一上午十點。", None, &[]),
        (
            "我是李娜，邮箱是lina@studio.example。",
            None,
            &["name=李娜?", "email=lina@studio.example"],
        ),
        ("黃小姐，謝謝您。", None, &["name=黃?"]),
        ("总经理和主任都来了。", None, &[]),
    ]);
}

#[test]
fn russian() {
    check_each(&[
        ("Здравствуйте, меня зовут Пётр Ильин.", None, &["name=Пётр Ильин?"][..]),
        (
            "Свяжитесь с Анной Павловой по телефону +7 912 345-67-89.",
            None,
            &["name=Анной Павловой?", "phone=+79123456789"],
        ),
        ("С уважением,\nИгорь Левченко", None, &["name=Игорь Левченко?"]),
        ("Уважаемый Сергей Петрович, добрый день!", None, &["name=Сергей Петрович?"]),
        (
            "Контакт: Дарья Кузнецова, dasha@studio.example",
            None,
            &["name=Дарья Кузнецова?", "email=dasha@studio.example"],
        ),
        ("Встреча в понедельник в Санкт-Петербурге.", None, &[]),
        ("Санкт-Петербургский Государственный Университет", None, &[]),
        ("Доктор Зайцев принимает по вторникам.", None, &["name=Зайцев?"]),
        (
            "Это Мария Волкова, мой номер 8 903 123 45 67.",
            Some("RU"),
            &["name=Мария Волкова?", "phone=+79031234567"],
        ),
        ("Красная Площадь и Большой Театр", None, &[]),
    ]);
}

#[test]
fn greek() {
    check_each(&[
        ("Με λένε Γιώργο Παπαδόπουλο.", None, &["name=Γιώργο Παπαδόπουλο?"][..]),
        (
            "Ονομάζομαι Ελένη Νικολάου και το τηλέφωνό μου είναι 694 123 4567.",
            Some("GR"),
            &["name=Ελένη Νικολάου?", "phone=+306941234567"],
        ),
        ("Ο κ. Δημητρίου θα σας καλέσει.", None, &["name=Δημητρίου?"]),
        ("Η κυρία Αλεξίου έφυγε.", None, &["name=Αλεξίου?"]),
        (
            "Όνομα: Κώστας Γεωργίου\nΤηλ: 210 123 4567",
            Some("GR"),
            &["name=Κώστας Γεωργίου?", "phone=+302101234567"],
        ),
        ("Με εκτίμηση,\nΜαρία Ιωάννου", None, &["name=Μαρία Ιωάννου?"]),
        ("Αγαπητέ Νίκο, καλημέρα!", None, &["name=Νίκο?"]),
        ("Η συνάντηση είναι τη Δευτέρα στην Αθήνα.", None, &[]),
        (
            "Επικοινωνήστε με την Άννα Βασιλείου στο anna@studio.example.",
            None,
            &["name=Άννα Βασιλείου?", "email=anna@studio.example"],
        ),
        ("Εθνική Τράπεζα, Λεωφόρος Συγγρού", None, &[]),
    ]);
}

#[test]
fn turkish() {
    check_each(&[
        ("Merhaba, adım Ayşe Yılmaz.", None, &["name=Ayşe Yılmaz?"][..]),
        (
            "Adım Mustafa Demir, telefonum 0532 123 45 67.",
            Some("TR"),
            &["name=Mustafa Demir?", "phone=+905321234567"],
        ),
        ("Sayın Kaya, toplantı saat onda.", None, &["name=Kaya?"]),
        ("Zeynep Hanım ve Murat Bey de gelecek.", None, &["name=Zeynep?", "name=Murat?"]),
        (
            "Ad Soyad: İbrahim Çelik\nE-posta: ibrahim@studio.example",
            None,
            &["name=İbrahim Çelik?", "email=ibrahim@studio.example"],
        ),
        ("Saygılarımla,\nGülşen Öztürk", None, &["name=Gülşen Öztürk?"]),
        ("Toplantı Pazartesi günü İstanbul'da.", None, &[]),
        ("Lütfen Emre Şahin ile görüşün.", None, &["name=Emre Şahin?"]),
        ("Dr. Aydın bugün yok.", None, &["name=Aydın?"]),
        ("Boğaziçi Üniversitesi, Taksim Meydanı", None, &[]),
    ]);
}

#[test]
fn polish() {
    check_each(&[
        ("Nazywam się Katarzyna Wiśniewska.", None, &["name=Katarzyna Wiśniewska?"][..]),
        (
            "Proszę o kontakt z panem Tomaszem Lewandowskim, tel. 601 234 567.",
            Some("PL"),
            &["name=Tomaszem Lewandowskim?", "phone=+48601234567"],
        ),
        ("Szanowny Panie Kowalski, dziękuję.", None, &["name=Kowalski?"]),
        ("Pozdrawiam,\nŁukasz Wójcik", None, &["name=Łukasz Wójcik?"]),
        (
            "Imię i nazwisko: Żaneta Świątek\nE-mail: zaneta@studio.example",
            None,
            &["name=Żaneta Świątek?", "email=zaneta@studio.example"],
        ),
        ("Mam na imię Ola, dzwoń: 22 123 45 67", Some("PL"), &["name=Ola?", "phone=+48221234567"]),
        ("Spotkanie w Poniedziałek w Nowym Sączu.", None, &[]),
        ("Dr Zielińska przyjmuje we wtorki.", None, &["name=Zielińska?"]),
        ("Uniwersytet Warszawski, Krakowskie Przedmieście", None, &[]),
        ("Z poważaniem\nMarek Dąbrowski", None, &["name=Marek Dąbrowski?"]),
    ]);
}

#[test]
fn vietnamese() {
    check_each(&[
        ("Tôi tên là Nguyễn Văn An.", None, &["name=Nguyễn Văn An?"][..]),
        (
            "Xin chào, tôi là Trần Thị Mai, số điện thoại 0912 345 678.",
            Some("VN"),
            &["name=Trần Thị Mai?", "phone=+84912345678"],
        ),
        (
            "Vui lòng liên hệ anh Lê Minh Tuấn qua tuan@studio.example.",
            None,
            &["name=Lê Minh Tuấn?", "email=tuan@studio.example"],
        ),
        ("Kính gửi ông Phạm Quốc Bảo,", None, &["name=Phạm Quốc Bảo?"]),
        (
            "Họ và tên: Đặng Thu Hà\nĐiện thoại: +84 24 3825 1234",
            None,
            &["name=Đặng Thu Hà?", "phone=+842438251234"],
        ),
        ("Trân trọng,\nVõ Hoàng Nam", None, &["name=Võ Hoàng Nam?"]),
        ("Cuộc họp diễn ra vào Thứ Hai tại Hà Nội.", None, &[]),
        ("Chị Hoa gọi lại giúp em nhé.", None, &["name=Hoa?"]),
        ("Thành phố Hồ Chí Minh", None, &[]),
        ("Bác sĩ Huỳnh Ngọc Lan làm việc sáng nay.", None, &["name=Huỳnh Ngọc Lan?"]),
    ]);
}
