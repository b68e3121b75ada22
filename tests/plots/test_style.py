from bandstrap import UCB1, simulate
from bandstrap.environments import Gaussian


def test_a_notebook_shows_a_picture_without_pyplot():
    figure = simulate(UCB1(), Gaussian([0, 1]), horizon=10, replications=2, seed=0, progress=False).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
