//! Structures whose defaults stand beside their fields.

/// Structures with `Default`: of a field what stands behind its `=`, else what its type has.
macro_rules! with_defaults {
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
    ($(
        $(#[$of:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty $(= $value:expr)?,)*
        }
    )*) => {$(
        $(#[$of])*
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
