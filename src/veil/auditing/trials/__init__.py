"""TrialRunner: one round of attacks against one release, their schedule and their scores."""
