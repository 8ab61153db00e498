use super::*;

#[test]
fn unknown_placeholders_are_refused() {
    let parse = |jobs: &str, text: &str| {
        Profile::parse(&format!(
            "format = \"iodyno.profile/1\"\nname = \"x\"\nabout = \"x\"\non = \"device\"\n\
             jobs = \"{jobs}\"\nquantity = []\n[[setting]]\ntext = \"{text}\"\n\
             apply = \"x\"\nwhy = \"x\"\n"
        ))
    };
    assert!(parse("[a]", "{target} {a read iops * 0.9}").is_ok());
    let wrong = |name: &str| Err(ProfileError::Placeholder(name.to_owned()));
    assert_eq!(parse("[a]", "{nothing}"), wrong("nothing"));
    assert_eq!(parse("[a]\\nrate_iops={target}", "x"), wrong("target"));
}

#[test]
fn placeholders_have_their_closing_brace_and_their_key() {
    let parse = |jobs: &str, setting: &str| {
        Profile::parse(&format!(
            "format = \"iodyno.profile/1\"\nname = \"x\"\nabout = \"x\"\non = \"device\"\n\
             jobs = \"[a]{jobs}\"\nquantity = []\n[[setting]]\napply = \"x\"\nwhy = \"x\"\n{setting}\n"
        ))
    };
    let text = |text: &str| parse("", &format!("text = \"{text}\""));
    let smallest = |of: &str| {
        parse("", &format!("text = \"{{smallest}}\"\nsmallest = {{ share = 0.9, of = [{of}] }}"))
    };
    let open = |line: &str| Err(ProfileError::OpenBrace(line.into()));
    assert_eq!(text("a = 1\\nmax = {a read iops * 0.8"), open("max = {a read iops * 0.8"));
    assert_eq!(text("{a read iops {a read iops}"), open("{a read iops {a read iops}"));
    assert_eq!(parse("\\nrate={a read iops", "text = \"x\""), open("rate={a read iops"));
    assert_eq!(text("{smallest}"), Err(ProfileError::NoKey("smallest")));
    assert_eq!(text("{exceed}"), Err(ProfileError::NoKey("exceed")));
    assert!(smallest("[\"1\", \"a read iops\"], [\"2\", \"b read iops\"]").is_ok());
    for of in ["[\"1\", \"a read iops\"], [\"2\", \"a read bandwidth\"]", "[\"1\", \"a read p99\"]"]
    {
        let wrong = smallest(of);
        assert!(matches!(wrong, Err(ProfileError::Smallest(_))), "{of}: {wrong:?}");
    }
}

#[test]
fn bounds_and_shares_are_numbers_above_0() {
    let parse = |limit: &str, share: &str| {
        Profile::parse(&format!(
            "format = \"iodyno.profile/1\"\nname = \"x\"\nabout = \"x\"\non = \"device\"\n\
             jobs = \"[a]\"\n[[quantity]]\nname = \"x\"\nof = \"a read iops\"\n\
             [[quantity.bound]]\nlimit = {{ at_least_iops = {limit} }}\nseverity = \"FAIL\"\n\
             source = \"x\"\ndate = \"2026-11\"\n[[setting]]\ntext = \"x\"\napply = \"x\"\n\
             why = \"x\"\nsmallest = {{ share = {share}, of = [] }}\n"
        ))
    };
    assert!(parse("1.0", "1.0").is_ok());
    for limit in ["nan", "inf", "-1.0", "0.0"] {
        let wrong = parse(limit, "0.9");
        assert!(matches!(wrong, Err(ProfileError::Bound(_))), "{limit}: {wrong:?}");
    }
    for share in ["nan", "-1.0", "0.0", "1.1"] {
        let wrong = parse("1.0", share);
        assert!(matches!(wrong, Err(ProfileError::Share(_))), "{share}: {wrong:?}");
    }
}

#[test]
fn names_sources_and_dates_are_stated() {
    let said = |of: [&str; 5]| {
        let [profile, first, second, source, date] = of;
        let parsed = Profile::parse(&format!(
            "format = \"iodyno.profile/1\"\nname = \"{profile}\"\nabout = \"x\"\non = \"device\"\n\
             jobs = \"[a]\"\n[[quantity]]\nname = \"{first}\"\nof = \"a read iops\"\n\
             [[quantity]]\nname = \"{second}\"\nof = \"a read p99\"\n[[quantity.bound]]\n\
             limit = {{ at_most_ms = 1.0 }}\nseverity = \"FAIL\"\nsource = \"{source}\"\n\
             date = \"{date}\"\n"
        ));
        parsed.map_or_else(|error| error.to_string(), |_| String::new())
    };
    assert_eq!(said(["p", "a", "b", "us", "2026-11"]), "");
    assert_eq!(said(["", "a", "b", "us", "2026-11"]), "`name` is empty");
    assert_eq!(said(["p", "a", "", "us", "2026-11"]), "quantity 2: `name` is empty");
    assert_eq!(said(["p", "a", "a", "us", "2026-11"]), "quantity `a`: expected each name once");
    assert_eq!(said(["p", "a", "b", "", "2026-11"]), "quantity `b`: `source` is empty");
    for date in ["yesterday", "", "2026", "2026-13", "2026-8", "26-08", "2026-08-01"] {
        let wrong = format!("quantity `b`: date = `{date}`: expected a month, as in 2026-08");
        assert_eq!(said(["p", "a", "b", "us", date]), wrong);
    }
}

#[test]
fn bounds_match_the_kind_of_figure() {
    assert!(Limit::AtMostMs(10.0).is_of(FigureKind::Percentile(99.0)));
    assert!(!Limit::AtMostMs(10.0).is_of(FigureKind::Iops));
    assert!((Limit::AtMostMs(10.0).value() - 1e7).abs() < f64::EPSILON);
}
