/* What a regex's text tells of its matches: part of scan.c. */

/* ------------------------------------------------------------------------------ subjects that cannot match
 * Several rules share a literal, and of those that are tried at one place all but one fail. That is told here at a
 * tenth of what a call of PCRE2 takes, from what a regex's text says that each match has: the bytes that it begins
 * with, as far as they can be followed without going back, and a text that stands somewhere behind them.
 *
 * A repeated set of bytes is followed where nothing that may come next begins with one of them: then each match takes
 * them all. All of a regex's text has to be of the forms that are known here, else nothing is told of it.
 */

static inline bool has_byte(const byte_set *set, uint8_t byte) { return set->bits[byte / 64] >> (byte % 64) & 1; }

static void add_byte(byte_set *set, uint8_t byte) { set->bits[byte / 64] |= 1ull << (byte % 64); }

static bool share_byte(const byte_set *a, const byte_set *b) {
    uint64_t both = 0;
    for (int n = 0; n < 4; n++) both |= a->bits[n] & b->bits[n];
    return both != 0;
}

static void add_set(byte_set *to, const byte_set *more) {
    for (int n = 0; n < 4; n++) to->bits[n] |= more->bits[n];
}

static const byte_set ANY_BYTE = {{~0ull, ~0ull, ~0ull, ~0ull}};

static int hex_digit(uint8_t byte) {
    return is_digit(byte) ? byte - '0' : (uint8_t)((byte | 0x20) - 'a') < 6 ? (byte | 0x20) - 'a' + 10 : -1;
}

/* The ASCII byte that an escape stands for, with `*at` behind its backslash, which is moved on; -1 for any other. */
static int escaped_byte(const uint8_t **at, const uint8_t *end) {
    static const char letters[] = "t\tn\nr\rf\f";
    if (*at >= end) return -1;
    const uint8_t byte = *(*at)++;
    if (byte == 'x') {
        if (end - *at < 2) return -1;
        const int high = hex_digit((*at)[0]), low = hex_digit((*at)[1]);
        *at += 2;
        return high < 0 || low < 0 || high > 7 ? -1 : 16 * high + low;
    }
    if (is_digit(byte) || (uint8_t)((byte | 0x20) - 'a') < 26) {
        for (const char *known = letters; *known; known += 2)
            if ((uint8_t)known[0] == byte) return known[1];
        return -1;
    }
    return byte > ' ' && byte < 0x7f ? byte : -1;
}

/* [...] with `*at` behind its bracket, which is moved on behind the other one. Characters that are not ASCII stand for
 * the set of all bytes that such have. */
static bool read_class(const uint8_t **at, const uint8_t *end, byte_set *set) {
    const bool others = *at < end && **at == '^';
    *at += others;
    const uint8_t *const first = *at;
    while (*at < end && (**at != ']' || *at == first)) {
        int low = *(*at)++;
        if (low == '[' || low >= 0x80) return false; /* [:alpha:] */
        if (low == '\\' && (low = escaped_byte(at, end)) < 0) return false;
        int high = low;
        if (end - *at >= 2 && **at == '-' && (*at)[1] != ']') {
            high = (*at)[1];
            *at += 2;
            if (high == '[' || high >= 0x80) return false;
            if (high == '\\' && (high = escaped_byte(at, end)) < 0) return false;
        }
        for (int byte = low; byte <= high; byte++) add_byte(set, (uint8_t)byte);
    }
    if (*at >= end) return false;
    ++*at;
    for (int n = 0; others && n < 4; n++) set->bits[n] = ~set->bits[n];
    return true;
}

/* A character, class or dot, moving `*at` on; false for anything else. */
static bool read_one(const uint8_t **at, const uint8_t *end, byte_set *set) {
    memset(set, 0, sizeof *set);
    int byte = *(*at)++;
    if (byte == '[') return read_class(at, end, set);
    if (byte == '.') {
        *set = ANY_BYTE;
        set->bits[0] &= ~(1ull << '\n');
        return true;
    }
    if (byte == '\\') byte = escaped_byte(at, end);
    else if (byte >= 0x80 || strchr("()|*+?{}^$]", byte)) return false;
    if (byte < 0) return false;
    add_byte(set, (uint8_t)byte);
    return true;
}

typedef struct {
    int least;      /* 0, or 1 for any other */
    bool many;      /* there may be more than one */
    bool given;     /* there is a quantifier */
    bool is_simple; /* none, or a greedy *, + or ? */
} quantity;

/* The quantifier behind an atom, moving `*at` on; false where it is none that is known. */
static bool read_quantity(const uint8_t **at, const uint8_t *end, quantity *q) {
    *q = (quantity){1, false, false, true};
    if (*at >= end || !strchr("*+?{", **at)) return true;
    const uint8_t mark = *(*at)++;
    q->given = true;
    q->least = mark == '+' || mark == '{';
    q->many = mark != '?';
    if (mark == '{') {
        q->is_simple = false;
        if (*at >= end || !is_digit(**at)) return false;
        q->least = **at != '0';
        while (*at < end && (is_digit(**at) || **at == ',')) ++*at;
        if (*at >= end || *(*at)++ != '}') return false;
    }
    if (*at < end && (**at == '?' || **at == '+')) {
        q->is_simple = false;
        ++*at;
    }
    return true;
}

/* With `at` at a group's bracket: where its inside begins; NULL where it is no plain group. */
static const uint8_t *inside_of(const uint8_t *at, const uint8_t *end) {
    at++;
    if (at < end && *at == '*') return NULL;
    if (at >= end || *at != '?') return at;
    if (end - at >= 2 && at[1] == ':') return at + 2;
    if (end - at < 3 || at[1] != 'P' || at[2] != '<') return NULL;
    at = memchr(at, '>', (size_t)(end - at));
    return at ? at + 1 : NULL;
}

/* The end of an alternative that begins at `at`: its `|`, or the bracket or the end behind it; NULL where something in
 * it is not known. */
static const uint8_t *alternative_end(const uint8_t *at, const uint8_t *end) {
    byte_set set;
    quantity q;
    int depth = 0;
    while (at < end) {
        if (*at == '(') {
            if (!(at = inside_of(at, end))) return NULL;
            depth++;
        } else if (*at == ')') {
            if (!depth--) return at;
            at++;
            if (!read_quantity(&at, end, &q)) return NULL;
        } else if (*at == '|') {
            if (!depth) return at;
            at++;
        } else if (*at == '^' || *at == '$') {
            at++;
        } else if (!read_one(&at, end, &set) || !read_quantity(&at, end, &q)) {
            return NULL;
        }
    }
    return depth ? NULL : at;
}

/* Where a group's inside ends, at its bracket. The text is known to be good. */
static const uint8_t *group_end(const uint8_t *inside, const uint8_t *end) {
    const uint8_t *at = alternative_end(inside, end);
    while (at < end && *at == '|') at = alternative_end(at + 1, end);
    return at;
}

/* Add the bytes that a match of the alternatives from `at` to `end` may begin with; whether it may be empty. */
static bool first_bytes(const uint8_t *at, const uint8_t *end, byte_set *set) {
    bool may_be_empty = false;
    for (;;) {
        const uint8_t *const stop = alternative_end(at, end);
        bool empty = true;
        while (empty && at < stop) {
            byte_set one = {{0}};
            quantity q;
            if (*at == '^' || *at == '$') {
                at++;
                continue;
            }
            if (*at == '(') {
                const uint8_t *const inside = inside_of(at, end), *const close = group_end(inside, end);
                empty = first_bytes(inside, close, &one);
                at = close + 1;
            } else {
                empty = false;
                read_one(&at, end, &one);
            }
            read_quantity(&at, end, &q);
            empty |= !q.least;
            add_set(set, &one);
        }
        may_be_empty |= empty;
        if (stop >= end) return may_be_empty;
        at = stop + 1;
    }
}

/* The same of all that follows `at`, which lies in groups that have no other alternatives and are there once. */
static bool next_bytes(const uint8_t *at, const uint8_t *end, byte_set *set) {
    for (;;) {
        const uint8_t *const stop = alternative_end(at, end);
        if (!first_bytes(at, stop, set)) return false;
        if (stop >= end) return true;
        at = stop + 1; /* behind the bracket */
    }
}

/* Whether a group is there once and has no other alternatives; `*inside` is where it begins. */
static bool is_open_group(const uint8_t *at, const uint8_t *end, const uint8_t **inside) {
    *inside = inside_of(at, end);
    const uint8_t *const close = alternative_end(*inside, end);
    return *close == ')' && !(close + 1 < end && strchr("*+?{", close[1]));
}

static void add_same(filter *to, uint8_t byte) {
    step *last = to->n_steps ? &to->steps[to->n_steps - 1] : NULL;
    if (!last || last->kind != SAME || last->most == STEP_BYTES) {
        last = &to->steps[to->n_steps++];
        last->kind = SAME;
        last->most = 0;
    }
    last->of.bytes[last->most++] = byte;
}

static int only_byte(const byte_set *set) {
    int count = 0, byte = -1;
    for (int n = 0; n < 256; n++)
        if (has_byte(set, (uint8_t)n)) {
            count++;
            byte = n;
        }
    return count == 1 ? byte : -1;
}

/* The steps that each match begins with. Returns where they end in the regex's text. */
static const uint8_t *make_steps(filter *to, const uint8_t *at, const uint8_t *end) {
    while (at < end && to->n_steps < FILTER_STEPS) {
        const uint8_t *next = at;
        byte_set set, behind = {{0}};
        quantity q;
        if (*at == '(' && is_open_group(at, end, &next)) {
            at = next;
            continue;
        }
        if (*at == ')') {
            at++;
            continue;
        }
        if (*at == '(' || *at == '^' || *at == '$') break;
        read_one(&next, end, &set);
        read_quantity(&next, end, &q);
        const int byte = only_byte(&set);
        if (!q.given && byte >= 0) {
            add_same(to, (uint8_t)byte);
        } else {
            /* One character that is not ASCII has several bytes. */
            if (!q.is_simple || (!q.many && share_byte(&set, &(byte_set){{0, 0, ~0ull, ~0ull}}))) break;
            if (q.given && (next_bytes(next, end, &behind) || share_byte(&set, &behind))) break;
            to->steps[to->n_steps++] = (step){RUN, q.least, q.many ? INT32_MAX : 1, {set}};
        }
        at = next;
    }
    return at;
}

/* The first occurrence of a text; NULL when there is none. `rare`: where its rarest byte is. */
static const uint8_t *find_text(const uint8_t *text, size_t size, size_t rare, const uint8_t *at, const uint8_t *end) {
    while ((size_t)(end - at) >= size) {
        const uint8_t *found = memchr(at + rare, text[rare], (size_t)(end - at) - size + 1);
        if (!found) return NULL;
        at = found - rare;
        if (same_bytes(at, text, size)) return at;
        at++;
    }
    return NULL;
}

/* Keep a text that each match has, unless it is too short or in `known`; in place of the shortest where there are many. */
static void add_text(filter *to, string text, string known) {
    if (text.size < SHORTEST_TEXT || find_text(text.bytes, text.size, 0, known.bytes, known.bytes + known.size)) return;
    int32_t place = 0;
    if (to->n_texts < FILTER_TEXTS) {
        place = to->n_texts++;
    } else {
        for (int32_t n = 1; n < FILTER_TEXTS; n++)
            if (to->texts[n].size < to->texts[place].size) place = n;
        if (text.size <= to->texts[place].size) return;
    }
    memcpy(to->texts[place].bytes, text.bytes, text.size);
    to->texts[place].size = text.size;
    to->texts[place].rare = rarest(text);
}

/* The texts that each match has. */
static void find_texts(filter *to, const uint8_t *at, const uint8_t *end, string known) {
    uint8_t bytes[STEP_BYTES];
    string text = {bytes, 0};
    while (at <= end) {
        const uint8_t *inside;
        byte_set set;
        quantity q;
        int byte = -1;
        if (at == end || *at == '^' || *at == '$' || *at == ')') {
            at++;
        } else if (*at == '(' && is_open_group(at, end, &inside)) {
            at = inside;
        } else if (*at == '(') {
            at = group_end(inside_of(at, end), end) + 1;
            read_quantity(&at, end, &q);
        } else {
            read_one(&at, end, &set);
            read_quantity(&at, end, &q);
            byte = q.given ? -1 : only_byte(&set);
        }
        if (byte >= 0 && text.size < STEP_BYTES) {
            bytes[text.size++] = (uint8_t)byte;
            continue;
        }
        add_text(to, text, known);
        text.size = 0;
    }
}

/* What is known of the subjects of a rule's first regex. False: no memory. */
static bool make_filter(const program *p, rule *of) {
    const uint8_t *at = of->regexes[FIRST].text.bytes, *const end = at + of->regexes[FIRST].text.size;
    if (alternative_end(at, end) != end) return true;
    if (!(of->filter = zeroed(1, sizeof *of->filter))) return false;
    find_texts(of->filter, at, end, p->literals[of->literal].text);
    if (of->kind == LINE) return true;
    at = make_steps(of->filter, at, end);
    of->filter->ends_in_set = !next_bytes(at, end, &of->filter->last);
    return true;
}

static bool has_text(const filter *by, int32_t n, const uint8_t *at, const uint8_t *end) {
    return find_text(by->texts[n].bytes, by->texts[n].size, by->texts[n].rare, at, end) != NULL;
}

static bool follows_steps(const filter *by, const uint8_t *at, const uint8_t *end) {
    for (int32_t n = 0; n < by->n_steps; n++) {
        const step *next = &by->steps[n];
        if (next->kind == SAME) {
            if (end - at < next->most || !same_bytes(at, next->of.bytes, (size_t)next->most)) return false;
            at += next->most;
            continue;
        }
        const uint8_t *const from = at, *const to = end - at > next->most ? at + next->most : end;
        while (at < to && has_byte(&next->of.set, *at)) at++;
        if (at - from < next->least) return false;
    }
    return !by->ends_in_set || (at < end && has_byte(&by->last, *at));
}

/* What of a filter a rule's last subject lacked: nothing, since it matched; nothing that the filter knows; the steps;
 * the text n, as LACKED_TEXT + n. */
enum { MATCHED, LACKED_UNKNOWN, LACKED_STEPS, LACKED_TEXT };

/* What of a filter a subject lacks: LACKED_UNKNOWN where its regex may match. `likely`: what the last one lacked, which
 * this one most likely lacks, too. */
static int8_t lacks(const filter *by, const uint8_t *at, const uint8_t *end, int8_t likely) {
    if (likely >= LACKED_TEXT && !has_text(by, likely - LACKED_TEXT, at, end)) return likely;
    if (!follows_steps(by, at, end)) return LACKED_STEPS;
    for (int32_t n = 0; n < by->n_texts; n++)
        if (!has_text(by, n, at, end)) return (int8_t)(LACKED_TEXT + n);
    return LACKED_UNKNOWN;
}
