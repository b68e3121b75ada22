"""Multi-armed bandits with bootstrapped upper confidence bounds, and confidence bounds on a mean.

Policies of arms (:class:`EdgeworthUCB`, :class:`BootstrappedUCB`, ...) select one of several arms. Linear policies
(:class:`LinearBootstrappedUCB`, :class:`OFUL`, ...) select an action by its features, and contextual policies
(:class:`ShareUCB`, ...) an arm in a context. :func:`simulate` compares policies in an environment and returns a
:class:`Result`; :func:`bootstrap_quantile` is the quantile behind the bootstrapped bounds.

bandstrap.environments
    Sources of rewards: Gaussian, Bernoulli, any SciPy distributions, your own data, linear bandits.
bandstrap.bounds
    Confidence bounds on a mean, and a lab that measures how often they miss.
bandstrap.evidence
    Differences between arms and verdicts from adaptive logs, valid at all times and under any drift.
bandstrap.policies
    All policies by name, and the parts for a policy of your own.
bandstrap.multipliers, bandstrap.theory
    The bootstrap quantile, and the bounds from the theorems.
bandstrap.experiments, bandstrap.league, bandstrap.plots
    Experiments in TOML, every policy on every environment, pictures.
bandstrap.live
    Policies behind live traffic, in a database: several workers, late rewards, exact propensities, replay.
bandstrap.engine, bandstrap.errors
    The simulator, and the refusals and warnings.
"""

TYPE_CHECKING = False  # type checkers take it for true; the name is not imported because that costs milliseconds

if TYPE_CHECKING:  # what a reader's tools see; at run time the same names are imported when first asked for
    from bandstrap import bounds as bounds
    from bandstrap import engine as engine
    from bandstrap import environments as environments
    from bandstrap import errors as errors
    from bandstrap import evidence as evidence
    from bandstrap import experiments as experiments
    from bandstrap import league as league
    from bandstrap import live as live
    from bandstrap import multipliers as multipliers
    from bandstrap import plots as plots
    from bandstrap import policies as policies
    from bandstrap import theory as theory
    from bandstrap.engine.simulator.result import Result as Result
    from bandstrap.engine.simulator.simulate import simulate as simulate
    from bandstrap.errors import AccuracyWarning as AccuracyWarning
    from bandstrap.errors import CacheWarning as CacheWarning
    from bandstrap.errors import InvalidInput as InvalidInput
    from bandstrap.errors import SlowWarning as SlowWarning
    from bandstrap.multipliers import bootstrap_quantile as bootstrap_quantile
    from bandstrap.policies import AIM as AIM
    from bandstrap.policies import CHKUCB as CHKUCB
    from bandstrap.policies import IMED as IMED
    from bandstrap.policies import KLUCB as KLUCB
    from bandstrap.policies import MARS as MARS
    from bandstrap.policies import MBE as MBE
    from bandstrap.policies import MOSS as MOSS
    from bandstrap.policies import NPTS as NPTS
    from bandstrap.policies import PHE as PHE
    from bandstrap.policies import RDS as RDS
    from bandstrap.policies import RMMUCB as RMMUCB
    from bandstrap.policies import UCB1 as UCB1
    from bandstrap.policies import UCBV as UCBV
    from bandstrap.policies import BernoulliTS as BernoulliTS
    from bandstrap.policies import BootstrappedTS as BootstrappedTS
    from bandstrap.policies import BootstrappedUCB as BootstrappedUCB
    from bandstrap.policies import BootstrappedUCBPlus as BootstrappedUCBPlus
    from bandstrap.policies import DiscountedUCB as DiscountedUCB
    from bandstrap.policies import EdgeworthUCB as EdgeworthUCB
    from bandstrap.policies import EmpiricalKLUCB as EmpiricalKLUCB
    from bandstrap.policies import EpsilonGreedy as EpsilonGreedy
    from bandstrap.policies import EpsilonTS as EpsilonTS
    from bandstrap.policies import GaussianTS as GaussianTS
    from bandstrap.policies import GaussianTSUnknownVariance as GaussianTSUnknownVariance
    from bandstrap.policies import Giro as Giro
    from bandstrap.policies import IMEDUnknownVariance as IMEDUnknownVariance
    from bandstrap.policies import LightTailedUCB as LightTailedUCB
    from bandstrap.policies import MaillardSampling as MaillardSampling
    from bandstrap.policies import MEDUnknownVariance as MEDUnknownVariance
    from bandstrap.policies import NaiveBootstrappedUCB as NaiveBootstrappedUCB
    from bandstrap.policies import Policy as Policy
    from bandstrap.policies import ReBoot as ReBoot
    from bandstrap.policies import RobustUCB as RobustUCB
    from bandstrap.policies import SignFlipUCB as SignFlipUCB
    from bandstrap.policies import SlidingWindowUCB as SlidingWindowUCB
    from bandstrap.policies import StableTS as StableTS
    from bandstrap.policies import StudentizedUCB as StudentizedUCB
    from bandstrap.policies import SubsampleDuels as SubsampleDuels
    from bandstrap.policies import TsallisINF as TsallisINF
    from bandstrap.policies import UCBTuned as UCBTuned
    from bandstrap.policies import UniformRandom as UniformRandom
    from bandstrap.policies import WeightedBootstrap as WeightedBootstrap
    from bandstrap.policies.contextual import BootstrappedContextual as BootstrappedContextual
    from bandstrap.policies.contextual import Contexts as Contexts
    from bandstrap.policies.contextual import ContextualBootstrappedUCB as ContextualBootstrappedUCB
    from bandstrap.policies.contextual import ContextualEpsilonGreedy as ContextualEpsilonGreedy
    from bandstrap.policies.contextual import ContextualGreedy as ContextualGreedy
    from bandstrap.policies.contextual import ContextualLinearTS as ContextualLinearTS
    from bandstrap.policies.contextual import ContextualLinUCB as ContextualLinUCB
    from bandstrap.policies.contextual import ContextualOFUL as ContextualOFUL
    from bandstrap.policies.contextual import RandUCB as RandUCB
    from bandstrap.policies.contextual import ShareUCB as ShareUCB
    from bandstrap.policies.contextual import SquareCB as SquareCB
    from bandstrap.policies.linear import OFUL as OFUL
    from bandstrap.policies.linear import LinearBootstrappedUCB as LinearBootstrappedUCB
    from bandstrap.policies.linear import LinearPHE as LinearPHE
    from bandstrap.policies.linear import LinearPolicy as LinearPolicy
    from bandstrap.policies.linear import LinearReBoot as LinearReBoot
    from bandstrap.policies.linear import LinearTS as LinearTS
    from bandstrap.policies.linear import LinUCB as LinUCB
    from bandstrap.policies.saving.saved import load as load

    __version__: str
else:
    # Where the public names live; those without a home are modules.
    _NAMES = {
        "": "bounds engine environments errors evidence experiments league live multipliers plots policies theory",
        "engine.simulator.result": "Result",
        "engine.simulator.simulate": "simulate",
        "errors": "AccuracyWarning CacheWarning InvalidInput SlowWarning",
        "multipliers": "bootstrap_quantile",
        "policies": (
            "AIM BernoulliTS BootstrappedTS BootstrappedUCB BootstrappedUCBPlus CHKUCB DiscountedUCB EdgeworthUCB "
            "EmpiricalKLUCB EpsilonGreedy EpsilonTS GaussianTS GaussianTSUnknownVariance Giro IMED "
            "IMEDUnknownVariance KLUCB LightTailedUCB MARS MBE MEDUnknownVariance MOSS MaillardSampling NPTS "
            "NaiveBootstrappedUCB PHE Policy RDS RMMUCB ReBoot RobustUCB SignFlipUCB SlidingWindowUCB StableTS "
            "StudentizedUCB SubsampleDuels TsallisINF UCB1 UCBTuned UCBV UniformRandom WeightedBootstrap"
        ),
        "policies.contextual": "BootstrappedContextual Contexts ContextualBootstrappedUCB ContextualEpsilonGreedy "
        "ContextualGreedy ContextualLinUCB ContextualLinearTS ContextualOFUL RandUCB ShareUCB SquareCB",
        "policies.saving.saved": "load",
        "policies.linear": "LinUCB LinearBootstrappedUCB LinearPHE LinearPolicy LinearReBoot LinearTS OFUL",
    }
    _HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

    __all__ = ["__version__", *_HOMES]

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that ``import bandstrap`` stays light."""
        if name == "__version__":
            from importlib.metadata import version

            found = version("bandstrap")
        elif name in _HOMES:
            from importlib import import_module

            home = _HOMES[name]
            found = getattr(import_module(f"bandstrap.{home}"), name) if home else import_module(f"bandstrap.{name}")
        else:
            from difflib import get_close_matches

            by_letters = {known.lower(): known for known in __all__}
            near = get_close_matches(name.lower(), by_letters, n=1)
            hint = f"; did you mean {by_letters[near[0]]!r}?" if near else ""
            raise AttributeError(f"module 'bandstrap' has no attribute {name!r}{hint}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """Public names."""
        return sorted(__all__)
