//! Plots as SVG: figures in, text out. The same figures give the same bytes.
//!
//! Points are numbered and their names listed beside the plot, so labels never overlap, however many methods
//! there are.

use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::metrics::Interval;

/// A plot, and its file name in a run's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    pub file: &'static str,
    pub svg: String,
}

/// One method, or one setting of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub name: String,
    pub tokens: Interval,
    pub f1: Interval,
}

/// Values of 0 to 1 under one name, one for each of [`bars`]' series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bars {
    pub name: String,
    pub values: Vec<f64>,
}

/// From this ratio of the largest to the smallest token count on, the axis is logarithmic.
const LOG_FROM: f64 = 8.0;

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

const WIDTH: u32 = 860;
const LIST_WIDTH: u32 = 230;
const ROW: u32 = 18;
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(110, 110, 110);

/// Okabe and Ito's colour-blind-safe palette, without yellow, which is too faint on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
];

fn colour(i: usize) -> RGBColor {
    COLOURS[i % COLOURS.len()]
}

/// F1 over tokens per query, with intervals; `connected` draws a line through the points in order. `None` without
/// points.
pub(super) fn against_tokens(
    file: &'static str,
    title: &str,
    points: &[Point],
    connected: bool,
) -> Option<Plot> {
    let points: Vec<&Point> = points
        .iter()
        .filter(|point| {
            [point.tokens, point.f1].iter().all(|i| i.low.is_finite() && i.high.is_finite())
        })
        .collect();
    let least = points.iter().map(|p| p.tokens.low).reduce(f64::min)?.max(1.0);
    let most = points.iter().map(|p| p.tokens.high).reduce(f64::max)?.max(least);
    let top = points.iter().map(|p| p.f1.high).fold(0.0, f64::max).max(0.01) * 1.08;
    let height = 430.max(90 + ROW * points.len() as u32);
    let svg = drawn(height, |root| {
        let root = root.titled(title, (FONT, 18))?;
        let (plot, list) = root.split_horizontally(WIDTH - LIST_WIDTH);
        if most / least > LOG_FROM {
            let (least, most) = (least / 1.3, most * 1.3);
            let marks = decades().filter(|tokens| (least..most).contains(tokens)).collect();
            let x = (least..most).log_scale().with_key_points(marks);
            scatter(&plot, x, top, &points, connected, "tokens a query (logarithmic)")?;
        } else {
            let margin = ((most - least) * 0.08).max(1.0);
            let x = (least - margin).max(0.0)..most + margin;
            scatter(&plot, x, top, &points, connected, "tokens a query")?;
        }
        for (i, point) in points.iter().enumerate() {
            let y = 14 + (ROW * i as u32) as i32;
            list.draw(&Circle::new((8, y), 4, colour(i).filled()))?;
            list.draw(&Text::new(format!("{}  {}", i + 1, point.name), (18, y), middle_left()))?;
        }
        Ok(())
    })?;
    Some(Plot { file, svg })
}

/// 1, 2, 5, 10, 20, …: the ticks of a logarithmic axis.
fn decades() -> impl Iterator<Item = f64> {
    (0..8).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power)))
}

fn scatter<X>(
    area: &Area<'_>,
    x: X,
    top: f64,
    points: &[&Point],
    connected: bool,
    x_name: &str,
) -> Drawn
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .build_cartesian_2d(x, 0.0..top)?;
    chart
        .configure_mesh()
        .x_desc(x_name)
        .y_desc("F1")
        .x_labels(8)
        .y_labels(8)
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 12))
        .x_label_formatter(&|tokens| format!("{tokens:.0}"))
        .y_label_formatter(&|f1| format!("{f1:.2}"))
        .draw()?;
    if connected {
        let line = points.iter().map(|p| (p.tokens.mean, p.f1.mean));
        chart.draw_series(LineSeries::new(line, GREY.stroke_width(1)))?;
    }
    for (i, Point { tokens, f1, .. }) in points.iter().enumerate() {
        let style = colour(i).stroke_width(1);
        let bars = ErrorBar::new_vertical(tokens.mean, f1.low, f1.mean, f1.high, style, 7);
        chart.draw_series([bars])?;
        let low = tokens.low.max(1.0);
        let bars = ErrorBar::new_horizontal(f1.mean, low, tokens.mean, tokens.high, style, 7);
        chart.draw_series([bars])?;
        chart.draw_series([Circle::new((tokens.mean, f1.mean), 4, colour(i).filled())])?;
    }
    let (left, up) = area.get_base_pixel();
    let places: Vec<(i32, i32)> = points
        .iter()
        .map(|point| chart.backend_coord(&(point.tokens.mean, point.f1.mean)))
        .map(|(x, y)| (x - left, y - up))
        .collect();
    for (label, at) in labels(&places) {
        area.draw(&Text::new(label, at, (FONT, 13)))?;
    }
    Ok(())
}

/// The points' numbers, those of points that lie on one another together, and where they stand: at
/// that corner of their point which covers least of the other points, their bars and the labels before.
fn labels(points: &[(i32, i32)]) -> Vec<(String, (i32, i32))> {
    const HEIGHT: i32 = 13;
    let width = |label: &str| 4 + 8 * label.len() as i32;
    let on_one = |a: (i32, i32), b: (i32, i32)| (a.0 - b.0).abs() <= 2 && (a.1 - b.1).abs() <= 2;
    let mut placed: Vec<(String, (i32, i32))> = Vec::new();
    for (i, &point) in points.iter().enumerate() {
        if points[..i].iter().any(|&earlier| on_one(earlier, point)) {
            continue;
        }
        let same = (i..points.len()).filter(|&other| on_one(points[other], point));
        let label = same.map(|n| (n + 1).to_string()).collect::<Vec<_>>().join(",");
        let (x, y) = point;
        let left = x - 4 - width(&label);
        let corners = [(x + 6, y - 15), (x + 6, y + 3), (left, y - 15), (left, y + 3)];
        let covers = |&(left, top): &(i32, i32)| {
            let near = |a: i32, from: i32, size: i32| (from - 5..from + size + 5).contains(&a);
            let others = points.iter().filter(|&&other| !on_one(other, point));
            let of_points = others.map(|&(x, y)| {
                let on_bar = near(x, left, width(&label));
                usize::from(on_bar) + 3 * usize::from(on_bar && near(y, top, HEIGHT))
            });
            let of_labels = placed.iter().filter(|(other, (x, y))| {
                left < x + width(other) && *x < left + width(&label) && (y - top).abs() < HEIGHT
            });
            of_points.sum::<usize>() + 4 * of_labels.count()
        };
        let at = corners.into_iter().min_by_key(covers).unwrap_or(corners[0]);
        placed.push((label, at));
    }
    placed
}

/// Groups of bars from 0 to 1, one a row, in the series' colours. `None` without rows.
pub(super) fn bars(
    file: &'static str,
    title: &str,
    series: &[&str],
    rows: &[Bars],
) -> Option<Plot> {
    const NAMES: u32 = 130;
    const BAR: u32 = 7;
    if rows.is_empty() || series.is_empty() {
        return None;
    }
    let group = BAR * series.len() as u32 + 9;
    let height = 110 + group * rows.len() as u32;
    let svg = drawn(height, |root| {
        let root = root.titled(title, (FONT, 18))?;
        let (head, body) = root.split_vertically(26);
        let step = (WIDTH - NAMES) / series.len() as u32;
        for (i, name) in series.iter().enumerate() {
            let x = (NAMES + step * i as u32) as i32;
            head.draw(&Rectangle::new([(x, 6), (x + 12, 18)], colour(i).filled()))?;
            head.draw(&Text::new((*name).to_owned(), (x + 18, 12), middle_left()))?;
        }
        let n = rows.len() as f64;
        let down: Range<f64> = n..0.0;
        let mut chart = ChartBuilder::on(&body)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(24)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(0.0..1.0, down)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh().disable_y_axis().x_labels(11).light_line_style(WHITE);
        mesh.bold_line_style(RGBColor(225, 225, 225)).label_style((FONT, 12));
        mesh.x_label_formatter(&|x| format!("{x:.1}")).draw()?;
        let high = 0.82 / series.len() as f64;
        for (i, row) in rows.iter().enumerate() {
            for (s, value) in row.values.iter().take(series.len()).enumerate() {
                let value = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
                let y = i as f64 + 0.09 + high * s as f64;
                let bar = Rectangle::new([(0.0, y), (value, y + high)], colour(s).filled());
                chart.draw_series([bar])?;
            }
            let at = chart.backend_coord(&(0.0, i as f64 + 0.5));
            let (left, up) = body.get_base_pixel();
            let style = (FONT, 13).into_text_style(&body).pos(Pos::new(HPos::Right, VPos::Center));
            body.draw(&Text::new(row.name.clone(), (at.0 - left - 8, at.1 - up), style))?;
        }
        Ok(())
    })?;
    Some(Plot { file, svg })
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Drawing into a string can't fail.
fn drawn(height: u32, draw: impl FnOnce(Area<'_>) -> Drawn) -> Option<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE).ok()?;
        draw(root.clone()).ok()?;
        root.present().ok()?;
    }
    Some(svg)
}

fn middle_left() -> TextStyle<'static> {
    TextStyle::from((FONT, 13).into_font()).pos(Pos::new(HPos::Left, VPos::Center))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, tokens: f64, f1: f64) -> Point {
        let around = |mean: f64, by: f64| Interval { mean, low: mean - by, high: mean + by };
        Point { name: name.into(), tokens: around(tokens, tokens / 10.0), f1: around(f1, 0.02) }
    }

    #[test]
    fn the_same_figures_give_the_same_bytes() {
        let points = [point("naive-rag", 800.0, 0.02), point("<full> & more", 300.0, 0.08)];
        let plot = || against_tokens("a.svg", "Title", &points, false).unwrap();
        let svg = plot().svg;
        assert_eq!(plot().svg, svg);
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        for text in ["1  naive-rag", "2  &lt;full&gt; &amp; more", "Title", "tokens a query"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.contains("logarithmic"));
        let wide = [point("a", 20_000.0, 0.5), points[0].clone()];
        assert!(against_tokens("a.svg", "", &wide, true).unwrap().svg.contains("logarithmic"));
    }

    #[test]
    fn there_is_room_for_every_name() {
        let points: Vec<Point> =
            (0..40).map(|i| point(&format!("method {i}"), 300.0 + f64::from(i), 0.1)).collect();
        let svg = against_tokens("a.svg", "", &points, false).unwrap().svg;
        assert!(svg.contains("40  method 39") && svg.contains("height=\"810\""), "{}", &svg[..120]);
    }

    #[test]
    fn numbers_keep_out_of_each_other_s_way() {
        assert_eq!(labels(&[(100, 100)]), [("1".to_owned(), (106, 85))]);
        let close = labels(&[(100, 100), (112, 95), (104, 104)]);
        for (i, (_, a)) in close.iter().enumerate() {
            for (_, b) in &close[..i] {
                assert!((a.0 - b.0).abs() >= 12 || (a.1 - b.1).abs() >= 13, "{close:?}");
            }
        }
        let same = labels(&[(100, 100), (300, 100), (101, 99), (100, 100)]);
        let names: Vec<&str> = same.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(names, ["1,3,4", "2"]);
    }

    #[test]
    fn odd_figures_are_no_trouble() {
        assert_eq!(against_tokens("a.svg", "", &[], false), None);
        assert_eq!(bars("a.svg", "", &["x"], &[]), None);
        let same = [point("zero", 0.0, 0.0), point("zero", 0.0, 0.0)];
        assert!(against_tokens("a.svg", "", &same, true).is_some());
        assert_eq!(against_tokens("a.svg", "", &[point("nan", f64::NAN, 0.1)], false), None);
        let rows = [
            Bars { name: "full".into(), values: vec![0.6, f64::NAN] },
            Bars { name: "none".into(), values: vec![7.0] },
        ];
        let svg = bars("a.svg", "Ablation", &["recall", "cohesion"], &rows).unwrap().svg;
        for text in ["full", "none", "recall", "cohesion"] {
            assert!(svg.contains(text), "{text} is not in {svg}");
        }
    }
}
