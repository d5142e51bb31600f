//! The function that a handler exports.

use std::collections::HashMap;

use oxc_ast::ast::{
    BindingPattern, Declaration, ExportDefaultDeclarationKind, Expression, FormalParameters,
    Program, Statement, VariableDeclaration,
};
use oxc_span::{GetSpan, Span};

use super::Report;
use crate::code;

const NAME: &str = "execute";
const HELP: &str = "write:\n\
                    export async function execute({ args, context }) {\n  \
                    return { ok: true, data: { … } };\n\
                    }";

/// Where the function begins in the source, where that can be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Execute {
    pub(super) start: Option<u32>,
}

/// What a name at the top of the module stands for.
#[derive(Clone, Copy)]
enum Top<'b, 'a> {
    Function {
        start: u32,
        params: &'b FormalParameters<'a>,
        generator: bool,
    },
    /// Something that cannot be called.
    Thing(Span),
    Alias(&'a str),
    Unknown,
}

/// Finds `execute` and reports when it is missing or cannot be called as the runtime calls it.
pub(super) fn find(program: &Program<'_>, report: &mut Report<'_>) -> Execute {
    let unknown = Execute { start: None };
    let names = names(program);
    let Some(found) = exported(program, &names) else {
        missing(program, report);
        return unknown;
    };
    match found {
        Top::Function { start, params, generator } => {
            callable(start, params, generator, report);
            Execute { start: Some(start) }
        }
        Top::Thing(span) => {
            report.at(&code::NO_EXECUTE, span, "`execute` is not a function", HELP);
            unknown
        }
        Top::Alias(_) | Top::Unknown => unknown,
    }
}

fn exported<'b, 'a>(
    program: &'b Program<'a>,
    names: &HashMap<&'a str, Top<'b, 'a>>,
) -> Option<Top<'b, 'a>> {
    let mut local = None;
    for statement in &program.body {
        match statement {
            Statement::ExportDeclaration(export) => {
                let mut declared = HashMap::new();
                declaration(&export.declaration, &mut declared);
                local = local.or(declared.contains_key(NAME).then_some(NAME));
            }
            Statement::ExportNamedDeclaration(export) => {
                let mut specifiers = export.specifiers.iter();
                let found = specifiers.find(|specifier| specifier.exported.name() == NAME);
                local = local.or(found.map(|found| found.local.name().as_str()));
            }
            Statement::ExportFromDeclaration(export)
                if export.specifiers.iter().any(|specifier| specifier.exported.name() == NAME) =>
            {
                return Some(Top::Unknown);
            }
            _ => {}
        }
    }
    let mut found = names.get(local?).copied().unwrap_or(Top::Unknown);
    // A name for a name for a function; a circle of names ends somewhere unknown.
    for _ in 0..8 {
        let Top::Alias(name) = found else { return Some(found) };
        found = names.get(name).copied().unwrap_or(Top::Unknown);
    }
    Some(Top::Unknown)
}

fn names<'b, 'a>(program: &'b Program<'a>) -> HashMap<&'a str, Top<'b, 'a>> {
    let mut names = HashMap::new();
    for statement in &program.body {
        if let Statement::ExportDeclaration(export) = statement {
            declaration(&export.declaration, &mut names);
        } else if let Some(found) = statement.as_declaration() {
            declaration(found, &mut names);
        }
    }
    names
}

fn declaration<'b, 'a>(found: &'b Declaration<'a>, names: &mut HashMap<&'a str, Top<'b, 'a>>) {
    match found {
        Declaration::FunctionDeclaration(function) => {
            if let Some(id) = &function.id {
                let (start, generator) = (function.span.start, function.generator);
                let function = Top::Function { start, params: &function.params, generator };
                names.insert(id.name.as_str(), function);
            }
        }
        Declaration::ClassDeclaration(class) => {
            if let Some(id) = &class.id {
                names.insert(id.name.as_str(), Top::Thing(id.span));
            }
        }
        Declaration::VariableDeclaration(variables) => variable(variables, names),
        _ => {}
    }
}

fn variable<'b, 'a>(
    variables: &'b VariableDeclaration<'a>,
    names: &mut HashMap<&'a str, Top<'b, 'a>>,
) {
    for declarator in &variables.declarations {
        if let BindingPattern::BindingIdentifier(id) = &declarator.id {
            let value = declarator.init.as_ref().map_or(Top::Unknown, value);
            names.insert(id.name.as_str(), value);
        }
        for id in declarator.id.get_binding_identifiers() {
            names.entry(id.name.as_str()).or_insert(Top::Unknown);
        }
    }
}

fn value<'b, 'a>(value: &'b Expression<'a>) -> Top<'b, 'a> {
    match value {
        Expression::FunctionExpression(function) => {
            let (start, generator) = (function.span.start, function.generator);
            Top::Function { start, params: &function.params, generator }
        }
        Expression::ArrowFunctionExpression(arrow) => {
            Top::Function { start: arrow.span.start, params: &arrow.params, generator: false }
        }
        Expression::Identifier(name) => Top::Alias(name.name.as_str()),
        Expression::ArrayExpression(_)
        | Expression::ObjectExpression(_)
        | Expression::ClassExpression(_)
        | Expression::TemplateLiteral(_)
        | Expression::BinaryExpression(_)
        | Expression::UnaryExpression(_) => Top::Thing(value.span()),
        literal if literal.is_literal() => Top::Thing(value.span()),
        _ => Top::Unknown,
    }
}

/// The runtime calls `execute({ args, context })` and takes what it returns.
fn callable(start: u32, params: &FormalParameters<'_>, generator: bool, report: &mut Report<'_>) {
    if generator {
        let span = Span::new(start, params.span.start);
        report.at(
            &code::NO_EXECUTE,
            span,
            "`execute` is a generator: calling it runs nothing",
            HELP,
        );
    }
    let one = "write `execute({ args, context })`";
    if let Some(BindingPattern::ArrayPattern(list)) = params.items.first().map(|one| &one.pattern) {
        report.at(&code::NO_EXECUTE, list.span, "`execute` is handed an object, not a list", one);
    }
    if let Some(second) = params.items.get(1).filter(|second| second.initializer.is_none()) {
        let text = "`execute` is handed one object; a second parameter stays undefined";
        report.at(&code::NO_EXECUTE, second.span, text, one);
    }
}

fn missing(program: &Program<'_>, report: &mut Report<'_>) {
    for statement in &program.body {
        if let Statement::ExportDefaultDeclaration(export) = statement {
            let span = match &export.declaration {
                ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                    Span::new(export.span.start, function.params.span.start)
                }
                _ => Span::new(export.span.start, export.declaration.span().start),
            };
            let text = "`execute` must be exported by its name, not as the default";
            report.at(&code::NO_EXECUTE, span, text, HELP);
            return;
        }
    }
    report.whole(&code::NO_EXECUTE, "no function `execute` is exported", HELP);
}
