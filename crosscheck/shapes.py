"""The shape of outputs: what a parser of fio's output stands on, without the values."""

import re
from itertools import zip_longest


def tree(value, path="", found=None):
    """{path: type} of a JSON document. Lists are told by their elements, json+'s bins by one of them."""
    found = {} if found is None else found
    if isinstance(value, dict):
        found[path or "/"] = "object"
        items = list(value.items())
        for key, inner in items[:1] if path.endswith("/bins") else items:
            tree(inner, f"{path}/{'N' if path.endswith('/bins') else key}", found)
    elif isinstance(value, list):
        found[path] = "list"
        for number, inner in enumerate(value):
            tree(inner, f"{path}/{number}", found)
    else:
        found[path] = type(value).__name__
    return found


# What stands in ours besides: the total latency's percentiles (our latencies are totals, and fio has them with
# lat_percentiles=1), and what later versions of fio write.
BESIDES = re.compile(
    r"/jobs/\d+/(read|write|trim|mixed|sync)/lat_ns/(percentile|bins)(/.*)?|/jobs/\d+/(job_start|latency_target_ns|latency_window_us)|/disk_util/\d+/(read|write)_sectors"
)


def json_differences(ours, theirs):
    """Keys and types that differ. Keys of our own may stand beside fio's at the top, and where BESIDES says."""
    a, b = tree(ours), tree(theirs)
    wrong = [f"{path} is missing" for path in b if path not in a]
    extra = [path for path in a if path not in b and not BESIDES.fullmatch(path)]
    wrong += [f"{path} is not fio's" for path in extra if path.count("/") > 1 and _top(path) in theirs]
    wrong += [f"{path} is {a[path]}, fio's {b[path]}" for path in b if path in a and a[path] != b[path]]
    return _few(wrong)


def _top(path):
    return path.split("/")[1]


def _field(text):
    for name, pattern in (("int", r"-?\d+"), ("float", r"-?\d+\.\d+"), ("percent", r"-?[\d.]+%"), ("percentile", r"[\d.]+%=\d+")):
        if re.fullmatch(pattern, text):
            return name
    return "text"


def terse_differences(ours, theirs):
    """Lines, fields of each line, and what stands in each field."""
    a, b = ([line.split(";") for line in text.splitlines() if ";" in line] for text in (ours, theirs))
    if len(a) != len(b):
        return [f"{len(a)} terse lines, fio {len(b)}"]
    wrong = []
    for mine, fio in zip(a, b, strict=True):
        if len(mine) != len(fio):
            wrong.append(f"{len(mine)} terse fields, fio {len(fio)}")
            continue
        kinds = [(_field(x), _field(y)) for x, y in zip(mine, fio, strict=True)]
        wrong += [f"terse field {n}: {mine[n]!r} is {x}, fio's {fio[n]!r} is {y}" for n, (x, y) in enumerate(kinds) if x != y]
    return _few(wrong)


def normal_shape(text):
    """The human report as lines without numbers and units. Progress is no part of it."""
    lines, percentiles = [], []
    for line in text.splitlines():
        # Nor is the submission's latency compared, which iodyno has apart only where each I/O is stamped.
        if "[eta" in line or not line.strip() or re.match(r"\s*slat \(|.*: Laying out IO file", line):
            continue
        if re.match(r"\s*\|", line):
            percentiles += re.findall(r"([\d.]+)th=", line)
            continue
        if re.match(r"\s*lat \([mun]sec\)\s+:", line):
            line = "lat : buckets"  # as many lines as the values ask for
        line = re.sub(r" sectors=\S+,", "", line)  # later versions of fio have them
        line = re.sub(r"\([mun]sec\)", "(U)", line)
        line = re.sub(r"pid=\d+: .*", "pid=N: DATE", line)
        line = re.sub(r"\b(fio|iodyno)-[\w.+-]+", "VERSION", line)
        line = re.sub(r"-?\d+(\.\d+)?", "N", line)
        line = re.sub(r"N\s*(?:[kKMGTP]i?B|B|[kKMGTP])\b", "N", line)
        line = re.sub(r"\(\s*(?:[KMGTP]i|[kMGTP])?B/s\)", "(B/s)", line)
        line = " ".join(line.split())
        line = re.sub(r"([=,:(\[-]) (?=N)", r"\1", line)
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines + [f"percentile {p}" for p in percentiles]


def normal_differences(ours, theirs):
    """The first lines that differ."""
    pairs = zip_longest(normal_shape(ours), normal_shape(theirs), fillvalue="(nothing)")
    return _few([f"{a!r}, fio {b!r}" for a, b in pairs if a != b], 3)


def _few(wrong, most=8):
    return wrong if len(wrong) <= most else [*wrong[:most], f"and {len(wrong) - most} more"]
