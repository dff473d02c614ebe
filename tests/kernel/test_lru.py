"""The one cache: what it keeps, what it forgets, and in which order."""

from onward.kernel.lru import Lru


def test_the_oldest_entry_is_forgotten_first():
    cache: Lru[str, int] = Lru(2)
    for key, value in (("a", 1), ("b", 2), ("c", 3)):
        cache.put(key, value)
    assert [None, 2, 3] == [cache.get(key) for key in "abc"]


def test_looking_at_an_entry_keeps_it():
    cache: Lru[str, int] = Lru(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [1, None, 3] == [cache.get(key) for key in "abc"]


def test_asking_whether_an_entry_is_there_does_not_keep_it():
    cache: Lru[str, int] = Lru(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert "a" in cache
    cache.put("c", 3)
    assert "a" not in cache


def test_entries_are_counted_by_weight():
    cache: Lru[str, bytes] = Lru(10, weigh=len)
    cache.put("a", b"12345")
    cache.put("b", b"12345")
    cache.put("c", b"1")
    assert ["b", "c"] == [key for key in "abc" if key in cache]


def test_what_weighs_more_than_everything_is_not_kept():
    cache: Lru[str, bytes] = Lru(10, weigh=len)
    cache.put("a", b"x" * 11)
    assert 0 == len(cache)
    cache.put("b", b"x" * 10)
    assert b"x" * 10 == cache.get("b")


def test_a_value_that_is_replaced_or_taken_out_no_longer_weighs():
    cache: Lru[str, bytes] = Lru(10, weigh=len)
    cache.put("a", b"x" * 9)
    cache.put("a", b"x")
    cache.put("b", b"x" * 9)
    assert ["a", "b"] == [key for key in "ab" if key in cache]
    assert b"x" * 9 == cache.pop("b")
    cache.put("c", b"x" * 9)
    assert ["a", "c"] == [key for key in "abc" if key in cache]
    cache.clear()
    assert 0 == len(cache)
