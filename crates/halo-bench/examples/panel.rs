#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("quick") {
        halo_bench::quick();
        return;
    }
    if std::env::args().nth(1).as_deref() == Some("admit") {
        halo_bench::profile(200);
        return;
    }
    if let Some(p) = halo_bench::core(|w, _| eprintln!("{w}")) {
        for f in &p.figures {
            println!(
                "{:32} {:10.4} {:6} goal {:?}  n={}",
                f.name,
                f.median,
                f.unit,
                f.at_most,
                f.samples.len()
            );
        }
        println!(
            "units: bytes {:.2} scope {:.2}",
            p.admission_bytes_units, p.admission_scope_units
        );
    } else {
        println!("none")
    }
}
