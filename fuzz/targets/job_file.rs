//! A job file of any bytes is parsed and compiled, or refused; what was parsed
//! and written again is the same.

#![no_main]

use iodyno_job::script::{CompileOptions, compile};
use iodyno_job::syntax::{Environment, parse_file, write_file};

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let environment = Environment {
        variable: &|name| (name.len() % 2 == 0).then(|| "4k".into()),
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
        page_size_bytes: 4096,
        cpus: 8,
        memory_mib: 16_384,
    };
    let Ok(file) = parse_file(text, "fuzz.fio", &environment) else { return };
    // A value that would be read otherwise is refused.
    let Ok(written) = write_file(&file.sections) else { return };
    let again = parse_file(written.as_bytes(), "fuzz.fio", &environment)
        .expect("what was written can be read");
    let entries = |sections: &[iodyno_job::syntax::Section]| -> Vec<_> {
        let all = sections.iter().flat_map(|one| one.entries.iter().map(move |e| (one.name.clone(), e)));
        all.map(|(section, e)| (section, e.name.clone(), e.value.clone())).collect()
    };
    assert_eq!(entries(&file.sections), entries(&again.sections));
    for for_fio in [false, true] {
        let _ = compile(&file.sections, &CompileOptions { for_fio, is_special: &|_| false, ..CompileOptions::default() });
    }
});
