//! Query parameters: names and descriptions declared once, for the query string, a JSON object and the OpenAPI document.

/// Parameters that a query string is read into.
pub trait Parameters: Default + Send {
    fn names() -> Vec<&'static str>;

    /// The place for the value of one of the [names](Self::names).
    fn place(&mut self, name: &str) -> Option<&mut Option<String>>;
}

/// Parameters of one operation that come from two declarations.
impl<A: Parameters, B: Parameters> Parameters for (A, B) {
    fn names() -> Vec<&'static str> {
        [A::names(), B::names()].concat()
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
        match self.0.place(name) {
            Some(place) => Some(place),
            None => self.1.place(name),
        }
    }
}

/// No parameters at all.
impl Parameters for () {
    fn names() -> Vec<&'static str> {
        Vec::new()
    }

    fn place(&mut self, _: &str) -> Option<&mut Option<String>> {
        None
    }
}

/// Declares parameters: a struct of optional texts that is read from a query string or a JSON object, written to either,
/// and described in the OpenAPI document. Each field names the schema of its values.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$outer:meta])*
        $vis:vis struct $type:ident as $schema_name:literal {
            $(#[doc = $doc:literal] $name:ident: $schema:ty,)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $vis struct $type {
            $(
                #[doc = $doc]
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $name: Option<String>,
            )+
        }

        impl $type {
            /// The parameters that are set, by name.
            pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
                [$((stringify!($name), self.$name.as_deref())),+]
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
            }
        }

        impl $crate::parameters::Parameters for $type {
            fn names() -> Vec<&'static str> {
                vec![$(stringify!($name)),+]
            }

            fn place(&mut self, name: &str) -> Option<&mut Option<String>> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }

        impl ::utoipa::IntoParams for $type {
            fn into_params(
                _: impl Fn() -> Option<::utoipa::openapi::path::ParameterIn>,
            ) -> Vec<::utoipa::openapi::path::Parameter> {
                vec![$(
                    ::utoipa::openapi::path::ParameterBuilder::new()
                        .name(stringify!($name))
                        .parameter_in(::utoipa::openapi::path::ParameterIn::Query)
                        .required(::utoipa::openapi::Required::False)
                        .description(Some($doc.trim()))
                        .schema(Some(<$schema as ::utoipa::PartialSchema>::schema()))
                        .build(),
                )+]
            }
        }

        impl ::utoipa::PartialSchema for $type {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                let object = ::utoipa::openapi::schema::ObjectBuilder::new()
                    $(.property(
                        stringify!($name),
                        $crate::schema::described_or_null::<$schema>($doc.trim()),
                    ))+
                    .additional_properties(Some(
                        ::utoipa::openapi::schema::AdditionalProperties::<
                            ::utoipa::openapi::schema::Schema,
                        >::FreeForm(false),
                    ));
                ::utoipa::openapi::schema::Schema::from(object).into()
            }
        }

        impl ::utoipa::ToSchema for $type {
            fn name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($schema_name)
            }
        }
    };
}
