"""Draw the pictures of the README from runs of Veil: ``python docs/pictures/make.py``.

``rotation-undone.png`` shows a secret rotation and what five known records make of it; ``report.png`` is the top of the
report that the README's audit writes. The second needs chromium on the path and takes about a minute.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.datasets import load_breast_cancer

import veil

HERE = Path(__file__).parent
COLUMNS = ["mean radius", "mean texture", "mean smoothness", "mean compactness", "mean symmetry"]
KNOWN = 5
COLOURS = 128
SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1.5")
WIDTH, HEIGHT = 1100, 982


def private_table() -> pd.DataFrame:
    """The README's table: 569 patients, five measurements."""
    return load_breast_cancer(as_frame=True).data[COLUMNS]


def save(picture: Image.Image, name: str) -> None:
    """Write a PNG with few colours, so that the README loads quickly."""
    path = HERE / name
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")


def rotation_undone(folder: Path) -> None:
    """Three clouds: the private table, its rotation, and the attacker's guess."""
    patients = private_table()
    release, _ = veil.publish(patients, veil.OrthogonalTransform(random_state=4))
    known = veil.KnownPairs(patients[:KNOWN], rows=range(KNOWN))
    guess = veil.KnownPairsAttack().run(release, known)
    error = np.abs(guess.values - patients.to_numpy()).max(axis=0) / patients.std().to_numpy()

    private, released = patients.to_numpy(), release.to_numpy()
    panels = [
        ("Private table", private, "mean radius", "mean texture"),
        ("Released: a secret rotation", released, "released column 1", "released column 2"),
        ("Guessed with 5 known patients", guess.values, "mean radius", "mean texture"),
    ]
    mpl.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10})
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.1), layout="constrained")
    rank = patients["mean radius"].rank(pct=True)
    for panel, (title, values, across, up) in zip(axes, panels, strict=True):
        panel.scatter(values[:, 0], values[:, 1], c=rank, cmap="viridis", s=14, linewidths=0)
        panel.scatter(
            *values[:KNOWN, :2].T,
            s=70,
            marker="D",
            facecolor="none",
            edgecolor="#D55E00",
            linewidth=1.8,
            label="known to the attacker",
        )
        panel.set_title(title, fontsize=11, fontweight="bold", loc="left", pad=10, color="#16305c")
        panel.set_xlabel(across)
        panel.set_ylabel(up)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_box_aspect(1)
    for panel in axes:
        low, high = panel.get_ylim()
        panel.set_ylim(low, high + 0.17 * (high - low))
    axes[0].legend(frameon=False, loc="upper right", fontsize=9, handletextpad=0.2)
    note = f"all 569 patients, to\n{error.max():.0e} standard deviations"
    axes[2].text(0.99, 0.985, note, transform=axes[2].transAxes, ha="right", va="top", fontsize=9)
    drawn = folder / "rotation-undone.png"
    figure.savefig(drawn, dpi=180, facecolor="white")
    save(Image.open(drawn), "rotation-undone.png")


def report(folder: Path) -> None:
    """The verdict of the README's audit, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("the picture of the report needs chromium on the path")
    candidates = [veil.OrthogonalTransform(), veil.AdditiveNoise(3)]
    page, shot = folder / "report.html", folder / "report.png"
    veil.audit(private_table(), candidates, seed=1).to_html(page)
    subprocess.run(
        [browser, *SWITCHES, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}", page.as_uri()],
        check=True,
        capture_output=True,
    )
    save(Image.open(shot), "report.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        rotation_undone(Path(scratch))
        report(Path(scratch))
