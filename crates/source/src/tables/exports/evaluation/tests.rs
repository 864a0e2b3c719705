//! Values of evaluations can be read back, and what is none is refused.

use super::*;
use crate::tables::{Like, import};
use gputexel_model::ParameterRecord;

fn sets() -> Vec<FeatureSet> {
    let phase = || PhaseSettings::parse("5,5,11,22").unwrap();
    let kinds = [FeatureKind::Pst, FeatureKind::Classical, FeatureKind::Full];
    kinds.into_iter().map(|kind| FeatureSet::new(kind, phase())).collect()
}

fn file(set: &FeatureSet) -> ParameterFile {
    let theta: Vec<f64> = (0..2 * set.features.len()).map(|i| 300.0 * (i as f64 * 1.37).sin()).collect();
    ParameterFile::new(set, &theta, None, Some(0.75))
}

fn written(file: &ParameterFile, language: Language) -> Result<String> {
    write(language, file, Path::new("p.json")).map(|exported| exported.text)
}

#[test]
fn values_are_read_back_from_every_language() {
    for set in sets() {
        let file = file(&set);
        for language in Language::RUN {
            let text = written(&file, language).unwrap();
            let name = format!("evaluation.{}", language.endings[0]);
            let like = Like::Set(Box::new(set.clone()));
            let read = import(text.as_bytes(), Path::new(&name), Some(&like)).unwrap().file;
            assert_eq!((&read.phase, read.k), (&set.phase, file.k));
            let whole =
                |record: &ParameterRecord| (record.name.clone(), record.mg.round(), record.eg.round());
            let wanted: Vec<_> = file.parameters.iter().map(whole).collect();
            let got: Vec<_> = read.parameters.iter().map(|r| (r.name.clone(), r.mg, r.eg)).collect();
            assert!(got == wanted, "{} {}", set.name(), language.name);
        }
    }
}

#[test]
fn every_group_of_values_is_explained() {
    let set = FeatureSet::new(FeatureKind::Full, PhaseSettings::default());
    let text = written(&file(&set), Language::C).unwrap();
    for group in set.groups() {
        let last = wrapped(group.definition).lines().last().unwrap().to_string();
        assert!(text.contains(&format!("{last}\n// gputexel: {}\n", group.name)), "{}", group.name);
    }
}

#[test]
fn what_is_no_evaluation_is_refused() {
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let good = file(&set);
    let refusal = |file: &ParameterFile| written(file, Language::C).unwrap_err().to_string();
    let changed = |change: &dyn Fn(&mut ParameterFile)| {
        let mut file = good.clone();
        change(&mut file);
        refusal(&file)
    };
    assert!(changed(&|file| file.feature_set = "imported".into()).contains("'imported'"));
    assert!(changed(&|file| file.parameters[70].eg = -30_001.0).contains("'knight_g1.eg' is -30001"));
    assert!(
        changed(&|file| file.parameters[1].name = "pawn_a1".into()).contains("'pawn_a1' is listed twice")
    );
    let material = FeatureSet::new(FeatureKind::Material, PhaseSettings::default());
    assert!(refusal(&file(&material)).contains("'material'"));
    let mut program = file(&FeatureSet::new(FeatureKind::Full, PhaseSettings::default()));
    program.program = None;
    assert!(refusal(&program).contains("'full'"));
    assert!(written(&good, Language::CPP).unwrap().contains("\nnamespace evaluation {\n"));
    let other = export_evaluation(Path::new("pesto"), Format::Code(Language::GO)).unwrap_err().to_string();
    assert_eq!(other, "evaluations are written in c, cpp and rust, not go");
}
