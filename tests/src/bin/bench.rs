//! Measures and prints tables: `bench makespan`.

use ebb_tests::bench::{graphs, makespan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut sum, mut small, mut won, mut long) = ([0u64; 3], Vec::new(), 0, 0);
    let (mut transitions, mut resources, mut drag) = (0, 0, 0);
    let mut worst = Vec::new();
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
    Ok(())
}
