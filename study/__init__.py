"""The coverage study: every bound on every kind of rewards, from which the page "Which bound should I use?" is made."""
