"""Liu 2007, dissertation: multiplicative data perturbation for privacy preserving data mining."""
