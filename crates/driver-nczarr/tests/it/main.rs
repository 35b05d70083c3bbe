//! The driver on maps in memory.

mod support;

#[test]
fn smoke() {
    let Ok(dir) = std::env::var("NZ_DIR") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let map = support::TestMap::from_dir(&path);
        match support::open(&map) {
            Err(e) => println!("{}: ERROR {e}", path.display()),
            Ok(d) => {
                let m = d.model().snapshot();
                println!("{}: {} vars {:?} {:?}", path.display(), m.vars().len(), d.info().flavour, d.info().notes);
                if std::env::var("NZ_ALL").is_ok() {
                    println!("{m:#?}");
                }
                for (_, v) in m.vars() {
                    if let Some(p) = &v.problem {
                        println!("   {}: {p}", v.name);
                    }
                }
            }
        }
    }
}
