use super::*;

fn holder(tenant: &str, name: &str) -> Holder {
    let (tenant, key) = (tenant.into(), name.into());
    Holder { tenant, key, principal: Principal::user(name) }
}

fn begin(visits: &Visits, name: &str) -> String {
    visits.begin(holder("ours", name), Held::Key(name.into())).unwrap()
}

/// Signs in so often; returns what the browsers hold.
async fn many(visits: &Visits, tenant: &str, name: &str, times: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for _ in 0..times {
        texts.push(visits.begin(holder(tenant, name), Held::Key(name.into())).unwrap());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    texts
}

fn on(visits: &Visits, texts: &[String]) -> usize {
    texts.iter().filter(|text| visits.find(text).is_some()).count()
}

#[tokio::test(start_paused = true)]
async fn whoever_signs_in_without_end_signs_nobody_else_out() {
    let visits = Visits::default();
    let mara = many(&visits, "ours", "mara", 2).await;
    let other = many(&visits, "theirs", "spy", 2).await;
    later(60).await;
    let bot = many(&visits, "ours", "bot", 3_000).await;
    assert_eq!((on(&visits, &mara), on(&visits, &other)), (2, 2));
    assert_eq!(on(&visits, &bot), OF_ONE);
    assert_eq!(on(&visits, &bot[bot.len() - OF_ONE..]), OF_ONE, "its own oldest go");
    // Many keys of one tenant: the busiest of them make room.
    for n in 0..5 {
        many(&visits, "ours", &format!("bot-{n}"), 200).await;
    }
    assert_eq!((on(&visits, &mara), on(&visits, &other)), (2, 2));
    assert!(visits.all().visits.len() <= OF_TENANT + 2);
    // Many tenants: those that have the most do.
    for n in 0..40 {
        many(&visits, &format!("t{}", n / 5), &format!("{n}"), 60).await;
    }
    assert_eq!((on(&visits, &mara), on(&visits, &other)), (2, 2));
    assert!(visits.all().visits.len() <= MOST);
}

#[tokio::test(start_paused = true)]
async fn of_those_who_have_as_many_whoever_is_idle_goes() {
    let visits = Visits::default();
    let mut people = Vec::new();
    for n in 0..OF_TENANT {
        people.extend(many(&visits, "ours", &n.to_string(), 1).await);
    }
    // The first of them are busy, and the others are not.
    let (busy, idle) = people.split_at(OF_TENANT - 20);
    assert_eq!(on(&visits, busy), busy.len());
    later(60).await;
    let more = many(&visits, "ours", "another", 1).await;
    let also = many(&visits, "ours", "one more", 1).await;
    assert!(visits.find(&idle[0]).is_none() && visits.find(&idle[1]).is_none());
    let left = [busy, &idle[2..], &more, &also].concat();
    assert_eq!(on(&visits, &left), OF_TENANT);
}

async fn later(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_visit_ends_when_nothing_is_done_and_at_the_latest_after_half_a_day() {
    let visits = Visits::default();
    let text = begin(&visits, "admin");
    assert!(visits.find("another").is_none());
    for _ in 0..14 {
        later(50 * 60).await;
        assert!(visits.find(&text).is_some(), "somebody is busy");
    }
    later(50 * 60).await;
    assert!(visits.find(&text).is_none(), "half a day is over");
    let text = begin(&visits, "admin");
    later(61 * 60).await;
    assert!(visits.find(&text).is_none(), "nothing was done");
    let text = begin(&visits, "admin");
    visits.end(&visits.find(&text).unwrap().id);
    assert!(visits.find(&text).is_none(), "signed out");
    let id = visits.find(&begin(&visits, "admin")).unwrap().id;
    later(40 * 60).await;
    assert!(visits.goes_on(&id));
    later(21 * 60).await;
    assert!(!visits.goes_on(&id), "whoever only asks keeps nobody signed in");
}

#[tokio::test(start_paused = true)]
async fn an_invitation_is_good_once_and_not_for_long() {
    let visits = Visits::default();
    let text = visits.invite("admin").unwrap();
    assert_eq!(visits.accept(&text).as_deref(), Some("admin"));
    assert_eq!(visits.accept(&text), None);
    let text = visits.invite("admin").unwrap();
    later(15 * 60).await;
    assert_eq!(visits.accept(&text), None);
}

#[tokio::test(start_paused = true)]
async fn an_answer_counts_once_on_a_page_that_was_read_and_is_not_old() {
    let visits = Visits::default();
    let id = visits.find(&begin(&visits, "mara")).unwrap().id;
    let word = visits.ask(&id, "cnf_1");
    assert_eq!(visits.answer(&id, &word, "cnf_1"), Err(Unasked::TooEarly));
    later(2).await;
    assert_eq!(visits.answer(&id, &word, "cnf_2"), Err(Unasked::Gone), "another question");
    assert_eq!(visits.answer(&id, &word, "cnf_1"), Ok(()));
    assert_eq!(visits.answer(&id, &word, "cnf_1"), Err(Unasked::Gone), "a second click");
    let word = visits.ask(&id, "cnf_1");
    later(5 * 60).await;
    assert_eq!(visits.answer(&id, &word, "cnf_1"), Err(Unasked::Gone), "an old tab");
}

#[tokio::test(start_paused = true)]
async fn a_form_for_one_use_is_good_once_however_long_it_took() {
    let visits = Visits::default();
    let id = visits.find(&begin(&visits, "mara")).unwrap().id;
    let (word, late) = (visits.ask(&id, "key"), visits.ask(&id, "key"));
    assert!(!visits.once(&id, &word, "cnf_1"), "another form's");
    assert!(visits.once(&id, &word, "key"));
    assert!(!visits.once(&id, &word, "key"), "a reload");
    assert_eq!(visits.came_of(&id, &word), None);
    visits.came(&id, &word, "key_1");
    (0..CAME - 1).for_each(|n| visits.came(&id, &n.to_string(), "another"));
    assert_eq!(visits.came_of(&id, &word).as_deref(), Some("key_1"));
    visits.came(&id, "and another", "key_2");
    assert_eq!(visits.came_of(&id, &word), None, "so many are remembered");
    later(10 * 60).await;
    assert!(visits.once(&id, &late, "key"));
}

#[tokio::test(start_paused = true)]
async fn wrong_keys_are_looked_at_so_often_a_minute() {
    let visits = Visits::default();
    let tried = (0..20).filter(|_| visits.may_try("admin")).count();
    assert_eq!(tried, TRIES as usize);
    assert!(visits.may_try("mara"), "another name");
    later(60).await;
    assert!(visits.may_try("admin"));
}
