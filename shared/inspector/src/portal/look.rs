//! The colour of the portal, readable in light and in dark mode.

use postrider_gateway::settings::portal::Color;

/// The backgrounds of `inspector.css` on which the colour is used for text; of each mode the one that is hardest to read
/// on.
const LIGHT_PAGE: Color = Color([0xe8, 0xec, 0xf3]);
const DARK_PAGE: Color = Color([0x23, 0x2b, 0x37]);
const WHITE: Color = Color([255; 3]);
const BLACK: Color = Color([0; 3]);

/// What WCAG 2.2 wants for text, level AA, and a little more for rounding.
const CONTRAST: f64 = 4.6;
const STEPS: u8 = 50;

/// A style sheet that replaces the accent colour.
pub(super) fn style(color: Color) -> String {
    let light = readable(color, BLACK, LIGHT_PAGE);
    let dark = readable(color, WHITE, DARK_PAGE);
    let (on_light, on_dark) = (ink(light), ink(dark));
    format!(
        ":root {{ --accent: light-dark({light}, {dark}); --accent-ink: light-dark({on_light}, {on_dark}); \
         --wash: var(--calm-wash); }}\n"
    )
}

/// The colour, mixed with as little of `towards` as makes it readable on this background.
fn readable(color: Color, towards: Color, background: Color) -> Color {
    (0..=STEPS)
        .map(|step| mixed(color, towards, step))
        .find(|mixed| contrast(*mixed, background) >= CONTRAST)
        .unwrap_or(towards)
}

/// Text on this colour: black or white, whichever is easier to read.
fn ink(color: Color) -> Color {
    if contrast(WHITE, color) >= contrast(BLACK, color) {
        WHITE
    } else {
        BLACK
    }
}

fn mixed(Color(from): Color, Color(to): Color, step: u8) -> Color {
    let mix = |from: u8, to: u8| {
        let (steps, step) = (u32::from(STEPS), u32::from(step));
        let sum = u32::from(from) * (steps - step) + u32::from(to) * step;
        u8::try_from(sum / steps).unwrap_or(u8::MAX)
    };
    let ([a, b, c], [x, y, z]) = (from, to);
    Color([mix(a, x), mix(b, y), mix(c, z)])
}

/// From 1 to 21. <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
fn contrast(one: Color, other: Color) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(Color([red, green, blue]): Color) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_color_is_readable_as_text_and_as_a_button() {
        let parts = [0, 51, 102, 153, 204, 255];
        for red in parts {
            for green in parts {
                for blue in parts {
                    let color = Color([red, green, blue]);
                    let (light, dark) = (
                        readable(color, BLACK, LIGHT_PAGE),
                        readable(color, WHITE, DARK_PAGE),
                    );
                    assert!(contrast(light, LIGHT_PAGE) >= 4.5, "{color} {light}");
                    assert!(contrast(dark, DARK_PAGE) >= 4.5, "{color} {dark}");
                    for shade in [light, dark] {
                        assert!(contrast(ink(shade), shade) >= 4.5, "{color} {shade}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_readable_color_stays_as_it_is() {
        let blue = Color([0x1a, 0x4f, 0xa0]);
        assert_eq!(readable(blue, BLACK, LIGHT_PAGE), blue);
        let style = style(blue);
        assert!(
            style.starts_with(":root { --accent: light-dark(#1a4fa0, "),
            "{style}"
        );
    }
}
