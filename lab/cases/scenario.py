"""What the cases of planted faults on the healthy machine share: the fault is named, and nothing else is."""

import contextlib

import results
from cases import DATASHEET, STORE, Case, command, findings

TIME = "--time 2"
# A few drives at this share of their rates leave emulated CPUs idle, also where this machine does something else.
UNHURRIED = 1 / 4


class Scenario(Case):
    """A test in which one thing is wrong."""

    def checked(self, words=TIME, timeout_s=300):
        """The document of one check."""
        return self.documented(words, self.lab.run(self.checking(words), timeout_s))

    def checking(self, words):
        """The command of a check, of two seconds for each measurement if nothing else is said."""
        return command(f"check {words if '--' in words else f'{TIME} {words}'}")

    def unhurried(self, drives, targets, *faults):
        """The document of a check of three drives that are not so fast that CPUs could be what they share.

        Without the data sheet, which all of them would fall short of.
        """
        with contextlib.ExitStack() as planted:
            for drive in drives:
                planted.enter_context(self.lab.throttled(drive, UNHURRIED))
            for fault in faults:
                planted.enter_context(fault)
            result = self.lab.run(f"iodyno check --json --store {STORE} --time 4 {' '.join(targets)}", 300)
        return self.documented("check", result)

    def documented(self, words, result):
        self.no_panic(result)
        return self.document(words, result)[1]

    def named(self, fault, document, expected, *drives):
        """Each of the rules `expected` says something about the drives, whatever its severity, and nothing else above INFO is said.

        A rule may stand in words that several rules would do for: "a|b".
        """
        subjects = {name for drive in drives for name in (self.lab.controller(drive), self.lab.namespace(drive), self.lab.address(drive))}
        about = {f["rule"] for f in document["findings"] if not subjects or subjects & set(f["subjects"])}
        found = frozenset(words for words in expected if about & set(words.split("|")))
        wanted = {rule for words in expected for rule in words.split("|")}
        for rule in wanted & about:
            results.fired(rule, self.id())
        others = tuple(f["rule"] for f in above_info(document) if f["rule"] not in wanted or (subjects and not subjects & set(f["subjects"])))
        results.faults.append(results.Row(fault, "check", frozenset(expected), found, others))
        said = [(f["rule"], f["severity"], f["subjects"], f["what"]) for f in document["findings"]]
        self.assertEqual((set(expected) - found, others), (set(), ()), said)

    def explained(self, targets, workload, timeout_s=300):
        """What `iodyno explain` says of a workload on block devices: of the one measurement that was asked about.

        It has more time than it takes on a quiet machine, and needs it on a loaded one.
        """
        words = f"explain --json --budget 2m --store {STORE} --datasheet {DATASHEET} {' '.join(f'/dev/{name}' for name in targets)} {workload}"
        result = self.lab.run(f"iodyno {words}", timeout_s)
        self.no_panic(result)
        (of,) = self.document(words, result)[1]["explained"]
        self.keep(f"explain-{self.id()}.json", result.stdout)
        return of

    def limited(self, fault, of, limiter):
        """`iodyno explain` names this limiter, and none but it."""
        said = {of["limiter"]} if of["outcome"] == "named" else set()
        results.faults.append(results.Row(fault, "explain", frozenset({limiter}), frozenset({limiter} & said), tuple(said - {limiter})))
        self.assertEqual((of["outcome"], of["limiter"]), ("named", limiter), of["sentence"])


def above_info(document):
    """The findings that are more than information."""
    return [f for f in document["findings"] if f["severity"] in ("WARN", "FAIL")]


def evidence(document, rule, subject):
    """All that a rule's findings about a drive or namespace give as evidence, a line each."""
    return "\n".join(f"{e['what']}: {e['value']}" for f in findings(document, subject, rule) for e in f["evidence"])
