//! Reading Cedar policies: every problem at once, with file and line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cedar_policy::{
    ActionConstraint, Effect, EntityUid, Policy, PolicyId, PolicySet, ResourceConstraint,
    ValidationMode, Validator,
};
use haft_core::registry::Registry;
use haft_core::{nearest, nesting};
use miette::Diagnostic;
use std::str::FromStr;

use super::mentions::Mentions;
use super::request::Names;
use super::schema::{self, CALL};
use super::search::MOST_LETTERS;
use super::types::Record;
use super::{Cedar, Rule, Slice};
use crate::policy::glob::Known;
use crate::policy::problem::{Problem, line_of};

/// A file with Cedar policies.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Text {
    /// Its name: part of the ids of its rules.
    pub file: String,
    /// What it says.
    pub text: String,
}

/// More than this is no policy file.
const MAX_BYTES: usize = 1 << 20;

/// So many rules hold for a tenant, its own and those that are declared: all of them are checked
/// against every tool whenever one changes.
const MOST_RULES: usize = 2_000;

/// The longest of them.
const MAX_RULE: usize = 32 << 10;

/// So many mistakes are told.
const MOST_TOLD: usize = 20;

/// What an annotation can be.
const ANNOTATIONS: [&str; 4] = ["id", "approve", "description", "enable"];

/// A policy on its way in.
struct Read<'a> {
    policy: Policy,
    source: &'a Text,
    /// Where what Cedar read begins: its places are counted from there.
    begins: usize,
    line: usize,
    rule: Rule,
    applies: Applies,
    mentions: Mentions,
    /// The tools that it names anywhere.
    named: BTreeSet<String>,
    /// Something is wrong with it that validation would only repeat.
    faulty: bool,
}

/// Which tools a policy can matter for.
enum Applies {
    All,
    Only(BTreeSet<String>),
}

/// Reads policies. Nothing comes of it when there are none.
pub(crate) fn load(
    texts: &[Text],
    user: Record,
    registries: &[&Registry],
    known: &Known<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Cedar> {
    let names = Names::new().map_err(|why| problems.push(Problem::error("cedar", why))).ok()?;
    let mut read = Vec::new();
    for text in texts {
        parse(text, &names, known, &mut read, problems);
    }
    let arguments = argument_types(&read, registries);
    validate(&read, &user, &arguments, problems);
    if read.is_empty() {
        return None;
    }
    let slices = read.iter().flat_map(|one| &one.named).collect::<BTreeSet<_>>();
    let slices: Result<_, _> =
        slices.into_iter().map(|id| Ok((id.clone(), slice(&read, Some(id))?))).collect();
    let cut = slices.and_then(|slices| Ok((slices, slice(&read, None)?)));
    let (slices, other) =
        cut.map_err(|why: String| problems.push(Problem::error("cedar", why))).ok()?;
    Some(Cedar {
        names,
        slices,
        other,
        permits: read.iter().any(|one| one.policy.effect() == Effect::Permit),
        by_id: read.iter().enumerate().map(|(at, one)| (one.rule.id.clone(), at)).collect(),
        rules: read.into_iter().map(|one| one.rule).collect(),
        user,
        arguments: arguments.into_iter().collect(),
    })
}

fn parse<'a>(
    source: &'a Text,
    names: &Names,
    known: &Known<'_>,
    read: &mut Vec<Read<'a>>,
    problems: &mut Vec<Problem>,
) {
    if source.text.len() > MAX_BYTES {
        return problems.push(Problem::error(&source.file, "the file is larger than 1 MiB"));
    }
    // Before Cedar reads it, which would end the stack.
    if nesting::depth(&source.text) > nesting::MOST {
        let message = "a rule is nested too deep, or chains too much";
        let help = "make several rules of it, or write `[…].contains(…)` for many alternatives";
        return problems.push(Problem::error(&source.file, message).help(help));
    }
    let Some(policies) = one_by_one(source, MOST_RULES.saturating_sub(read.len()), problems) else {
        return;
    };
    let mut ids = BTreeSet::new();
    let mut counted = (0, 1);
    for (at, Found { begins, from, policy }) in policies.iter().enumerate() {
        // From where the last one stands on: there may be many.
        let line =
            counted.1 + line_of(source.text.get(counted.0..*from).unwrap_or_default(), *from) - 1;
        counted = (*from, line);
        let rule = rule(source, policy, at + 1, line, problems);
        if !ids.insert(rule.id.clone()) {
            let message = format!("two rules have the id `{}`", rule.id);
            problems.push(Problem::error(&source.file, message).at(Some(line)));
            continue;
        }
        let one = examine(source, policy, rule, line, names, known, problems);
        read.push(Read { begins: *begins, ..one });
    }
}

/// A rule of a file.
struct Found {
    /// Where its text begins, with what stands before it.
    begins: usize,
    /// Where it stands.
    from: usize,
    policy: Policy,
}

/// The rules of a file; nothing where one cannot be read. One by one: what is wrong with a long text,
/// Cedar finds thousands of times over, and slowly.
fn one_by_one(source: &Text, most: usize, problems: &mut Vec<Problem>) -> Option<Vec<Found>> {
    let too_many = || {
        let what = format!("there are more than {MOST_RULES} rules, with those of other files");
        let help = "make one of several: write `[…].contains(…)` for what only differs in a name";
        Problem::error(&source.file, what).help(help)
    };
    let (mut policies, mut wrong) = (Vec::new(), 0);
    for (number, (from, text)) in nesting::rules(&source.text).enumerate() {
        // One more than there may be is what comes after the last: a comment, say.
        if number > most {
            problems.push(too_many());
            return None;
        }
        if text.len() > MAX_RULE {
            let what = format!("a rule is longer than {} KiB", MAX_RULE >> 10);
            let problem = Problem::error(&source.file, what).help("make several rules of it");
            problems.push(problem.at(Some(line_of(&source.text, from))));
            return None;
        }
        match PolicySet::from_str(text) {
            Err(errors) => {
                let told = errors.iter().take(MOST_TOLD - wrong);
                let told: Vec<_> =
                    told.map(|error| at(source, from, error, error.to_string())).collect();
                wrong += told.len();
                problems.extend(told);
                if wrong == MOST_TOLD {
                    return None;
                }
            }
            Ok(set) if set.num_of_templates() > 0 => {
                let what = "templates with `?principal` or `?resource` are not used";
                let problem = Problem::error(&source.file, what);
                problems.push(problem.help("name the principal, or test it in `when`"));
            }
            Ok(set) => policies.extend(set.policies().next().map(|policy| {
                let place = policy.to_cedar().and_then(|rule| text.find(&rule));
                let policy = policy.clone();
                Found { begins: from, from: from + place.unwrap_or(0), policy }
            })),
        }
    }
    if policies.len() > most {
        problems.push(too_many());
        return None;
    }
    (wrong == 0).then_some(policies)
}

/// What a policy says about itself.
fn rule(
    source: &Text,
    policy: &Policy,
    number: usize,
    line: usize,
    problems: &mut Vec<Problem>,
) -> Rule {
    for (name, _) in policy.annotations().filter(|(name, _)| !ANNOTATIONS.contains(name)) {
        let message = format!("`@{name}` means nothing here");
        let problem = Problem::error(&source.file, message).at(Some(line));
        problems.push(problem.help(nearest::suggest(name, &ANNOTATIONS)));
    }
    let said = |name: &str| policy.annotation(name).map(str::to_owned);
    let id = said("id").unwrap_or_else(|| number.to_string());
    Rule {
        id: format!("cedar:{}#{id}", source.file),
        approve: said("approve"),
        description: said("description"),
        enable: said("enable"),
    }
}

fn examine<'a>(
    source: &'a Text,
    policy: &Policy,
    rule: Rule,
    line: usize,
    names: &Names,
    known: &Known<'_>,
    problems: &mut Vec<Problem>,
) -> Read<'a> {
    let mut faulty = false;
    let mut wrong = |message: String, help: Option<String>| {
        faulty = true;
        let problem = Problem::error(&source.file, message).at(Some(line));
        problems.push(help.into_iter().fold(problem, Problem::help));
    };
    let mut named = BTreeSet::new();
    for literal in policy.entity_literals() {
        let id: &str = literal.id().unescaped();
        let is_action = names.is_action(literal.type_name());
        if !(is_action || names.is_tool(literal.type_name())) || (is_action && id == CALL) {
            continue;
        }
        if known.has(id) {
            named.insert(id.to_owned());
        } else {
            wrong(format!("rule `{}`: there is no tool `{id}`", rule.id), known.suggest(id));
        }
    }
    let mentions = match policy.to_json() {
        Ok(json) => Mentions::of_policy(&json),
        Err(error) => {
            wrong(format!("rule `{}`: {error}", rule.id), None);
            Mentions::default()
        }
    };
    if mentions.searches.longest > MOST_LETTERS {
        let what =
            format!("rule `{}`: `like` searches for more than {MOST_LETTERS} letters", rule.id);
        let help =
            "put a `*` in between, which lets anything stand there, or search for fewer; a text \
                    without any `*` is compared with `==`"
                .to_owned();
        wrong(what, Some(help));
    }
    let applies = applies(policy);
    if matches!(&applies, Applies::Only(tools) if tools.is_empty()) {
        let message = format!("rule `{}` can never match: its action and resource differ", rule.id);
        wrong(message, Some("name one tool, as the action or as the resource".into()));
    }
    let policy = policy.new_id(PolicyId::new(&rule.id));
    Read { policy, source, begins: 0, line, rule, applies, mentions, named, faulty }
}

/// Which tools the head of a policy leaves.
fn applies(policy: &Policy) -> Applies {
    let id = |uid: &EntityUid| uid.id().unescaped().to_owned();
    let by_action: Option<BTreeSet<String>> = match policy.action_constraint() {
        ActionConstraint::Any => None,
        ActionConstraint::Eq(uid) => Some(BTreeSet::from([id(&uid)])),
        ActionConstraint::In(uids) if uids.iter().any(|uid| uid.id().unescaped() == CALL) => None,
        ActionConstraint::In(uids) => Some(uids.iter().map(id).collect()),
    };
    let by_resource = match policy.resource_constraint() {
        ResourceConstraint::Any | ResourceConstraint::Is(_) => None,
        ResourceConstraint::In(uid)
        | ResourceConstraint::Eq(uid)
        | ResourceConstraint::IsIn(_, uid) => Some(id(&uid)),
    };
    match (by_action, by_resource) {
        (None, None) => Applies::All,
        (Some(tools), None) => Applies::Only(tools),
        (None, Some(tool)) => Applies::Only(BTreeSet::from([tool])),
        (Some(tools), Some(tool)) => {
            Applies::Only(tools.into_iter().filter(|one| *one == tool).collect())
        }
    }
}

/// The tools that get an action of their own: those that are named, or all of them where a rule
/// looks at the arguments of any tool.
fn argument_types(read: &[Read<'_>], registries: &[&Registry]) -> BTreeMap<String, Record> {
    let any_arguments = |one: &Read<'_>| {
        let of_one = matches!(one.policy.action_constraint(), ActionConstraint::Eq(_));
        one.mentions.arguments && !of_one
    };
    let all = read.iter().any(any_arguments);
    let named: BTreeSet<&String> = read.iter().flat_map(|one| &one.named).collect();
    let mut types: BTreeMap<String, Record> = BTreeMap::new();
    for tool in registries.iter().flat_map(|registry| &registry.tools) {
        if all || named.contains(&tool.id) {
            let record = Record::of_parameters(&tool.contract.parameters);
            let merged = match types.remove(&tool.id) {
                Some(other) => other.merge(record),
                None => record,
            };
            types.insert(tool.id.clone(), merged);
        }
    }
    types
}

fn validate(
    read: &[Read<'_>],
    user: &Record,
    arguments: &BTreeMap<String, Record>,
    problems: &mut Vec<Problem>,
) {
    let compiled = schema::compile(schema::json(user, arguments));
    let policies = PolicySet::from_policies(read.iter().map(|one| one.policy.clone()))
        .map_err(|error| error.to_string());
    let (schema, policies) = match (compiled, policies) {
        (Ok(schema), Ok(policies)) => (schema, policies),
        (Err(why), _) | (_, Err(why)) => {
            return problems.push(Problem::error("cedar", format!("no schema: {why}")));
        }
    };
    let by_id: HashMap<&str, &Read<'_>> =
        read.iter().map(|one| (one.rule.id.as_str(), one)).collect();
    let result = Validator::new(schema).validate(&policies, ValidationMode::Strict);
    let errors = result.validation_errors().map(|e| (e.policy_id(), e as &dyn Diagnostic));
    let warnings = result.validation_warnings().map(|w| (w.policy_id(), w as &dyn Diagnostic));
    // The same mistake is found for each kind of principal and each tool, in any order, and a
    // mistake makes a rule impossible as well: one per line is said, errors before warnings.
    let mut found: BTreeMap<(&str, Option<usize>), Problem> = BTreeMap::new();
    let mut wrong = BTreeSet::new();
    for ((id, what), is_error) in errors.map(|e| (e, true)).chain(warnings.map(|w| (w, false))) {
        let Some(one) = by_id.get::<str>(id.as_ref()).copied().filter(|one| !one.faulty) else {
            continue;
        };
        if is_error {
            wrong.insert(one.rule.id.as_str());
        } else if wrong.contains(one.rule.id.as_str()) {
            continue;
        }
        let message = what.to_string().replacen(&format!("for policy `{id}`, "), "", 1);
        let problem =
            at(one.source, one.begins, what, format!("rule `{}`: {message}", one.rule.id));
        let line = problem.line.or(Some(one.line));
        let problem = hint(one, problem.at(line));
        let key = (one.rule.id.as_str(), line);
        let first = found.get(&key).is_none_or(|other| problem.message < other.message);
        if first {
            found.insert(key, problem);
        }
    }
    problems.extend(found.into_values());
}

/// What helps where a rule speaks of arguments without saying of which tool.
fn hint(one: &Read<'_>, problem: Problem) -> Problem {
    let scoped = matches!(one.policy.action_constraint(), ActionConstraint::Eq(_));
    if one.mentions.arguments && !scoped && problem.message.contains("attribute") {
        return problem
            .help("say whose arguments: `action == Haft::Action::\"<tool>\"`, or test with `has`");
    }
    problem
}

/// A mistake in what begins at `from`.
fn at(source: &Text, from: usize, error: &dyn Diagnostic, message: String) -> Problem {
    let offset = error.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let problem = Problem::error(&source.file, message)
        .at(offset.map(|offset| line_of(&source.text, from + offset)));
    match error.help() {
        Some(help) => problem.help(help.to_string()),
        None => problem,
    }
}

/// The policies that can matter for a tool, or for those that no policy names.
fn slice(read: &[Read<'_>], tool: Option<&String>) -> Result<Slice, String> {
    let matters = |one: &&Read<'_>| match (&one.applies, tool) {
        (Applies::All, _) => true,
        (Applies::Only(tools), Some(tool)) => tools.contains(tool),
        (Applies::Only(_), None) => false,
    };
    let mut slice = Slice::default();
    for one in read.iter().filter(matters) {
        slice.mentions.add(&one.mentions);
        let sets = if one.mentions.arguments { &mut slice.bound } else { &mut slice.free };
        let set = match (one.policy.effect(), &one.rule.approve) {
            (Effect::Permit, asks) => {
                sets.permits_ask |= asks.is_some();
                &mut sets.permit
            }
            (Effect::Forbid, Some(_)) => &mut sets.approve,
            (Effect::Forbid, None) => &mut sets.forbid,
        };
        set.add(one.policy.clone()).map_err(|error| error.to_string())?;
        if !one.mentions.arguments {
            slice.free_mentions.add(&one.mentions);
        }
    }
    Ok(slice)
}
