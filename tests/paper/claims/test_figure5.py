"""What the claim on linear bandits says where it hangs on lambda and S."""

import re

from bandstrap.paper.claims import DEPENDS
from bandstrap.paper.claims.figure5 import PLAIN, SIZES, linear_bandits
from bandstrap.paper.claims.statistics import brief
from paper.synthetic import agreeing
from paper.worlds import BUCBL, OFUL


def test_both_settings_and_thompson_sampling_are_told_in_numbers():
    evidence = agreeing()
    found = linear_bandits.check(evidence)
    assert found.verdict == DEPENDS
    for name, dimension in SIZES:
        panel = evidence[name]
        plain = (panel[f"{BUCBL}, {PLAIN}"].at() - 2 / 3 * panel[f"{OFUL}, {PLAIN}"].at()).mean()
        assert f"{brief(abs(plain))} ± " in found.setting
        assert f"(d = {dimension})" in found.setting
        times = panel["TS, right prior"].at().mean() / panel[BUCBL].at().mean()
        assert f"{times:.2f} ± " in found.statistic
    assert re.search(r"; an advantage of \d+% would be found with probability 0.9$", found.setting)
    assert f"{BUCBL}, {PLAIN}, d = 10" in [number.name for number in found.numbers]
