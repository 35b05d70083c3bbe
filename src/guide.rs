//! The guide: the pages of the book, for readers of this documentation.
//!
//! Start with [`getting_started`]. The examples of all pages are tests.

/// Makes a module of each page. The definitions of links come first, so that they lead to modules here and to
/// files in the book.
macro_rules! pages {
    ($($module:ident $file:literal)*) => {$(
        #[doc = "[choosing#measure]: crate::guide::choosing#measure"]
        #[doc = "[cloud]: crate::guide::cloud"]
        #[doc = "[cloud#files-and-stores-on-a-web-server]: crate::guide::cloud#files-and-stores-on-a-web-server"]
        #[doc = "[copy]: crate::guide::copy"]
        #[doc = "[filters]: crate::guide::filters"]
        #[doc = "[getting-started]: crate::guide::getting_started"]
        #[doc = "[library]: crate::guide::library"]
        #[doc = "[library#append-records]: crate::guide::library#append-records"]
        #[doc = "[library#name-a-dataset]: crate::guide::library#name-a-dataset"]
        #[doc = "[library#read-packed-data]: crate::guide::library#read-packed-data"]
        #[doc = "[plugins]: crate::guide::plugins"]
        #[doc = "[storage]: crate::guide::storage"]
        #[doc = "[storage#concurrent-writers-and-readers]: crate::guide::storage#concurrent-writers-and-readers"]
        #[doc = "[xarray]: crate::guide::xarray"]
        #[doc = ""]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $module {}
    )*};
}

pages! {
    getting_started "getting-started.md"
    library "library.md"
    tool "tool.md"
    storage "storage.md"
    cloud "cloud.md"
    filters "filters.md"
    plugins "plugins.md"
    copy "copy.md"
    choosing "choosing.md"
    reliability "reliability.md"
    differences "differences.md"
    api "api.md"
    xarray "xarray.md"
    from_netcdf "from-netcdf.md"
    from_zarrs "from-zarrs.md"
    from_python "from-python.md"
    glossary "glossary.md"
}
