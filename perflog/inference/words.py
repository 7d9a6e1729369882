"""The field's words for steps, times and rates, as patterns of what stands before and behind a number."""

from __future__ import annotations

import re

from perflog.lazy_regex import lazy_regex

STEP_WORD = r"(?:it|iter|itr|iteration|step|batch|batche|minibatch|mini-batch|update|mb|opt[_ ]?step)s?"
WORK = (
    r"(?:[km]?[ _-]?(?:tokens?|toks?|tks|t|items?|im|imgs?|images?|frames?|samples?|sequences?|seqs?|sents?|sentences?"
    rf"|examples?|exp?|records?|videos?|clips?|words?|w)|{STEP_WORD})"
)
SECOND = r"(?:s|secs?|seconds?)"
PART = r"(?:gpus?|devices?|ranks?|chips?|cards?|cores?|workers?|npus?|tpus?)"
TIME = (  # M is a million
    r"(?:ms|msecs?|milliseconds?|us|µs|usecs?|microseconds?|s|secs?|seconds?|(?-i:m)|mins?|minutes?|h|hrs?|hours?)"
)
PER = r"[ _-]*(?:/|per)[ _-]*"
#: Words that nothing but blanks parts from the numbers on both sides, or a key.
ONE_WORD = lazy_regex(r"\s(?:[kKM] )?[A-Za-z][^\s,;|]*\s?(?:[\[(][^\[\]()]*[\])])?\s?[:=]?\s?")
#: Behind a number: a rate, a time for one or several steps, a time. What a colon or an equals sign follows is a key.
_BRACKET = r"(?:[\[(](?=[^\s\[\]()]+[\])]))?"
NO_KEY = r"(?![A-Za-z0-9_])(?!\s*[:=])"
RATE_BEHIND = lazy_regex(rf"^\s*{_BRACKET}({WORK}){PER}{SECOND}(?:{PER}({PART}))?{NO_KEY}", re.I)
SHORT_BEHIND = lazy_regex(rf"^\s*([km]?)\s*(wps|fps|ips)(?:{PER}({PART}))?{NO_KEY}", re.I)
PER_STEP_BEHIND = lazy_regex(rf"^\s*{_BRACKET}({TIME}){PER}(?:([0-9]+)\s*)?{STEP_WORD}{NO_KEY}", re.I)
PER_EPOCH_BEHIND = lazy_regex(rf"^\s*({TIME}){PER}(?:epoch|episode|file|shard)s?{NO_KEY}", re.I)
TIME_BEHIND = lazy_regex(rf"^\s*{_BRACKET}({TIME})(?![A-Za-z0-9_µ])(?!\s*[/:=])(?!{PER}[A-Za-z])", re.I)
#: What stands between a time that is set and a mean over it: ``10 sec: 25823.2``.
WINDOW = lazy_regex(rf"\s*{TIME}\s*[:=]\s*", re.I)
#: A time for a step without a unit: ``0.2413/it``.
PER_STEP_ALONE = lazy_regex(rf"^/\s*{STEP_WORD}{NO_KEY}", re.I)
PERCENT_BEHIND = lazy_regex(r"^\s*%")
#: The key before a number, with a unit in brackets, if one is there.
KEY = lazy_regex(
    r"([A-Za-z_][A-Za-z0-9_/. -]*?)[\s\"']*(?:[(\[]([A-Za-zµ/ _]+)[)\]])?\s*(?:[:=]|->|=>|is\b)?[\s\"'(\[]*$"
)
RATE_KEY = lazy_regex(
    rf"^(?:.*[_ ./-])?({WORK})(?:{PER}|p){SECOND}(?:{PER}({PART}))?(?:[_ .-](?:avg|mean|train|instant))?$", re.I
)
JOINED_KEY = lazy_regex(
    rf"^(?:.*[_ ./-])?(?:throughput|thpt|tput|speed|rate)[_ ]({WORK})[_ ]{SECOND}(?:{PER}({PART}))?$", re.I
)
SHORT_KEY = lazy_regex(r"^(?:.*[_ ./-])?(fps|ips|wps|tgs|its|ups)(?:[_ ./-](?:avg|mean|train))?$", re.I)
SPEED_KEY = lazy_regex(r"^(?:.*[_ ./-])?(?:throughput|thpt|tput|thru|speed)$", re.I)
PER_STEP_KEY = lazy_regex(
    rf"^(?:.*[_ ./-])?(?:({TIME}){PER}{STEP_WORD}|(?:time|duration|cost|elapsed){PER}{STEP_WORD}"
    rf"|(?:avg|average|mean|total)?[_ -]?{STEP_WORD}[_ -]?(?:time|timing|duration|cost|latency|wall)[_ -]?"
    rf"(?:({TIME})|avg|mean)?"
    rf"|{STEP_WORD}[_ -]?(ms|sec|secs|seconds?))$", re.I
)  # fmt: skip
TIME_KEY = lazy_regex(
    r"^(?:.*[_ ./-])?(?:dt|time|t|took|takes|duration|cost|secs?|seconds?"
    r"|time[_ ](?:taken|used|spent|cost|consumption|consumed)"
    rf"|(?:time|dt|duration)[_ -]?({TIME}))$", re.I
)  # fmt: skip
ELAPSED_KEY = lazy_regex(
    r"(?:elapsed|total[_ ]?time|train(?:ing)?[_ ]?(?:run)?time|time[_ ]?(?:elapsed|so far)|wall[_ ]?(?:time|clock)|wall"
    r"|runtime|_runtime|relative[_ ]?time|since[_ ]?start|cumulative[_ ]?time|total[_ ]s(?:ec(?:ond)?s?)?)"
    r"(?-i:(?![a-z]))", re.I
)  # fmt: skip
#: A key that is a unit of time alone, or behind other words: ``seconds: 2.141``.
IS_UNIT = lazy_regex(r"^(?:.*[_ .-])?(secs?|seconds|msecs?|milliseconds|ms)$", re.I)
#: A time that a program counts in seconds where it prints a fraction and no unit.
BARE_TIME = lazy_regex(rf"^(?:.*[_ ./-])?(?:time|time[_ ]consumption|dt|duration|{STEP_WORD})$", re.I)
#: Words of a mean of several steps, and of a time for each of several.
IS_MEAN = lazy_regex(r"(?:^|[^a-z])(?:avg|average|mean)(?![a-z])", re.I)
IS_PER_STEP = lazy_regex(rf"(?:/|(?<![a-z])per)[ _-]*{STEP_WORD}(?![A-Za-z])", re.I)
#: A key that tells its unit: ``train_step_timing in s``.
IN_UNIT = lazy_regex(rf"^(.+) in ({TIME})$", re.I)
#: A number of steps before the word for them, and what may stand between that and their time.
OF_SO_MANY = lazy_regex(rf"^\s*{STEP_WORD}\s*(?:[)\]]|took|in|takes|time|cost)?\s*[:=,]?\s*$", re.I)
#: A unit that ends a key: ``time_ms``, ``elapsedMs``, ``time in minutes``.
UNIT_OF_KEY = lazy_regex(rf"(?:[_ -](?:in[_ ])?|(?-i:(?<=[a-z])(?=[A-Z])))({TIME})$", re.I)
MOMENT_KEY = lazy_regex(
    r"^(?:.*[_ ./-])?(?:time|timestamp|_timestamp|ts|wall[_ ]?time|date|datetime|epoch_time)$", re.I
)
#: What stands behind a time and belongs to it, not to the next number: ``4.7 min left  speed: ``; one that is left.
TO_GO = r"left|remain(?:ing|s)?|to go"
BEHIND_A_TIME = lazy_regex(rf"^\s*{TIME}\s+(?:{TO_GO}|elapsed)(?![A-Za-z])", re.I)
IS_LEFT = lazy_regex(rf"^\s*{TIME}\s+(?:{TO_GO})(?![A-Za-z])", re.I)
#: Words before a time that is followed by its unit.
TOOK = lazy_regex(r"(?:^|[^A-Za-z])(?:took|takes|in|cost|costs|used|spent|time|dt)\s*[:=]?\s*$|\(\s*$", re.I)
#: Times of a part of a step, or of something else.
PARTIAL = lazy_regex(
    r"(?:^|[^a-z])(?:data|load(?:er|ing)?|read(?:er|ing)?|fetch|forward|fwd|backward|bwd|opt(?:im(?:izer)?)?|comm|sync|io"
    r"|wait|eta|left|remain(?:ing|s)?|gen(?:erate|eration)?|rollout|sampl(?:e|ing)|reward|sav(?:e|ing)|ckpt|checkpoint"
    r"|compile|copy|h2d|d2h|loss|cuda|gpu|cpu|prep(?:are|rocess)?|log(?:ging)?|end|start|max|min|std|epoch|eval|val"
    r"|valid(?:ation)?|test|infer(?:ence)?|download|render|setup|init|p\d\d|var|expected|finish)(?:[^a-z]|$)", re.I
)  # fmt: skip
#: Times of the work that is done before a step can begin; and rates of a work that has no word here: ``exp/sec``.
OF_DATA = lazy_regex(r"(?:^|[^a-z])(?:data|load(?:er|ing)?|read(?:er|ing)?|fetch|io|wait)(?:[^a-z]|$)", re.I)
PER_SECOND = lazy_regex(rf"(?:/|(?<![a-z])per)[ _-]*{SECOND}$", re.I)
#: Rates of one device's work, by their place among keys: ``throughput/device/samples_per_sec``.
OF_ONE = lazy_regex(rf"(?:^|[/.])(?:per[_-]?)?{PART}[/.]", re.I)
#: Rates of the work of all devices.
OF_ALL = lazy_regex(r"(?:^|[^a-z])(?:global|aggregate[d]?|overall|all|system|cluster|world)(?:[^a-z]|$)", re.I)
#: Rates of another work than the training's, and bounds of rates.
OTHER_RATE = lazy_regex(
    r"(?:^|[^a-z])(?:eval|val|valid(?:ation)?|test|infer(?:ence)?|generation|gen|rollout|decode|prefill|data|load(?:er|ing)?"
    r"|io|disk|net|read|max|min|peak|std|h2d|d2h|target|theoretical)(?:[^a-z]|$)", re.I
)  # fmt: skip
#: What a number is that is neither a time nor a rate, by its key.
OTHERS = lazy_regex(
    r"(?:^|[^a-z])(?:lr|learning[_ ]rate|[a-z_]*loss[a-z_]*|acc(?:uracy)?|grad(?:ient)?[_ ]?norm|norm|ppl|perplexity"
    r"|mem(?:ory)?|tps|sps|top[-_ ]?[0-9]|mfu|wd|momentum|scale)$", re.I
)  # fmt: skip
STEP = lazy_regex(
    r"(?:^|[^A-Za-z])(?:global_?)?(?:steps?|iters?|itrs?|iterations?|ite|it|i|(?:mini-?)?batch(?:es)?|n_?updates?|updates?|n_?iter"
    r"|num_updates|optimizer[_ ]steps?)"
    r"(?:[_ ]?(?:num|number|no|idx|index|count|id)\.?)?[\s\"':=#\[(<]*$", re.I
)  # fmt: skip
#: Numbers of each step: ``elements per batch``.
OF_EACH_STEP = lazy_regex(rf"(?<![a-z])per[ _-]*{STEP_WORD}(?![A-Za-z])", re.I)
#: What counts the work that is done since the start: steps of simulated environments, frames; samples or tokens.
OF_ENVIRONMENTS = lazy_regex(
    r"(?:^|[^A-Za-z])(?:(?:total|num|n|all|train(?:ing)?|agent)[_ ]?)*(?:env(?:ironment)?[_ ]?(?:inter\w*|steps?)"
    r"|time[_ -]?steps?(?:[_ ]?so[_ ]?far)?|(frames))(?:[_ ](?:total|done|seen))?[\s\"':=#\[(<|]*$", re.I
)  # fmt: skip
WORK_SEEN = lazy_regex(
    r"(?:^|[^A-Za-z])(?:(?:total|num|n|all|train(?:ed|ing)?|consumed|processed)[_ ]?)*"
    r"(samples|images|examples|sequences|tokens)(?:[_ ](?:seen|consumed|processed|trained|so[_ ]far))?"
    r"[\s\"':=#\[(<|]*$", re.I
)  # fmt: skip
EPOCH = lazy_regex(r"(?:^|[^A-Za-z])(?:epochs?|ep)(?:[_ ]?(?:num|number|no|idx|id)\.?)?[\s\"':=#\[(<]*$", re.I)
#: What counts neither steps nor a training's work.
NO_STEPS = lazy_regex(
    r"(?:^|[^A-Za-z])(?:epochs?|files?|shards?|episodes?|folds?|trials?|games?|rounds?|generations?|layers?|seeds?|tasks?"
    r"|chunks?|parts?|phases?|stages?|workers?|ranks?|nodes?)(?![A-Za-z])", re.I
)  # fmt: skip
#: What a place of a whole counts, by the word behind it.
OF_STEPS = lazy_regex(rf"^\s*{STEP_WORD}(?![A-Za-z])", re.I)
OF_WORK = lazy_regex(
    r"^\s*(?:samples?|images?|imgs?|examples?|sequences?|tokens?|rows?|items?|files?|epochs?)(?![A-Za-z])(?!\s*(?:[:=/]|per(?![a-z])))",
    re.I,
)
#: What stands between the count and the clock of a bar that knows no total: ``275it [00:02, ``.
OF_METER = lazy_regex(r"\s?[A-Za-z]+ \[")
BETWEEN = lazy_regex(r"[\s\])]*[\[(|,-][\s\[(]*$")
#: A key without a value: ``"eval_loss": null``, ``val: n/a``.
NO_VALUE = lazy_regex(r"[A-Za-z_][\w/. -]*[\"']?\s*[:=]\s*[\"']?(?:null|none|n/?a|nan)(?![A-Za-z])", re.I)
EVALUATES = lazy_regex(
    r"(?:^|[^a-z])(?:eval|evaluat\w*|valid\w*|val|test\w*|infer\w*|predict\w*|dev(?= )"
    r"|generat(?:e|ed|es|ing|ions?)|decod(?:e|ed|es|ing)(?![._])|sampling)(?![a-z])", re.I
)  # fmt: skip
#: Words of lines that say that something else than training happened.
PAUSES = lazy_regex(
    r"(?<![A-Za-z])(?:[A-Za-z_]*(?:(?<![a-z])[Ee]val|EVAL|[Vv]alid|VALID|(?<![a-z])[Tt]est|TEST|[Ss]av(?:e|ing)"
    r"|[Cc]heckpoint|[Cc]kpt|[Ss]napshot|[Ii]nference|[Pp]redict|[Gg]enerat|[Dd]ecod)[A-Za-z]*"
    r"|(?:val|Val|VAL|dev|Dev|DEV|[Ss]ample|[Ss]ampling)(?![A-Za-z]))"
)
SAYS_TRAIN = lazy_regex(r"(?:^|[^a-z])train(?:ing)?(?![a-z])", re.I)
TRAINS = lazy_regex(r"(?:^|[^a-z])(?:train(?!er)\w*|finetun\w*|fit|learn\w*|loss|lr|grad\w*)(?![a-z])", re.I)
SPELLED = {"t": "tokens", "toks": "tokens", "tks": "tokens", "w": "words", "ex": "examples", "exp": "examples",
            "im": "images"}  # fmt: skip
ABBREVIATED = {"fps": "frames", "ips": "samples", "wps": "words", "tgs": "tokens", "its": "steps",
                "ups": "steps"}  # fmt: skip
UNITS = (("ms", r"ms|msec|milli"), ("us", r"us|µs|usec|micro"), ("min", r"m$|min"), ("h", r"h"), ("s", r"s"))
#: Words that say that a time is a whole epoch's, or the training's part of it.
OF_EPOCH = lazy_regex(r"(?:epochs?|ep|train(?:ing)?)[_ ]?", re.I)
