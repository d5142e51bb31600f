//! Which declaration a name refers to.

use std::collections::{HashMap, HashSet};

use oxc_ast::AstKind;
use oxc_ast::ast::{BindingIdentifier, Program, VariableDeclaration};
use oxc_ast_visit::Visit;

/// Every declared name, by the scope that it is declared in. Scopes are numbered in the order in
/// which a walk enters them, so that a second walk of the same tree can count along.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    names: Vec<HashSet<&'a str>>,
}

/// A name in its scope.
pub(super) type Binding<'a> = (usize, &'a str);

impl<'a> Scopes<'a> {
    pub(super) fn of(program: &Program<'a>) -> Self {
        let mut declare = Declare::default();
        declare.visit_program(program);
        Self { names: declare.names }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().flatten().copied()
    }
}

/// The place of a walk among the scopes.
#[derive(Debug)]
pub(super) struct Place<'s, 'a> {
    scopes: &'s Scopes<'a>,
    entered: usize,
    around: Vec<usize>,
    /// For each name the scopes around that declare it: looking one up must not depend on how
    /// many scopes there are.
    visible: HashMap<&'a str, Vec<usize>>,
}

impl<'s, 'a> Place<'s, 'a> {
    pub(super) fn start(scopes: &'s Scopes<'a>) -> Self {
        Self { scopes, entered: 0, around: Vec::new(), visible: HashMap::new() }
    }

    pub(super) fn enter(&mut self) {
        for name in self.scopes.names.get(self.entered).into_iter().flatten() {
            self.visible.entry(name).or_default().push(self.entered);
        }
        self.around.push(self.entered);
        self.entered += 1;
    }

    pub(super) fn leave(&mut self) {
        let left = self.around.pop().and_then(|scope| self.scopes.names.get(scope));
        for name in left.into_iter().flatten() {
            self.visible.entry(name).or_default().pop();
        }
    }

    /// The declaration that `name` refers to here.
    pub(super) fn resolve(&self, name: &'a str) -> Option<Binding<'a>> {
        Some((*self.visible.get(name)?.last()?, name))
    }
}

/// Whether a node opens a scope of names.
pub(super) fn opens_scope(kind: &AstKind<'_>) -> bool {
    opens_var_scope(kind)
        || matches!(
            kind,
            AstKind::BlockStatement(_)
                | AstKind::CatchClause(_)
                | AstKind::Class(_)
                | AstKind::ForInStatement(_)
                | AstKind::ForOfStatement(_)
                | AstKind::ForStatement(_)
                | AstKind::SwitchStatement(_)
        )
}

/// Whether `var` stays inside of the node.
fn opens_var_scope(kind: &AstKind<'_>) -> bool {
    matches!(
        kind,
        AstKind::Program(_)
            | AstKind::Function(_)
            | AstKind::ArrowFunctionExpression(_)
            | AstKind::StaticBlock(_)
    )
}

#[derive(Default)]
struct Declare<'a> {
    names: Vec<HashSet<&'a str>>,
    /// The scopes around, innermost last, with whether `var` stays inside.
    around: Vec<(usize, bool)>,
    var: bool,
    /// The name of a declared function or class, seen again inside of its own scope.
    own_name: Option<u32>,
}

impl<'a> Declare<'a> {
    fn declare(&mut self, name: &'a str, var: bool) {
        let mut around = self.around.iter().rev();
        let scope = around.find(|(_, function)| *function || !var).map_or(0, |(scope, _)| *scope);
        if let Some(names) = self.names.get_mut(scope) {
            names.insert(name);
        }
    }

    fn declared(&mut self, id: Option<&BindingIdentifier<'a>>) {
        if let Some(id) = id {
            self.declare(id.name.as_str(), false);
            self.own_name = Some(id.span.start);
        }
    }
}

impl<'a> Visit<'a> for Declare<'a> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        match kind {
            AstKind::Function(it) if it.is_declaration() => self.declared(it.id.as_ref()),
            AstKind::Class(it) if it.is_declaration() => self.declared(it.id.as_ref()),
            _ => {}
        }
        if opens_scope(&kind) {
            self.around.push((self.names.len(), opens_var_scope(&kind)));
            self.names.push(HashSet::new());
        }
    }

    fn leave_node(&mut self, kind: AstKind<'a>) {
        if opens_scope(&kind) {
            self.around.pop();
        }
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        for declarator in &it.declarations {
            self.var = it.kind.is_var();
            self.visit_binding_pattern(&declarator.id);
            self.var = false;
            if let Some(value) = &declarator.init {
                self.visit_expression(value);
            }
        }
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        if self.own_name.take_if(|start| *start == it.span.start).is_none() {
            self.declare(it.name.as_str(), self.var);
        }
    }
}
