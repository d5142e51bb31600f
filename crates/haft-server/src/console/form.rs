//! A form made from a tool's typed parameters, and the arguments that were filled in.

mod filled;
mod note;
mod typed;

use haft_core::parameters::Parameter;
use maud::{Markup, html};
use serde_json::Value;

use self::filled::{FIELDS, step};
use self::typed::{Field, Typed};
use super::posted::Posted;
use super::visible::visible;

pub(crate) use self::filled::{RAW, Wrong, said};

/// The fields of a tool's parameters, with what was filled in before and what was wrong with it.
/// `schema` is what they are typed by, for the limits that it sets.
pub(crate) fn fields(
    parameters: &[Parameter],
    schema: &Value,
    filled: Option<&Posted>,
    wrong: &[Wrong],
) -> Markup {
    let form = Form { typed: Typed(schema), filled, wrong };
    form.all(parameters, schema, &Place { name: FIELDS.to_owned(), path: String::new() }, 0)
}

struct Form<'a> {
    typed: Typed<'a>,
    filled: Option<&'a Posted>,
    wrong: &'a [Wrong],
}

/// Where an argument is filled in, and where it stands among the arguments.
struct Place {
    name: String,
    path: String,
}

/// What is said of a field to whoever cannot see what stands around it.
struct Spoken {
    described: String,
    invalid: Option<&'static str>,
    required: Option<&'static str>,
}

impl<'a> Form<'a> {
    fn all(&self, parameters: &[Parameter], schema: &'a Value, at: &Place, depth: usize) -> Markup {
        let one = |(number, parameter): (usize, &Parameter)| {
            let name = format!("{}.{number}", at.name);
            let place = Place { name, path: step(&at.path, &parameter.name) };
            self.one(parameter, self.typed.member(schema, &parameter.name), (at, &place), depth)
        };
        html! { @for each in parameters.iter().enumerate() { (one(each)) } }
    }

    fn one(
        &self,
        parameter: &Parameter,
        schema: &'a Value,
        (above, at): (&Place, &Place),
        depth: usize,
    ) -> Markup {
        let field = self.typed.field(parameter, schema, depth);
        let wrong = self.wrong(parameter, field, (above, at));
        let name = &at.name;
        if field == Field::Group {
            let described = (!wrong.is_empty()).then(|| format!("{name}-wrong"));
            return html! {
                fieldset aria-describedby=[described] {
                    legend { (label(parameter)) }
                    @if !parameter.description.is_empty() { p .note { (visible(&parameter.description)) } }
                    (complaint(name, &wrong))
                    (self.all(&parameter.fields, schema, at, depth + 1))
                }
            };
        }
        html! {
            div .field {
                label for=(name) { (label(parameter)) }
                (self.input(parameter, field, name, &Spoken::of(parameter, name, &wrong)))
                (complaint(name, &wrong))
                p .note id={ (name) "-note" } { (note::note(parameter, schema, field)) }
            }
        }
    }

    /// What is wrong with what stands here, each once.
    fn wrong(
        &self,
        parameter: &Parameter,
        field: Field,
        (above, at): (&Place, &Place),
    ) -> Vec<&str> {
        let is_empty = self.filled.is_none_or(|filled| filled.filled(&at.name).is_none());
        let is_missing = |one: &Wrong| one.code == "required" && one.path == above.path;
        let missing = parameter.required && field != Field::Group && is_empty;
        let missing = missing && self.wrong.iter().any(is_missing);
        let is_here = |one: &&Wrong| match field == Field::Group {
            // What a member lacks is said where it is filled in.
            true => one.path == at.path && one.code != "required",
            false => one.is_in(&at.path),
        };
        let here = self.wrong.iter().filter(is_here).map(|one| one.message.as_str());
        missing.then_some("it is missing").into_iter().chain(here).collect()
    }

    fn input(&self, parameter: &Parameter, field: Field, name: &str, spoken: &Spoken) -> Markup {
        let value = self.filled.and_then(|filled| filled.one(name)).unwrap_or_default();
        let example = parameter.example.as_ref().map(|it| note::shown(&note::written(it, field)));
        let rows = value.lines().count().clamp(3, 12);
        let Spoken { described, invalid, required } = spoken;
        match field {
            Field::Choice | Field::YesNo => html! {
                select id=(name) name=(name) aria-describedby=(described) aria-invalid=[*invalid]
                    aria-required=[*required] {
                    option value="" { (note::default(parameter)) }
                    @for (text, shown) in &note::choices(parameter) {
                        option value=(text) selected[text == value] { (shown) }
                    }
                }
            },
            Field::Number => html! {
                input id=(name) name=(name) value=(value) inputmode="decimal" autocomplete="off"
                    placeholder=[example] aria-describedby=(described) aria-invalid=[*invalid]
                    aria-required=[*required];
            },
            Field::Lines | Field::Json => html! {
                textarea id=(name) name=(name) rows=(rows) spellcheck="false" autocomplete="off"
                    placeholder=[example] aria-describedby=(described) aria-invalid=[*invalid]
                    aria-required=[*required] { "\n" (value) }
            },
            // Grows with its text where browsers can, and takes more than one line everywhere.
            Field::Text | Field::Group => html! {
                textarea .text id=(name) name=(name) rows="1" autocomplete="off"
                    placeholder=[example] aria-describedby=(described) aria-invalid=[*invalid]
                    aria-required=[*required] { "\n" (value) }
            },
        }
    }
}

impl Spoken {
    fn of(parameter: &Parameter, name: &str, wrong: &[&str]) -> Self {
        let is_wrong = !wrong.is_empty();
        let described = match is_wrong {
            true => format!("{name}-wrong {name}-note"),
            false => format!("{name}-note"),
        };
        // The browser does not insist on it: arguments may also be given as JSON.
        let required = parameter.required.then_some("true");
        Self { described, invalid: is_wrong.then_some("true"), required }
    }
}

/// What is wrong, under the field that it is wrong with.
fn complaint(name: &str, wrong: &[&str]) -> Markup {
    html! {
        @if !wrong.is_empty() {
            p .wrong id={ (name) "-wrong" } {
                @for (place, one) in wrong.iter().enumerate() {
                    @if place > 0 { "; " }
                    (visible(one))
                }
            }
        }
    }
}

fn label(parameter: &Parameter) -> Markup {
    html! {
        code { (visible(&parameter.name)) }
        @if parameter.required { span .must { " required" } }
    }
}

#[cfg(test)]
mod tests;
