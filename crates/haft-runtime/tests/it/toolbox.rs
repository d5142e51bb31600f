//! Who sees what: three tiers, activations, and why not.

use std::time::Instant;

use haft_core::call::Purpose;
use haft_core::contract::{Confirmation, Leniency, Mode};
use haft_core::port::Standing;
use haft_core::registry::{Implementation, Registry};
use haft_runtime::policy::{Policy, Source};
use haft_runtime::toolbox::{
    Catalog, Catalogs, Directory, Found, Records, Seen, Shelf, Stock, Suggestions,
};
use serde_json::{Value, json};

use crate::policy::world::{NOW, Question, mail, registry, shop, tool};

/// The shop is the tenants' own, the mail server was found, the vault is `bank`'s alone.
fn registries() -> [Registry; 3] {
    let mut shop = shop();
    let mut idea = tool("shop__idea", json!({}));
    idea.handler = Implementation::Unbound;
    shop.tools.push(idea);
    shop.tools.push(tool(
        "shop__strict",
        json!({
            "requiresConfirmation": true, "allowedModes": ["text"], "latencyBudgetMs": 500,
            "limits": {"maxRuntimeMs": 1000, "rate": {"calls": 10, "windowMs": 1000}},
            "arguments": {"mode": "strict", "fraction": "refuse"},
        }),
    ));
    [shop, mail(), registry("bank", vec![tool("bank__vault", json!({}))])]
}

fn stock() -> Stock {
    let [shop, mail, bank] = registries();
    Stock::new(&[Shelf::own(&shop), Shelf::discovered(&mail), Shelf::own(&bank).of("bank")])
        .unwrap()
}

fn directory(records: Value) -> Result<Directory, Vec<String>> {
    let records: Records = serde_json::from_value(records).unwrap();
    Directory::load(&records, &stock(), "toolbox.json")
        .map_err(|all| all.iter().filter(|one| one.is_error()).map(ToString::to_string).collect())
}

fn policy(rules: Value, records: &Value) -> Policy {
    let records: Records = serde_json::from_value(records.clone()).unwrap();
    let source = Source {
        rules: serde_json::from_value(rules).unwrap(),
        delegations: records.delegations,
        grants: records.grants,
        ..Source::default()
    };
    let [shop, mail, bank] = registries();
    Policy::load(&source, &[&shop, &mail, &bank]).unwrap()
}

fn records() -> Value {
    json!({
        "tenants": [
            {"id": "acme", "administrators": ["user:root"], "definitions": [
                {"tool": "mcp__mail__send", "source": "discovered", "enabled": true},
                {"tool": "mcp__mail__look", "source": "discovered"},
                {"tool": "shop__secret", "enabled": false},
                {"tool": "shop__rush", "version": "^2"},
            ]},
            {"id": "bank"},
        ],
        "agents": [
            {"id": "helper", "tenant": "acme", "modes": {"voice": ["shop__find"]}, "activations": [
                {"tool": "shop__order", "enabled": false},
                {"tool": "shop__strict", "overrides": {"latency_budget_ms": 100}},
            ]},
            {"id": "clerk", "tenant": "acme", "tools": ["shop__find", "mcp__*"]},
            {"id": "teller", "tenant": "bank"},
        ],
        "grants": [{"connection": "c1", "provider": "mailer", "tenant": "acme",
                    "principals": ["agent:helper"], "tools": ["*"]}],
    })
}

fn catalog(rules: Value, question: &Question, change: impl Fn(&mut Seen<'_>)) -> Catalog {
    let policy = policy(rules, &records());
    let mut seen = Seen::new(&question.caller, question.mode, question.now_ms);
    change(&mut seen);
    Catalog::build(&stock(), &directory(records()).unwrap(), &policy, &seen)
}

fn listed(catalog: &Catalog) -> Vec<&str> {
    catalog.list().map(|one| one.tool.id.as_str()).collect()
}

fn why(catalog: &Catalog) -> Vec<String> {
    let all = catalog.unavailable();
    all.iter()
        .inspect(|one| assert!(!one.enable.is_empty()))
        .map(|one| format!("{} {}", one.tool.id, one.why.as_str()))
        .collect()
}

fn all() -> Value {
    json!({"allow": ["*"]})
}

#[test]
fn what_is_done_about_effects_is_done_with_the_tenants_tools() {
    let reached = |rules: Value, question: &Question, agent: &str| {
        let mut question = Question { caller: question.caller.clone(), ..Question::new() };
        question.caller.agent = agent.into();
        let seen = catalog(rules, &question, |seen| seen.purpose = Purpose::Undo);
        listed(&seen).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let known = Question::new().user(json!({"isAuthenticated": true}));
    let all_of_it =
        ["mcp__mail__send", "shop__find", "shop__member", "shop__order", "shop__strict"];
    // Whatever it was given, and also when it is gone.
    for agent in ["helper", "clerk", "nobody"] {
        assert_eq!(reached(all(), &known, agent), all_of_it, "{agent}");
    }
    let rules = json!({"allow": ["shop__*"], "deny": ["shop__order"]});
    assert_eq!(reached(rules, &known, "clerk"), ["shop__find", "shop__member", "shop__strict"]);
    let mut elsewhere = Question::new();
    elsewhere.caller.tenant = "nowhere".into();
    assert!(reached(all(), &elsewhere, "helper").is_empty());
}

#[test]
fn each_tool_of_the_tenant_is_there_or_says_why_not() {
    let known = Question::new().user(json!({"isAuthenticated": true}));
    let seen = catalog(all(), &known, |_| {});
    assert_eq!(listed(&seen), ["mcp__mail__send", "shop__find", "shop__member", "shop__strict"]);
    assert_eq!(
        why(&seen),
        ["shop__idea unbound", "shop__order disabled_for_agent", "shop__rush version"]
    );

    let voice = catalog(all(), &known.clone().mode(Mode::Voice), |_| {});
    assert_eq!(listed(&voice), ["shop__find"]);
    assert_eq!(
        why(&voice),
        [
            "mcp__mail__send mode",
            "shop__idea unbound",
            "shop__member mode",
            "shop__order disabled_for_agent",
            "shop__rush version",
            "shop__strict mode"
        ]
    );

    let mut clerk = known.clone();
    clerk.caller.agent = "clerk".into();
    let clerk = catalog(all(), &clerk.actor("agent:clerk"), |_| {});
    assert_eq!(listed(&clerk), ["shop__find"]);
    assert_eq!(
        why(&clerk),
        [
            "mcp__mail__send connection_missing",
            "shop__idea unbound",
            "shop__member not_in_agent_tools",
            "shop__order not_in_agent_tools",
            "shop__rush version",
            "shop__strict not_in_agent_tools"
        ]
    );

    let stranger = catalog(all(), &Question::new(), |seen| seen.connections = Some(&[]));
    assert_eq!(
        why(&stranger),
        [
            "mcp__mail__send connection_missing",
            "shop__idea unbound",
            "shop__member availability",
            "shop__order disabled_for_agent",
            "shop__rush version"
        ]
    );
}

#[test]
fn policy_hides_what_it_denies_and_says_what_would_change_it() {
    let rules = json!({"allow": ["shop__*"], "deny": ["shop__strict"], "approve": ["shop__find"]});
    let known = Question::new().user(json!({"isAuthenticated": true}));
    let shown = catalog(rules.clone(), &known, |_| {});
    assert_eq!(listed(&shown), ["shop__find", "shop__member"]);
    let refused = shown.unavailable();
    let send = refused.iter().find(|one| one.tool.id == "mcp__mail__send").unwrap();
    assert_eq!(send.why.as_str(), "policy");
    assert_eq!(send.rule, "allow:none");
    assert_eq!(send.enable, "an administrator has to allow `mcp__mail__send`");

    let hidden = catalog(rules, &known, |seen| seen.hide_approval = true);
    assert_eq!(listed(&hidden), ["shop__member"]);
    assert!(why(&hidden).contains(&"shop__find approval_hidden".to_owned()));

    // Whoever asks for the approval: a rule, the contract, or an override.
    let asks = Question::new().user(json!({"isAuthenticated": true}));
    assert!(listed(&catalog(all(), &asks, |_| {})).contains(&"shop__strict"));
    let hidden = catalog(all(), &asks, |seen| seen.hide_approval = true);
    assert!(!listed(&hidden).contains(&"shop__strict"));
    assert!(why(&hidden).contains(&"shop__strict approval_hidden".to_owned()));

    let nothing = catalog(json!({}), &known, |_| {});
    assert!(nothing.is_empty());
    assert!(why(&nothing).contains(&"shop__find policy".to_owned()));
}

#[test]
fn what_a_tenant_does_not_have_does_not_exist() {
    let seen = catalog(all(), &Question::new(), |_| {});
    for name in [
        "shop__secret",
        "secret",
        "mcp__mail__look",
        "mcp__mail__find",
        "bank__vault",
        "vault",
        "made__up",
        "",
        "shop__find ",
        "SHOP__FIND",
        "sh\u{043e}p__find",
    ] {
        assert!(matches!(seen.find(name), Found::Unknown), "{name}");
        assert!(!seen.unavailable().iter().any(|one| one.tool.id == name), "{name}");
    }
    let mut teller = Question::new().tenant("bank").actor("agent:teller");
    teller.caller.agent = "teller".into();
    let bank = catalog(all(), &teller, |_| {});
    assert!(bank.get("vault").is_some());
    // The agent of another tenant, under the same id, is nobody here.
    let nobody = catalog(all(), &Question::new().tenant("bank"), |_| {});
    assert!(nobody.is_empty() && nobody.unavailable().is_empty());
}

#[test]
fn short_names_stand_for_one_tool_or_say_which() {
    let mut records = records();
    records["tenants"][0]["definitions"][1] =
        json!({"tool": "mcp__mail__find", "enabled": true, "source": "discovered"});
    let question = Question::new();
    let policy = policy(all(), &records);
    let seen = Seen::new(&question.caller, Mode::Text, NOW);
    let seen = Catalog::build(&stock(), &directory(records).unwrap(), &policy, &seen);
    assert_eq!(seen.get("strict").unwrap().tool.id, "shop__strict");
    let Found::Ambiguous(ids) = seen.find("find") else { panic!("{:?}", seen.find("find")) };
    assert_eq!(ids, ["mcp__mail__find", "shop__find"]);
    let Found::Unavailable(one) = seen.find("order") else { panic!("{:?}", seen.find("order")) };
    assert_eq!(one.why.as_str(), "disabled_for_agent");
}

#[test]
fn a_run_is_narrowed_and_never_widened() {
    let seen = catalog(all(), &Question::new().user(json!({"isAuthenticated": true})), |_| {});
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (narrow, unknown) = seen.narrow(&names(&["find", "shop__order", "shop__secret", "x"]));
    assert_eq!(listed(&narrow), ["shop__find"]);
    assert_eq!(narrow.len(), 1);
    assert_eq!(unknown, ["shop__order", "shop__secret", "x"]);
    assert!(narrow.get("shop__member").is_none());
    assert!(matches!(narrow.find("shop__member"), Found::Narrowed(_)));
    assert!(why(&narrow).contains(&"shop__member narrowed".to_owned()));
    let (again, unknown) = narrow.narrow(&names(&["shop__find", "shop__member"]));
    assert_eq!((listed(&again), unknown), (vec!["shop__find"], names(&["shop__member"])));
    assert!(narrow.narrow(&[]).0.is_empty());
}

#[test]
fn overrides_change_what_the_agent_has() {
    let strict = |overrides: Value| {
        let mut records = records();
        records["agents"][0]["activations"][1] =
            json!({"tool": "shop__strict", "overrides": overrides, "approved_by": "user:root"});
        let question = Question::new();
        let policy = policy(all(), &records);
        let seen = Seen::new(&question.caller, Mode::Text, NOW);
        let all = Catalog::build(&stock(), &directory(records).unwrap(), &policy, &seen);
        all.get("strict").unwrap().clone()
    };
    let plain = strict(json!({}));
    assert_eq!(plain.requires_confirmation, Confirmation::Always(true));
    assert_eq!((plain.latency_budget_ms, plain.limits.max_runtime_ms), (500, Some(1000)));
    assert!(matches!(plain.standing, Standing::Settled(_)));
    let metadata = plain.metadata();
    assert!(metadata.requires_confirmation && metadata.is_safe_to_retry());
    assert!(!metadata.is_irreversible());
    assert_eq!(metadata.categories, ["retrieval"]);

    let changed = strict(json!({
        "requires_confirmation": false, "latency_budget_ms": 50, "max_runtime_ms": 60,
        "max_result_bytes": 70, "rate": {"calls": 1, "window_ms": 5}, "arguments": "lenient",
        "allowed_modes": ["text", "voice"],
    }));
    assert!(!changed.metadata().requires_confirmation);
    assert_eq!(changed.limits.max_runtime_ms, Some(60));
    assert_eq!(changed.limits.max_result_bytes, Some(70));
    assert_eq!(changed.limits.rate.unwrap().calls, 1);
    assert_eq!((changed.latency_budget_ms, changed.arguments.mode), (50, Leniency::Lenient));
    assert_eq!(changed.allowed_modes, [Mode::Text, Mode::Voice]);
}

#[test]
fn overrides_that_let_nothing_through_are_refused() {
    for (overrides, expected) in [
        (json!({"latency_budget_ms": 0}), "nothing runs in 0 ms"),
        (json!({"max_runtime_ms": 0}), "nothing runs in 0 ms"),
        (json!({"max_result_bytes": 0}), "no result has 0 bytes"),
        (json!({"rate": {"calls": 1, "window_ms": 0}}), "a rate's window of 0 ms is none"),
    ] {
        let mut records = records();
        records["agents"][0]["activations"][1]["overrides"] = overrides;
        let wrong: Vec<String> = directory(records).err().unwrap();
        assert!(wrong.iter().any(|one| one.contains(expected)), "{wrong:?}");
    }
}

#[test]
fn looser_overrides_need_an_administrator() {
    for (overrides, loosened) in [
        (json!({"requires_confirmation": true}), ""),
        (json!({"requires_confirmation": false}), "`requires_confirmation`"),
        (json!({"allowed_modes": []}), ""),
        (json!({"allowed_modes": ["text", "voice"]}), "`allowed_modes`"),
        (json!({"latency_budget_ms": 500}), ""),
        (json!({"latency_budget_ms": 501}), "`latency_budget_ms`"),
        (json!({"max_runtime_ms": 1000, "max_result_bytes": 1_000_000}), ""),
        (json!({"max_runtime_ms": 1001}), "`max_runtime_ms`"),
        // The contract says nothing of its result: a mebibyte is usual.
        (json!({"max_result_bytes": 1 << 20}), ""),
        (json!({"max_result_bytes": (1 << 20) + 1}), "`max_result_bytes`"),
        (json!({"rate": {"calls": 10, "window_ms": 1000}}), ""),
        (json!({"rate": {"calls": 5, "window_ms": 500}}), ""),
        (json!({"rate": {"calls": 5, "window_ms": 499}}), "`rate`"),
        (json!({"rate": {"calls": 11, "window_ms": 60_000}}), "`rate`"),
        (
            json!({"arguments": "lenient", "latency_budget_ms": 600}),
            "`latency_budget_ms`, `arguments`",
        ),
    ] {
        for (approved_by, approves, help) in [
            (json!(null), false, "have an administrator of the tenant approve it"),
            (json!("user:mara"), false, "`user:mara` is not an administrator"),
            (json!("agent:helper"), false, "`agent:helper` is not an administrator"),
            (json!("user:root"), true, ""),
        ] {
            let mut records = records();
            records["agents"][0]["activations"][1] = json!({
                "tool": "shop__strict", "overrides": overrides, "approved_by": approved_by});
            let problems = directory(records).err().unwrap_or_default();
            if loosened.is_empty() || approves {
                assert!(problems.is_empty(), "{overrides} {approved_by}: {problems:?}");
            } else {
                let [problem] = problems.as_slice() else { panic!("{problems:?}") };
                assert!(
                    problem.contains(&format!("looser than its contract: {loosened};")),
                    "{problem}"
                );
                assert!(problem.contains(help), "{problem}");
            }
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let tenant = json!([{"id": "acme"}]);
    for (records, expected) in [
        (json!({"agents": [{"id": "a", "tenant": "gone"}]}), "there is no tenant `gone`"),
        (json!({"tenants": [{"id": "a"}, {"id": "a"}]}), "tenant `a` is there twice"),
        (
            json!({"tenants": tenant, "agents": [{"id": "a", "tenant": "acme"}, {"id": "a", "tenant": "acme"}]}),
            "agent `a` is there twice",
        ),
        (
            json!({"tenants": tenant, "agents": [{"id": "a", "tenant": "acme", "tools": ["shop__fnd"]}]}),
            "agent `a`: there is no tool `shop__fnd`; did you mean `shop__find`?",
        ),
        (
            json!({"tenants": tenant, "agents": [{"id": "a", "tenant": "acme",
                "activations": [{"tool": "shop__*", "enabled": false}]}]}),
            "`shop__*` stands for many tools; name one",
        ),
        (
            json!({"tenants": tenant, "agents": [{"id": "a", "tenant": "acme",
                "activations": [{"tool": "shop__find"}, {"tool": "shop__find", "enabled": false}]}]}),
            "`shop__find` is activated twice",
        ),
        (
            json!({"tenants": [{"id": "a", "definitions": [{"tool": "strict"}, {"tool": "shop__strict"}]}]}),
            "`shop__strict` is defined twice",
        ),
        (
            json!({"tenants": [{"id": "a", "administrators": ["agent:x"]}]}),
            "is an agent and cannot be",
        ),
        (
            json!({"delegations": [{"tenant": "gone", "actor": "agent:a", "subject": "user:b",
                "tools": ["*"], "until": "2026-01-01T00:00:00Z"}]}),
            "a delegation names the tenant `gone`",
        ),
        (
            json!({"grants": [{"connection": "c", "provider": "p", "tenant": "gone",
                "principals": ["*"], "tools": ["*"]}]}),
            "a grant names the tenant `gone`",
        ),
    ] {
        let problems = directory(records).unwrap_err();
        assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
    }
    let warned = directory(records()).unwrap();
    assert!(
        warned.warnings()[0].message.contains("`shop__rush` is here as 1.0.0, outside of `^2`")
    );
}

#[test]
fn ids_that_look_alike_do_not_stand_side_by_side() {
    let one = registry("shop", vec![tool("shop__find", json!({}))]);
    let alike = registry("Shop", vec![tool("Shop__Find", json!({}))]);
    let mut forged = registry("mcp__a", vec![tool("mcp__a__b", json!({}))]);
    forged.tools[0].id = "mcp__a___b".into();
    for (shelves, expected) in [
        (vec![Shelf::own(&one), Shelf::own(&one)], "cannot be told apart"),
        (
            vec![Shelf::own(&one), Shelf::own(&alike)],
            "`Shop__Find`, `shop__find` cannot be told apart",
        ),
        (vec![Shelf::own(&forged)], "is not the id of a tool"),
    ] {
        let problems = Stock::new(&shelves).unwrap_err();
        assert!(problems[0].message.contains(expected), "{problems:?}");
    }
}

#[test]
fn administrators_see_what_could_be_taken() {
    let directory = directory(records()).unwrap();
    let offers = directory.offers(&stock(), "acme");
    let offers: Vec<_> =
        offers.iter().map(|one| format!("{} {}", one.tool.id, one.why.as_str())).collect();
    assert_eq!(
        offers,
        [
            "mcp__mail__find needs_definition",
            "mcp__mail__look needs_definition",
            "shop__secret disabled_for_tenant"
        ]
    );
    assert!(directory.offers(&stock(), "nobody").is_empty());
}

#[test]
fn a_catalog_is_built_again_only_when_something_changed() {
    let (stock, directory) = (stock(), directory(records()).unwrap());
    let open = policy(all(), &records());
    let question = Question::new();
    let catalogs = Catalogs::new(1000);
    let get = |policy: &Policy, now_ms: i64| {
        let seen = Seen::new(&question.caller, Mode::Text, now_ms);
        catalogs.get(&stock, &directory, policy, &seen)
    };
    let tool = |catalog: &Catalog| std::sync::Arc::as_ptr(catalog.get("shop__find").unwrap());
    let first = get(&open, NOW);
    assert_eq!(tool(&first), tool(&get(&open, NOW + 999)));
    assert_ne!(tool(&first), tool(&get(&open, NOW + 1000)));
    let closed = policy(json!({"allow": ["shop__member"]}), &records());
    assert!(get(&closed, NOW + 1001).get("shop__find").is_some());
    catalogs.forget();
    assert!(get(&closed, NOW + 1001).get("shop__find").is_none());
}

#[test]
fn one_caller_too_many_costs_few_of_the_kept_catalogs() {
    let (stock, directory) = (stock(), directory(records()).unwrap());
    let open = policy(all(), &records());
    let catalogs = Catalogs::new(1000);
    let get = |user: usize| {
        let mut caller = Question::new().caller;
        caller.actor = haft_core::Principal::user(format!("u{user}"));
        catalogs.get(&stock, &directory, &open, &Seen::new(&caller, Mode::Text, NOW))
    };
    // Held, so that no two share an address.
    let first: Vec<Catalog> = (0..1024).map(get).collect();
    let _more = get(1024);
    let tool = |catalog: &Catalog| catalog.get("shop__find").map(std::sync::Arc::as_ptr);
    let kept = (0..1024).filter(|user| tool(&first[*user]) == tool(&get(*user))).count();
    assert!(tool(&first[0]).is_some() && kept > 700, "{kept}");
}

#[test]
fn a_catalog_is_kept_per_session_only_where_rules_speak_of_sessions() {
    let question = Question::new();
    let pointer = |catalog: &Catalog| std::sync::Arc::as_ptr(catalog.get("shop__find").unwrap());
    for (condition, shared) in [("context.mode == \"text\"", true), ("context has session", false)]
    {
        let find = tool("shop__find", json!({"availability": {"condition": condition}}));
        let registry = registry("shop", vec![find]);
        let stock = Stock::new(&[Shelf::own(&registry)]).unwrap();
        let records = Records::of_one("acme", "helper");
        let directory = Directory::load(&records, &stock, "toolbox.json").unwrap();
        let source = Source { rules: serde_json::from_value(all()).unwrap(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let catalogs = Catalogs::new(1000);
        let get = |session: Option<&str>| {
            let mut seen = Seen::new(&question.caller, Mode::Text, NOW);
            seen.session = session;
            catalogs.get(&stock, &directory, &policy, &seen)
        };
        let (one, other) = (get(Some("one")), get(Some("other")));
        assert_eq!(pointer(&one) == pointer(&other), shared, "{condition}");
        assert_eq!(pointer(&one), pointer(&get(Some("one"))), "{condition}");
        assert_eq!(get(None).get("shop__find").is_some(), shared, "{condition}");
        assert_eq!(pointer(&one), pointer(&get(Some("one"))), "{condition}");
    }
}

#[test]
fn wishes_are_counted_and_bounded() {
    let suggestions = Suggestions::default();
    for _ in 0..3 {
        suggestions.note("acme", "helper", "calendar");
    }
    suggestions.note("acme", "helper", "fax");
    suggestions.note("acme", "helper", "no\u{202e}name");
    suggestions.note("acme", "helper", &"x".repeat(1000));
    suggestions.note("bank", "teller", "gold");
    let wishes = suggestions.of("acme");
    let wishes: Vec<_> = wishes.iter().map(|one| (one.tool.as_str(), one.calls)).collect();
    assert_eq!(wishes, [("calendar", 3), ("fax", 1)]);
    for n in 0..5000 {
        suggestions.note("acme", "helper", &format!("t{n}"));
    }
    let wishes = suggestions.of("acme");
    assert!(wishes.len() <= 1000);
    assert_eq!((wishes[0].tool.as_str(), wishes[0].calls), ("calendar", 3));
    assert_eq!(suggestions.of("bank").len(), 1);
}

#[test]
fn ten_thousand_tools_are_found_as_fast_as_ten() {
    let build = |count: usize| {
        let tools = (0..count).map(|n| tool(&format!("big__t{n}"), json!({}))).collect();
        let registry = registry("big", tools);
        let stock = Stock::new(&[Shelf::own(&registry)]).unwrap();
        let directory =
            Directory::load(&Records::of_one("acme", "helper"), &stock, "toolbox.json").unwrap();
        let source = Source { rules: serde_json::from_value(all()).unwrap(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let question = Question::new();
        let seen = Seen::new(&question.caller, Mode::Text, NOW);
        let start = Instant::now();
        let catalog = Catalog::build(&stock, &directory, &policy, &seen);
        let built = start.elapsed();
        assert_eq!(catalog.len(), count);
        let start = Instant::now();
        for n in 0..20_000 {
            assert!(catalog.get(&format!("big__t{}", n % count)).is_some());
        }
        (built, start.elapsed())
    };
    let (_, few) = build(10);
    let (built, many) = build(10_000);
    println!("10,000 tools: built in {built:?}; 20,000 lookups {many:?}, among ten {few:?}");
    // Looking through a list would take hundreds of times as long.
    assert!(many < few * 20, "{many:?} {few:?}");
}
