"""What chance allows: the statistics of the comparisons."""

import math

# A test that is right fails by chance once in this many times; the matrix makes some fifty such tests.
FALSE_ALARMS = 1e-6


def chi_square_tail(value, degrees):
    """The probability that chi-square with so many degrees of freedom is at least `value`.

    The regularised upper incomplete gamma function Q(degrees / 2, value / 2): Press et al., Numerical Recipes, 6.2, by
    the series below a + 1 and by Lentz's continued fraction above.
    """
    a, x = degrees / 2, value / 2
    if x <= 0:
        return 1.0
    scale = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while term > total * 1e-12:
            n += 1
            term *= x / n
            total += term
        return 1 - total * scale
    b, c = x + 1 - a, 1e300
    d = h = 1 / b
    for i in range(1, 10_000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        h *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return h * scale


def same_distribution(ours, theirs):
    """Chi-square of two samples, counts by bucket: (probability, degrees of freedom).

    Press et al., 14.3, for samples of different sizes. Buckets with fewer than ten in both are put together.
    """
    pairs, rest = [], [0, 0]
    for bucket in sorted(set(ours) | set(theirs)):
        a, b = ours.get(bucket, 0), theirs.get(bucket, 0)
        if a + b >= 10:
            pairs.append((a, b))
        else:
            rest = [rest[0] + a, rest[1] + b]
    if sum(rest):
        pairs.append(tuple(rest))
    total_a, total_b = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    if not total_a or not total_b:
        return (1.0 if total_a == total_b else 0.0), 0
    if len(pairs) < 2:
        return 1.0, 0
    k = math.sqrt(total_b / total_a)
    value = sum((k * a - b / k) ** 2 / (a + b) for a, b in pairs)
    degrees = len(pairs) - 1
    return chi_square_tail(value, degrees), degrees
