//! Measures and prints tables: `bench makespan`.

use ebb_tests::bench::{graphs, makespan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut sum, mut small, mut won, mut long) = ([0u64; 3], Vec::new(), 0, 0);
    let (mut transitions, mut resources, mut drag) = (0, 0, 0);
    let mut worst = Vec::new();
    let mut all = (0, 0, 0, 0); let mut fl = (0u64, 0u64); let mut fs = vec![];
    for template in graphs::constructs()? {
        let graph = template.graph()?;
        for _ in 0..5 {
            let takes = makespan::draw(&graph, &mut random);
            let (critical, levels) = (makespan::critical_path(&graph, &takes), makespan::levels(&graph, &takes));
            let ebb = makespan::ebb(&graph, &takes)?;
            sum[0] += critical;
            sum[1] += levels;
            sum[2] += ebb.makespan;
            transitions += ebb.transitions;
            resources += takes.len() as u64;
            drag += ebb.drag;
            let floor = makespan::floor(&graph, &takes);
            fl.0 += floor; if critical >= 30_000 { fl.1 += u64::from(floor <= levels); }
            if critical < 30_000 { fs.push(floor - critical); }
            all.0 += ebb.waves; all.1 += ebb.worker_ms; all.2 += ebb.looks;
            all.3 += 30 + ebb.makespan / 40_000;
            if std::env::var("DUMP").is_ok() { println!("{} n {} crit {} lev {} ebb {} waves {} depth {} drag {}", template.name, takes.len(), critical, levels, ebb.makespan, ebb.waves, graph.levels().len(), ebb.drag); }
            if critical >= 30_000 {
                long += 1;
                won += u32::from(ebb.makespan <= levels);
                worst.push((levels as f64 / ebb.makespan as f64, template.name.clone()));
            } else {
                small.push(ebb.makespan.saturating_sub(critical));
            }
        }
    }
    small.sort_unstable();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("critical {} levels {:.3} ebb {:.3}", sum[0], sum[1] as f64 / sum[0] as f64, sum[2] as f64 / sum[0] as f64);
    println!("long {long}: won {:.3}", f64::from(won) / f64::from(long));
    let tenth = &worst[..worst.len() / 10];
    println!("best tenth ratio: first {:.2} last {:.2}", tenth[0].0, tenth[tenth.len() - 1].0);
    println!(
        "small {}: median {} p90 {} max {}",
        small.len(),
        small[small.len() / 2],
        small[small.len() * 9 / 10],
        small[small.len() - 1]
    );
    println!("transitions per resource {:.2}, drag {:.3}", transitions as f64 / resources as f64, drag as f64 / sum[2] as f64);
    let r = resources as f64;
    println!("per resource: drive {:.2} fixed {:.2} waves {:.2} looks {:.2} worker s {:.2}", transitions as f64 / r, all.3 as f64 / r, all.0 as f64 / r, all.2 as f64 / r, all.1 as f64 / r / 1000.0);
    fs.sort_unstable();
    println!("floor {:.3} won {:.3} small med {} p90 {} max {}", fl.0 as f64 / sum[0] as f64, fl.1 as f64 / f64::from(long), fs[fs.len()/2], fs[fs.len()*9/10], fs[fs.len()-1]);
    worst.reverse();
    for (q, r) in [(0.01, 0), (0.05, 0), (0.1, 0), (0.2, 0), (0.3, 0), (0.4, 0)] { let _ = r; print!("q{q}: {:.3} ", worst[(worst.len() as f64 * q) as usize].0); }
    println!();
    Ok(())
}
