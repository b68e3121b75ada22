"""The interactive page in a browser: it opens from a file, computes, listens, and fits the window."""

import json
import re
import time

import pytest

from play.browser import Page, find_chromium
from play.test_numbers import PAGE, upper_bounds

ADDRESS = (PAGE / "index.html").as_uri()
NUMBERS = "[...document.querySelectorAll('#bounds-rows .now')].map((cell) => cell.textContent)"
READY = "document.getElementById('status').textContent.startsWith('After')"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("no Chromium is installed")
    made = Page(chromium, tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


def text_of(page, place):
    return page.run(f"document.querySelector({json.dumps(place)}).textContent")


def click(page, place):
    page.run(f"document.getElementById({json.dumps(place)}).click()")


def values_of(page, *places):
    return [page.run(f"document.getElementById({json.dumps(place)}).value") for place in places]


@pytest.mark.parametrize("law", ["exponential", "dice"])
def test_numbers_on_the_page_are_the_library_s_for_its_rewards(page, law):
    page.open(f"{ADDRESS}#law={law}&n=30&alpha=0.1&sigma=2&seed=8")
    page.wait_for(READY)
    found = page.run(f"bandstrap.upperBounds(bandstrap.sampleOf({law!r}, 8, 30), 0.1, 2)")
    shown = page.run(NUMBERS)
    expected = upper_bounds(page.run(f"bandstrap.sampleOf({law!r}, 8, 30)"), 0.1, 2.0)
    for name, text in zip(page.run("bandstrap.BOUNDS"), shown, strict=True):
        assert found[name] == pytest.approx(expected.pop(name), rel=0.01)
        assert float(text) == float(f"{found[name]:.3g}")
    assert not expected
    page.wait_for("document.getElementById('miss-note').textContent.includes('fresh samples of 30')")
    assert not page.complaints


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_takes_the_reader_s_colours(page, width, scheme):
    page.open(f"{ADDRESS}#law=gaussian&n=4&rounds=200", width=width, prefers_color_scheme=scheme)
    page.wait_for(READY)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert is_light(page) == (scheme == "light")
    other = "dark" if scheme == "light" else "light"
    page.run(f"localStorage.setItem('theme', '{other}')")  # as the documentation around it keeps the reader's choice
    page.run("dispatchEvent(new StorageEvent('storage'))")
    assert is_light(page) == (other == "light")
    page.run("localStorage.removeItem('theme')")
    assert not page.complaints


def is_light(page):
    background = page.run("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", background)) > 380


def test_settings_come_from_the_address_and_go_back_into_it(page):
    address = f"{ADDRESS}#law=coin&n=7&alpha=0.2&sigma=0.4&seed=12&world=ratings&first=sign_flip_ucb"
    address += "&second=bootstrapped_ucb_plus&scale=1.5&rounds=200&matchseed=5"
    ended = "document.getElementById('match-status').textContent.startsWith('Round 200 of 200')"
    page.open(address)
    page.wait_for(f"{READY} && {ended}")
    assert values_of(page, "law", "alpha", "sigma", "seed", "n") == ["coin", "0.2", "0.4", "12", "7"]
    chosen = ["ratings", "sign_flip_ucb", "bootstrapped_ucb_plus", "1.5"]
    assert values_of(page, "world", "first", "second", "scale") == chosen
    shown = [text_of(page, place) for place in ("#status", "#arms", "#match-status")]
    click(page, "draw-one")
    page.wait_for("location.hash.includes('n=8') && location.hash.includes('first=sign_flip_ucb')")
    # What is nonsense in an address is left out, and one that is shared shows the same.
    page.open(f"{ADDRESS}#law=casino&n=many&alpha=-1&sigma=nan&seed=x&world=&first=__proto__&rounds=200")
    page.wait_for(READY)
    assert values_of(page, "law", "alpha", "sigma", "first", "n") == ["gaussian", "0.05", "1", "edgeworth_ucb", "12"]
    page.open(address)
    page.wait_for(f"{READY} && {ended}")
    assert [text_of(page, place) for place in ("#status", "#arms", "#match-status")] == shown
    assert not page.complaints


def test_what_is_typed_counts_if_it_is_allowed(page):
    page.open(f"{ADDRESS}#law=uniform&n=9&seed=2&rounds=200")
    page.wait_for(READY)
    rewards = page.run("bandstrap.sampleOf('uniform', 2, 9)")
    for typed, sigma in (("0.7", 0.7), ("-3", 0.7), ("", 0.7), ("2", 2.0)):
        change = "document.getElementById('sigma').dispatchEvent(new Event('change', { bubbles: true }))"
        page.run(f"document.getElementById('sigma').value = {typed!r}; {change}")
        assert float(values_of(page, "sigma")[0]) == sigma
        expected = upper_bounds(rewards, 0.05, sigma)
        wanted = [float(f"{expected[name]:.3g}") for name in page.run("bandstrap.BOUNDS")]
        until = time.monotonic() + 300
        while (shown := numbers_of(page)) != wanted and time.monotonic() < until:  # drawn with the next frame
            time.sleep(0.02)
        assert shown == wanted


def numbers_of(page):
    """The bounds that the table shows now."""
    return [float(text.replace("\N{MINUS SIGN}", "-")) for text in page.run(NUMBERS)]


def test_colours_of_text_stand_out_from_what_is_behind_them():
    """By the 4.5 that the web's guidelines ask of words, and the 3 of lines, in both themes."""
    styles = (PAGE / "play.css").read_text(encoding="utf-8")
    for theme in re.findall(r"^:root.*?\{(.*?)\n\}", styles, re.M | re.S):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6});", theme))
        for name in colours.keys() - {"paper", "panel", "rule"}:
            for behind in ("paper", "panel"):
                dark, light = sorted((brightness(colours[name]), brightness(colours[behind])))
                assert (light + 0.05) / (dark + 0.05) >= (3.0 if f"{name}-text" in colours else 4.5), (name, behind)


def brightness(colour):
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_everything_has_a_name_and_can_be_reached_by_keyboard(page):
    page.open(ADDRESS)
    unnamed = "[...document.querySelectorAll('input, select')].filter((field) => !field.labels.length).map((f) => f.id)"
    assert page.run(unnamed) == []
    unnamed = "[...document.querySelectorAll('svg[role=img]')].filter((e) => !e.getAttribute('aria-labelledby'))"
    assert page.run(f"{unnamed}.length") == 0
    reached = []
    for _ in range(45):
        page.press("Tab")
        reached.append(page.run("document.activeElement.id"))
    fields = page.run(
        "[...document.querySelectorAll('input, select, button')].filter((e) => !e.disabled).map((e) => e.id)"
    )
    assert set(fields) <= set(reached)
    page.run("document.getElementById('n').focus()")
    before = int(text_of(page, "#n-shown"))
    page.press("ArrowRight")
    assert int(text_of(page, "#n-shown")) == before + 1


def test_without_motion_nothing_moves_and_the_end_is_shown_at_once(page):
    page.open(f"{ADDRESS}#law=coin&n=2&rounds=200", prefers_reduced_motion="reduce")
    click(page, "grow")
    assert text_of(page, "#n-shown") == "200"
    page.wait_for("document.getElementById('match-status').textContent.startsWith('Round 200')", seconds=20)


def test_a_match_runs_and_many_games_are_averaged(page):
    page.open(f"{ADDRESS}#world=coins&first=ucb1&second=gaussian_ts&rounds=200")
    page.wait_for("document.getElementById('match-status').textContent.startsWith('Round 200')")
    click(page, "restart")
    page.wait_for("document.getElementById('match-status').textContent.startsWith('Round 0')")
    click(page, "step")
    page.wait_for("document.getElementById('match-status').textContent.startsWith('Round 1 ')")
    click(page, "run")
    page.wait_for("document.getElementById('match-status').textContent.startsWith('Round 200')")
    click(page, "many")
    page.wait_for("document.getElementById('many-shown').textContent.includes('average of 100 games')")
    assert not page.complaints
