/* Regexes of the parsers' dialect, matched in a time in proportion to the line: part of scan.c.
 *
 * A regex becomes a program of instructions (Thompson), and a line is matched by all its threads at once, in the order
 * of their priority (Pike; https://swtch.com/~rsc/regexp/regexp2.html): the same match that a backtracking matcher
 * finds first. The dialect is what `perflog/formats/dialect.py` lets through.
 *
 * A line may be given with its tokens, runs of digits or of a bar's blocks that other lines have in another form. Then
 * the match also says on which lines it would find the same. Before each digit the set of digits that lead to the same
 * threads is noted. Where every digit leads from some threads to the same threads again, the rest of the token may be
 * anything of any length: the matcher cannot tell. What is noted is a token's condition; a line whose text is the same
 * and whose tokens meet the conditions is matched in the same way, at the same places counted from its tokens.
 */

/* ------------------------------------------------------------------------------------------- characters */

/* Bytes a character takes, by its first byte; texts are UTF-8 that has been checked. */
static inline int32_t char_size(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4; }

static inline uint32_t char_at(const uint8_t *at) {
    if (LIKELY(*at < 0x80)) return *at;
    if (*at < 0xe0) return (uint32_t)(*at & 0x1f) << 6 | (at[1] & 0x3f);
    if (*at < 0xf0) return (uint32_t)(*at & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    return (uint32_t)(*at & 0x07) << 18 | (uint32_t)(at[1] & 0x3f) << 12 | (uint32_t)(at[2] & 0x3f) << 6 | (at[3] & 0x3f);
}

/* What a token consists of: ten digits, or the characters that bars are drawn with. Each is a symbol, a bit of a
 * mask. Three bytes in UTF-8 are a block. */
enum token_kind { DIGITS, BLOCKS };
#define N_BLOCKS 14
static const uint16_t BLOCK_CHARS[N_BLOCKS] = {0x2588, 0x2589, 0x258a, 0x258b, 0x258c, 0x258d, 0x258e,
                                               0x258f, 0x2501, 0x2578, 0x257a, 0x2591, 0x2592, 0x2593};
static const uint16_t ALL_SYMBOLS[2] = {0x3ff, (1 << N_BLOCKS) - 1};
static const int32_t SYMBOL_SIZE[2] = {1, 3};

/* The number of a block's character, whose three bytes may be read; -1 for any other character. */
static inline int block_at(const uint8_t *at) {
    if (at[0] != 0xe2 || (at[1] != 0x96 && at[1] != 0x94 && at[1] != 0x95)) return -1;
    const uint32_t c = char_at(at);
    for (int n = 0; n < N_BLOCKS; n++)
        if (BLOCK_CHARS[n] == c) return n;
    return -1;
}

static inline int symbol_at(const uint8_t *at, enum token_kind kind) {
    return kind == DIGITS ? *at - '0' : block_at(at);
}

/* ------------------------------------------------------------------------------------------- programs */

enum op { TAKE, SPLIT, JUMP_TO, SAVE, BEGIN, END, DONE };

typedef struct {
    uint32_t low, high;
} range;

/* One instruction. TAKE: a character of a set; `symbols`: which of a token's it takes. SPLIT: first `x`, then `y`.
 * JUMP_TO: `x`. SAVE: the place as number `x`. BEGIN and END: at the subject's borders alone. */
typedef struct {
    enum op op;
    uint16_t symbols[2];
    int32_t x, y;
    uint64_t ascii[2];
    bool others_but; /* of characters beyond ASCII it takes all but those in the ranges, not those in them */
    int32_t first_range, n_ranges;
} instruction;

typedef struct {
    instruction *code;
    range *ranges;
    int32_t n, cap, n_ranges, cap_ranges, n_groups;
} regex_code;

#define MOST_INSTRUCTIONS 60000
#define MOST_GROUPS 100
#define MOST_NAME 64

typedef struct {
    uint8_t bytes[MOST_NAME];
    size_t size;
} group_name;

typedef struct {
    const uint8_t *start, *at, *end;
    regex_code *to;
    group_name *names; /* by the groups' numbers, from 1 */
    const char *wrong; /* what is wrong with the regex; NULL while nothing is */
    int depth;
} regex_reader;

static bool regex_fault(regex_reader *r, const char *what) {
    if (!r->wrong) r->wrong = what;
    return false;
}

static instruction *emit(regex_reader *r, enum op op) {
    regex_code *to = r->to;
    if (to->n == MOST_INSTRUCTIONS) {
        regex_fault(r, "it is too large");
        return NULL;
    }
    if (to->n == to->cap) {
        const int32_t cap = to->cap ? 2 * to->cap : 32;
        if (!grow(&to->code, cap, sizeof *to->code)) {
            regex_fault(r, OUT_OF_MEMORY);
            return NULL;
        }
        to->cap = cap;
    }
    instruction *made = &to->code[to->n++];
    memset(made, 0, sizeof *made);
    made->op = op;
    made->first_range = to->n_ranges;
    return made;
}

static bool add_range(regex_reader *r, uint32_t low, uint32_t high) {
    regex_code *to = r->to;
    instruction *last = &to->code[to->n - 1];
    for (uint32_t c = low; c <= high && c < 0x80; c++) last->ascii[c / 64] |= 1ull << (c % 64);
    if (high < 0x80) return true;
    if (to->n_ranges == to->cap_ranges) {
        const int32_t cap = to->cap_ranges ? 2 * to->cap_ranges : 8;
        if (!grow(&to->ranges, cap, sizeof *to->ranges)) return regex_fault(r, OUT_OF_MEMORY);
        to->cap_ranges = cap;
    }
    to->ranges[to->n_ranges++] = (range){low < 0x80 ? 0x80 : low, high};
    last->n_ranges++;
    return true;
}

static bool takes(const regex_code *of, const instruction *by, uint32_t c) {
    if (LIKELY(c < 0x80)) return by->ascii[c / 64] >> (c % 64) & 1;
    bool inside = false;
    for (int32_t n = 0; n < by->n_ranges; n++) {
        const range *one = &of->ranges[by->first_range + n];
        inside |= c >= one->low && c <= one->high;
    }
    return inside != by->others_but;
}

/* Which symbols of tokens the last instruction takes. */
static void note_symbols(regex_code *of) {
    instruction *last = &of->code[of->n - 1];
    for (int n = 0; n < 10; n++) last->symbols[DIGITS] |= (uint16_t)(takes(of, last, (uint32_t)('0' + n)) << n);
    for (int n = 0; n < N_BLOCKS; n++) last->symbols[BLOCKS] |= (uint16_t)(takes(of, last, BLOCK_CHARS[n]) << n);
}

static int hex_digit(uint8_t byte) {
    return is_digit(byte) ? byte - '0' : (uint8_t)((byte | 0x20) - 'a') < 6 ? (byte | 0x20) - 'a' + 10 : -1;
}

/* A character of a regex, escaped or plain; -1 where it is none. */
static int64_t read_char(regex_reader *r) {
    if (r->at >= r->end) return -1;
    if (*r->at != '\\') {
        const int32_t size = char_size(*r->at);
        if (r->end - r->at < size) return -1;
        const uint32_t c = char_at(r->at);
        r->at += size;
        return c;
    }
    if (r->end - r->at < 2) return -1;
    const uint8_t byte = r->at[1];
    r->at += 2;
    if (byte == 'x' && r->end - r->at >= 2) {
        const int high = hex_digit(r->at[0]), low = hex_digit(r->at[1]);
        r->at += 2;
        return high < 0 || low < 0 || high > 7 ? -1 : 16 * high + low;
    }
    if (byte == 't') return '\t';
    if (byte == 'n') return '\n';
    if (byte == 'r') return '\r';
    return byte < 0x80 && !is_digit(byte) && (uint8_t)((byte | 0x20) - 'a') >= 26 ? byte : -1;
}

/* [...], with `at` behind its bracket. */
static bool read_class(regex_reader *r) {
    const bool negated = r->at < r->end && *r->at == '^';
    r->at += negated;
    const uint8_t *const first = r->at;
    if (!emit(r, TAKE)) return false;
    while (r->at < r->end && (*r->at != ']' || r->at == first)) {
        const int64_t low = *r->at == '[' ? -1 : read_char(r);
        int64_t high = low;
        if (r->end - r->at >= 2 && *r->at == '-' && r->at[1] != ']') {
            r->at++;
            high = read_char(r);
        }
        if (low < 0 || high < low) return regex_fault(r, "a class that is not understood");
        if (!add_range(r, (uint32_t)low, (uint32_t)high)) return false;
    }
    if (r->at >= r->end) return regex_fault(r, "a class that is not closed");
    r->at++;
    if (negated) {
        instruction *last = &r->to->code[r->to->n - 1];
        last->ascii[0] = ~last->ascii[0];
        last->ascii[1] = ~last->ascii[1];
        last->others_but = true;
    }
    note_symbols(r->to);
    return true;
}

static bool emit_choice(regex_reader *r);

/* A group, with `at` on its bracket. */
static bool emit_group(regex_reader *r) {
    int32_t number = 0;
    if (r->end - r->at >= 3 && !memcmp(r->at, "(?:", 3)) {
        r->at += 3;
    } else if (r->end - r->at >= 4 && !memcmp(r->at, "(?P<", 4)) {
        const uint8_t *name = r->at + 4, *close = memchr(name, '>', (size_t)(r->end - name));
        if (!close || close - name >= MOST_NAME || r->to->n_groups == MOST_GROUPS)
            return regex_fault(r, "a group's name that is not closed or too long, or too many groups");
        r->at = close + 1;
        number = ++r->to->n_groups;
        memcpy(r->names[number].bytes, name, (size_t)(close - name));
        r->names[number].size = (size_t)(close - name);
    } else {
        return regex_fault(r, "a group of another kind than (?:...) and (?P<name>...)");
    }
    if (++r->depth > 100) return regex_fault(r, "its groups are too deep");
    if (number) {
        instruction *made = emit(r, SAVE);
        if (!made) return false;
        made->x = 2 * number;
    }
    if (!emit_choice(r)) return false;
    if (r->at >= r->end || *r->at != ')') return regex_fault(r, "a group that is not closed");
    r->at++;
    r->depth--;
    if (number) {
        instruction *made = emit(r, SAVE);
        if (!made) return false;
        made->x = 2 * number + 1;
    }
    return true;
}

/* A character, class, dot, anchor or group. */
static bool emit_atom(regex_reader *r) {
    const uint8_t byte = *r->at;
    if (byte == '(') return emit_group(r);
    if (byte == '^' || byte == '$') {
        r->at++;
        return emit(r, byte == '^' ? BEGIN : END) != NULL;
    }
    if (byte == '[') {
        r->at++;
        return read_class(r);
    }
    if (!emit(r, TAKE)) return false;
    if (byte == '.') {
        r->at++;
        if (!add_range(r, '\n', '\n')) return false;
        instruction *last = &r->to->code[r->to->n - 1];
        last->ascii[0] = ~last->ascii[0];
        last->ascii[1] = ~last->ascii[1];
        last->others_but = true;
    } else {
        const int64_t c = byte == '*' || byte == '+' || byte == '?' || byte == '{' ? -1 : read_char(r);
        if (c < 0) return regex_fault(r, "an escape or a repeat that is not understood");
        if (!add_range(r, (uint32_t)c, (uint32_t)c)) return false;
    }
    note_symbols(r->to);
    return true;
}

/* A repeat's bounds, moving `at` on; most is -1 where there is none. False where no repeat stands there. */
static bool read_repeat(regex_reader *r, int32_t *least, int32_t *most, bool *greedy) {
    if (r->at >= r->end) return false;
    const uint8_t byte = *r->at;
    if (byte == '*' || byte == '+' || byte == '?') {
        r->at++;
        *least = byte == '+';
        *most = byte == '?' ? 1 : -1;
    } else if (byte == '{') {
        const uint8_t *at = r->at + 1;
        int32_t numbers[2] = {0, -1};
        int n = 0;
        for (; at < r->end && *at != '}'; at++) {
            if (*at == ',' && !n) {
                n = 1;
            } else if (is_digit(*at) && numbers[n] < 10000) {
                numbers[n] = 10 * (numbers[n] < 0 ? 0 : numbers[n]) + (*at - '0');
            } else {
                return false;
            }
        }
        if (at >= r->end || !is_digit(r->at[1])) return false;
        r->at = at + 1;
        *least = numbers[0];
        *most = n ? numbers[1] : numbers[0];
    } else {
        return false;
    }
    *greedy = r->at >= r->end || *r->at != '?';
    r->at += !*greedy;
    return true;
}

/* Write a copy of instructions that lay at `start`; where they lead among each other, the copies do. */
static bool emit_copy(regex_reader *r, const instruction *block, int32_t n, int32_t start) {
    const int32_t moved = r->to->n - start;
    for (int32_t k = 0; k < n; k++) {
        instruction *made = emit(r, TAKE);
        if (!made) return false;
        *made = block[k];
        if (made->op == SPLIT || made->op == JUMP_TO) made->x += moved;
        if (made->op == SPLIT) made->y += moved;
    }
    return true;
}

/* Write the atom that was written from `start` on as often as it is repeated. */
static bool write_repeats(regex_reader *r, const instruction *block, int32_t n, int32_t start, int32_t *splits,
                          int32_t least, int32_t most, bool greedy) {
    const int32_t copies = most < 0 ? (least ? least : 1) : most;
    for (int32_t k = 0; k < copies; k++) {
        const int32_t place = r->to->n;
        const bool optional = most >= 0 ? k >= least : !least;
        if (optional && !emit(r, SPLIT)) return false;
        if (optional && most >= 0) splits[k - least] = place;
        const int32_t inside = r->to->n;
        if (!emit_copy(r, block, n, start)) return false;
        if (most >= 0 || k < copies - 1) continue;
        instruction *made = emit(r, least ? SPLIT : JUMP_TO); /* the last one is the loop */
        if (!made) return false;
        made->x = place;
        instruction *loop = least ? made : &r->to->code[place];
        loop->x = greedy ? inside : r->to->n;
        loop->y = greedy ? r->to->n : inside;
    }
    for (int32_t k = 0; k < most - least; k++) {
        instruction *split = &r->to->code[splits[k]];
        split->x = greedy ? splits[k] + 1 : r->to->n;
        split->y = greedy ? r->to->n : splits[k] + 1;
    }
    return true;
}

static bool write_out(regex_reader *r, int32_t start, int32_t least, int32_t most, bool greedy) {
    const int32_t n = r->to->n - start;
    instruction *block = resize(NULL, (size_t)n, sizeof *block);
    int32_t *splits = resize(NULL, most > least ? (size_t)(most - least) : 1, sizeof *splits);
    bool good = (block && splits) || regex_fault(r, OUT_OF_MEMORY);
    if (good) {
        memcpy(block, r->to->code + start, (size_t)n * sizeof *block);
        r->to->n = start;
        good = write_repeats(r, block, n, start, splits, least, most, greedy);
    }
    free(block);
    free(splits);
    return good;
}

/* An atom and its repeat. */
static bool emit_repeated(regex_reader *r) {
    const int32_t start = r->to->n;
    if (!emit_atom(r)) return false;
    int32_t least, most;
    bool greedy;
    if (!read_repeat(r, &least, &most, &greedy)) return true;
    if (most >= 0 && most < least) return regex_fault(r, "a repeat whose bounds are the wrong way round");
    return write_out(r, start, least, most, greedy);
}

/* Where the alternative that begins at `at` ends: at a bar or bracket of the same group, or the regex's end. */
static const uint8_t *alternative_end(const uint8_t *at, const uint8_t *end) {
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '\\') {
            at++;
        } else if (*at == '[') {
            at += at + 1 < end && at[1] == '^' ? 2 : 1;
            for (const uint8_t *first = at; at < end && (*at != ']' || at == first); at++) at += *at == '\\';
        } else if (*at == '(') {
            depth++;
        } else if (!depth && (*at == '|' || *at == ')')) {
            return at;
        } else if (*at == ')') {
            depth--;
        }
    }
    return end;
}

static bool emit_choice(regex_reader *r) {
    int32_t jumps = -1; /* the jumps behind alternatives, each with the one before it in `x` */
    for (;;) {
        const uint8_t *const end = alternative_end(r->at, r->end);
        const bool more = end < r->end && *end == '|';
        const int32_t split = r->to->n;
        if (more && !emit(r, SPLIT)) return false;
        while (r->at < end)
            if (!emit_repeated(r)) return false;
        if (r->at != end) return regex_fault(r, "brackets that do not match");
        if (!more) break;
        instruction *jump = emit(r, JUMP_TO);
        if (!jump) return false;
        jump->x = jumps;
        jumps = r->to->n - 1;
        r->to->code[split].x = split + 1;
        r->to->code[split].y = r->to->n;
        r->at++;
    }
    while (jumps >= 0) {
        const int32_t before = r->to->code[jumps].x;
        r->to->code[jumps].x = r->to->n;
        jumps = before;
    }
    return true;
}

static void free_code(regex_code *of) {
    free(of->code);
    free(of->ranges);
    memset(of, 0, sizeof *of);
}

/* Compile a regex; `names` gets its groups' names, by number. Returns what is wrong with it, or NULL; `*where` is the
 * character at which. */
static const char *compile_code(regex_code *to, string text, group_name names[MOST_GROUPS + 1], size_t *where) {
    regex_reader r = {text.bytes, text.bytes, text.bytes + text.size, to, names, NULL, 0};
    if (emit_choice(&r) && r.at < r.end) regex_fault(&r, "a bracket that closes no group");
    if (!r.wrong) emit(&r, DONE);
    *where = (size_t)(r.at - r.start);
    if (r.wrong) free_code(to);
    return r.wrong;
}

/* ------------------------------------------------------------------------------------------- tokens and conditions */

#define MOST_TOKENS 160
#define MOST_MASKS 24

typedef struct {
    int32_t start, end; /* bytes of the line */
    enum token_kind kind;
} token;

/* What other lines' tokens must be: their first `n` symbols of these sets, the last one of `last`, and not more than `n`
 * where `closed`. */
typedef struct {
    uint8_t n;
    bool closed;
    uint16_t last, masks[MOST_MASKS];
} condition;

/* A line that is being understood for all lines of its shape. */
typedef struct {
    const uint8_t *line;
    token tokens[MOST_TOKENS];
    condition conditions[MOST_TOKENS];
    int32_t n_tokens;
    bool refused; /* other lines may not be like it */
} understanding;

static void require_symbols(understanding *of, int32_t index, int32_t place, uint16_t mask) {
    condition *c = &of->conditions[index];
    if (place >= MOST_MASKS) {
        of->refused = true;
        return;
    }
    while (c->n <= place) c->masks[c->n++] = ALL_SYMBOLS[of->tokens[index].kind];
    c->masks[place] &= mask;
}

/* Require a token's first symbols to be those that it has here. */
static void require_same(understanding *of, int32_t index, int32_t count) {
    const token *t = &of->tokens[index];
    for (int32_t n = 0; n < count; n++)
        require_symbols(of, index, n, (uint16_t)(1u << symbol_at(of->line + t->start + n * SYMBOL_SIZE[t->kind], t->kind)));
}

static int32_t n_symbols(const token *t) { return (t->end - t->start) / SYMBOL_SIZE[t->kind]; }

static void require_all(understanding *of, int32_t index) {
    require_same(of, index, n_symbols(&of->tokens[index]));
    of->conditions[index].closed = true;
}

/* ------------------------------------------------------------------------------------------- threads */

typedef struct {
    int32_t n;
    int32_t *pc;
    int32_t *caps; /* n_caps for each thread: places in the line, -1 for none */
} threads;

typedef struct {
    threads lists[2];
    int64_t *seen; /* per instruction: the list in which it is, by the number of its making */
    int64_t made;
    int32_t *stack; /* triples: an instruction, or a place to be put back */
    int32_t *working;
    int32_t room, caps_room;
    int32_t n_caps;
    bool matched;
    int32_t *found, *found_before;
    int64_t steps; /* threads that were moved on: the work of matching */
    /* which threads may yet match, whatever the token they are in goes on with */
    int64_t token; /* the number of the token's visit */
    struct {
        int64_t token;
        bool live;
    } *known; /* per instruction */
    int32_t *ahead[2], n_ahead[2];
} matcher;

static void free_matcher(matcher *m) {
    for (int n = 0; n < 2; n++) {
        free(m->lists[n].pc);
        free(m->lists[n].caps);
    }
    free(m->seen);
    free(m->stack);
    free(m->working);
    free(m->found);
    free(m->found_before);
    free(m->known);
    for (int n = 0; n < 2; n++) free(m->ahead[n]);
}

/* Room for a program. False: no memory. */
static bool fit_matcher(matcher *m, const regex_code *code) {
    m->n_caps = 2 * (code->n_groups + 1);
    if (LIKELY(m->room >= code->n && m->caps_room >= m->n_caps)) return true;
    const int32_t room = m->room > code->n ? m->room : code->n;
    const int32_t caps = m->caps_room > m->n_caps ? m->caps_room : m->n_caps;
    bool good = grow(&m->seen, room, sizeof *m->seen) && grow(&m->stack, 2 * (int64_t)room + 64, 3 * sizeof *m->stack);
    good = good && grow(&m->working, caps, sizeof *m->working) && grow(&m->found, caps, sizeof *m->found);
    good = good && grow(&m->found_before, caps, sizeof *m->found_before) && grow(&m->known, room, sizeof *m->known);
    for (int n = 0; good && n < 2; n++) good = grow(&m->ahead[n], room, sizeof *m->ahead[n]);
    for (int n = 0; good && n < 2; n++)
        good = grow(&m->lists[n].pc, room, sizeof *m->lists[n].pc) &&
               grow(&m->lists[n].caps, (int64_t)room * caps, sizeof *m->lists[n].caps);
    if (!good) return false;
    memset(m->seen, 0, (size_t)room * sizeof *m->seen);
    memset(m->known, 0, (size_t)room * sizeof *m->known);
    m->made = m->token = 0;
    m->room = room;
    m->caps_room = caps;
    return true;
}

enum { RESTORE = -1 };

/* Add a thread and all that it leads to without taking a character. `at_end`: the subject ends here. */
static void add_thread(matcher *m, const regex_code *code, threads *to, int32_t pc, const int32_t *caps, int32_t place,
                       int32_t begin, bool at_end) {
    if (m->seen[pc] == m->made) return;
    int32_t *top = m->stack;
    const size_t caps_size = (size_t)m->n_caps * sizeof *caps;
    memcpy(m->working, caps, caps_size);
    *top++ = pc;
    *top++ = 0;
    *top++ = 0;
    while (top > m->stack) {
        top -= 3;
        pc = top[0];
        if (pc == RESTORE) {
            m->working[top[1]] = top[2];
            continue;
        }
        while (m->seen[pc] != m->made) {
            m->seen[pc] = m->made;
            const instruction *in = &code->code[pc];
            if (in->op == JUMP_TO) {
                pc = in->x;
            } else if (in->op == SPLIT) {
                top[0] = in->y;
                top += 3;
                pc = in->x;
            } else if (in->op == SAVE) {
                top[0] = RESTORE;
                top[1] = in->x;
                top[2] = m->working[in->x];
                top += 3;
                m->working[in->x] = place;
                pc++;
            } else if ((in->op == BEGIN && place == begin) || (in->op == END && at_end)) {
                pc++;
            } else {
                if (in->op == BEGIN) break;
                to->pc[to->n] = pc;
                memcpy(to->caps + (size_t)to->n++ * (size_t)m->n_caps, m->working, caps_size);
                break;
            }
        }
    }
}

/* Where a thread of a list has matched, it counts, and those behind it do not. */
static void take_match(matcher *m, const regex_code *code, threads *of, int32_t place) {
    for (int32_t n = 0; n < of->n; n++) {
        if (code->code[of->pc[n]].op != DONE) continue;
        m->matched = true;
        memcpy(m->found, of->caps + (size_t)n * (size_t)m->n_caps, (size_t)m->n_caps * sizeof *m->found);
        m->found[1] = place;
        of->n = n;
        return;
    }
}

/* The threads behind a character. `search`: a match may begin anywhere. */
static void step_threads(matcher *m, const regex_code *code, const threads *from, threads *to, uint32_t c, int32_t place,
                         int32_t begin, bool search) {
    to->n = 0;
    m->made++;
    for (int32_t n = 0; n < from->n; n++) {
        const instruction *in = &code->code[from->pc[n]];
        if (in->op == TAKE && takes(code, in, c))
            add_thread(m, code, to, from->pc[n] + 1, from->caps + (size_t)n * (size_t)m->n_caps, place, begin, false);
    }
    m->steps += from->n + 1;
    if (search && !m->matched) {
        int32_t none[2 * MOST_GROUPS + 2];
        for (int32_t n = 0; n < m->n_caps; n++) none[n] = -1;
        none[0] = place;
        add_thread(m, code, to, 0, none, place, begin, false);
    }
    take_match(m, code, to, place);
}

/* Add to a set of instructions what one leads to without taking a character. */
static void look_ahead(matcher *m, const regex_code *code, int which, int32_t pc) {
    int32_t *top = m->stack;
    *top++ = pc;
    while (top > m->stack) {
        pc = *--top;
        while (m->seen[pc] != m->made) {
            m->seen[pc] = m->made;
            const instruction *in = &code->code[pc];
            if (in->op == SPLIT) *top++ = in->y;
            if (in->op == SPLIT || in->op == JUMP_TO)
                pc = in->x;
            else if (in->op == SAVE)
                pc++;
            else
                m->ahead[which][m->n_ahead[which]++] = pc;
        }
    }
}

/* So many bytes of text behind a token are looked at. */
#define FAR_ENOUGH 8

/* Whether a thread inside a token, or at its end, may yet match: the token may go on with any symbols, and then the
 * line's text follows. */
static bool may_match(matcher *m, const regex_code *code, const understanding *of, int32_t index, int32_t pc, int32_t to) {
    int which = 0;
    int32_t place = of->tokens[index].end, far = 0;
    m->made++;
    m->n_ahead[0] = 0;
    look_ahead(m, code, 0, pc);
    for (bool in_token = true;;) {
        for (int32_t n = 0; n < m->n_ahead[which]; n++) {
            const instruction *in = &code->code[m->ahead[which][n]];
            if (in->op == DONE || (in->op == END && place == to)) return true;
            if (in_token && in->op == TAKE && in->symbols[of->tokens[index].kind])
                look_ahead(m, code, which, m->ahead[which][n] + 1); /* grows the set that is gone through */
        }
        if (!m->n_ahead[which] || place >= to) return false;
        if (far >= FAR_ENOUGH) return true;
        const bool begins = index + 1 < of->n_tokens && of->tokens[index + 1].start == place;
        if (begins && of->tokens[index + 1].end > to) return true;
        m->made++;
        m->n_ahead[1 - which] = 0;
        const uint32_t c = begins ? 0 : char_at(of->line + place);
        for (int32_t n = 0; n < m->n_ahead[which]; n++) {
            const instruction *in = &code->code[m->ahead[which][n]];
            if (in->op == TAKE && (begins ? in->symbols[of->tokens[index + 1].kind] != 0 : takes(code, in, c)))
                look_ahead(m, code, 1 - which, m->ahead[which][n] + 1);
        }
        which = 1 - which;
        in_token = begins;
        far += !begins;
        if (begins) index++;
        place = begins ? of->tokens[index].end : place + char_size(of->line[place]);
    }
}

/* Drop the threads that match on no line that goes on as this one does behind its token. */
static void drop_lost(matcher *m, const regex_code *code, const understanding *of, int32_t index, threads *list,
                      int32_t to) {
    int32_t kept = 0;
    const size_t n_caps = (size_t)m->n_caps;
    for (int32_t n = 0; n < list->n; n++) {
        const int32_t pc = list->pc[n];
        if (m->known[pc].token != m->token) {
            m->known[pc].token = m->token;
            m->known[pc].live = may_match(m, code, of, index, pc, to);
        }
        if (!m->known[pc].live) continue;
        if (kept < n) memcpy(list->caps + (size_t)kept * n_caps, list->caps + (size_t)n * n_caps, n_caps * sizeof *list->caps);
        list->pc[kept++] = pc;
    }
    list->n = kept;
}

/* Which symbols lead a list's threads where one of them leads. */
static uint16_t symbols_alike(const regex_code *code, const threads *of, int symbol, enum token_kind kind) {
    uint16_t alike = ALL_SYMBOLS[kind];
    for (int32_t n = 0; n < of->n; n++) {
        const instruction *in = &code->code[of->pc[n]];
        if (in->op != TAKE) continue;
        alike &= in->symbols[kind] >> symbol & 1 ? in->symbols[kind] : (uint16_t)~in->symbols[kind];
    }
    return alike;
}

/* Whether places are the same, where those at `here` have become those at `there`. */
static bool same_places(const int32_t *before, const int32_t *after, size_t n, int32_t here, int32_t there) {
    for (size_t k = 0; k < n; k++)
        if (after[k] != (before[k] == here ? there : before[k])) return false;
    return true;
}

/* Whether a list is as the one before it, a symbol later; so is every later one, whatever the symbols are. */
static bool is_settled(const matcher *m, const threads *before, const threads *after, bool had_matched, int32_t here,
                       int32_t there) {
    if (before->n != after->n || had_matched != m->matched) return false;
    if (m->matched && !same_places(m->found_before, m->found, (size_t)m->n_caps, here, there)) return false;
    if (before->n && memcmp(before->pc, after->pc, (size_t)before->n * sizeof *before->pc)) return false;
    return same_places(before->caps, after->caps, (size_t)before->n * (size_t)m->n_caps, here, there);
}

static void move_places(int32_t *places, size_t n, int32_t from, int32_t to) {
    for (size_t k = 0; k < n; k++)
        if (places[k] == from) places[k] = to;
}

/* Take a token, of which `*place` has been reached, up to `to` or its end; the list that is current comes back. */
static int take_token(matcher *m, const regex_code *code, understanding *of, int32_t index, int list, int32_t *place,
                      int32_t to, int32_t begin, bool search) {
    const token *t = &of->tokens[index];
    const int32_t size = SYMBOL_SIZE[t->kind];
    if (to < t->end) require_all(of, index);
    const int32_t end = to < t->end ? to : t->end;
    const bool prunes = to >= t->end;
    m->token++;
    if (prunes) drop_lost(m, code, of, index, &m->lists[list], to);
    for (;; *place += size) {
        const int other = 1 - list;
        const int32_t at = (*place - t->start) / size;
        const bool is_over = *place >= end;
        if (is_over && to < t->end) return list;
        const int symbol = is_over ? 0 : symbol_at(of->line + *place, t->kind);
        const uint16_t alike = symbols_alike(code, &m->lists[list], symbol, t->kind);
        const bool had_matched = m->matched;
        if (is_over && alike != ALL_SYMBOLS[t->kind]) break;
        memcpy(m->found_before, m->found, (size_t)m->n_caps * sizeof *m->found);
        step_threads(m, code, &m->lists[list], &m->lists[other],
                     t->kind == DIGITS ? (uint32_t)('0' + symbol) : BLOCK_CHARS[symbol], *place + size, begin, search);
        if (prunes) drop_lost(m, code, of, index, &m->lists[other], to);
        if (alike == ALL_SYMBOLS[t->kind] &&
            is_settled(m, &m->lists[list], &m->lists[other], had_matched, *place, *place + size)) {
            if (at) require_symbols(of, index, at - 1, ALL_SYMBOLS[t->kind]);
            memcpy(m->found, m->found_before, (size_t)m->n_caps * sizeof *m->found);
            move_places(m->found, (size_t)m->n_caps, *place, end);
            move_places(m->lists[list].caps, (size_t)m->lists[list].n * (size_t)m->n_caps, *place, end);
            *place = end;
            return list;
        }
        if (is_over) { /* the symbol that was tried is not there */
            m->matched = had_matched;
            memcpy(m->found, m->found_before, (size_t)m->n_caps * sizeof *m->found);
            break;
        }
        require_symbols(of, index, at, alike);
        list = other;
    }
    if (n_symbols(t)) require_symbols(of, index, n_symbols(t) - 1, ALL_SYMBOLS[t->kind]);
    of->conditions[index].closed = true;
    return list;
}

/* Match a regex in a line from one byte to another: `search`: anywhere, else at the first. Where it matches, m->found
 * has the places of its groups, m->found[2 * n] and the next. `of`: the line's tokens, or NULL. */
static bool match_code(matcher *m, const regex_code *code, understanding *of, const uint8_t *line, int32_t from,
                       int32_t to, bool search) {
    int list = 0;
    int32_t place = from, index = 0;
    m->matched = false;
    for (int32_t n = 0; n < m->n_caps; n++) m->found[n] = -1;
    m->lists[0].n = 0;
    m->made++;
    int32_t *none = m->found_before;
    for (int32_t n = 0; n < m->n_caps; n++) none[n] = -1;
    none[0] = from;
    add_thread(m, code, &m->lists[0], 0, none, from, from, false);
    take_match(m, code, &m->lists[0], from);
    while (of && index < of->n_tokens && of->tokens[index].end < from) index++; /* one that ends here may go on elsewhere */
    /* a token that the subject begins in, or behind, is asked even where the subject has no byte */
    for (bool inside = of && index < of->n_tokens && of->tokens[index].start < place;
         (place < to || inside) && (m->lists[list].n || (search && !m->matched)); inside = false) {
        if (of && index < of->n_tokens && place >= of->tokens[index].start) {
            list = take_token(m, code, of, index++, list, &place, to, from, search);
            continue;
        }
        const int32_t size = char_size(line[place]);
        const int other = 1 - list;
        step_threads(m, code, &m->lists[list], &m->lists[other], char_at(line + place), place + size, from, search);
        list = other;
        place += size;
    }
    if (of && place == to && (m->lists[list].n || (search && !m->matched)) && index < of->n_tokens &&
        of->tokens[index].start == to) { /* a literal that begins with symbols ends the subject: it may begin later */
        require_symbols(of, index, n_symbols(&of->tokens[index]) - 1, ALL_SYMBOLS[of->tokens[index].kind]);
        of->conditions[index].closed = true;
    }
    if (place < to || !m->lists[list].n) return m->matched; /* no thread is left that the subject's end could help */
    const threads *left = &m->lists[list];
    threads *last = &m->lists[1 - list];
    last->n = 0;
    m->made++;
    for (int32_t n = 0; n < left->n; n++)
        if (code->code[left->pc[n]].op == END)
            add_thread(m, code, last, left->pc[n], left->caps + (size_t)n * (size_t)m->n_caps, to, from, true);
    take_match(m, code, last, to);
    return m->matched;
}
