"""The league: every policy on every environment, with error bars on everything."""

from bandstrap.league.run import LeagueResult, play_league
from bandstrap.league.spec import League, read_league

__all__ = ["League", "LeagueResult", "play_league", "read_league"]
