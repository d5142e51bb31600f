//! The one module that a handler can import from.

use oxc_ast::ast::{
    ExportSpecifier, Expression, ImportDeclarationSpecifier, ImportExpression, Program, Statement,
    StringLiteral,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};

use super::Report;
use crate::code;
use haft_core::nearest;

/// The module, and what it exports.
const MODULE: &str = "haft";
const EXPORTS: &[&str] = &["ToolError"];

/// Reports imports of anything else.
pub(super) fn check(program: &Program<'_>, report: &mut Report<'_>) {
    for statement in &program.body {
        match statement {
            Statement::ImportDeclaration(import) if module(&import.source, report) => {
                for specifier in import.specifiers.iter().flatten() {
                    imported(specifier, report);
                }
            }
            Statement::ExportFromDeclaration(export) if module(&export.source, report) => {
                for ExportSpecifier { local, .. } in &export.specifiers {
                    name(&local.name(), local.span(), report);
                }
            }
            Statement::ExportAllDeclaration(export) => {
                module(&export.source, report);
            }
            _ => {}
        }
    }
    Dynamic { report }.visit_program(program);
}

fn module(source: &StringLiteral<'_>, report: &mut Report<'_>) -> bool {
    let known = source.value == MODULE;
    if !known {
        foreign(&source.value, source.span, report);
    }
    known
}

fn foreign(wanted: &str, span: Span, report: &mut Report<'_>) {
    report.at(
        &code::FOREIGN_IMPORT,
        span,
        format!("`{wanted}` cannot be imported"),
        "a handler is one file that imports from `\"haft\"` only; copy what it needs into it, or \
         list a capability",
    );
}

fn imported(specifier: &ImportDeclarationSpecifier<'_>, report: &mut Report<'_>) {
    match specifier {
        ImportDeclarationSpecifier::ImportSpecifier(import) => {
            name(&import.imported.name(), import.imported.span(), report);
        }
        ImportDeclarationSpecifier::ImportDefaultSpecifier(import) => {
            name("default", import.span, report);
        }
        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => {}
    }
}

fn name(name: &str, span: Span, report: &mut Report<'_>) {
    if !EXPORTS.contains(&name) {
        report.at(
            &code::FOREIGN_IMPORT,
            span,
            format!("`\"haft\"` does not export `{name}`"),
            nearest::suggest(name, EXPORTS),
        );
    }
}

struct Dynamic<'r, 'f> {
    report: &'r mut Report<'f>,
}

impl<'a> Visit<'a> for Dynamic<'_, '_> {
    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        if let Expression::StringLiteral(source) = &it.source {
            module(source, self.report);
        } else {
            let text = "what is imported must be told before the handler runs";
            let help = "write `import { ToolError } from \"haft\"` at the top";
            self.report.at(&code::FOREIGN_IMPORT, it.source.span(), text, help);
        }
        walk::walk_import_expression(self, it);
    }
}
