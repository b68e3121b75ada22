"""Identity by content: what compiled code can see changes it, and nothing else does."""

import math
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import compiled_as
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.policies.linear.linear_bootstrapped_ucb import KERNELS
from sampling import each, exhaustive

BASE = """
import math
import numpy as np
LIMIT = 2.0
TABLE = np.arange(3.0)
def inner(x):
    return x + LIMIT
def outer(x, scale=1.0):
    return math.sqrt(inner(x)) * scale + TABLE[1]
"""


def defined(source: str, name: str = "outer"):
    module = types.ModuleType("somewhere")
    exec(source, module.__dict__)
    return getattr(module, name)


@each(
    ("old", "new"),
    [
        ("x + LIMIT", "x - LIMIT"),  # a function that is called
        ("LIMIT = 2.0", "LIMIT = 2.5"),  # a constant that one reads
        ("LIMIT = 2.0", "LIMIT = 2"),  # of another type
        ("np.arange(3.0)", "np.arange(4.0)"),
        ("np.arange(3.0)", "np.arange(3)"),
        ("scale=1.0", "scale=2.0"),
        ("math.sqrt", "math.exp"),
        ("* scale", "/ scale"),
    ],
)
def test_what_compiled_code_can_see_changes_the_identity(old, new):
    assert old in BASE
    assert identify(defined(BASE)).digest != identify(defined(BASE.replace(old, new))).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 2.0", "\n\n# moved\nLIMIT = 2.0"),
        ("def outer", "OTHER = 3\ndef unused(x):\n    return OTHER\ndef outer"),
        ("import math", "import math\nimport json"),
    ],
)
def test_what_it_cannot_see_does_not(old, new):
    assert identify(defined(BASE)).digest == identify(defined(BASE.replace(old, new))).digest


def test_a_closure_and_the_module_of_a_function_belong_to_it():
    def make(constant):
        def function(x):
            return x + constant

        return function

    assert identify(make(1.0)).digest == identify(make(1.0)).digest
    assert identify(make(1.0)).digest != identify(make(2.0)).digest
    here, there = make(1.0), make(1.0)
    there.__module__ = "elsewhere"
    assert identify(here).digest != identify(there).digest


def test_what_stands_in_a_module_is_followed_by_the_names_that_are_used():
    def with_helper(body: str):
        helper = types.ModuleType("helper")
        exec(body, helper.__dict__)
        module = types.ModuleType("somewhere")
        module.helper = helper
        exec("def outer(x):\n    return helper.step(x)\n", module.__dict__)
        return module.outer

    step = "def step(x):\n    return x + 1\n"
    assert identify(with_helper(step)).digest == identify(with_helper(step + "unused = 3\n")).digest
    assert identify(with_helper(step)).digest != identify(with_helper(step.replace("1", "2"))).digest


def test_functions_that_call_each_other_have_one():
    source = "def outer(x):\n    return inner(x - 1)\ndef inner(x):\n    return outer(x) if x > 0 else {0}\n"
    first, again, other = (identify(defined(source.replace("{0}", n))).digest for n in ("0", "0", "1"))
    assert first == again != other


def test_an_object_of_unknown_content_is_never_the_same_and_does_not_last():
    source = "class Thing: pass\nthing = Thing()\ndef outer(x):\n    return thing\n"
    function = defined(source)
    assert identify(function).is_lasting is False
    assert identify(function).digest != identify(function).digest
    assert identify(defined(BASE)).is_lasting is True


def test_a_set_of_words_is_the_same_for_every_seed_of_hashes():
    code = (
        "from bandstrap.engine.compiler.identity import identify\n"
        "def f(x):\n    return x in {'a', 'b', 'c', 'd', 'e'}\n"
        "print(identify(f).digest)"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outs) == 1


def test_what_is_compiled_in_place_of_a_function_belongs_to_it():
    def plain(x):
        return x

    def loops(x):
        return x + 0

    bodies = {plain: loops}
    assert identify(plain).digest != identify(plain, body=lambda f: bodies.get(f, f)).digest


def test_every_kernel_of_the_package_has_an_identity_of_its_own_that_lasts():
    policies = [*POLICIES.values(), *(cls() for cls in LINEAR_POLICIES.values())]
    kernels = {policy.kernel.name: policy.kernel for policy in policies}
    kernels |= {kernel.name: kernel for kernel in KERNELS.values()}
    assert all(kernel.identity.is_lasting for kernel in kernels.values())
    assert len({kernel.identity.digest for kernel in kernels.values()}) == len(kernels)


ASK_NUMBA = """
from bandstrap.engine.simulator import blocks
from bandstrap.engine.compiler import compiled
from bandstrap.engine.compiler import kernel
from bandstrap.engine.compiler import twins
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.simulator.play import loop
from bandstrap.environments import Bernoulli, LinearBandit
from bandstrap.policies import EmpiricalKLUCB, Giro, IMED
from bandstrap.policies.linear import LinUCB

asked = set()
made = twins._Twins.bare

def told(self, function, *rest):  # what is handed to numba
    asked.add(function)
    return made(self, function, *rest)

twins._Twins.bare = told
for policy, environment in (
    (EmpiricalKLUCB(), Bernoulli()), (Giro(), Bernoulli()), (IMED(), Bernoulli()), (LinUCB(), LinearBandit(2, n_actions=3))
):
    asked.clear()
    twins._ours.clear()
    blocks.warm_policy(policy, environment)
    # The loops of play, and what they call, are covered with every kernel.
    asked = {function for function in asked if function.__module__ not in (loop.__module__, compiled.__name__)}
    asked -= identify(loop("arms", False), loop("actions", False), body=kernel.compiled_as).functions
    covered = policy.kernel.identity.functions
    print(policy.name, len(asked), sorted(f.__name__ for f in asked - covered))
"""


@exhaustive
def test_the_identity_covers_every_function_that_numba_asks_for(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-c", ASK_NUMBA],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},  # so that everything is compiled
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line.split(maxsplit=2) for line in finished.stdout.splitlines()]
    assert [name for name, _, _ in found] == ["empirical_kl_ucb", "giro", "imed", "lin_ucb"]
    assert all(int(n_asked) >= 3 and missed == "[]" for _, n_asked, missed in found), found


def test_names_of_python_and_of_numerical_libraries_are_known_by_version():
    def function(x):
        return np.zeros(3)[0] + math.sqrt(x) + np.sqrt(x) + len("a")

    identity = identify(function, body=compiled_as)
    assert identity.is_lasting
    assert identity.functions == {function}
