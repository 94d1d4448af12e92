//! The settings of the portal: how it looks, and which sites may embed it.

use std::fmt;
use std::str::FromStr;

use postrider_domain::portal::is_web;
use url::Url;

use super::Reader;
use super::setting::{CommaList, DefaultText, OptionalText, Setting, Switch};

const MAX_NAME_CHARS: usize = 60;
const MAX_LOGO_CHARS: usize = 1_000;
const MAX_ORIGINS: usize = 20;

pub const NAME: Setting<DefaultText> = Setting {
    name: "POSTRIDER_PORTAL_NAME",
    values: DefaultText {
        form: "1 to 60 characters",
        default: "Webhooks",
    },
    meaning: "Name in the header of the portal: usually that of your product.",
};

pub const LOGO: Setting<OptionalText> = Setting {
    name: "POSTRIDER_PORTAL_LOGO_URL",
    values: OptionalText {
        form: "https URL",
        unset: "no logo",
    },
    meaning: "Image next to the name, 26 pixels high. The portal's content security policy allows images from this origin only.",
};

pub const COLOR: Setting<OptionalText> = Setting {
    name: "POSTRIDER_PORTAL_COLOR",
    values: OptionalText {
        form: "#rrggbb",
        unset: "Postrider's",
    },
    meaning: "Colour of buttons and links in the portal. It is made darker or lighter where it would be hard to read, in light and in dark mode.",
};

pub const FRAME_ANCESTORS: Setting<CommaList> = Setting {
    name: "POSTRIDER_PORTAL_FRAME_ANCESTORS",
    values: CommaList {
        items: "origins such as https://app.example.com",
        unset: "none",
    },
    meaning: "Sites that may embed the portal in a frame, at most 20. Other sites cannot.",
};

pub const PUBLIC_CATALOGUE: Setting<Switch> = Setting {
    name: "POSTRIDER_PUBLIC_CATALOGUE",
    values: Switch,
    meaning: "Whether everyone can see the event types of the tenant `default`, without a login: as pages under `/event-types`, with the look of the portal, and as `/event-types.json`.",
};

/// How the portal looks and who may embed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalSettings {
    /// Under which URL customers reach the gateway, without a slash at the end; `None` for the host of the request that
    /// creates a link.
    pub public_url: Option<String>,
    pub name: String,
    pub logo: Option<Url>,
    pub color: Option<Color>,
    pub frame_ancestors: Vec<SiteOrigin>,
    /// Whether everyone may see the operator's event types.
    pub public_catalogue: bool,
}

impl Default for PortalSettings {
    fn default() -> Self {
        Self {
            public_url: None,
            name: NAME.values.default.to_owned(),
            logo: None,
            color: None,
            frame_ancestors: Vec::new(),
            public_catalogue: false,
        }
    }
}

/// A colour as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color(pub [u8; 3]);

impl FromStr for Color {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let digits = digits.filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, red, green, blue] = number.ok_or(())?.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([red, green, blue]) = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The origin of a site, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteOrigin(String);

impl SiteOrigin {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SiteOrigin {
    type Err = ();

    /// Only what is an origin and nothing more: a path or a wildcard would suggest a meaning that it does not have.
    fn from_str(text: &str) -> Result<Self, ()> {
        let url = Url::parse(text).map_err(|_| ())?;
        let origin = url.origin().ascii_serialization();
        let is_origin = text.trim_end_matches('/').eq_ignore_ascii_case(&origin);
        let is_plain = !origin.contains(['*', ';', ',', '\'', '"', ' ']);
        (is_web(&url) && is_origin && is_plain)
            .then_some(Self(origin))
            .ok_or(())
    }
}

impl Reader<'_> {
    pub fn portal(&mut self) -> PortalSettings {
        let name = NAME.read(self);
        let is_short = name.chars().count() <= MAX_NAME_CHARS;
        if !is_short || name.chars().any(char::is_control) {
            self.fault(NAME.name, &format!("must be {}", NAME.values.form));
        }
        let frame_ancestors: Vec<SiteOrigin> = FRAME_ANCESTORS.read(self);
        if frame_ancestors.len() > MAX_ORIGINS {
            let message = format!("must be at most {MAX_ORIGINS} origins");
            self.fault(FRAME_ANCESTORS.name, &message);
        }
        PortalSettings {
            public_url: None,
            name,
            logo: self.logo(),
            color: self.color(),
            frame_ancestors,
            public_catalogue: PUBLIC_CATALOGUE.read(self),
        }
    }

    fn logo(&mut self) -> Option<Url> {
        let text = LOGO.read(self)?;
        let fits = |url: &Url| is_web(url) && url.as_str().len() <= MAX_LOGO_CHARS;
        let url = Url::parse(&text).ok().filter(fits);
        if url.is_none() {
            let message = format!("must be an https URL of at most {MAX_LOGO_CHARS} characters");
            self.fault(LOGO.name, &message);
        }
        url
    }

    fn color(&mut self) -> Option<Color> {
        let text = COLOR.read(self)?;
        let color = text.parse().ok();
        if color.is_none() {
            self.fault(COLOR.name, "must be a colour such as #1a66cc");
        }
        color
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<PortalSettings, String> {
        let lookup = |name: &str| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut reader = Reader::new(&lookup);
        let settings = reader.portal();
        let finished = reader.finish().map_err(|bad| bad.to_string());
        finished.map(|()| settings)
    }

    #[test]
    fn without_settings_the_portal_is_plain_and_cannot_be_embedded() {
        assert_eq!(read(&[]), Ok(PortalSettings::default()));
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let given = "https://App.Example.com, https://b.example:8443/,http://localhost:3000";
        let settings = read(&[(FRAME_ANCESTORS.name, given)]).unwrap();
        let origins = settings.frame_ancestors.iter().map(SiteOrigin::as_str);
        let origins: Vec<_> = origins.collect();
        let expected = [
            "https://app.example.com",
            "https://b.example:8443",
            "http://localhost:3000",
        ];
        assert_eq!(origins, expected);
    }

    #[test]
    fn what_is_not_an_origin_is_rejected() {
        for bad in [
            "*",
            "https://*",
            "https://*.example.com",
            "https:",
            "'self'",
            "http://app.example.com",
            "https://app.example.com/path",
            "https://app.example.com?x",
            "https://user@app.example.com",
            "https://app.example.com;script-src",
            "data:",
            "app.example.com",
        ] {
            let refused = read(&[(FRAME_ANCESTORS.name, bad)]);
            assert!(refused.unwrap_err().contains(FRAME_ANCESTORS.name), "{bad}");
        }
    }

    #[test]
    fn every_invalid_setting_is_reported() {
        let name = "a".repeat(61);
        let bad = read(&[
            (NAME.name, &name),
            (LOGO.name, "http://cdn.example/logo.png"),
            (COLOR.name, "blue"),
            (FRAME_ANCESTORS.name, "*"),
        ]);
        let bad = bad.unwrap_err();
        assert_eq!(bad.lines().count(), 5, "{bad}");
    }

    #[test]
    fn a_color_has_six_digits() {
        assert_eq!("#1A66cc".parse(), Ok(Color([0x1a, 0x66, 0xcc])));
        assert_eq!(Color([0, 10, 255]).to_string(), "#000aff");
        for bad in [
            "", "#fff", "1a66cc", "#1a66c", "#1a66cg", "#+a66cc", "#1a66cc;",
        ] {
            assert!(bad.parse::<Color>().is_err(), "{bad}");
        }
    }
}
