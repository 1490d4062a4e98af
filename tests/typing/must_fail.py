"""Wrong doors: every marked line must be refused by mypy (tests/contract/test_surface.py runs it)."""

import numpy as np

import veil

table = np.zeros((10, 2))
release, key = veil.publish(table, veil.AdditiveNoise())

veil.KnownPairsAttack().run(release, key)  # must fail: an attack never gets the key
veil.KnownPairsAttack().run(release, table)  # must fail: nor the private table
veil.KnownPairsAttack().run(table)  # must fail: it attacks releases, not tables
veil.restore(table, key)  # must fail: only a release can be restored
veil.restore(release)  # must fail: and only with its key
veil.publish(table, veil.AdditiveNoise(), key=b"secret bytes")  # must fail: a key is a Key
release.key  # must fail: a release does not know its key
release.manifest.release = 2  # must fail: a manifest is frozen

guess = veil.KnownPairsAttack().run(release, veil.KnownPairs(table[:1], [0]))
guess.values.mean()
