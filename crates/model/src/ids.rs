//! Identifiers of the objects in a [`Model`](crate::Model): small numbers, dense per dataset, never reused.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the model's table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(/// A group; the root is [`GroupId::ROOT`].
    GroupId);
id!(/// A dimension, unique in the dataset.
    DimId);
id!(/// A variable, unique in the dataset (netCDF-C numbers them per group).
    VarId);
id!(/// A user-defined type.
    TypeId);

impl GroupId {
    /// The root group.
    pub const ROOT: Self = Self(0);
}
