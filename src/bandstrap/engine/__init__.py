"""The simulator, and what it stands on: plain Python functions, compiled on first need and kept on disk.

Glossary, used with these words everywhere: an *arm* gives a *reward* when pulled; a *policy* pulls one arm per *round* for
*horizon* rounds; one such run is a *replication*; a *bound* limits an arm's mean; *multipliers* are bootstrap weights.
"""
