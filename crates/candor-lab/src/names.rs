//! Enums whose values have names on the command line, in plans and in reports.

/// An enum whose variants have names.
macro_rules! names {
    ($(#[$meta:meta])* $vis:vis enum $Type:ident { $($(#[$doc:meta])* $Variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $Type {
            $($(#[$doc])* $Variant),+
        }

        impl $Type {
            $vis const ALL: &[Self] = &[$(Self::$Variant),+];

            $vis const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name),+ }
            }

            $vis fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }

            $vis fn names() -> Vec<&'static str> {
                Self::ALL.iter().map(|known| known.name()).collect()
            }
        }
    };
}
