"""Programs that must mean the same here and in the C implementation of jq, one per line."""

SHOP = {
    "user": {"name": "Zoë", "age": 31, "tags": ["a", "b", "a"], "note": None},
    "orders": [
        {"id": 3, "total": 12.5, "open": True, "lines": [{"sku": "x", "n": 2}]},
        {"id": 1, "total": 7, "open": False, "lines": []},
        {
            "id": 2,
            "total": 12.5,
            "open": True,
            "lines": [{"sku": "y", "n": 1}, {"sku": "x", "n": 4}],
        },
    ],
}
MIXED = [None, False, True, 0, -1, 2.5, "", "b", "a", [], [1], {}, {"a": 1}, [0, 2]]
LINE = "The quick brown fox, 42 foxes; a-b_c"
MOMENT = 1425599621

ON_SHOP = r"""
.
.user
.user.name
.user.missing.deeper
.["user"]["age"]
.orders[0].id
.orders[-1].id
.orders[99]
.orders[].id
[.orders[].id]
.orders[1:]
.orders[:-1] | length
.orders[-2:][0].id
.user?
.user.name[0]?
..|numbers
[.. | strings]
.orders | map(.total) | add
.orders | map(select(.open)) | length
.orders | sort_by(.total, .id) | map(.id)
.orders | group_by(.open) | map(length)
.orders | unique_by(.total) | map(.id)
.orders | min_by(.total).id
.orders | max_by(.total).id
.orders | map({(.id | tostring): .total}) | add
.orders | INDEX(.id)
[.orders[] | .lines[]?.sku] | unique
[paths]
[paths(type == "number")]
to_entries | map(.key)
with_entries(.key |= ascii_upcase)
.user | with_entries(select(.value != null))
.user | keys
.user | keys_unsorted
.user | length
.user | has("name"), has("nope")
.user | map_values(type)
.user.tags | index("b"), rindex("a"), indices("a")
.user.tags | join(", ")
del(.orders)
del(.orders[0, 2])
del(.orders[] | select(.open))
del(.user.name, .orders)
delpaths([["user", "name"], ["orders", 0]])
[path(.orders[].id)]
[path(..)] | length
getpath(["user", "name"])
getpath(["a", "b", "c"])
setpath(["user", "age"]; 5) | .user.age
setpath(["new", 2]; 1) | .new
.orders[0].total = 1
.orders[].total |= . + 1 | [.orders[].total]
.orders[].total += 1 | [.orders[].total]
.user.note //= "none" | .user.note
.user.age -= 1 | .user.age
.user.age *= 2 | .user.age
.user.age /= 2 | .user.age
.user.age %= 4 | .user.age
(.orders[] | select(.open)).total = 0 | [.orders[].total]
(.orders[] | select(.open)) |= empty | .orders | length
.orders |= map(.id)
.orders[1:] = [1]
.orders[:1] |= map(.id) | .orders[0]
.a.b.c = 1 | .a
pick(.user.name)
pick(.orders[1].id)
tojson | fromjson == .
.user | tostring
[.orders[] as {id: $i, lines: [{sku: $s}]} | [$i, $s]]
.user as {$name, age: $a} | [$name, $a]
[.orders[] | . as {total: $t} | $t]
reduce .orders[] as $o (0; . + $o.total)
[foreach .orders[] as $o (0; . + $o.total)]
[foreach .orders[] as $o (0; . + $o.total; [$o.id, .])]
[limit(2; .orders[].id)]
first(.orders[].id)
[first(empty)]
last(.orders[].id)
nth(1; .orders[].id)
[skip(1; .orders[].id)]
any(.orders[]; .open)
all(.orders[]; .open)
[.orders[].open] | any, all
isempty(.orders[])
isempty(empty)
[.orders[] | .id] | contains([3])
[3] | inside([3, 4])
.user | to_entries | from_entries
[splits("a")?]
.user.name | length, utf8bytelength
walk(if type == "number" then . + 1 else . end)
[.orders[].lines] | flatten | map(.n)
[.orders[].id, 5] | combinations(2)?
tostream
fromstream(tostream) == .
[1 | truncate_stream([[0], 1], [[1, 0], 2], [[1, 0]], [[1]])]
@json
[.user.age, .user.name] | @csv, @tsv, @sh
.user.name | @uri, @html, @base64, @text
"\(.user.name) is \(.user.age) \(.user.tags)"
@uri "q=\(.user.name)&\(1 + 1)"
if .user.age > 30 then "old" elif .user.age > 20 then "mid" else "young" end
if .user.note then 1 end | type
try error("x") catch .
try error({a: 1}) catch .a
[.orders[] | try (if .id == 1 then error("bad") else .id end) catch .]
.user.name | try tonumber catch "no"
[.[] | (.name, .nope)?]
[.user | .name // "x", .note // "y", (.zip // .age)]
.user.note // empty
[(null, false, 1, 2) // 9]
[(null, false) // (8, 9)]
[.orders[] | select(.total >= 10 and (.open or false))] | length
label $out | foreach .orders[] as $o (0; . + 1; if . == 2 then ., break $out else empty end)
def f(x): x * 2; .user.age | f(.)
def f($a; $b): $a + $b; f(1, 2; 10, 20)
def f: def g: 3; g * 2; f
def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; 10 | fac
[recurse(if . < 3 then . + 1 else empty end; true)]?
[.user.age | recurse(if . > 28 then . - 1 else empty end)]
[.orders[0] | recurse | scalars]
[.user.age | while(. > 28; . - 1)]
.user.age | until(. < 5; . / 2)
[limit(3; repeat(.user.age))]
[range(5)], [range(2; 5)], [range(0; 10; 3)], [range(5; 0; -2)]
[range(0, 1; 3, 4)]
[.orders[].id] | sort, reverse, min, max, add, length
[.orders[].id] | .[1:] + .[:1]
{a: 1} + {b: 2}
{a: {b: 1}} * {a: {c: 2}}
[1, 2, 3, 1] - [1]
"a,b" / ","
"ab" * 3
"ab" * 0
7 % 3, -7 % 3, 5 % -2
1 / 4, 6 / 2, 0.1 + 0.2
{("a", "b"): (1, 2)}
{a: (1, 2), b: (3, 4)}
{"x\(1)": 2, @base64 "k": 3}
{$__loc__}?
[.user | {name, "age", zip: 1}]
"\(1, 2)-\(3, 4)"
[(1, 2) + (10, 20)]
[(1, 2) as $x | (3, 4) as $y | [$x, $y]]
[.orders[(0, 1)].id]
[(.user, .orders[0])["name", "id"]]
[.[] as [$a] ?// $a | $a | type]
. as [$x] ?// {user: {name: $x}} | $x
[[1, [2]] as [$a, [$b]] | $a, $b]
reduce empty as $x (0; 1)
reduce (1, 2) as $x (0; empty)
[.user.tags[] | ascii_downcase, ascii_upcase, explode, (explode | implode)]
.user.tags | transpose?
[[1, 2], [3]] | transpose
[[1, 2], [3, 4]] | [combinations]
[1, [2, [3, [4]]]] | flatten, flatten(1)
.user.age | tostring, tojson, (tostring | tonumber)
[.user.tags[] | test("A"; "i")]
[1, 1, 2] | bsearch(2), bsearch(0), bsearch(5)
[.user.age | floor, sqrt, pow(.; 2), log2 | floor]
[pow(2, 3; 1, 2)]
[1.5, -1.5, 2.5] | map(floor, ceil, round, trunc, fabs)
[1, -1] | map(abs)
infinite, -infinite, (nan | isnan), ([nan] | sort), (nan < nan)
[nan, 1, null] | sort, min, max
[.user.age, "x"] | map(type)
"abc" | .[1:2], .[-1:], ltrimstr("a"), rtrimstr("c"), trimstr("b")
" x " | trim, ltrim, rtrim
"x" | startswith("x"), endswith("y")
"a, b,c" | split(", *"; null), split(",")
ascii(65)?
["1", 1, true] | map(tojson)
"1.50" | tonumber
[true, "false"] | map(toboolean)
splits
error
error(null)
{} | .a += 1, .a -= 1?
null + 1, 1 + null, null + null
[] | first, last, add, min, any, all
{} | add, length, keys, to_entries
"x" as $x | [$x, $x + "y"]
[.orders[] | if .open then .id else empty end]
getpath(["user", "name", "x"])?
try getpath(["user", "name", "x"]) catch "caught"
[.user.tags | .[] |= ascii_upcase]
[.user.tags | to_entries[]]?
env | type
have_literal_numbers
[.orders[].lines | length] | add / length
limit(0; 1)
[limit(1; 1, error)]
IN(.user.age; 31, 32)
[.orders[].id | IN(1, 2)]
[JOIN(.orders | INDEX(.id); .orders[]; .id | tostring) | length]
ltrimstr(1)?
@text "x\(1)"
reduce .orders[] as {id: $i} ({}; .["k\($i)"] = $i)
[.orders | .[0].lines[0].n, .[2].lines[-1].n]
[.orders[] | .lines |= map(.n) | .lines]
reduce range(5) as $i ([]; .[$i] = $i * 2)
[range(10)] | map(select(. % 2 == 0)) | .[1:3]
[range(10)] | del(.[2:5])
[range(5)] | .[1:3] = ["a"]
[range(3)] | .[-1] = 9
[1, 2] | .[5] = 1
to_entries[0] | keys
(.user | keys) - ["age"]
[.user.tags[], "c"] | unique | length
path(.a // .user)
[path(if .user then .orders else .x end)]
[path(first(.orders, .user))]
[path(.orders[0] | select(.id == 3))]
path(1)?
try path(.user | tostring) catch "no path"
[path(getpath(["a", "b"]))]
"""

ON_MIXED = r"""
sort
unique
group_by(type)
map(type)
map(not)
map(. == null)
map(length?)
min, max
map(tojson)
map(tostring)
[.[] | numbers]
[.[] | scalars]
[.[] | iterables]
map(select(.))
[.[] | [.] | tojson | fromjson]
[.[] as $x | .[] as $y | $x < $y]
[.[] as $x | .[] as $y | $x == $y]
[.[] as $x | .[] as $y | try ($x + $y) catch "E"]
[.[] as $x | .[] as $y | try ($x - $y) catch "E"]
[.[] as $x | .[] as $y | try ($x * $y) catch "E"]
[.[] as $x | .[] as $y | try ($x / $y) catch "E"]
[.[] as $x | .[] as $y | try ($x % $y) catch "E"]
map(select(. != true)) | [.[] as $x | .[] as $y | try ($x | contains($y)) catch "E"]
[.[] as $x | .[] as $y | try ($x[$y]) catch "E"]
[.[] as $x | try [$x[]] catch "E"]
[.[] | try keys catch "E"]
[.[] | try -. catch "E"]
[.[] | try tonumber catch "E"]
[.[] | try explode catch "E"]
[.[] | try add catch "E"]
[.[] | try floor catch "E"]
[.[] | try ascii_downcase catch "E"]
[.[] | try .a catch "E"]
[.[] | try .[0] catch "E"]
[.[] | try .[0:1] catch "E"]
[.[] | try @csv catch "E"]
[.[] | try @sh catch "E"]
[.[] | @json, @text, @html, @base64]
[.[] | try has(0) catch "E"]
[.[] | try has("a") catch "E"]
[.[] | try flatten catch "E"]
[.[] | try to_entries catch "E"]
[.[] | try (.[0] = 1) catch "E"]
[.[] | try (.a = 1) catch "E"]
[.[] | try del(.[0]) catch "E"]
[.[] | try del(.a) catch "E"]
[.[] | try (.[] |= 1) catch "E"]
[.[] | try (.[1:] = [7]) catch "E"]
[.[] | try join("-") catch "E"]
[.[] | try tojson catch "E"]
[.[] | try test("a") catch "E"]
[.[] | try range(.) catch "E"]
[.[] | try implode catch "E"]
[.[] | try (. as [$a] | $a) catch "E"]
[.[] | try (. as {a: $a} | $a) catch "E"]
[.[] | try splits("a") catch "E"]
[.[] | try ltrimstr("a") catch "E"]
[.[] | try tostream catch "E"]
[.[] | try getpath(["a"]) catch "E"]
[.[] | try min_by(.a) catch "E"]
map(if . then 1 else 0 end)
map(. // "d")
[.[] and true]
[.[] or false]
[.[] | try trim catch "E"]
[.[] | try fromjson catch "E"]
[.[] | try utf8bytelength catch "E"]
map(try error catch .)
[.[] | try ({(.): 1}) catch "E"]
[.[] | try transpose catch "E"]
[.[] | try first catch "E"]
[.[] | try (. as $x | [1, 2, 3] | .[$x:]) catch "E"]
[.[] | try tojson catch "E"] | join(",")
[.[] | try walk(.) catch "E"]
[limit(3; .[])]
[.[] | try splits(",") catch "E"]
[.[] | try (indices(1)) catch "E"]
[.[] | try from_entries catch "E"]
"""

ON_LINE = r"""
test("quick")
test("QUICK")
test("QUICK"; "i")
[match("o").offset]
[match("o"; "g").offset]
[match("(?<a>f)(o)(z)?"; "g")]
capture("(?<n>[0-9]+) (?<w>[a-z]+)")
[scan("[a-z]+")]
[scan("([a-z])([a-z])")]
[scan("O"; "i")]
split(" ")
split(", *|; *"; null)
sub("fox"; "cat")
gsub("fox"; "cat")
gsub("(?<x>[aeiou])"; "<\(.x)>")
gsub("[aeiou]"; "")
sub("(?<x>q)"; "\(.x)1", "\(.x)2")
[splits("[,;] *")]
ascii_upcase
explode | implode
ltrimstr("The ")
index("o"), rindex("o"), indices("o")
.[4:9]
test("^The"), test("c$"), test("\\bfox\\b")
[match("x*"; "g").length]
gsub("x*"; "-")
gsub("^"; ">")
gsub("$"; "<")
[match("a|"; "g") | .offset]
test(["FOX", "i"])
[match("(a)?b"; "g") | .captures[0].string]
gsub("\\s"; "_")
[scan("\\d+") | tonumber]
capture("(?<y>zzz)?")
[match("fox"; "gn").offset]
length, utf8bytelength
ascii_downcase | split("") | unique | join("")
@uri, @base64, (@base64 | @base64d)
tojson | fromjson
gsub("(?<d>\\d)"; "\(.d | tonumber + 1)")
sub("f"; "g"; "g")
gsub("o"; "0", "1") | length
"""

ON_MOMENT = r"""
todate
gmtime
gmtime | mktime
strftime("%A, %B %d, %Y %H:%M:%S")
strftime("%j %U %y %m %e %I %p")
todate | fromdate
"2015-03-05T23:51:47Z" | strptime("%Y-%m-%dT%H:%M:%SZ")
"2015-03-05T23:51:47Z" | fromdateiso8601
gmtime | todate
localtime | mktime
strflocaltime("%H:%M")
"""

PROGRAMS: list[tuple[object, str]] = [
    (data, program)
    for data, programs in [
        (SHOP, ON_SHOP),
        (MIXED, ON_MIXED),
        (LINE, ON_LINE),
        (MOMENT, ON_MOMENT),
    ]
    for program in programs.split("\n")
    if program
]
