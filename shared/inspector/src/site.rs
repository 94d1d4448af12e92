//! The two sites that share their pages: the Inspector for operators, the portal for the customers of one tenant.

use crate::catalogue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    Inspector,
    Portal,
}

impl Site {
    /// The site that a path belongs to. Only pages of the portal are under its path and the public ones look like it, so everything
    /// else is the Inspector's.
    pub(crate) fn of(path: &str) -> Self {
        if Self::Portal.has(path) || catalogue::public::has(path) {
            Self::Portal
        } else {
            Self::Inspector
        }
    }

    pub(crate) const fn home(self) -> &'static str {
        match self {
            Self::Inspector => "/inspector",
            Self::Portal => "/portal",
        }
    }

    /// The path of a page; `rest` begins with a slash.
    pub(crate) fn path(self, rest: &str) -> String {
        format!("{}{rest}", self.home())
    }

    /// Whether this is the path of one of its pages, maybe with a query.
    pub(crate) fn has(self, path: &str) -> bool {
        path.strip_prefix(self.home())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && path
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_one_site() {
        for path in [
            "/portal",
            "/portal/",
            "/portal/webhooks/new",
            "/portal?a",
            "/event-types",
            "/event-types.json",
            "/event-types/a",
        ] {
            assert_eq!(Site::of(path), Site::Portal, "{path}");
        }
        for path in [
            "/inspector",
            "/inspector/portal",
            "/portals",
            "/",
            "/portal-links",
        ] {
            assert_eq!(Site::of(path), Site::Inspector, "{path}");
        }
    }
}
