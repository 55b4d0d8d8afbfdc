use super::claims::Ruling;
use super::*;

fn cell(published: f64, simulated: f64) -> Cell {
    Cell {
        row: String::new(),
        column: "".into(),
        unit: "".into(),
        lock: "".into(),
        published,
        simulated,
        half: Some(0.0),
        seconds: 1.0,
        two_states: false,
        aside: None,
    }
}

#[test]
fn ranks_and_errors() {
    let rank = |figures: &[(f64, f64)]| {
        let cells: Vec<Cell> = figures.iter().map(|&(a, b)| cell(a, b)).collect();
        spearman(&cells.iter().collect::<Vec<_>>())
    };
    let same = rank(&[(1.0, 10.0), (2.0, 20.0), (5.0, 21.0)]);
    assert!((same.unwrap() - 1.0).abs() < 1e-12, "{same:?}");
    let reversed = rank(&[(1.0, 3.0), (2.0, 2.0), (5.0, 1.0)]);
    assert!((reversed.unwrap() + 1.0).abs() < 1e-12, "{reversed:?}");
    assert!(rank(&[(1.0, 3.0), (2.0, 3.0)]).is_none(), "nothing to rank");
    assert_eq!(cell(2.0, 4.0).error(), cell(4.0, 2.0).error());
    assert!(cell(1.0, 0.0).error().is_infinite());
}

/// Every published table is simulated, or there is a reason why not.
#[test]
fn no_table_is_forgotten() {
    let known: Vec<&str> =
        names().into_iter().chain(left_out().iter().map(|(name, _)| *name)).collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/published");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(known.contains(&name), "{name}");
    }
    for name in names() {
        assert!(batch(&[name], Effort::Quick).runs() > 0, "{name}");
    }
}

/// The cells of a table as if the simulator had said what was published.
fn as_published(source: &Source, change: impl Fn(&mut Cell)) -> Vec<Cell> {
    let sheet = (source.sheet)(&Rows::read(source.csv), Effort::Quick);
    let cell = |point: &Point| {
        let mut cell = Cell {
            row: point.row.clone(),
            column: point.column.into(),
            ..cell(point.published, point.published)
        };
        change(&mut cell);
        cell
    };
    sheet.points.iter().map(cell).collect()
}

/// A claim that the source's own figures do not bear out would be our mistake; so would be a table of
/// which nothing is claimed.
#[test]
fn every_table_has_claims_that_hold_for_the_published_figures() {
    for source in TABLES {
        let verdicts = claims::verdicts(source.name, &as_published(source, |_| {}));
        assert!(!verdicts.is_empty(), "{}", source.name);
        for verdict in verdicts {
            let (name, claim, seen) = (source.name, verdict.claim, verdict.seen);
            assert_eq!(verdict.ruling, Ruling::Holds, "{name}: {claim}: {seen}");
        }
    }
}

/// No claim holds of a simulator in which nothing makes a difference, but one that nothing does.
#[test]
fn claims_are_judged_by_what_is_seen() {
    for source in TABLES {
        let cells = as_published(source, |cell| cell.simulated = 1.0);
        for verdict in claims::verdicts(source.name, &cells) {
            let nothing = ["nothing", "none", "plateau", "flat", "under 5 %"];
            let of_nothing = nothing.iter().any(|word| verdict.claim.contains(word));
            assert!(of_nothing || verdict.ruling == Ruling::Fails, "{}", verdict.claim);
        }
    }
}

/// Cells that something was fitted to stand out of the errors, whatever they are.
#[test]
fn what_was_fitted_does_not_count() {
    let aside = |name: &str| {
        let source = TABLES.iter().find(|table| table.name == name).unwrap();
        let sheet = (source.sheet)(&Rows::read(source.csv), Effort::Quick);
        sheet.points.iter().filter(|point| point.aside.is_some()).count()
    };
    assert_eq!(aside("mutex-slowpath-time"), 2);
    assert_eq!(aside("rwsem-cascadelake-cs-load"), 4);
    assert_eq!(aside("osq-epyc7551-locktorture"), 10);
    assert_eq!(aside("rwsem-ivybridge-ex-mixed"), 0);
}
