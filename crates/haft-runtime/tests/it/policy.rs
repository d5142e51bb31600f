//! Policy from outside: data in, decisions with their rules out.

mod examples;
mod loading;
mod random;
mod speed;
pub(crate) mod world;

use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::port::{Decide, Standing, Verdict};
use haft_runtime::policy::{Deadline, Policy, Rules, Supersede};
use serde_json::{Value, json};
use world::{NOW, Question, load, mail, shop};

/// Asks, and checks verdict and rule, twice: the second answer comes out of the memory.
#[track_caller]
fn check(policy: &Policy, rows: &[(&str, Question, &str)]) {
    let tools = [shop().tools, mail().tools].concat();
    for (name, question, expected) in rows {
        let tool = tools.iter().find(|tool| tool.id == *name).unwrap();
        for _ in 0..2 {
            let ask = question.about(tool);
            let decision = policy.decide(&ask);
            let verdict = match decision.verdict {
                Verdict::Allow => "allow",
                Verdict::RequireApproval => "approve",
                Verdict::Deny => "deny",
            };
            assert_eq!(format!("{verdict} {}", decision.rule), *expected, "{name} {question:?}");
            assert_eq!(decision.enable.is_some(), decision.verdict != Verdict::Allow);
            match policy.standing(&haft_core::port::Ask { arguments: None, ..ask }) {
                Standing::Settled(settled) => assert_eq!(settled, decision, "{name}"),
                Standing::Open => {}
            }
        }
    }
}

/// What is settled before the arguments are known.
#[track_caller]
fn standing(policy: &Policy, question: &Question, name: &str) -> String {
    let tools = [shop().tools, mail().tools].concat();
    let tool = tools.iter().find(|tool| tool.id == name).unwrap();
    match policy.standing(&haft_core::port::Ask { arguments: None, ..question.about(tool) }) {
        Standing::Settled(decision) => decision.rule.to_string(),
        Standing::Open => "open".into(),
    }
}

fn order(amount: f64) -> Question {
    Question::new().with(json!({"item": "chair", "amount": amount, "count": 1}))
}

#[test]
fn lists_deny_before_they_allow_and_nothing_is_allowed_by_itself() {
    let rules = json!({"rules": {
        "allow": ["shop__*", "mcp__mail__find"], "deny": ["secret", "*__rush"],
        "approve": ["state_change", "shop__find"],
    }});
    let q = Question::new;
    check(
        &load(rules, "").unwrap(),
        &[
            ("shop__find", q(), "approve approve:shop__find"),
            ("shop__order", order(1.0), "approve approve:state_change"),
            ("shop__secret", q(), "deny deny:shop__secret"),
            ("shop__rush", q(), "deny deny:*__rush"),
            ("mcp__mail__find", q(), "allow allow:mcp__mail__find"),
            ("mcp__mail__send", q().through("c1"), "deny allow:none"),
        ],
    );
    check(&load(json!({}), "").unwrap(), &[("shop__find", q(), "deny allow:none")]);
    check(&Policy::deny_all("gone"), &[("shop__find", q(), "deny policy:broken")]);
    let broken = Policy::deny_all("gone");
    assert!(broken.holds("true", &q().about(&shop().tools[0])).is_err());
}

const OFFICE: &str = r#"
// Everybody in the tenant may use the shop.
@id("tenant")
permit(principal in Haft::Tenant::"acme", action, resource);

@id("no-voice-orders")
@enable("order in writing")
forbid(principal, action == Haft::Action::"shop__order", resource) when { context.mode == "voice" };

@id("no-large-orders")
forbid(principal, action == Haft::Action::"shop__order", resource)
when { context.arguments.amount.greaterThan(decimal("1000.0")) };

@approve("more than ten are checked by a person")
@id("many")
forbid(principal, action == Haft::Action::"shop__order", resource)
when { context.arguments.count > 10 };

@id("no-mallory")
forbid(principal == Haft::User::"mallory", action, resource);

@id("guests-find")
forbid(principal, action in Haft::Action::"call", resource)
when { context.user has level && context.user.level < 2 && !resource.tags.contains("open") };
"#;

fn office() -> Policy {
    let source = json!({
        "rules": {"allow": ["*"], "user": {"level": "integer"}},
        "delegations": [
            {"tenant": "acme", "actor": "agent:helper", "subject": "user:mara",
             "tools": ["shop__*"], "until": "2026-01-01T01:00:00Z"},
            {"tenant": "acme", "actor": "agent:helper", "subject": "user:mallory",
             "tools": ["*"], "until": "2027-01-01T00:00:00Z"},
        ],
    });
    load(source, OFFICE).unwrap()
}

#[test]
fn cedar_forbids_permits_and_demands_approval() {
    let q = Question::new;
    let many = |count: u32| q().with(json!({"item": "a", "amount": 1, "count": count}));
    check(
        &office(),
        &[
            ("shop__find", q(), "allow cedar:office.cedar#tenant"),
            ("shop__find", q().tenant("other"), "deny cedar:no-permit"),
            ("shop__find", q().actor("user:mallory"), "deny cedar:office.cedar#no-mallory"),
            ("shop__order", order(999.99), "allow cedar:office.cedar#tenant"),
            ("shop__order", order(1000.01), "deny cedar:office.cedar#no-large-orders"),
            (
                "shop__order",
                order(1.0).mode(Mode::Voice),
                "deny cedar:office.cedar#no-voice-orders",
            ),
            ("shop__order", many(10), "allow cedar:office.cedar#tenant"),
            ("shop__order", many(11), "approve cedar:office.cedar#many"),
            ("shop__find", q().user(json!({"level": 1})), "allow cedar:office.cedar#tenant"),
            ("shop__secret", q().user(json!({"level": 1})), "deny cedar:office.cedar#guests-find"),
            ("shop__secret", q().user(json!({"level": 2})), "allow cedar:office.cedar#tenant"),
            ("shop__secret", q().user(json!({"other": 1.5})), "allow cedar:office.cedar#tenant"),
        ],
    );
}

#[test]
fn what_cannot_be_said_exactly_is_refused() {
    check(
        &office(),
        &[
            // A rule that cannot be evaluated forbids: Cedar itself would pass over it.
            ("shop__order", Question::new(), "deny error:cedar:office.cedar#no-large-orders"),
            ("shop__order", order(1.00001), "deny error:cedar:request"),
            ("shop__order", order(1e300), "deny error:cedar:request"),
            (
                "shop__order",
                Question::new().with(json!({"item": "a", "amount": "1", "count": 1})),
                "deny error:cedar:request",
            ),
            // An attribute of the wrong type must not slip past a comparison.
            (
                "shop__secret",
                Question::new().user(json!({"level": "1"})),
                "deny error:cedar:request",
            ),
        ],
    );
}

/// No administrator can mend a number.
#[test]
fn whoever_sends_what_rules_cannot_compare_learns_what_they_can() {
    let shop = shop();
    let tool = shop.tools.iter().find(|tool| tool.id == "shop__order").unwrap();
    let decision = office().decide(&order(1.00001).about(tool));
    let enable = decision.enable.clone().unwrap();
    assert!(enable.contains("at most four decimal places"), "{enable}");
}

#[test]
fn acting_for_someone_needs_both_and_a_delegation() {
    let q = || Question::new().actor("agent:helper");
    let hour = 3_600_000;
    check(
        &office(),
        &[
            ("shop__find", q().subject("user:mara"), "allow cedar:office.cedar#tenant"),
            ("shop__find", q().subject("user:mara").at(NOW + hour), "deny delegation:expired"),
            (
                "shop__find",
                q().subject("user:mara").at(NOW + hour - 1),
                "allow cedar:office.cedar#tenant",
            ),
            ("mcp__mail__find", q().subject("user:mara"), "deny delegation:tools"),
            ("shop__find", q().subject("user:ole"), "deny delegation:none"),
            ("shop__find", q().subject("user:mallory"), "deny cedar:office.cedar#no-mallory"),
            ("shop__find", q().actor("agent:other").subject("user:mara"), "deny delegation:none"),
            ("shop__find", q().subject("user:mara").tenant("other"), "deny delegation:none"),
            ("shop__find", q().subject("agent:helper"), "allow cedar:office.cedar#tenant"),
        ],
    );
}

fn connected() -> Policy {
    load(
        json!({
            "rules": {"allow": ["*"]},
            "grants": [
                {"connection": "c1", "provider": "mailer", "tenant": "acme",
                 "principals": ["user:mara"], "tools": ["mcp__mail__send", "mcp__mail__look"]},
                {"connection": "c2", "provider": "calendar", "tenant": "acme",
                 "principals": ["*"], "tools": ["*"]},
                {"connection": "c3", "provider": "mailer", "tenant": "acme",
                 "principals": ["user:*"], "tools": ["mcp__mail__look"]},
            ],
            "delegations": [
                {"tenant": "acme", "actor": "agent:helper", "subject": "user:mara",
                 "tools": ["*"], "connections": ["c1"], "until": "2027-01-01T00:00:00Z"},
                {"tenant": "acme", "actor": "agent:clerk", "subject": "user:mara",
                 "tools": ["*"], "until": "2027-01-01T00:00:00Z"},
            ],
        }),
        "",
    )
    .unwrap()
}

#[test]
fn a_connection_is_used_only_where_it_is_granted() {
    let mara = || Question::new().actor("user:mara");
    let helper = || Question::new().actor("agent:helper").subject("user:mara");
    check(
        &connected(),
        &[
            ("mcp__mail__send", mara().through("c1"), "allow allow:*"),
            ("mcp__mail__send", mara(), "deny connection:unnamed"),
            ("mcp__mail__send", mara().actor("user:ole"), "deny connection:missing"),
            ("mcp__mail__send", mara().through("gone"), "deny connection:not-granted"),
            ("mcp__mail__send", mara().through("c2"), "deny connection:provider"),
            ("mcp__mail__send", mara().through("c3"), "deny connection:tool"),
            (
                "mcp__mail__send",
                mara().through("c1").tenant("other"),
                "deny connection:not-granted",
            ),
            (
                "mcp__mail__send",
                mara().actor("user:ole").through("c1"),
                "deny connection:not-granted",
            ),
            (
                "mcp__mail__send",
                mara().actor("agent:helper").through("c1"),
                "deny connection:not-granted",
            ),
            ("mcp__mail__send", helper().through("c1"), "allow allow:*"),
            ("mcp__mail__look", helper().through("c3"), "deny delegation:connection"),
            (
                "mcp__mail__send",
                helper().actor("agent:clerk").through("c1"),
                "deny delegation:connection",
            ),
            ("mcp__mail__look", mara(), "allow allow:*"),
            (
                "mcp__mail__look",
                mara().actor("user:ole").through("c1"),
                "deny connection:not-granted",
            ),
            ("mcp__mail__find", mara().through("anything"), "allow allow:*"),
        ],
    );
}

#[test]
fn a_call_uses_a_connection_that_is_granted_and_that_it_was_given() {
    let policy = connected();
    let tools = mail().tools;
    let caller = Question::new().actor("user:mara").caller;
    let all = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    for (name, named, given, expected) in [
        ("mcp__mail__send", Some("c1"), all(&["c1", "c2"]), "c1"),
        ("mcp__mail__send", Some("c1"), all(&["c2"]), "connection:not-requested"),
        ("mcp__mail__send", Some("c1"), all(&[]), "connection:not-requested"),
        ("mcp__mail__send", None, all(&["c1", "c2", "c3"]), "c1"),
        ("mcp__mail__send", None, all(&["c3"]), "none"),
        ("mcp__mail__look", None, all(&["c1", "c3"]), "connection:several"),
        ("mcp__mail__find", Some("c1"), all(&["c1"]), "none"),
    ] {
        let tool = tools.iter().find(|tool| tool.id == name).unwrap();
        let chosen = match policy.choose(&caller, tool, named, &given) {
            Ok(chosen) => chosen.unwrap_or_else(|| "none".into()),
            Err(decision) => decision.rule.to_string(),
        };
        assert_eq!(chosen, expected, "{name} {named:?} {given:?}");
    }
}

#[test]
fn availability_is_part_of_the_decision() {
    let policy = load(json!({"rules": {"allow": ["*"]}}), "").unwrap();
    let q = Question::new;
    check(
        &policy,
        &[
            ("shop__member", q().user(json!({"isAuthenticated": true})), "allow allow:*"),
            (
                "shop__member",
                q().user(json!({"isAuthenticated": false})),
                "deny availability:condition",
            ),
            (
                "shop__member",
                q().user(json!({"isAuthenticated": true})).mode(Mode::Voice),
                "deny availability:condition",
            ),
            ("shop__member", q(), "deny availability:error"),
            (
                "shop__member",
                q().user(json!({"isAuthenticated": "yes"})),
                "deny availability:error",
            ),
            ("shop__rush", q().with(json!({"hours": 2})), "allow allow:*"),
            ("shop__rush", q().with(json!({"hours": 2.0})), "allow allow:*"),
            ("shop__rush", q().with(json!({"hours": 3})), "deny availability:condition"),
            ("shop__rush", q(), "deny availability:error"),
        ],
    );
}

#[test]
fn what_holds_whatever_the_arguments_is_known_before_them() {
    let policy = office();
    let q = Question::new;
    for (name, question, expected) in [
        ("shop__find", q(), "cedar:office.cedar#tenant"),
        ("shop__order", q(), "open"),
        ("shop__order", q().mode(Mode::Voice), "cedar:office.cedar#no-voice-orders"),
        ("shop__order", q().tenant("other"), "cedar:no-permit"),
        ("shop__order", q().actor("user:mallory"), "cedar:office.cedar#no-mallory"),
        ("shop__order", q().subject("user:ole"), "delegation:none"),
        ("shop__rush", q(), "open"),
        ("shop__member", q(), "availability:error"),
    ] {
        assert_eq!(standing(&policy, &question, name), expected, "{name} {question:?}");
    }
    let by_arguments = r#"@id("p") permit(principal, action == Haft::Action::"shop__order", resource)
        when { context.arguments.count == 1 };"#;
    let policy = load(json!({"rules": {"allow": ["*"]}}), by_arguments).unwrap();
    assert_eq!(standing(&policy, &q(), "shop__order"), "open");
    assert_eq!(standing(&policy, &q(), "shop__find"), "cedar:no-permit");
}

#[test]
fn the_time_is_never_remembered() {
    let late = r#"@id("late") forbid(principal, action, resource)
        when { context.now.toTime() >= duration("18h") };"#;
    let policy = load(json!({"rules": {"allow": ["*"]}}), late).unwrap();
    let at = |hour: i64| Question::new().at(NOW + hour * 3_600_000);
    check(
        &policy,
        &[
            ("shop__find", at(17), "allow allow:*"),
            ("shop__find", at(18), "deny cedar:office.cedar#late"),
            ("shop__find", at(25), "allow allow:*"),
        ],
    );
}

#[test]
fn conditions_are_true_false_or_not_to_be_said() {
    let policy = office();
    let shop = shop();
    let tool = shop.tools.iter().find(|tool| tool.id == "shop__order").unwrap();
    let question = Question::new()
        .user(json!({"isAuthenticated": true, "level": 3, "score": 0.123_456, "n": null}))
        .session("s1")
        .with(json!({"item": "a", "amount": 12.5, "count": 2, "note": null, "tags": ["x"],
                     "to": {"city": "Oslo"}}));
    for (condition, expected) in [
        ("context.user.isAuthenticated && context.mode == \"text\"", "true"),
        ("context has session", "true"),
        ("context.session == \"s2\"", "false"),
        ("context has subject", "false"),
        ("context.tenant == \"acme\" && context.agent == \"helper\"", "true"),
        ("context.actor == \"agent:helper\"", "true"),
        ("context.arguments.count > 1", "true"),
        ("context.arguments.amount.lessThan(decimal(\"12.6\"))", "true"),
        ("context.arguments has note", "false"),
        ("context.arguments.tags.contains(\"x\")", "true"),
        ("context.arguments.to.city == \"Oslo\"", "true"),
        ("resource.effect == \"state_change\"", "true"),
        ("context.now > datetime(\"2025-12-31\")", "true"),
        // The safe side is for whoever asks to take.
        ("context.user.missing", "error"),
        ("context.user has score", "error"),
        ("context.arguments.gift", "error"),
        ("context.arguments == {\"count\": 2}", "false"),
        ("context.nothing", "error"),
        ("\"text\"", "error"),
        ("context.mode === \"text\"", "error"),
        ("true } unless { false", "error"),
        ("", "error"),
        (&"(".repeat(40), "error"),
    ] {
        let said = match policy.holds(condition, &question.about(tool)) {
            Ok(holds) => holds.to_string(),
            Err(why) => {
                assert!(!why.is_empty());
                "error".into()
            }
        };
        assert_eq!(said, expected, "{condition}");
    }
    let mut unknown = question.clone();
    unknown.arguments = None;
    assert!(policy.holds("context.arguments.count > 1", &unknown.about(tool)).is_err());
}

#[test]
fn the_version_moves_with_everything_that_decides() {
    let version = |source: Value, cedar: &str| load(source, cedar).unwrap().version();
    let base = json!({"rules": {"allow": ["*"]}});
    let all = [
        version(base.clone(), ""),
        version(json!({"rules": {"allow": ["shop__*"]}}), ""),
        version(json!({"rules": {"allow": ["*"], "modes": {"voice": {"retries": 1}}}}), ""),
        version(base.clone(), "permit(principal, action, resource);"),
        version(base.clone(), "permit(principal, action, resource); // again"),
        version(
            json!({"rules": {"allow": ["*"]}, "grants": [{"connection": "c", "provider": "p",
                "tenant": "t", "principals": ["*"], "tools": ["*"]}]}),
            "",
        ),
        version(
            json!({"rules": {"allow": ["*"]}, "delegations": [{"tenant": "t", "actor": "agent:a",
                "subject": "user:b", "tools": ["*"], "until": "2026-01-01T00:00:00Z"}]}),
            "",
        ),
        Policy::deny_all("a").version(),
        Policy::deny_all("b").version(),
    ];
    let different: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len());
    assert_eq!(all[0], version(base, ""));
}

#[test]
fn budgets_are_data_with_the_defaults_of_the_modes() {
    let voice = Rules::default().budget(Mode::Voice);
    let text = Rules::default().budget(Mode::Text);
    assert_eq!((voice.retrieval_calls, voice.repeat_search, voice.retries), (2, false, 0));
    assert_eq!((text.retrieval_calls, text.repeat_search, text.retries), (5, true, 1));
    assert_eq!((voice.deadline, text.deadline), (Deadline::Enforce, Deadline::Warn));
    let rules = r#"{"modes": {"voice": {"retrieval_calls": 3, "deadline": "warn",
        "rate": {"calls": 5, "window_ms": 1000}, "supersede": "queue"}},
        "supersede": {"compensatable": "abort"}}"#;
    let rules = Rules::read("haft.json", rules).unwrap();
    let voice = rules.budget(Mode::Voice);
    assert_eq!((voice.retrieval_calls, voice.retries, voice.deadline), (3, 0, Deadline::Warn));
    assert_eq!(voice.rate.unwrap().window_ms, 1000);
    for (class, mode, expected) in [
        (SideEffectPolicy::Irreversible, Mode::Voice, Some(Supersede::Queue)),
        (SideEffectPolicy::Irreversible, Mode::Text, Some(Supersede::Absorb)),
        (SideEffectPolicy::Compensatable, Mode::Voice, Some(Supersede::Abort)),
        (SideEffectPolicy::Compensatable, Mode::Text, Some(Supersede::Abort)),
        // What is said of a mode is said of what cannot be undone.
        (SideEffectPolicy::Idempotent, Mode::Voice, None),
        (SideEffectPolicy::Pure, Mode::Voice, None),
    ] {
        assert_eq!(rules.supersede(class, mode), expected, "{class:?} {mode:?}");
    }
    assert_eq!(
        Rules::default().supersede(SideEffectPolicy::Irreversible, Mode::Voice),
        Some(Supersede::Abort)
    );
}
