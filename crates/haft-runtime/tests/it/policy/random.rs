//! Random policies and questions, against an evaluator that is written as plainly as it can be.
//!
//! `HAFT_POLICY_CASES` asks more questions than the 20,000 of every run, `HAFT_POLICY_SEED` others.

use haft_core::contract::{Effect, Mode};
use haft_core::port::{Ask, Decide, Standing, Verdict};
use haft_core::registry::Tool;
use haft_runtime::policy::Policy;
use serde_json::{Value, json};

use super::world::{NOW, Question, load, mail, shop};

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.roll(all.len() as u64);
        &all[usize::try_from(at).unwrap()]
    }

    fn word(&mut self, all: &[&'static str]) -> &'static str {
        let word: &&'static str = self.pick(all);
        word
    }

    fn some<'a, T>(&mut self, all: &'a [T]) -> Vec<&'a T> {
        all.iter().filter(|_| self.roll(3) == 0).collect()
    }
}

const GLOBS: [&str; 8] =
    ["*", "shop__*", "mcp__*", "mcp__mail__*", "*find", "shop__order", "*__*e*r*", "shop__s*t"];
const APPROVE: [&str; 4] = ["state_change", "external_side_effect", "shop__find", "mcp__*"];
const PEOPLE: [&str; 5] = ["user:mara", "user:ole", "agent:helper", "agent:clerk", "service:cron"];
const TENANTS: [&str; 2] = ["acme", "other"];
const CONNECTIONS: [&str; 3] = ["c1", "c2", "c3"];

/// One Cedar policy of the family, which the reference reads as data.
#[derive(Clone, Debug)]
struct Rule {
    permit: bool,
    asks: bool,
    who: &'static str,
    tool: &'static str,
    when: &'static str,
}

const WHO: [&str; 5] = ["anyone", "mara", "agents", "acme", "anyone"];
const TOOLS: [&str; 4] = ["any", "any", "shop__order", "mcp__mail__send"];
const WHEN: [&str; 9] =
    ["always", "always", "voice", "count", "gift", "level", "open", "late", "session"];

fn rule(dice: &mut Dice) -> Rule {
    let rule = Rule {
        permit: dice.roll(2) == 0,
        asks: dice.roll(3) == 0,
        who: dice.word(&WHO),
        tool: dice.word(&TOOLS),
        when: dice.word(&WHEN),
    };
    // Only an order has these arguments.
    match rule.when {
        "count" | "gift" => Rule { tool: "shop__order", ..rule },
        _ => rule,
    }
}

fn written(rule: &Rule, number: usize) -> String {
    let who = match rule.who {
        "mara" => "principal == Haft::User::\"mara\"",
        "agents" => "principal is Haft::Agent",
        "acme" => "principal in Haft::Tenant::\"acme\"",
        _ => "principal",
    };
    let action = match rule.tool {
        "any" => "action".to_owned(),
        tool => format!("action == Haft::Action::\"{tool}\""),
    };
    let when = match rule.when {
        "voice" => "when { context.mode == \"voice\" }",
        "count" => "when { context.arguments.count > 10 }",
        "gift" => "unless { context.arguments has gift && context.arguments.gift }",
        "level" => "when { context.user has level && context.user.level < 2 }",
        "open" => "when { resource.tags.contains(\"open\") }",
        "late" => "when { context.now.toTime() >= duration(\"18h\") }",
        "session" => "when { context has session }",
        _ => "",
    };
    let effect = if rule.permit { "permit" } else { "forbid" };
    let asks = if rule.asks { "@approve(\"why\")" } else { "" };
    format!("@id(\"r{number}\") {asks} {effect}({who}, {action}, resource) {when};\n")
}

/// A policy as data, for the reference, and the few who ask: the same ones meet often, so that
/// what is remembered is put to the test.
#[derive(Debug)]
struct World {
    people: [&'static str; 2],
    tools: [usize; 3],
    allow: Vec<&'static str>,
    deny: Vec<&'static str>,
    approve: Vec<&'static str>,
    rules: Vec<Rule>,
    delegations: Vec<(String, String, String, &'static str, bool, i64)>,
    grants: Vec<(String, &'static str, String, &'static str, &'static str)>,
}

fn world(dice: &mut Dice) -> World {
    let people = [dice.word(&PEOPLE), dice.word(&PEOPLE)];
    let delegation = |dice: &mut Dice| {
        let (actor, subject) = (dice.word(&people).to_owned(), dice.word(&people).to_owned());
        let until = NOW + i64::try_from(dice.roll(48)).unwrap() * 1_800_000;
        let tenant = dice.word(&TENANTS).to_owned();
        (tenant, actor, subject, dice.word(&GLOBS), dice.roll(2) == 0, until)
    };
    let grant = |dice: &mut Dice| {
        let connection = dice.word(&CONNECTIONS);
        let who = ["*", "user:*", people[0], people[1]];
        let tenant = dice.word(&TENANTS).to_owned();
        (tenant, connection, dice.word(&who).to_owned(), provider(connection), dice.word(&GLOBS))
    };
    let tools = [(); 3].map(|()| usize::try_from(dice.roll(8)).unwrap());
    World {
        people,
        tools,
        allow: dice
            .some(&GLOBS)
            .into_iter()
            .copied()
            .chain(["*"])
            .skip(usize::from(dice.roll(3) == 0))
            .collect(),
        deny: if dice.roll(3) == 0 { vec![dice.word(&GLOBS[3..])] } else { Vec::new() },
        approve: dice.some(&APPROVE).into_iter().copied().collect(),
        rules: (0..dice.roll(5)).map(|_| rule(dice)).collect(),
        delegations: (0..4 + dice.roll(8)).map(|_| delegation(dice)).collect(),
        grants: (0..3 + dice.roll(6)).map(|_| grant(dice)).collect(),
    }
}

fn provider(connection: &str) -> &'static str {
    if connection == "c3" { "calendar" } else { "mailer" }
}

fn loaded(world: &World) -> Policy {
    let until = |ms: i64| serde_json::to_value(haft_runtime::policy::Instant(ms)).unwrap();
    let delegations: Vec<Value> = world
        .delegations
        .iter()
        .map(|(tenant, actor, subject, tools, connections, at)| {
            json!({"tenant": tenant, "actor": actor, "subject": subject, "tools": [tools],
                   "connections": if *connections { json!(["c*"]) } else { json!([]) },
                   "until": until(*at)})
        })
        .collect();
    let grants: Vec<Value> = world
        .grants
        .iter()
        .map(|(tenant, connection, who, provider, tools)| {
            json!({"connection": connection, "provider": provider, "tenant": tenant,
                   "principals": [who], "tools": [tools]})
        })
        .collect();
    let source = json!({
        "rules": {"allow": world.allow, "deny": world.deny, "approve": world.approve,
                  "user": {"level": "integer"}},
        "delegations": delegations, "grants": grants,
    });
    let cedar: String =
        world.rules.iter().enumerate().map(|(at, rule)| written(rule, at)).collect();
    load(source, &cedar).unwrap()
}

fn question(dice: &mut Dice, world: &World) -> Question {
    let mut question = Question::new()
        .tenant(dice.word(&TENANTS))
        .actor(dice.word(&world.people))
        .at(NOW + i64::try_from(dice.roll(48)).unwrap() * 1_800_000);
    if dice.roll(2) == 0 {
        question = question.subject(dice.word(&world.people));
    }
    if dice.roll(2) == 0 {
        question = question.mode(Mode::Voice);
    }
    if dice.roll(2) == 0 {
        question = question.session("s1");
    }
    if dice.roll(3) > 0 {
        question = question.through(dice.word(&CONNECTIONS));
    }
    let users = [
        json!({}),
        json!({"level": 1}),
        json!({"level": 2, "isAuthenticated": true}),
        json!({"isAuthenticated": true}),
        json!({"isAuthenticated": false}),
    ];
    question.user(dice.pick(&users).clone())
}

fn arguments(dice: &mut Dice, tool: &Tool) -> Value {
    match tool.id.as_str() {
        "shop__order" => {
            let mut order = json!({"item": "x", "amount": 1.5, "count": dice.roll(21)});
            if dice.roll(2) == 0 {
                order["gift"] = json!(dice.roll(2) == 0);
            }
            order
        }
        "shop__rush" => json!({"hours": dice.roll(6)}),
        _ => json!({}),
    }
}

// From here on: the reference.

fn fits(glob: &[u8], text: &[u8]) -> bool {
    match glob.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|from| fits(rest, &text[from..])),
        Some((letter, rest)) => text.first() == Some(letter) && fits(rest, &text[1..]),
    }
}

fn any(globs: &[&str], text: &str) -> bool {
    globs.iter().any(|glob| fits(glob.as_bytes(), text.as_bytes()))
}

/// Whether a rule matches; nothing where that takes arguments and there are none.
fn matches(
    rule: &Rule,
    who: &str,
    tool: &Tool,
    q: &Question,
    arguments: Option<&Value>,
) -> Option<bool> {
    let is_who = match rule.who {
        "mara" => who == "user:mara",
        "agents" => who.starts_with("agent:"),
        "acme" => &*q.caller.tenant == "acme",
        _ => true,
    };
    let is_tool = rule.tool == "any" || rule.tool == tool.id;
    if !is_tool {
        return Some(false);
    }
    let hour = (q.now_ms / 3_600_000) % 24;
    let is_when = match rule.when {
        "voice" => q.mode == Mode::Voice,
        "count" => arguments?["count"].as_i64().unwrap() > 10,
        "gift" => arguments?.get("gift") != Some(&json!(true)),
        "level" => q.caller.user.get("level").is_some_and(|level| level.as_i64().unwrap() < 2),
        "open" => tool.contract.tags.contains(&"open".to_owned()),
        "late" => hour >= 18,
        "session" => q.session.is_some(),
        _ => true,
    };
    Some(is_who && is_when)
}

/// What should come out; without arguments, whether it must be a refusal already.
fn expected(
    world: &World,
    tool: &Tool,
    q: &Question,
    arguments: Option<&Value>,
) -> Option<Verdict> {
    let deny = Some(Verdict::Deny);
    let (tenant, id) = (&*q.caller.tenant, tool.id.as_str());
    let actor = q.caller.actor.to_string();
    let subject = q.caller.subject.as_ref().map(ToString::to_string);
    let subject = subject.filter(|subject| *subject != actor);
    if any(&world.deny, id) || !any(&world.allow, id) {
        return deny;
    }
    let mut used = None;
    if let Some(needed) = &tool.contract.connection {
        used = q.connection.as_deref();
        let whose = subject.as_ref().unwrap_or(&actor);
        let granted = world.grants.iter().any(|(in_tenant, connection, who, provider, tools)| {
            in_tenant == tenant
                && Some(*connection) == used
                && any(&[who], whose)
                && *provider == needed.provider
                && any(&[tools], id)
        });
        if (used.is_some() || needed.required) && !granted {
            return deny;
        }
    }
    if let Some(subject) = &subject {
        let covered =
            world.delegations.iter().any(|(in_tenant, by, whom, tools, connections, until)| {
                in_tenant == tenant
                    && *by == actor
                    && whom == subject
                    && any(&[tools], id)
                    && (used.is_none() || *connections)
                    && *until > q.now_ms
            });
        if !covered {
            return deny;
        }
    }
    let mut unsure = false;
    let mut asks = any(&world.approve, tool.contract.effect.as_str()) || any(&world.approve, id);
    for who in [Some(&actor), subject.as_ref()].into_iter().flatten() {
        let mut permitted = world.rules.iter().all(|rule| !rule.permit);
        let mut maybe_permitted = false;
        for rule in &world.rules {
            match matches(rule, who, tool, q, arguments) {
                None if rule.permit => maybe_permitted = true,
                None => unsure = true,
                Some(false) => {}
                Some(true) if rule.permit => {
                    permitted = true;
                    asks |= rule.asks;
                }
                Some(true) if rule.asks => asks = true,
                Some(true) => return deny,
            }
        }
        if !permitted && !maybe_permitted {
            return deny;
        }
        unsure |= maybe_permitted;
    }
    if id == "shop__member"
        && (q.caller.user.get("isAuthenticated") != Some(&json!(true)) || q.mode == Mode::Voice)
    {
        return deny;
    }
    if id == "shop__rush" {
        match arguments {
            None => unsure = true,
            Some(arguments) if arguments["hours"].as_i64().unwrap() >= 3 => return deny,
            Some(_) => {}
        }
    }
    if unsure {
        return None;
    }
    Some(if asks { Verdict::RequireApproval } else { Verdict::Allow })
}

fn cases() -> u64 {
    std::env::var("HAFT_POLICY_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

#[test]
fn no_random_question_is_answered_differently_by_the_reference() {
    let seed = std::env::var("HAFT_POLICY_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    let mut dice = Dice(seed);
    let tools = [shop().tools, mail().tools].concat();
    assert!(tools.iter().any(|tool| tool.contract.effect == Effect::ExternalSideEffect));
    let (mut asked, mut verdicts, mut open) = (0, [0_u64; 3], 0_u64);
    while asked < cases() {
        let world = world(&mut dice);
        let policy = loaded(&world);
        for _ in 0..200 {
            let tool = &tools[*dice.pick(&world.tools)];
            let given = arguments(&mut dice, tool);
            let q = question(&mut dice, &world).with(given.clone());
            let ask = q.about(tool);
            let decision = policy.decide(&ask);
            let should = expected(&world, tool, &q, Some(&given)).unwrap();
            assert_eq!(decision.verdict, should, "{decision:?}\n{} {q:?}\n{world:#?}", tool.id);
            verdicts[should as usize] += 1;
            match (
                policy.standing(&Ask { arguments: None, ..ask }),
                expected(&world, tool, &q, None),
            ) {
                (Standing::Settled(settled), should) => {
                    assert_eq!(settled, decision, "{} {q:?}\n{world:#?}", tool.id);
                    assert!(should.is_none_or(|should| should == settled.verdict));
                }
                (Standing::Open, Some(Verdict::Deny)) => panic!("{} {q:?}\n{world:#?}", tool.id),
                (Standing::Open, Some(_) | None) => open += 1,
            }
            asked += 1;
        }
    }
    println!("{asked} questions, 0 divergences; allow, approve, deny: {verdicts:?}; open: {open}");
    assert!(verdicts.iter().all(|count| *count > asked / 100), "{verdicts:?}");
}
