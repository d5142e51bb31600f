//! Plots as SVG, in the colours of the theme, each with a table that says the same.

use maud::{Markup, html};

use super::page::{span, table};

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 6.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 20.0;
/// The least height of a bar of something.
const LEAST: f64 = 2.0;

/// One row of numbers over time.
pub(crate) struct Line<'a> {
    /// What it is.
    pub(crate) name: &'a str,
    /// The colour, by its class.
    pub(crate) tone: &'a str,
    /// One number per slice; none where there is nothing to measure.
    pub(crate) values: Vec<Option<f64>>,
}

/// How the rows are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// As bars, one upon the other.
    Bars,
    /// As lines.
    Lines,
}

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// How many.
    Count,
    /// Microseconds.
    Time,
    /// Of a hundred.
    Share,
}

impl Unit {
    fn say(self, value: f64) -> String {
        match self {
            Self::Count => format!("{}", value.round()),
            Self::Time => span(value.max(0.0) as u64),
            // What is not nothing is not said to be, and nothing is said to be all that is not.
            Self::Share if value > 0.0 && value < 1.0 => "< 1 %".to_owned(),
            Self::Share if value > 99.0 && value < 100.0 => "> 99 %".to_owned(),
            Self::Share => format!("{} %", value.round()),
        }
    }
}

/// So many of all, of a hundred.
pub(crate) fn share(part: u64, all: u64) -> String {
    Unit::Share.say(part as f64 * 100.0 / all.max(1) as f64)
}

/// A plot.
pub(crate) struct Plot<'a> {
    /// What it shows.
    pub(crate) title: &'a str,
    /// How.
    pub(crate) drawn: Drawn,
    /// What its numbers are.
    pub(crate) unit: Unit,
    /// When each slice begins, as it is written below the plot.
    pub(crate) times: Vec<String>,
    /// The rows.
    pub(crate) lines: Vec<Line<'a>>,
}

impl Plot<'_> {
    /// The plot, its legend and its table.
    pub(crate) fn render(&self) -> Markup {
        let top = self.top();
        html! {
            figure .plot {
                figcaption {
                    (self.title)
                    span .legend {
                        @for line in &self.lines {
                            span .key { span .swatch.(line.tone) aria-hidden="true" {} (line.name) }
                        }
                    }
                }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (self.title) "; the table below says the same" } {
                    @for part in [0.0, 0.5, 1.0] { (self.tick(part, top)) }
                    @match self.drawn {
                        Drawn::Bars => (self.bars(top)),
                        Drawn::Lines => (self.curves(top)),
                    }
                    (self.axis())
                }
                details {
                    summary { "As a table" }
                    (self.table())
                }
            }
        }
    }

    /// The largest number on the plot, made round.
    fn top(&self) -> f64 {
        if self.unit == Unit::Share {
            return 100.0;
        }
        let at = |slice: usize| {
            let values = self.lines.iter().filter_map(|line| *line.values.get(slice)?);
            match self.drawn {
                Drawn::Bars => values.sum::<f64>(),
                Drawn::Lines => values.fold(0.0, f64::max),
            }
        };
        let most = (0..self.times.len()).map(at).fold(0.0, f64::max);
        if most <= 0.0 {
            return 2.0;
        }
        let step = 10_f64.powf(most.log10().floor());
        let round = [1.0, 2.0, 4.0, 5.0, 10.0].into_iter().map(|n| n * step);
        let top = round.clone().find(|top| *top >= most).unwrap_or(most).max(2.0);
        // There is no half of a call to write beside the line in the middle.
        if self.unit == Unit::Count && top % 2.0 != 0.0 { top + 1.0 } else { top }
    }

    fn tick(&self, part: f64, top: f64) -> Markup {
        let y = y(part);
        html! {
            line .grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(y) y2=(y) {}
            text .tick x=(LEFT - 4.0) y=(y + 3.0) text-anchor="end" { (self.unit.say(part * top)) }
        }
    }

    fn axis(&self) -> Markup {
        let last = self.times.len().saturating_sub(1);
        let places = [(0, "start"), (last / 2, "middle"), (last, "end")];
        html! {
            @for (slice, anchor) in places {
                @if let Some(time) = self.times.get(slice) {
                    text .tick x=(self.x(slice as f64 + 0.5)) y=(HEIGHT - 5.0) text-anchor=(anchor) {
                        (time) @if slice == last { " UTC" }
                    }
                }
            }
        }
    }

    fn x(&self, slice: f64) -> f64 {
        let all = self.times.len().max(1) as f64;
        round(LEFT + slice / all * (WIDTH - LEFT - RIGHT))
    }

    fn bars(&self, top: f64) -> Markup {
        let width = round(((WIDTH - LEFT - RIGHT) / self.times.len().max(1) as f64 - 1.0).max(0.5));
        html! {
            @for slice in 0..self.times.len() {
                @for (from, height, tone) in self.stack(slice, top) {
                    @let upper = HEIGHT - BOTTOM - from - height;
                    rect .(tone) x=(self.x(slice as f64)) y=(round(upper)) width=(width) height=(round(height)) {}
                }
            }
        }
    }

    /// Where each part begins above the axis, and how high it is. What is not nothing can be seen, and
    /// the highest part makes room for it.
    fn stack(&self, slice: usize, top: f64) -> Vec<(f64, f64, &str)> {
        let whole = HEIGHT - TOP - BOTTOM;
        let value = |line: &Line<'_>| line.values.get(slice).copied().flatten().unwrap_or(0.0);
        let parts = self.lines.iter().map(|line| (value(line), line.tone));
        let parts = parts.filter(|(value, _)| *value > 0.0);
        let mut parts: Vec<_> =
            parts.map(|(value, tone)| ((value / top * whole).max(LEAST), tone)).collect();
        let over = parts.iter().map(|(height, _)| height).sum::<f64>() - whole;
        let highest = parts.iter_mut().max_by(|(a, _), (b, _)| a.total_cmp(b));
        if let Some((height, _)) = highest.filter(|_| over > 0.0) {
            *height = (*height - over).max(LEAST);
        }
        let mut from = 0.0;
        let place = |(height, tone)| {
            let begins = from;
            from += height;
            (begins, height, tone)
        };
        parts.into_iter().map(place).collect()
    }

    fn curves(&self, top: f64) -> Markup {
        html! {
            @for line in &self.lines {
                @for run in self.runs(&line.values, top) {
                    @if let [(x, y)] = run.as_slice() {
                        circle .(line.tone) cx=(x) cy=(y) r="2" {}
                    } @else {
                        polyline .curve.(line.tone) points=(points(&run)) {}
                    }
                }
            }
        }
    }

    /// Stretches without a gap.
    fn runs(&self, values: &[Option<f64>], top: f64) -> Vec<Vec<(f64, f64)>> {
        let mut runs = vec![Vec::new()];
        for (slice, value) in values.iter().enumerate() {
            match (value, runs.last_mut()) {
                (Some(value), Some(run)) => run.push((self.x(slice as f64 + 0.5), y(value / top))),
                (Some(_) | None, _) => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    /// Only the slices in which something was.
    fn table(&self) -> Markup {
        let names = self.lines.iter().map(|line| format!("{}#", line.name));
        let names: Vec<String> = std::iter::once("From (UTC)".to_owned()).chain(names).collect();
        let said = |slice: &usize| {
            self.lines.iter().any(|line| {
                line.values.get(*slice).copied().flatten().is_some_and(|value| value > 0.0)
            })
        };
        let rows = (0..self.times.len()).filter(said).map(|slice| {
            html! {
                tr role="row" {
                    th scope="row" role="rowheader" data-label="From (UTC)" { (self.times.get(slice).map_or("", String::as_str)) }
                    @for line in &self.lines {
                        td .number role="cell" data-label=(line.name) {
                            (line.values.get(slice).copied().flatten().map_or_else(String::new, |v| self.unit.say(v)))
                        }
                    }
                }
            }
        });
        let head: Vec<&str> = names.iter().map(String::as_str).collect();
        table(self.title, &head, rows)
    }
}

fn y(part: f64) -> f64 {
    round(TOP + (1.0 - part.clamp(0.0, 1.0)) * (HEIGHT - TOP - BOTTOM))
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn points(run: &[(f64, f64)]) -> String {
    run.iter().map(|(x, y)| format!("{x},{y}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(drawn: Drawn, values: &[Option<f64>]) -> Plot<'static> {
        Plot {
            title: "Calls",
            drawn,
            unit: Unit::Count,
            times: (0..values.len()).map(|hour| format!("{hour}:00")).collect(),
            lines: vec![Line { name: "calls", tone: "t1", values: values.to_vec() }],
        }
    }

    #[test]
    fn the_largest_number_is_round_and_never_nothing() {
        for (most, expected) in
            [(0.0, 2.0), (1.0, 2.0), (5.0, 6.0), (7.0, 10.0), (18.0, 20.0), (4_001.0, 5_000.0)]
        {
            assert_eq!(plot(Drawn::Bars, &[Some(most)]).top(), expected);
        }
    }

    #[test]
    fn bars_curves_and_table_say_the_same() {
        let bars = plot(Drawn::Bars, &[Some(1.0), None, Some(2.0)]).render().into_string();
        assert_eq!(bars.matches("<rect").count(), 2);
        assert!(bars.contains("data-label=\"From (UTC)\">2:00</th><td class=\"number\" role=\"cell\" data-label=\"calls\">2</td>"), "{bars}");
        let lines = plot(Drawn::Lines, &[Some(1.0), Some(2.0), None, Some(2.0)]).render();
        let lines = lines.into_string();
        assert_eq!((lines.matches("<polyline").count(), lines.matches("<circle").count()), (1, 1));
    }

    #[test]
    fn what_is_not_nothing_is_neither_said_nor_drawn_as_nothing() {
        for (part, all, said) in [
            (0, 400, "0 %"),
            (1, 401, "< 1 %"),
            (4, 400, "1 %"),
            (1, 2, "50 %"),
            (396, 400, "99 %"),
            (400, 401, "> 99 %"),
            (400, 400, "100 %"),
            (0, 0, "0 %"),
        ] {
            assert_eq!(share(part, all), said, "{part} of {all}");
        }
        let line = |tone, value| Line { name: tone, tone, values: vec![Some(value)] };
        let lines = vec![line("good", 99.75), line("dull", 0.0), line("bad", 0.25)];
        let (unit, times) = (Unit::Share, vec!["0:00".to_owned()]);
        let plot = Plot { title: "Outcomes", drawn: Drawn::Bars, unit, times, lines };
        let whole = HEIGHT - TOP - BOTTOM;
        let expected = [(0.0, whole - LEAST, "good"), (whole - LEAST, LEAST, "bad")];
        let stack = plot.stack(0, 100.0);
        assert_eq!(stack.len(), 2, "{stack:?}");
        for (one, expected) in stack.iter().zip(expected) {
            assert!((one.0 - expected.0).abs() < 0.01 && (one.1 - expected.1).abs() < 0.01);
        }
        let shown = plot.render().into_string();
        assert!(shown.contains("&gt; 99 %") && shown.contains("&lt; 1 %"), "{shown}");
    }

    #[test]
    fn nothing_at_all_is_a_plot_as_well() {
        assert!(plot(Drawn::Lines, &[]).render().into_string().contains("<svg"));
    }
}
