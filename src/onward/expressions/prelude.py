"""The builtins that are best said in jq itself. Each may use those before it."""

DEFINITIONS = r"""
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type == "array" or type == "object");
def scalars: select(type != "array" and type != "object");

def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def recurse: recurse(.[]?);
def error($message): $message | error;
def toarray: if type == "array" then . else [.] end;
def abs:
  if type != "number" then error("\(type) (\(tojson)) has no absolute value")
  elif . < 0 then -. else . end;

def map_values(f): .[] |= f;
def with_entries(f): to_entries | map(f) | from_entries;
def transpose: [range(map(length) | max // 0) as $column | [.[][$column]]];
def combinations:
  if length == 0 then []
  else .[0][] as $head | (.[1:] | combinations) as $tail | [$head] + $tail end;
def combinations(n): . as $all | [range(n) | $all] | combinations;
def in(container): . as $key | container | has($key);
def inside(container): . as $part | container | contains($part);
def index($wanted): indices($wanted) | .[0];
def rindex($wanted): indices($wanted) | .[-1:][0];
def _strindices($wanted): indices($wanted);

def del(f): delpaths([path(f)]);
def paths: path(..) | select(. != []);
def paths(f): . as $all | paths | select(. as $path | $all | getpath($path) | f);
def leaf_paths: paths(scalars);
def pick(f): . as $all | reduce path(f) as $path (null; setpath($path; $all | getpath($path)));

def trimstr($text): ltrimstr($text) | rtrimstr($text);
def ascii: [.] | implode;
def splits($pattern; $flags): split($pattern; $flags) | .[];
def splits($pattern): splits($pattern; null);

def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdate: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: todate;
def fromdateiso8601: fromdate;
def date: todate;
def dateadd(unit; n): . + n;
def datesub(unit; n): . - n;

def IN(stream): any(stream == .; .);
def IN(source; stream): any(source == stream; .);
def INDEX(stream; key): reduce stream as $row ({}; .[$row | key | tostring] |= $row);
def INDEX(key): INDEX(.[]; key);
def JOIN($index; key): [.[] | [., $index[key]]];
def JOIN($index; stream; key): stream | [., $index[key]];
def JOIN($index; stream; key; f): stream | [., $index[key]] | f;
.
"""
