import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap.basics.calls import LONGEST_CALL, Call, fingerprint, parse_call, parse_value, split_options
from bandstrap.errors import InvalidInput
from sampling import each


@each(
    ("text", "name", "options"),
    [
        ("sign_flip", "sign_flip", {}),
        ("hoeffding:sigma=2", "hoeffding", {"sigma": 2}),
        ("betting:support=(0,1),share=0.75", "betting", {"support": (0, 1), "share": 0.75}),
        ("betting:support=[-1, 1]", "betting", {"support": (-1, 1)}),
        ("linear_bandit:theta=(2.5,),scale=3", "linear_bandit", {"theta": (2.5,), "scale": 3}),
        ("linear_bandit:actions=((1,0),(2,-3)),scale=3", "linear_bandit", {"actions": ((1, 0), (2, -3)), "scale": 3}),
        ("linear_bandit:scale=3,actions=((1,),(2,))", "linear_bandit", {"scale": 3, "actions": ((1,), (2,))}),
        ("bootstrap:correction=sharp,randomized=true", "bootstrap", {"correction": "sharp", "randomized": True}),
        ("ucb1:alpha=1/(t log^tau t),tau=2", "ucb1", {"alpha": "1/(t log^tau t)", "tau": 2}),
        ("x:noise='student_t:df=5,scale=2',scale=3", "x", {"noise": "student_t:df=5,scale=2", "scale": 3}),
        ("x:a=\"2024\",b=it's,c=''", "x", {"a": "2024", "b": "it's", "c": ""}),
        ("x:a=',\\\\',b=1", "x", {"a": ",\\", "b": 1}),
        ("x:a=(1,'b,(c'),d=e)", "x", {"a": (1, "b,(c"), "d": "e)"}),
        ('x:a={"b": ["c, d", "}"], "e":"f,{"},g=h', "x", {"a": {"b": ["c, d", "}"], "e": "f,{"}, "g": "h"}),
        ('x:a={"b": null, "c": 1}', "x", {"a": '{"b": null, "c": 1}'}),
        ("x:a=b:'c,d='e'", "x", {"a": "b:'c", "d": "e"}),
    ],
)
def test_parses(text, name, options):
    assert parse_call(text) == Call(name, options)
    assert parse_call(str(parse_call(text))) == Call(name, options)


@each("text", ["", ":sigma=2", "hoeffding:", "hoeffding:sigma", "hoeffding:sigma=", "hoeffding:2=3"])
def test_refuses_what_is_not_a_call(text):
    with pytest.raises(InvalidInput, match="is not of the form"):
        parse_call(text)


@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.one_of(
            st.integers(),
            st.floats(allow_nan=False, allow_infinity=False),
            st.booleans(),
            st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12),
            st.text(st.sampled_from(",='\"()[] 1e\\"), max_size=6),
            st.tuples(st.integers(), st.text(st.sampled_from(",'()ab"), max_size=4)),
        ),
    )
)
def test_the_text_of_a_call_is_read_as_the_same_call(options):
    again = parse_call(str(Call("name", options))).options
    assert again == options
    assert [isinstance(value, str) for value in again.values()] == [isinstance(v, str) for v in options.values()]


@pytest.mark.parametrize("text", ["ucb1:sigma=1,sigma=2", "x:a=1,b=2,a=1", "empirical:a.csv,file=b.csv"])
def test_an_option_said_twice_is_refused(text):
    with pytest.raises(InvalidInput, match=r"has the option '(sigma|a|file)' twice\.$"):
        parse_call(text, {"empirical": "file"})


@each(
    ("text", "file"),
    [
        ("empirical:clicks.csv", "clicks.csv"),
        ("empirical: visits/of may.csv ,arm=a", "visits/of may.csv"),
        ("empirical:runs/n=3.csv,arm=a", "runs/n=3.csv"),
        ("empirical:C:\\data\\x.csv,arm=a", "C:\\data\\x.csv"),
        ("empirical:2024,arm=a", "2024"),
        ("empirical:copy (2).csv,arm=a", "copy (2).csv"),
        ("empirical:'a,b=1.csv',arm=a", "a,b=1.csv"),
        ("empirical:file=n=3.csv,arm=a", "n=3.csv"),
        ("empirical:arm=a,file='2024'", "2024"),
    ],
)
def test_a_first_value_may_stand_without_its_key_where_it_has_one(text, file):
    assert parse_call(text, {"empirical": "file"}).options["file"] == file


@pytest.mark.parametrize("text", ["empirical:", "empirical:,arm=a", "empirical:a.csv,b.csv", "empirical:arm=a,x.csv"])
def test_only_the_first_value_may(text):
    with pytest.raises(InvalidInput, match="is not of the form"):
        parse_call(text, {"empirical": "file"})


def test_a_fingerprint_tells_contents_apart_and_never_reads_as_a_number():
    words = {fingerprint(bytes([a]), bytes([b])) for a in range(256) for b in range(8)}
    assert len(words) == 2048
    assert fingerprint(b"ab", b"c") != fingerprint(b"a", b"bc")
    assert all(word.isalpha() and parse_value(word) == word for word in words)


def test_a_call_that_is_too_long_is_refused_in_a_short_sentence():
    with pytest.raises(InvalidInput, match=r"^A call has at most 100000 characters; 'x:a=1.* has 400004\.$") as error:
        parse_call("x:a=" + "1" * 400_000)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "x:a=" + "b" * (LONGEST_CALL - 4),
        "x:a=b" + " " * (LONGEST_CALL - 6) + "c",
        "x:a=(" + "1," * (LONGEST_CALL // 2 - 5) + ")",
        "x:" + ",".join(f"a{i}=1" for i in range(LONGEST_CALL // 9)),
    ],
    ids=["word", "spaces", "numbers", "options"],
)
def test_a_long_call_is_read_in_time_that_grows_like_its_length(text):
    def seconds(part):
        start = time.thread_time()
        split_options(part)
        return time.thread_time() - start

    # In quadratic time the whole takes 64 times as long as an eighth; in linear time 8 times.
    eighth, whole = (min(seconds(part) for _ in range(5)) for part in (text[: len(text) // 8], text))
    assert whole < 32 * eighth
    parse_call(text)


@pytest.mark.parametrize("text", ["9" * 5000, "0x" + "f" * 20_000, "(1,0x" + "f" * 20_000 + ")"], ids=len)
def test_an_integer_of_more_digits_than_python_writes_is_a_word(text):
    assert parse_call(f"x:a={text}").options == {"a": text}


@each("text", ["'\\d'", "1is 2", "0777", "(" * 5000, "-" * 50_000 + "1", "1+" * 30_000 + "1", "\0"])
def test_what_python_complains_about_is_read_in_silence(text):
    parse_value(text)
