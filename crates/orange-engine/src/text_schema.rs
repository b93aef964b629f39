//! The schema of data that is written as a text.

/// Says that each of these types is written as a text.
macro_rules! written_as_text {
    ($($name:ident),+ $(,)?) => {$(
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }
    )+};
}

pub(crate) use written_as_text;
