//! A macro for structs whose defaults stand beside their fields.

/// Structs with `Default`: a field gets the value after its `=`, or else its type's default.
macro_rules! with_defaults {
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
    ($(
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $(= $value:expr)?,)*
        }
    )*) => {$(
        $(#[$attribute])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: crate::defaults::with_defaults!(@value $($value)?),)* }
            }
        }
    )*};
}

pub(crate) use with_defaults;
