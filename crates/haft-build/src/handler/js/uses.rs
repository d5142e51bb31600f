//! What a handler reaches for: names that nobody declared, and members of `context`.
//!
//! `context` is followed from `execute`'s parameter through renames, destructuring and calls of
//! functions of the module. Where it is put into something else, what becomes of it is not known,
//! and no capability is called unused.

use std::collections::{HashMap, HashSet};

use haft_core::contract::Capability;
use oxc_ast::AstKind;
use oxc_ast::ast::{
    BindingPattern, CallExpression, ChainElement, ComputedMemberExpression, Expression,
    FormalParameters, IdentifierReference, MemberExpression, NewExpression, Program,
    StaticMemberExpression, UnaryExpression, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::entry::Execute;
use super::scopes::{Binding, Place, Scopes, opens_scope};
use super::{May, Report, globals};
use crate::code;
use crate::diagnostic::{At, File, Part};
use haft_core::nearest;

/// What `context` always has, whatever the contract lists.
const MEMBERS: &[&str] = &["mode", "session", "tool", "callId"];

/// Whoever made a hundred mistakes made one, a hundred times.
const MOST: usize = 100;

/// What a value is known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// The object that `execute` is handed.
    Input,
    /// Its `context`.
    Context,
}

/// Reports names that the sandbox lacks and capabilities that don't match the contract.
pub(super) fn check(
    program: &Program<'_>,
    execute: Execute,
    may: May<'_>,
    report: &mut Report<'_>,
) {
    let scopes = Scopes::of(program);
    let mut uses = Uses::new(&scopes, may);
    uses.handed.extend(execute.start.map(|start| (start, 0, Role::Input)));
    // A helper may stand before or after the call that hands it `context`: walk until nothing new
    // is learnt. Each round but the last learns something, and calls are rarely ten deep.
    for _ in 0..10 {
        let known = (uses.roles.len(), uses.handed.len(), uses.functions.len());
        uses.walk_anew(program, execute);
        if known == (uses.roles.len(), uses.handed.len(), uses.functions.len()) {
            break;
        }
    }
    uses.tell(report);
}

struct Found {
    code: &'static code::Code,
    span: Span,
    message: String,
    help: Help,
}

enum Help {
    Text(String),
    /// The declared name that is most like this one.
    Near(String),
}

struct Uses<'s, 'a> {
    scopes: &'s Scopes<'a>,
    capabilities: &'s [Capability],
    only_reads: bool,
    place: Place<'s, 'a>,
    roles: HashMap<Binding<'a>, Role>,
    /// The functions of the module by name, told apart by where they begin.
    functions: HashMap<Binding<'a>, u32>,
    /// Which parameter of which function is handed what.
    handed: HashSet<(u32, usize, Role)>,
    used: HashSet<&'a str>,
    /// `context` went where it cannot be followed.
    opaque: bool,
    found: Vec<Found>,
}

impl<'s, 'a> Uses<'s, 'a> {
    fn new(scopes: &'s Scopes<'a>, may: May<'s>) -> Self {
        Self {
            scopes,
            capabilities: may.capabilities,
            only_reads: may.only_reads,
            place: Place::start(scopes),
            roles: HashMap::new(),
            functions: HashMap::new(),
            handed: HashSet::new(),
            used: HashSet::new(),
            opaque: false,
            found: Vec::new(),
        }
    }

    fn walk_anew(&mut self, program: &Program<'a>, execute: Execute) {
        self.found.clear();
        self.used.clear();
        self.opaque = execute.start.is_none();
        self.place = Place::start(self.scopes);
        self.visit_program(program);
    }

    fn tell(self, report: &mut Report<'_>) {
        for found in self.found.into_iter().take(MOST) {
            let help = match found.help {
                Help::Text(text) => text,
                Help::Near(name) => match nearest::find(&name, self.scopes.names().take(1_000)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "declare it, or take it out".to_owned(),
                },
            };
            report.at(found.code, found.span, found.message, help);
        }
        if self.opaque {
            return;
        }
        for (index, capability) in self.capabilities.iter().enumerate() {
            if !self.used.contains(capability.in_js()) {
                let at = At::Pointer(File::Contract, format!("/capabilities/{index}"), Part::Value);
                let message = format!("the handler never uses `{}`", capability.as_str());
                report
                    .findings
                    .add(&code::UNUSED_CAPABILITY, at, message)
                    .help("take it out of the list: what is not handed cannot be misused");
            }
        }
    }

    fn add(
        &mut self,
        code: &'static code::Code,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (message.into(), Help::Text(help.into()));
        self.found.push(Found { code, span, message, help });
    }

    fn resolve(&self, name: &'a str) -> Option<Binding<'a>> {
        self.place.resolve(name)
    }

    /// Whether the expression is this name of the language itself.
    fn is_global(&self, expression: &Expression<'a>, name: &'static str) -> bool {
        expression.is_specific_id(name) && self.resolve(name).is_none()
    }

    fn role(&self, expression: &Expression<'a>) -> Option<Role> {
        match expression {
            Expression::Identifier(name) => {
                self.roles.get(&self.resolve(name.name.as_str())?).copied()
            }
            Expression::ChainExpression(chain) => match &chain.expression {
                ChainElement::CallExpression(_) => None,
                other => self.member_role(other.as_member_expression()?),
            },
            other => self.member_role(other.as_member_expression()?),
        }
    }

    /// `input.context`; what is handed is always a name, so a long chain is not followed.
    fn member_role(&self, member: &MemberExpression<'a>) -> Option<Role> {
        let Expression::Identifier(name) = member.object() else { return None };
        let input = self.roles.get(&self.resolve(name.name.as_str())?) == Some(&Role::Input);
        (input && member.static_property_name() == Some("context")).then_some(Role::Context)
    }

    /// A member of something is named. Says whether the something is now dealt with.
    fn member(
        &mut self,
        object: &Expression<'a>,
        name: Option<(Span, &'a str)>,
        all: Span,
    ) -> bool {
        match (self.role(object), name) {
            (Some(Role::Context), Some((span, name))) => self.of_context(name, span),
            (Some(Role::Context), None) => self.opaque = true,
            // Whoever wanted a member of `input.context` was asked before.
            (Some(Role::Input), Some((_, "context")) | None) => self.opaque = true,
            (Some(Role::Input), Some(_)) => {}
            (None, Some((_, name))) => {
                self.of_global(object, name, all);
                return false;
            }
            (None, None) => return false,
        }
        true
    }

    fn of_context(&mut self, name: &'a str, span: Span) {
        self.used.insert(name);
        let capability = Capability::ALL.into_iter().find(|one| one.in_js() == name);
        if let Some(capability) = capability {
            if !self.capabilities.contains(&capability) {
                let word = capability.as_str();
                let message = format!("the contract does not list the capability `{word}`");
                let help = format!("add `\"{word}\"` to `capabilities` in schema.json");
                self.add(&code::UNDECLARED_CAPABILITY, span, message, help);
            }
        } else if !MEMBERS.contains(&name) {
            let all = Capability::ALL.map(Capability::in_js);
            let known: Vec<_> = MEMBERS.iter().chain(&all).copied().collect();
            let message = format!("`context` has no `{name}`");
            self.add(&code::UNDECLARED_CAPABILITY, span, message, nearest::suggest(name, &known));
        }
    }

    /// `context.http.delete` in a tool that says that it does not write.
    fn of_capability(&mut self, object: &Expression<'a>, method: &str, span: Span) {
        let Some(member) = object.as_member_expression().filter(|_| self.only_reads) else {
            return;
        };
        if self.role(member.object()) != Some(Role::Context) {
            return;
        }
        let name = member.static_property_name();
        let found = Capability::ALL.into_iter().find(|one| Some(one.in_js()) == name);
        match found {
            Some(capability) if capability.changes(method) => {
                let name = capability.in_js();
                let message =
                    format!("`{name}.{method}` changes something, and this tool does not write");
                self.add(&code::CHANGES_UNSAID, span, message, WRITES);
            }
            Some(Capability::Http) if method == "post" => {
                let message = "this tool does not write, and sends a POST";
                let help = "where it only looks something up, say so under `lint.allow`";
                self.add(&code::POST_OF_READER, span, message, help);
            }
            Some(_) | None => {}
        }
    }

    fn of_global(&mut self, object: &Expression<'a>, name: &str, span: Span) {
        if self.is_global(object, "Date") && name == "now" {
            self.add(&code::NOT_IN_SANDBOX, span, "`Date.now` has no clock to read", CLOCK);
        } else if self.is_global(object, "Math") && name == "random" {
            self.add(&code::NOT_IN_SANDBOX, span, "`Math.random` is not random here", RANDOM);
        } else if self.is_global(object, "globalThis")
            && let Some(help) = globals::missing(name)
        {
            let message = format!("the sandbox has no `{name}`");
            self.add(&code::NOT_IN_SANDBOX, span, message, help);
        }
    }

    /// Gives a pattern's names what they take out of a value.
    fn bind(&mut self, pattern: &BindingPattern<'a>, role: Role) {
        match pattern {
            BindingPattern::BindingIdentifier(id) => {
                let binding = self.resolve(id.name.as_str());
                self.roles.extend(binding.map(|binding| (binding, role)));
            }
            BindingPattern::AssignmentPattern(defaulted) => self.bind(&defaulted.left, role),
            BindingPattern::ArrayPattern(_) => {}
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    let name = property.key.static_name().filter(|_| !property.computed);
                    match (role, name.as_deref()) {
                        (Role::Input, Some("context")) => self.bind(&property.value, Role::Context),
                        (Role::Input, Some("args")) => {}
                        (Role::Input, Some(name)) => self.not_handed(name, property.key.span()),
                        (Role::Context, Some(_)) => self.taken(&property.key),
                        (Role::Input | Role::Context, None) => self.opaque = true,
                    }
                }
                self.opaque |= object.rest.is_some();
            }
        }
    }

    fn taken(&mut self, key: &oxc_ast::ast::PropertyKey<'a>) {
        match key {
            oxc_ast::ast::PropertyKey::StaticIdentifier(name) => {
                self.of_context(name.name.as_str(), name.span);
            }
            oxc_ast::ast::PropertyKey::StringLiteral(name) => {
                self.of_context(name.value.as_str(), name.span);
            }
            _ => self.opaque = true,
        }
    }

    fn not_handed(&mut self, name: &str, span: Span) {
        let message = format!("`execute` is handed `args` and `context`, no `{name}`");
        let help = match nearest::find(name, ["args", "context"]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("an argument of the call is `args.{name}`"),
        };
        self.add(&code::NO_EXECUTE, span, message, help);
    }

    /// The parameters of a function that was just entered.
    fn parameters(&mut self, start: u32, params: &FormalParameters<'a>) {
        for (index, param) in params.items.iter().enumerate() {
            for role in [Role::Input, Role::Context] {
                if self.handed.contains(&(start, index, role)) {
                    self.bind(&param.pattern, role);
                }
            }
        }
        let rest = params.items.len();
        let roles = [Role::Input, Role::Context];
        let swallowed = |role: &Role| self.handed.contains(&(start, rest, *role));
        self.opaque |= params.rest.is_some() && roles.iter().any(swallowed);
    }

    /// Remembers that a function of the module is handed `context`, so that it can be followed.
    fn hand_on(&mut self, call: &CallExpression<'a>) -> Option<u32> {
        let Expression::Identifier(name) = &call.callee else { return None };
        let function = *self.functions.get(&self.resolve(name.name.as_str())?)?;
        let spread = call.arguments.iter().any(oxc_ast::ast::Argument::is_spread);
        (!spread).then_some(function)
    }

    fn name_function(&mut self, name: &'a str, start: u32) {
        let binding = self.resolve(name);
        self.functions.extend(binding.map(|binding| (binding, start)));
    }
}

const WRITES: &str = "say `\"sideEffects\": \"writes\"` in schema.json";
const CLOCK: &str = "list `clock` under `capabilities` and call `context.clock.now()`";
const RANDOM: &str = "use `context.callId` where something must be unique";

impl<'a> Visit<'a> for Uses<'_, 'a> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        if let AstKind::Function(it) = kind
            && it.is_declaration()
            && let Some(id) = &it.id
        {
            self.name_function(id.name.as_str(), it.span.start);
        }
        if opens_scope(&kind) {
            self.place.enter();
        }
        match kind {
            AstKind::Function(it) => self.parameters(it.span.start, &it.params),
            AstKind::ArrowFunctionExpression(it) => self.parameters(it.span.start, &it.params),
            _ => {}
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if opens_scope(&kind) {
            self.place.leave();
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        match (&it.id, &it.init) {
            (
                BindingPattern::BindingIdentifier(id),
                Some(Expression::FunctionExpression(value)),
            ) => {
                self.name_function(id.name.as_str(), value.span.start);
            }
            (
                BindingPattern::BindingIdentifier(id),
                Some(Expression::ArrowFunctionExpression(value)),
            ) => self.name_function(id.name.as_str(), value.span.start),
            _ => {}
        }
        self.visit_binding_pattern(&it.id);
        let Some(value) = &it.init else { return };
        match self.role(value) {
            Some(role) => self.bind(&it.id, role),
            None => self.visit_expression(value),
        }
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        let name = (it.property.span, it.property.name.as_str());
        self.of_capability(&it.object, name.1, it.span);
        if !self.member(&it.object, Some(name), it.span) {
            walk::walk_static_member_expression(self, it);
        }
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        if self.member(&it.object, it.static_property_info(), it.span) {
            self.visit_expression(&it.expression);
        } else {
            walk::walk_computed_member_expression(self, it);
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        let text = "the constructor `Function` cannot make code of text here";
        if self.is_global(&it.callee, "Function") {
            self.add(&code::NOT_IN_SANDBOX, it.callee.span(), text, "write the function itself");
        } else if self.is_global(&it.callee, "Date") {
            self.add(&code::NOT_IN_SANDBOX, it.span, "`Date()` has no clock to read", CLOCK);
        }
        let function = self.hand_on(it);
        self.visit_expression(&it.callee);
        for (index, argument) in it.arguments.iter().enumerate() {
            let role = argument.as_expression().and_then(|value| self.role(value));
            match (function, role) {
                (Some(function), Some(role)) => {
                    self.handed.insert((function, index, role));
                }
                _ => self.visit_argument(argument),
            }
        }
    }

    fn visit_new_expression(&mut self, it: &NewExpression<'a>) {
        if self.is_global(&it.callee, "Date") && it.arguments.is_empty() {
            self.add(&code::NOT_IN_SANDBOX, it.span, "`new Date()` has no clock to read", CLOCK);
        } else if self.is_global(&it.callee, "Function") {
            let text = "the constructor `Function` cannot make code of text here";
            self.add(&code::NOT_IN_SANDBOX, it.callee.span(), text, "write the function itself");
        }
        walk::walk_new_expression(self, it);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        // `typeof fetch` asks whether there is one, which is a fair question.
        let asks = it.operator.is_typeof() && it.argument.is_identifier_reference();
        if !asks {
            walk::walk_unary_expression(self, it);
        }
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let name = it.name.as_str();
        if let Some(binding) = self.resolve(name) {
            self.opaque |= self.roles.contains_key(&binding);
            return;
        }
        self.opaque |= name == "arguments";
        if let Some(help) = globals::missing(name) {
            let message = format!("the sandbox has no `{name}`");
            self.add(&code::NOT_IN_SANDBOX, it.span, message, help);
        } else if !globals::is_defined(name) {
            let (message, help) = (format!("`{name}` is not defined"), Help::Near(name.to_owned()));
            self.found.push(Found { code: &code::NOT_IN_SANDBOX, span: it.span, message, help });
        }
    }
}
