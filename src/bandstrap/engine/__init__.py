"""The simulator and its foundation: plain Python functions, compiled on first use and kept on disk.

Glossary: an *arm* gives a *reward* when pulled. A *policy* pulls one arm per *round* for *horizon* rounds. One such run is
a *replication*. A *bound* limits an arm's mean. *Multipliers* are bootstrap weights.
"""
