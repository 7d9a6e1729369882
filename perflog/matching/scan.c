/* The scanner: all patterns of all parsers, found in one pass over every byte of a batch of texts.
 *
 * A text is read sub-line by sub-line, parted at line feeds and carriage returns.
 *
 *   1. A sub-line that is like one before, but for its numbers (scan_shapes.h), is compared, all of it, and its numbers
 *      are read. What the rules find in such a line was decided once.
 *   2. In any other `find_literals` finds every occurrence of every literal. Of each literal the four bytes are chosen
 *      that come up least in logs; a table of bits by the hash of four bytes says where such a window may stand, and
 *      there the literal is compared. Literals of three bytes or less are looked for by their rarest byte.
 *   3. `match_hits` goes through the rules of its literals in their order: the parser of the first that matches owns the
 *      sub-line, and of other parsers only metadata is looked for from there on.
 *
 * Step 2 notices bytes that need cleaning, too: such a text is left until it comes back clean (scan_clean.h).
 *
 * Any number of threads may call pf_scan with one program. Only its regexes change after pf_compile: each rule's are
 * compiled, under a lock, when it is first tried, since a log needs few of all rules. All memory comes through
 * `resize`; a scan that cannot get some ends with an error, and pf_free gives back whatever it had.
 */

#define _GNU_SOURCE
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#include <xlocale.h>
#endif
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABI 10
#define EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The fuzzer puts its own allocator here, one that fails on purpose. */
#ifndef PF_REALLOC
#define PF_REALLOC realloc
#endif

static void *resize(void *memory, size_t count, size_t size) {
    if (size && count > (SIZE_MAX >> 1) / size) return NULL;
    return PF_REALLOC(memory, count && size ? count * size : 1);
}

static void *zeroed(size_t count, size_t size) {
    void *memory = resize(NULL, count, size);
    if (memory) memset(memory, 0, count * size);
    return memory;
}

/* `*memory = realloc(...)` that leaves what there was when there is no more. */
static bool grow(void *slot, int64_t count, size_t size) {
    void *memory;
    memcpy(&memory, slot, sizeof memory);
    memory = resize(memory, (size_t)count, size);
    if (!memory) return false;
    memcpy(slot, &memory, sizeof memory);
    return true;
}

/* The locale whose strtod reads a point and nothing else, whatever the user's language. */
static locale_t c_locale;

EXPORT int pf_abi(void) { return ABI; }

/* What has to be done once, under a lock, before any other function is called. Returns NULL, or what is missing. */
EXPORT const char *pf_open(void) {
    if (!c_locale) c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale ? NULL : "the C locale cannot be had";
}

/* ---------------------------------------------------------------------------------------------- programs */

enum role { METADATA, IGNORE, OTHER, POSITION };
enum kind { TAIL, JUMP, LINE };
enum group_kind { NUMBER, TEXT, UNIT };
enum part { FIRST, SECOND, ALSO }; /* of which regex a group is */

typedef struct {
    uint8_t *bytes;
    size_t size;
} string;

static const char *const OUT_OF_MEMORY = "out of memory";

static bool is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static bool is_word_byte(uint8_t byte) { return is_digit(byte) || byte == '_' || (uint8_t)((byte | 0x20) - 'a') < 26; }

static bool is_number_byte(uint8_t byte) {
    return is_digit(byte) || byte == '.' || byte == ',' || byte == '+' || byte == '-' || (byte | 0x20) == 'e';
}

static bool follows(const uint8_t *at, const uint8_t *limit, const char *text) {
    size_t size = strlen(text);
    return (size_t)(limit - at) >= size && !memcmp(at, text, size);
}

/* Whether so many bytes are the same; literals are so short that calling memcmp takes longer than comparing. */
static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t size) {
    uint64_t left, right;
    size_t n = 0;
    if (size < 4) {
        for (; n < size; n++)
            if (a[n] != b[n]) return false;
        return true;
    }
    if (size < 8) {
        uint32_t first[2], last[2];
        memcpy(&first[0], a, 4);
        memcpy(&first[1], b, 4);
        memcpy(&last[0], a + size - 4, 4);
        memcpy(&last[1], b + size - 4, 4);
        return first[0] == first[1] && last[0] == last[1];
    }
    for (; n + 8 <= size; n += 8) {
        memcpy(&left, a + n, 8);
        memcpy(&right, b + n, 8);
        if (left != right) return false;
    }
    memcpy(&left, a + size - 8, 8);
    memcpy(&right, b + size - 8, 8);
    return left == right;
}

/* So many bytes are looked at at once: compilers make one instruction of each step. */
#define LANES 16

static inline bool is_zero(const uint8_t lanes[LANES]) {
    uint64_t halves[2];
    memcpy(halves, lanes, sizeof halves);
    return !(halves[0] | halves[1]);
}

#include "scan_regex.h"
#include "scan_numbers.h"

typedef struct {
    string name;
    enum group_kind kind;
    enum form form; /* of a number */
    enum part part;
    uint32_t number;
    int32_t column; /* among the groups of its kind */
} group;

typedef struct {
    int32_t parser, priority;
    enum role role;
    enum kind kind;
    int32_t literal;
    string jump;
    size_t jump_rare; /* where the jump's rarest byte is: the one that is searched for */
    string texts[3];    /* of its regexes, by part: the whole, a tail or a jump's head; a jump's tail; also */
    regex_code codes[3];
    group *groups;
    int32_t n_groups, n_of_kind[3], n_also;
    int ready; /* whether its regexes are compiled and its groups' numbers known; read and set as an atomic */
} rule;

/* What has to be known of a rule before it is tried, side by side for all rules. */
typedef struct {
    int32_t parser, literal;
    bool metadata, position, by_line;
} turn;

typedef struct {
    string text;
    int32_t *rules;
    int32_t n_rules;
    bool by_line; /* whether some rule of it is a LINE rule */
    int dirty;    /* the reason for cleaning that this literal is */
    size_t window; /* where those of its bytes are that are searched for: four, or one of a shorter literal */
    int32_t next;  /* the next literal that is searched for at the same places; -1 at the last */
} literal;

/* A literal that a line's token may be part of, or not: in its text `size` bytes from `leading` on are the first that are
 * no token's, and the rarest of these is at `rare`. */
typedef struct {
    string text;
    size_t leading, size, rare;
} symbol_literal;

/* The processor's first cache has to hold a bit for each hash of four bytes, and some text. */
#define FOUR_BITS 17
#define BUCKETS 4096 /* of the literals, by a part of the hash */

typedef struct {
    rule *rules;
    turn *turns; /* per rule */
    int32_t n_rules;
    literal *literals;
    symbol_literal *with_symbols;
    int32_t n_literals, n_with_symbols;
    uint8_t fours[(1 << FOUR_BITS) / 8]; /* a bit by the hash of four bytes: a literal's window may be here */
    bool bytes[256]; /* whether a literal of three bytes or less is searched for by a byte */
    int32_t buckets[BUCKETS], short_ones[256]; /* the first literal of each, -1 where there is none */
    struct shapes *store; /* tables of shapes that no scan has at the moment */
    uint8_t *source; /* the text it was read from; literals, regexes and names lie in it */
    pthread_mutex_t lock; /* of the rules that are being compiled, and of the store */
} program;

/* What was wrong with a program: the rule's index, -1 when it is none's, and a sentence. */
typedef struct {
    int32_t rule;
    char message[252];
} pf_fault;

/* How common a byte is in training logs, roughly: only ratios matter, and only for speed. */
static double frequency(uint8_t byte) {
    static const char common[] = " e0t1a.2no:i3rs5l6487d9c,mpu-_/gf[]=hbvxwykjzq";
    const char *found = byte ? strchr(common, byte) : NULL;
    return found ? 0.1 / (double)(found - common + 2) : byte > ' ' && byte < 0x80 ? 0.001 : 0.0002;
}

static size_t rarest(string text) {
    size_t best = 0;
    for (size_t n = 1; n < text.size; n++)
        if (frequency(text.bytes[n]) < frequency(text.bytes[best])) best = n;
    return best;
}

#define WINDOW 4

/* The window of a literal that comes up least, roughly. A word that logs are full of is a bad place for one, however
 * rare its letters are. */
static size_t rarest_window(string text) {
    static const char words[] =
        "[INFO] INFO: WARNING: Epoch: epoch: Train: training train/step: loss: samples/sec images/sec iteration: "
        "batch_size: batch size: batch_cost: reader_cost: time: step_time: speed: learning rate lr: data: eta: "
        "device: model global mean per second ms/step config Namespace( [rank 2023-2024-2025- 00:00:00 0.00000 "
        "torch tensorflow paddle python3/site-packages/ INFO - info -     -----====: [,  loss=, acc=, step=";
    size_t best = 0;
    double least = INFINITY;
    for (size_t at = 0; at + WINDOW <= text.size; at++) {
        char four[WINDOW + 1] = "";
        memcpy(four, text.bytes + at, WINDOW);
        double common = strlen(four) == WINDOW && strstr(words, four) ? 1000 : 1;
        for (size_t n = 0; n < WINDOW; n++) common *= frequency(text.bytes[at + n]);
        if (common < least) best = at;
        if (common < least) least = common;
    }
    return best;
}

static inline uint32_t four_of(const uint8_t *bytes) {
    uint32_t four;
    memcpy(&four, bytes, WINDOW);
    return (four * 0x9E3779B1u) >> (32 - FOUR_BITS);
}

static inline bool may_begin(const program *p, uint32_t four) { return p->fours[four / 8] >> (four % 8) & 1; }

static void build_search(program *p) {
    memset(p->buckets, 0xff, sizeof p->buckets);
    memset(p->short_ones, 0xff, sizeof p->short_ones);
    for (int32_t n = 0; n < p->n_literals; n++) {
        literal *of = &p->literals[n];
        const bool is_short = of->text.size < WINDOW;
        of->window = is_short ? rarest(of->text) : rarest_window(of->text);
        const uint8_t *const at = of->text.bytes + of->window;
        const uint32_t four = is_short ? 0 : four_of(at);
        if (is_short)
            p->bytes[*at] = true;
        else
            p->fours[four / 8] |= (uint8_t)(1 << four % 8);
        int32_t *first = is_short ? &p->short_ones[*at] : &p->buckets[four % BUCKETS];
        of->next = *first;
        *first = n;
    }
}

static void note_symbols_of(program *p, string text);
static void drop_shapes(struct shapes *all);
static struct shapes *next_in_store(struct shapes *of);

EXPORT void pf_drop(program *p) {
    if (!p) return;
    for (int32_t n = 0; p->rules && n < p->n_rules; n++) {
        for (int part = 0; part < 3; part++) free_code(&p->rules[n].codes[part]);
        free(p->rules[n].groups);
    }
    for (int32_t n = 0; p->literals && n < p->n_literals; n++) free(p->literals[n].rules);
    while (p->store) {
        struct shapes *of = p->store;
        p->store = next_in_store(of);
        drop_shapes(of);
    }
    pthread_mutex_destroy(&p->lock);
    free(p->source);
    free(p->rules);
    free(p->turns);
    free(p->literals);
    free(p->with_symbols);
    free(p);
}

/* ------------------------------------------------------------------------------ reading a program's text
 * A program comes as one piece of text, the same that compiled.py's Program.dump writes for the fuzzer:
 *   perflog-scan 1 <rules>\n
 * and per rule
 *   <parser> <priority> <role> <kind> <groups>\n  then literal, regex, jump, jump's tail, also
 * and per group
 *   <kind> <form> <part>\n  then its name
 * where a string is <size>:<bytes>\n. An empty jump or also is none. Rules come in the order of their priority, and
 * those of one parser together.
 */

typedef struct {
    const uint8_t *at, *end;
    bool good;
} reader;

static int64_t read_number(reader *r, uint8_t stop) {
    bool minus = r->at < r->end && *r->at == '-';
    int64_t value = 0;
    int digits = 0;
    r->at += minus;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && digits < 10) {
        value = 10 * value + (*r->at++ - '0');
        digits++;
    }
    if (!digits || r->at >= r->end || *r->at != stop) {
        r->good = false;
        return 0;
    }
    r->at++;
    return minus ? -value : value;
}

static int32_t read_int(reader *r, uint8_t stop, int32_t least, int32_t most) {
    int64_t value = read_number(r, stop);
    if (value < least || value > most) {
        r->good = false;
        return least;
    }
    return (int32_t)value;
}

/* A view into the program's text. */
static string read_string(reader *r) {
    string result = {NULL, 0};
    int64_t size = read_number(r, ':');
    if (!r->good || size < 0 || size >= r->end - r->at || r->at[size] != '\n') {
        r->good = false;
        return result;
    }
    result.bytes = (uint8_t *)(uintptr_t)r->at;
    result.size = (size_t)size;
    r->at += size + 1;
    return result;
}

static bool complain(pf_fault *fault, int32_t rule, const char *message) {
    fault->rule = rule;
    snprintf(fault->message, sizeof fault->message, "%s", message);
    return false;
}

/* The literal's index; a new one where it was not known. */
static int32_t literal_index(program *p, string text) {
    for (int32_t n = 0; n < p->n_literals; n++)
        if (p->literals[n].text.size == text.size && !memcmp(p->literals[n].text.bytes, text.bytes, text.size))
            return n;
    literal *added = &p->literals[p->n_literals];
    memset(added, 0, sizeof *added);
    added->text = text;
    return p->n_literals++;
}

static bool add_rule_to_literal(literal *of, int32_t rule) {
    int32_t *more = resize(of->rules, (size_t)of->n_rules + 1, sizeof *more);
    if (!more) return false;
    of->rules = more;
    of->rules[of->n_rules++] = rule;
    return true;
}

/* Where a text stands first; `rare`: the place of its rarest byte, the one that is searched for. */
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

/* ------------------------------------------------------------------------------ compiling rules */

/* Compile one of a rule's regexes and number its groups. */
static bool compile_regex(program *p, int32_t index, enum part part, group_name *names, pf_fault *fault) {
    rule *of = &p->rules[index];
    size_t where;
    const char *wrong = compile_code(&of->codes[part], of->texts[part], names, &where);
    if (!wrong) return true;
    fault->rule = index;
    snprintf(fault->message, sizeof fault->message, "at character %zu of its regex: %s", where, wrong);
    return false;
}

static uint32_t number_of_name(const regex_code *of, const group_name *names, string name) {
    for (int32_t n = 1; n <= of->n_groups; n++)
        if (names[n].size == name.size && !memcmp(names[n].bytes, name.bytes, name.size)) return (uint32_t)n;
    return 0;
}

static bool compile_rule(program *p, int32_t index, pf_fault *fault) {
    rule *r = &p->rules[index];
    group_name names[3][MOST_GROUPS + 1];
    for (int part = 0; part < 3; part++) {
        const bool given = part == FIRST || (part == SECOND ? r->kind == JUMP : r->texts[ALSO].size > 0);
        if (given && !r->codes[part].code && !compile_regex(p, index, (enum part)part, names[part], fault)) return false;
    }
    for (int32_t n = 0; n < r->n_groups; n++) {
        group *g = &r->groups[n];
        g->number = number_of_name(&r->codes[g->part], names[g->part], g->name);
        if (!g->number && g->part == FIRST && r->kind == JUMP) { /* the caller need not know which half has it */
            g->part = SECOND;
            g->number = number_of_name(&r->codes[SECOND], names[SECOND], g->name);
        }
        if (g->number) continue;
        fault->rule = index;
        snprintf(fault->message, sizeof fault->message, "its regex has no group '%.*s'", (int)(g->name.size > 100 ? 100 : g->name.size), (const char *)g->name.bytes);
        return false;
    }
    return true;
}

/* Who sees that a rule is ready sees all that was written before. */
static inline bool is_ready(const rule *r) { return __atomic_load_n(&r->ready, __ATOMIC_ACQUIRE); }

/* Compile a rule's regexes unless that has been done. The lock keeps two threads from doing it at once. */
static bool make_ready(program *p, int32_t index, pf_fault *fault) {
    rule *r = &p->rules[index];
    pthread_mutex_lock(&p->lock);
    const bool good = r->ready || compile_rule(p, index, fault);
    if (good) __atomic_store_n(&r->ready, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&p->lock);
    return good;
}

static bool read_group(rule *r, int32_t index, reader *from, int32_t number, pf_fault *fault) {
    group *g = &r->groups[index];
    g->kind = (enum group_kind)read_int(from, ' ', NUMBER, UNIT);
    g->form = (enum form)read_int(from, ' ', PLAIN, SCALED);
    g->part = (enum part)read_int(from, '\n', FIRST, ALSO);
    g->name = read_string(from);
    if (!from->good) return complain(fault, number, "not a program's text");
    if (g->part == ALSO && g->kind != NUMBER) return complain(fault, number, "a group of 'also' must be a number");
    if (g->part == ALSO ? !r->texts[ALSO].size : g->part == SECOND && r->kind != JUMP)
        return complain(fault, number, "a group of a regex that is not given");
    g->column = r->n_of_kind[g->kind]++;
    r->n_also += g->part == ALSO;
    return true;
}

static bool read_rule(program *p, reader *from, int32_t number, pf_fault *fault) {
    rule *r = &p->rules[number];
    r->parser = read_int(from, ' ', 0, INT32_MAX);
    r->priority = read_int(from, ' ', INT32_MIN, INT32_MAX);
    r->role = (enum role)read_int(from, ' ', METADATA, POSITION);
    r->kind = (enum kind)read_int(from, ' ', TAIL, LINE);
    r->n_groups = read_int(from, '\n', 0, 1000);
    const string text = read_string(from);
    r->texts[FIRST] = read_string(from);
    r->jump = read_string(from);
    r->texts[SECOND] = read_string(from);
    r->texts[ALSO] = read_string(from);
    if (!from->good) return complain(fault, number, "not a program's text");
    if (!text.size || text.size > 10000) return complain(fault, number, "its literal must have 1 to 10000 bytes");
    if (memchr(text.bytes, '\n', text.size) || memchr(text.bytes, '\r', text.size))
        return complain(fault, number, "its literal holds a line's end");
    if (r->kind == JUMP && !r->jump.size) return complain(fault, number, "a jump needs a literal to jump to");
    if (number && r->priority > p->rules[number - 1].priority)
        return complain(fault, number, "its priority is higher than that of the rule before it");
    r->groups = zeroed((size_t)r->n_groups, sizeof *r->groups);
    r->literal = literal_index(p, text);
    if (!r->groups || !add_rule_to_literal(&p->literals[r->literal], number))
        return complain(fault, number, OUT_OF_MEMORY);
    p->literals[r->literal].by_line |= r->kind == LINE;
    p->turns[number] = (turn){r->parser, r->literal, r->role == METADATA, r->role == POSITION, r->kind == LINE};
    if (r->kind == JUMP) r->jump_rare = rarest(r->jump);
    for (int32_t n = 0; n < r->n_groups; n++)
        if (!read_group(r, n, from, number, fault)) return false;
    return true;
}

/* Why a text needs cleaning, and what else there is to say of it. */
enum {
    DIRTY_NUL = 1,
    DIRTY_ESCAPE = 2,
    DIRTY_BACKSPACE = 4,
    DIRTY_TAG = 8,
    DIRTY_REPEATED = 16,
    DIRTY_UTF8 = 32,
    CUT = 256,
    NO_LINE_END = 512,
};

/* Pieces of a launcher's tag and of what Ray adds to lines; U+FFFD, which stands where a character was lost. */
static const char TAG[] = "]<std", REPEATED[] = "x across cluster]", LOST[] = "\xef\xbf\xbd";

static bool read_program(program *p, reader *from, pf_fault *fault) {
    static const struct {
        const char *text;
        int dirty;
    } marks[] = {{TAG, DIRTY_TAG}, {REPEATED, DIRTY_REPEATED}};
    static const char header[] = "perflog-scan 1 ";
    size_t size = sizeof header - 1;
    if ((size_t)(from->end - from->at) < size || memcmp(from->at, header, size))
        return complain(fault, -1, "not a program's text");
    from->at += size;
    int32_t n_rules = read_int(from, '\n', 0, 1000000);
    if (!from->good) return complain(fault, -1, "not a program's text");
    p->rules = zeroed((size_t)n_rules, sizeof *p->rules);
    p->literals = zeroed((size_t)n_rules + 2, sizeof *p->literals);
    p->turns = zeroed((size_t)n_rules, sizeof *p->turns);
    p->with_symbols = zeroed((size_t)n_rules + 2, sizeof *p->with_symbols);
    if (!p->rules || !p->literals || !p->turns || !p->with_symbols) return complain(fault, -1, OUT_OF_MEMORY);
    bool good = true;
    while (good && p->n_rules < n_rules) good = read_rule(p, from, p->n_rules++, fault);
    for (size_t n = 0; good && n < sizeof marks / sizeof *marks; n++) {
        int32_t index = literal_index(p, (string){(uint8_t *)(uintptr_t)marks[n].text, strlen(marks[n].text)});
        p->literals[index].dirty = marks[n].dirty;
    }
    if (good) build_search(p);
    for (int32_t n = 0; good && n < p->n_literals; n++) note_symbols_of(p, p->literals[n].text);
    return good;
}

/* Make a program; NULL when it cannot be made, and `fault` says why. `check`: compile all regexes at once; without it,
 * a scan is what fails at a regex that cannot be compiled. */
EXPORT program *pf_compile(const uint8_t *text, size_t size, int check, pf_fault *fault) {
    fault->rule = -1;
    fault->message[0] = 0;
    program *p = zeroed(1, sizeof *p);
    if (!p || pthread_mutex_init(&p->lock, NULL)) {
        free(p);
        complain(fault, -1, OUT_OF_MEMORY);
        return NULL;
    }
    p->source = resize(NULL, size, 1);
    bool good = p->source != NULL || complain(fault, -1, OUT_OF_MEMORY);
    if (good) {
        if (size) memcpy(p->source, text, size);
        reader from = {p->source, p->source + size, true};
        good = read_program(p, &from, fault);
    }
    for (int32_t n = 0; good && check && n < p->n_rules; n++) good = make_ready(p, n, fault);
    if (good) return p;
    pf_drop(p);
    return NULL;
}

/* ---------------------------------------------------------------------------------------------- UTF-8 */

/* Check characters from `at` until one ends at or after `to`. Returns that end; NULL where the text is not UTF-8.
 * The second byte's range is what keeps out overlong forms, surrogates and what is beyond U+10FFFF (RFC 3629). */
static const uint8_t *check_utf8(const uint8_t *at, const uint8_t *to, const uint8_t *end) {
    while (at < to) {
        uint64_t eight;
        while (end - at >= 8 && (memcpy(&eight, at, 8), !(eight & 0x8080808080808080ull))) {
            at += 8;
            if (at >= to) return at;
        }
        uint8_t lead = *at;
        if (lead < 0x80) {
            at++;
            continue;
        }
        int more = lead >= 0xc2 && lead <= 0xdf ? 1 : (lead & 0xf0) == 0xe0 ? 2 : lead >= 0xf0 && lead <= 0xf4 ? 3 : 0;
        if (!more || end - at <= more) return NULL;
        uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (at[1] < least || at[1] > most) return NULL;
        for (int n = 2; n <= more; n++)
            if ((at[n] & 0xc0) != 0x80) return NULL;
        at += more + 1;
    }
    return at;
}

EXPORT int pf_is_utf8(const uint8_t *at, size_t size) { return !size || check_utf8(at, at + size, at + size) != NULL; }

/* ---------------------------------------------------------------------------------------------- results */

/* One string per row, each followed by a line feed, which no capture can hold. */
typedef struct {
    uint8_t *bytes;
    size_t size, cap;
} strings;

/* The distinct strings of a unit group in each text: entry n is of text[n] and begins at start[n].
 * `slots` is a hash table of the present text's entries; a slot that names another text's entry is free. */
typedef struct {
    strings all;
    int32_t *text;
    int64_t *start;
    int64_t n, cap, last;
    int32_t *slots;
    int64_t n_slots, n_here;
    int32_t here;
} units;

typedef struct {
    int64_t n, cap;
    int32_t *text;
    int64_t *line, *offset, *rank;
    double **numbers;
    strings *texts;
    units *units;
    int32_t *candidate_text;
    int64_t *candidate_count;
    int64_t n_candidates, cap_candidates;
    int64_t before;       /* rows there were before the last sub-line that it matched in */
    int32_t n_of_kind[3]; /* columns there are; the program may be gone when a result is given back */
    bool ranked;
} rows;

typedef struct {
    int32_t error, rule;
    int64_t text, line;
    char message[232];
    int64_t n_texts;
    int64_t *line_feeds;
    int32_t *flags;
    int64_t n_directory;
    int64_t *directory;
    /* the work: bytes searched for literals, occurrences of literals, threads of regexes moved by a character */
    int64_t searched, occurrences, steps;
    /* what follows is not for the caller */
    int32_t n_rules;
    const program *of;
    rows *rows;
} pf_result;

enum { NO_MEMORY = 1, MATCH_FAILED = 2, NOT_UTF8 = 3, BAD_CALL = 4, BAD_RULE = 5 };

EXPORT void pf_free(pf_result *result) {
    if (!result) return;
    for (int32_t n = 0; result->rows && n < result->n_rules; n++) {
        rows *r = &result->rows[n];
        free(r->text);
        free(r->line);
        free(r->offset);
        free(r->rank);
        for (int32_t g = 0; r->numbers && g < r->n_of_kind[NUMBER]; g++) free(r->numbers[g]);
        for (int32_t g = 0; r->texts && g < r->n_of_kind[TEXT]; g++) free(r->texts[g].bytes);
        for (int32_t g = 0; r->units && g < r->n_of_kind[UNIT]; g++) {
            free(r->units[g].all.bytes);
            free(r->units[g].text);
            free(r->units[g].start);
            free(r->units[g].slots);
        }
        free(r->numbers);
        free(r->texts);
        free(r->units);
        free(r->candidate_text);
        free(r->candidate_count);
    }
    free(result->rows);
    free(result->line_feeds);
    free(result->flags);
    free(result->directory);
    free(result);
}

/* `part`: how much of the batch has been scanned. What is likely to come has room at once, so that little is copied;
 * memory that is not written to costs nothing. */
static bool more_rows(rows *r, const rule *of, double part) {
    int32_t n_numbers = of->n_of_kind[NUMBER];
    if (!r->numbers) {
        r->numbers = zeroed((size_t)n_numbers, sizeof *r->numbers);
        r->texts = zeroed((size_t)of->n_of_kind[TEXT], sizeof *r->texts);
        r->units = zeroed((size_t)of->n_of_kind[UNIT], sizeof *r->units);
        if (!r->numbers || !r->texts || !r->units) return false;
        memcpy(r->n_of_kind, of->n_of_kind, sizeof r->n_of_kind);
    }
    int64_t cap = r->cap ? 2 * r->cap : 64;
    const double likely = 1.1 * (double)r->n / part, most = 64.0 * (double)r->cap;
    if (r->n >= 512 && likely > (double)cap) cap = (int64_t)(likely < most ? likely : most);
    bool good = grow(&r->text, cap, sizeof *r->text) && grow(&r->line, cap, sizeof *r->line);
    good = good && grow(&r->offset, cap, sizeof *r->offset) && grow(&r->rank, cap, sizeof *r->rank);
    for (int32_t n = 0; good && n < n_numbers; n++) good = grow(&r->numbers[n], cap, sizeof **r->numbers);
    if (good) r->cap = cap;
    return good;
}

static bool append(strings *to, const void *bytes, size_t size) {
    if (UNLIKELY(to->cap - to->size <= size)) {
        size_t cap = to->cap * 2 + size + 64;
        uint8_t *more = resize(to->bytes, cap, 1);
        if (!more) return false;
        to->bytes = more;
        to->cap = cap;
    }
    if (size) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return true;
}

static bool add_string(strings *to, const uint8_t *bytes, size_t size) {
    if (!append(to, bytes, size)) return false;
    to->bytes[to->size++] = '\n'; /* there is room for one byte more */
    return true;
}

static void remove_strings(strings *from, int64_t count) {
    while (count--) {
        from->size--;
        while (from->size && from->bytes[from->size - 1] != '\n') from->size--;
    }
}

static void truncate_rows(rows *r, const rule *of, int64_t n) {
    if (r->n == n) return;
    for (int32_t g = 0; g < of->n_of_kind[TEXT]; g++) remove_strings(&r->texts[g], r->n - n);
    r->n = n;
}

static bool same_unit(const units *u, int64_t entry, const uint8_t *bytes, size_t size) {
    int64_t end = entry + 1 < u->n ? u->start[entry + 1] : (int64_t)u->all.size;
    return end - u->start[entry] - 1 == (int64_t)size &&
           (!size || !memcmp(u->all.bytes + u->start[entry], bytes, size));
}

/* Where the hash table has this string of this text, or would have it. */
static int64_t unit_slot(const units *u, int32_t text, const uint8_t *bytes, size_t size) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t n = 0; n < size; n++) hash = (hash ^ bytes[n]) * 0x100000001b3ull;
    int64_t at = (int64_t)((hash ^ (hash >> 29)) & (uint64_t)(u->n_slots - 1));
    for (;; at = (at + 1) & (u->n_slots - 1)) {
        int32_t entry = u->slots[at];
        if (entry < 0 || entry >= u->n || u->text[entry] != text || same_unit(u, entry, bytes, size)) return at;
    }
}

static bool rehash_units(units *u, int32_t text) {
    int64_t slots = u->n_slots ? 2 * u->n_slots : 16;
    if (!grow(&u->slots, slots, sizeof *u->slots)) return false;
    u->n_slots = slots;
    memset(u->slots, 0xff, (size_t)slots * sizeof *u->slots);
    for (int64_t n = u->n - u->n_here; n < u->n; n++) {
        int64_t end = n + 1 < u->n ? u->start[n + 1] : (int64_t)u->all.size;
        u->slots[unit_slot(u, text, u->all.bytes + u->start[n], (size_t)(end - u->start[n] - 1))] = (int32_t)n;
    }
    return true;
}

static bool add_unit(units *u, int32_t text, const uint8_t *bytes, size_t size) {
    if (u->n_here && u->here == text && same_unit(u, u->last, bytes, size)) return true; /* nearly always */
    if (u->here != text) u->n_here = 0;
    u->here = text;
    if (2 * (u->n_here + 1) > u->n_slots && !rehash_units(u, text)) return false;
    int64_t slot = unit_slot(u, text, bytes, size);
    int32_t entry = u->slots[slot];
    if (entry >= 0 && entry < u->n && u->text[entry] == text) {
        u->last = entry;
        return true;
    }
    if (u->n == u->cap) {
        int64_t cap = u->cap ? 2 * u->cap : 16;
        if (cap > INT32_MAX || !grow(&u->text, cap, sizeof *u->text) || !grow(&u->start, cap, sizeof *u->start))
            return false;
        u->cap = cap;
    }
    int64_t start = (int64_t)u->all.size;
    if (!add_string(&u->all, bytes, size)) return false;
    u->text[u->n] = text;
    u->start[u->n] = start;
    u->slots[slot] = (int32_t)u->n;
    u->last = u->n++;
    u->n_here++;
    return true;
}

static void remove_units(units *u, int32_t text) {
    while (u->n && u->text[u->n - 1] == text) u->all.size = (size_t)u->start[--u->n];
    if (u->n_slots) memset(u->slots, 0xff, (size_t)u->n_slots * sizeof *u->slots);
    u->n_here = 0;
}

static bool add_candidates(rows *r, int32_t text, int64_t count) {
    if (r->n_candidates == r->cap_candidates) {
        int64_t cap = r->cap_candidates ? 2 * r->cap_candidates : 4;
        if (!grow(&r->candidate_text, cap, sizeof *r->candidate_text) ||
            !grow(&r->candidate_count, cap, sizeof *r->candidate_count))
            return false;
        r->cap_candidates = cap;
    }
    r->candidate_text[r->n_candidates] = text;
    r->candidate_count[r->n_candidates++] = count;
    return true;
}

#include "scan_clean.h"

/* ---------------------------------------------------------------------------------------------- ranks */

/* The digits from `at` as a number; -1 when there are none or too many. `*end` is set behind them. */
static int64_t digits_of(const uint8_t *at, const uint8_t *limit, const uint8_t **end) {
    int64_t value = 0;
    const uint8_t *from = at;
    for (; at < limit && is_digit(*at); at++)
        if (at - from < 18) value = 10 * value + (*at - '0');
    *end = at;
    return at == from || at - from > 18 ? -1 : value;
}

/* Ray's "(name pid=N, ip=A) ": nothing in brackets within, the first pid= that the rest fits. */
static int64_t ray_rank(const uint8_t *at, const uint8_t *limit) {
    for (const uint8_t *here = at + 1; here < limit && *here != '(' && *here != ')'; here++) {
        if (*here != 'p' || is_word_byte(here[-1]) || !follows(here, limit, "pid=")) continue;
        const uint8_t *end, *behind;
        int64_t rank = digits_of(here + 4, limit, &end);
        if (end == here + 4) continue;
        if (end < limit && *end == ')') return rank;
        if (!follows(end, limit, ", ip=")) continue;
        behind = end += 5;
        while (end < limit && (is_digit(*end) || *end == '.')) end++;
        if (end > behind && end < limit && *end == ')') return rank;
    }
    return -1;
}

/* The rank in the launcher's tag at the start of a sub-line; -1 where there is none. */
static int64_t rank_of(const uint8_t *at, const uint8_t *limit) {
    if (at >= limit || (*at != '[' && *at != '(')) return -1;
    if (limit - at > 128) limit = at + 128;
    const uint8_t *end;
    if (*at == '(') return ray_rank(at, limit);
    if (limit - at < 4 || (at[1] != '1' && at[1] != 'r' && at[1] != 'd')) return -1; /* nearly always: a date */
    bool mpi = follows(at, limit, "[1,");
    if (!mpi && !follows(at, limit, "[rank") && !follows(at, limit, "[default")) return -1;
    int64_t rank = digits_of(at + (mpi ? 3 : at[1] == 'r' ? 5 : 8), limit, &end);
    return follows(end, limit, mpi ? "]<stdout>:" : "]:") ? rank : -1;
}

/* ---------------------------------------------------------------------------------------------- scanning */

#define ALSO_ROWS 64

/* The parser that took an occurrence of a literal, where none has. */
#define NOBODY (-1)

typedef struct {
    int64_t at; /* of the literal's first byte in its text */
    int32_t literal;
    int32_t next;  /* the literal's next occurrence in the sub-line; -1 at the last */
    int32_t taker; /* the parser that took it, NOBODY while none has */
} hit;

/* Where a literal was seen last. */
typedef struct {
    int64_t stamp;                  /* the sub-line */
    int32_t first, last;            /* its occurrences there */
    int32_t open;                   /* how many of them no rule has taken */
    int64_t occurrences, sub_lines; /* in the present text; sub-lines are those that hold it */
} presence;

typedef struct {
    int64_t start, end, line;
    bool cut; /* its last number may go on, so that nothing of it is kept */
} sub_line;

typedef struct {
    rows *of;
    int32_t column;
    const uint8_t *bytes;
    size_t size;
} unit_capture;

#include "scan_shapes.h"

typedef struct {
    program *p;
    pf_result *result;
    rows *rows;
    const uint8_t *buffer_end;
    matcher matcher;
    int32_t *caught[3]; /* by part of a rule: where its groups were, in the present sub-line */
    int32_t cap_caught;
    scratch buffers[2];
    hit *hits;
    size_t n_hits, cap_hits;
    presence *present; /* per literal */
    int32_t *in_text;  /* the literals that are in the present text */
    int32_t n_in_text;
    uint64_t *pending; /* a bit per rule: its literal is in the present sub-line, and it has not had its turn */
    int32_t first_pending, last_pending; /* no other words of it have bits */
    shapes *known; /* shapes of lines */
    draft *draft;  /* what is noted of the present line; NULL where nothing is */
    draft *room;
    int32_t *touched;  /* the rules that matched in the present sub-line */
    int32_t n_touched;
    unit_capture *unit_captures;
    size_t n_unit_captures, cap_unit_captures;
    int64_t stamp; /* of the present sub-line */
    int64_t rank, rank_stamp;
    bool cleaned;
    /* the present text */
    int32_t text;
    const uint8_t *base;
    int64_t origin; /* where it begins in the buffer */
    int64_t size;
    int32_t dirty;
    int64_t from, line; /* where the present sub-line begins, and its line */
} scan;

static bool fail(scan *s, int32_t error, int32_t rule, int64_t line, const char *message) {
    s->result->error = error;
    s->result->rule = rule;
    s->result->text = s->text;
    s->result->line = line;
    snprintf(s->result->message, sizeof s->result->message, "%s", message);
    return false;
}

static bool no_memory(scan *s) { return fail(s, NO_MEMORY, -1, -1, OUT_OF_MEMORY); }

/* Match one of a rule's regexes. 1 matched, 0 not, -1 no memory. */
static int run_regex(scan *s, int32_t index, enum part part, int64_t from, int64_t to, const sub_line *in) {
    const rule *of = &s->p->rules[index];
    const regex_code *code = &of->codes[part];
    if (UNLIKELY(!fit_matcher(&s->matcher, code))) return -1;
    if (UNLIKELY(s->matcher.caps_room > s->cap_caught)) {
        for (int n = 0; n < 3; n++)
            if (!grow(&s->caught[n], s->matcher.caps_room, sizeof *s->caught[n])) return -1;
        s->cap_caught = s->matcher.caps_room;
    }
    const bool search = part == ALSO || (part == FIRST && of->kind == LINE);
    understanding *line_of = s->draft ? &s->draft->of : NULL;
    const bool found = match_code(&s->matcher, code, line_of, s->base + in->start, (int32_t)(from - in->start),
                                  (int32_t)(to - in->start), search);
    if (found) memcpy(s->caught[part], s->matcher.found, (size_t)s->matcher.n_caps * sizeof *s->matcher.found);
    return found;
}

static bool keep_unit(scan *s, rows *of, int32_t column, const uint8_t *bytes, size_t size) {
    if (s->n_unit_captures == s->cap_unit_captures) {
        size_t cap = s->cap_unit_captures ? 2 * s->cap_unit_captures : 16;
        if (!grow(&s->unit_captures, (int64_t)cap, sizeof *s->unit_captures)) return false;
        s->cap_unit_captures = cap;
    }
    s->unit_captures[s->n_unit_captures++] = (unit_capture){of, column, bytes, size};
    return true;
}

/* Keep a group's capture in the rule's next row; `bytes` is NULL where it took no part. False: no memory. */
static inline bool put_capture(scan *s, rows *r, const group *g, const uint8_t *bytes, size_t size) {
    if (g->kind == NUMBER) {
        double *value = &r->numbers[g->column][r->n];
        if (bytes) return number_in(g->form, bytes, size, s->buffers, value);
        *value = (double)NAN;
        return true;
    }
    if (g->kind == UNIT) return !bytes || keep_unit(s, r, g->column, bytes, size);
    return bytes ? add_string(&r->texts[g->column], bytes, size)
                 : add_string(&r->texts[g->column], (const uint8_t *)"", 1);
}

/* Make room for the rule's next row, and know the sub-line's rank. False: no memory. */
static inline bool begin_row(scan *s, int32_t index, const sub_line *in) {
    rows *r = &s->rows[index];
    if (UNLIKELY(r->n == r->cap)) {
        const double part = (double)(s->origin + in->end) / (double)(s->origin + (s->buffer_end - s->base));
        if (!more_rows(r, &s->p->rules[index], part)) return false;
    }
    if (s->rank_stamp != s->stamp) {
        s->rank_stamp = s->stamp;
        s->rank = rank_of(s->base + in->start, s->base + in->end);
    }
    return true;
}

static inline void end_row(scan *s, int32_t index, int64_t offset, const sub_line *in) {
    rows *r = &s->rows[index];
    r->text[r->n] = s->text;
    r->line[r->n] = in->line;
    r->offset[r->n] = offset;
    r->rank[r->n] = s->rank;
    r->ranked |= s->rank >= 0;
    r->n++;
}

/* Add what has just matched to the rule's rows. `also`: whether its second regex matched, too. */
static bool add_row(scan *s, int32_t index, int64_t offset, const sub_line *in, bool also) {
    const rule *of = &s->p->rules[index];
    if (!begin_row(s, index, in)) return false;
    for (int32_t k = 0; k < of->n_groups; k++) {
        const group *g = &of->groups[k];
        const int32_t *place = s->caught[g->part] + 2 * g->number;
        const bool took_part = (g->part != ALSO || also) && place[0] >= 0 && place[1] >= 0;
        const uint8_t *bytes = took_part ? s->base + in->start + place[0] : NULL;
        if (!put_capture(s, &s->rows[index], g, bytes, took_part ? (size_t)(place[1] - place[0]) : 0)) return false;
        if (s->draft) note_capture(s->draft, took_part ? place[0] : -1, place[1], g->kind == NUMBER && g->form == PLAIN);
    }
    if (s->draft) note_row(s->draft, index, of->kind == LINE ? -1 : (int32_t)(offset - in->start), of->n_groups);
    end_row(s, index, offset, in);
    return true;
}

/* Try a rule at one place, and keep what matches. 1 matched, 0 not, -1 the scan has failed. */
static int try_rule(scan *s, int32_t index, int64_t offset, int64_t from, int64_t to, const sub_line *in) {
    const rule *of = &s->p->rules[index];
    int found = run_regex(s, index, FIRST, from, to, in);
    if (of->kind == JUMP && found > 0) {
        if (s->draft && has_symbol(of->jump)) s->draft->of.refused = true;
        const uint8_t *there = find_text(of->jump.bytes, of->jump.size, of->jump_rare, s->base + from, s->base + to);
        if (!there) return 0;
        found = run_regex(s, index, SECOND, there - s->base + (int64_t)of->jump.size, to, in);
    }
    if (found > 0 && !in->cut) {
        const int also = of->n_also ? run_regex(s, index, ALSO, from, to, in) : 0;
        if (also < 0 || !add_row(s, index, offset, in, also)) found = -1;
    }
    if (found < 0) no_memory(s);
    return found;
}

/* Not inlined: a fault takes room, and this happens once a rule. */
static __attribute__((noinline)) bool prepare_rule(scan *s, int32_t index, int64_t line) {
    pf_fault fault = {-1, ""};
    return make_ready(s->p, index, &fault) || fail(s, BAD_RULE, index, line, fault.message);
}

/* A rule's turn in a sub-line. 1 matched, 0 not, -1 the scan has failed. A rule that stands
 * beside what others say there takes no occurrence of its literal away, and finds those that they took; a position finds
 * none that its own parser took. */
static int take_turn(scan *s, int32_t index, hit *hits, const sub_line *in, bool beside) {
    const rule *of = &s->p->rules[index];
    if (UNLIKELY(!is_ready(of)) && !prepare_rule(s, index, in->line)) return -1;
    if (of->kind == LINE) return try_rule(s, index, in->start, in->start, in->end, in);
    const int64_t literal_size = (int64_t)s->p->literals[of->literal].text.size;
    const bool is_position = s->p->turns[index].position;
    int matched = 0;
    for (int32_t n = s->present[of->literal].first; n >= 0; n = hits[n].next) {
        if (hits[n].taker != NOBODY && (!beside || (is_position && hits[n].taker == of->parser))) continue;
        const int64_t until = hits[n].next < 0 ? in->end : hits[hits[n].next].at;
        int found = try_rule(s, index, hits[n].at, hits[n].at + literal_size, until, in);
        if (found < 0) return -1;
        if (!found) continue;
        matched = 1;
        if (hits[n].taker != NOBODY || (beside && !is_position)) continue;
        hits[n].taker = of->parser;
        s->present[of->literal].open--;
    }
    return matched;
}

/* Sort the literals of a sub-line by place. They come in the order of their windows, so nearly sorted. */
static void sort_hits(hit *hits, size_t n_hits) {
    for (size_t n = 1; n < n_hits; n++) {
        hit moving = hits[n];
        size_t to = n;
        for (; to && hits[to - 1].at > moving.at; to--) hits[to] = hits[to - 1];
        hits[to] = moving;
    }
}

static void note_rules(scan *s, const literal *of) {
    for (int32_t k = 0; k < of->n_rules; k++) s->pending[of->rules[k] / 64] |= 1ull << (of->rules[k] % 64);
    const int32_t first = of->rules[0] / 64, last = of->rules[of->n_rules - 1] / 64;
    if (first < s->first_pending) s->first_pending = first;
    if (last > s->last_pending) s->last_pending = last;
}

/* Chain each literal's occurrences, those that overlap the one before left out, and note whose turn it is to be. */
static void note_hits(scan *s, hit *hits, size_t n_hits) {
    s->first_pending = s->p->n_rules / 64;
    s->last_pending = 0;
    for (size_t n = 0; n < n_hits; n++) {
        const literal *of = &s->p->literals[hits[n].literal];
        presence *seen = &s->present[hits[n].literal];
        if (seen->stamp == s->stamp) {
            if (hits[n].at < hits[seen->last].at + (int64_t)of->text.size) continue;
            hits[seen->last].next = (int32_t)n;
        } else {
            seen->stamp = s->stamp;
            seen->first = (int32_t)n;
            seen->open = 0;
            seen->sub_lines++;
            if (!seen->occurrences) s->in_text[s->n_in_text++] = hits[n].literal;
            note_rules(s, of);
        }
        seen->occurrences++;
        seen->open++;
        seen->last = (int32_t)n;
    }
}

/* Give a rule whose literal is there its turn. False when the scan has failed; else `*owner` is
 * the parser that owns the sub-line, or -1, and `*ignores` that it ignores it. */
static inline bool give_turn(scan *s, int32_t index, hit *hits, const sub_line *in, int32_t *owner, bool *ignores) {
    const turn *of = &s->p->turns[index];
    const bool others = *owner >= 0 && of->parser != *owner;
    const bool beside = of->metadata || (of->position && others);
    if (!beside && others) return true;
    if (!beside && !of->by_line && !s->present[of->literal].open) return true;
    const int64_t before = s->rows[index].n;
    const int matched = take_turn(s, index, hits, in, beside);
    if (matched < 0) return false;
    if (!matched) return true;
    s->rows[index].before = before;
    s->touched[s->n_touched++] = index;
    if (beside) return true;
    *owner = of->parser;
    *ignores |= s->p->rules[index].role == IGNORE;
    return true;
}

/* Give the rules whose literals are there their turns, in their order. */
static bool take_turns(scan *s, hit *hits, const sub_line *in, int32_t *owner, bool *ignores) {
    for (int32_t word = s->first_pending; word <= s->last_pending; word++) {
        uint64_t bits = s->pending[word];
        s->pending[word] = 0;
        for (; bits; bits &= bits - 1)
            if (!give_turn(s, 64 * word + __builtin_ctzll(bits), hits, in, owner, ignores)) return false;
    }
    return true;
}

/* Drop what the owner ignores; keep the units of what stays. */
static bool settle(scan *s, int32_t owner, bool ignores) {
    for (int32_t n = 0; ignores && n < s->n_touched; n++) {
        const rule *r = &s->p->rules[s->touched[n]];
        rows *of = &s->rows[s->touched[n]];
        if (r->role >= OTHER && r->parser == owner) truncate_rows(of, r, of->before);
    }
    for (size_t n = 0; n < s->n_unit_captures; n++) {
        const unit_capture *u = &s->unit_captures[n];
        if (u->of->n > u->of->before && !add_unit(&u->of->units[u->column], s->text, u->bytes, u->size))
            return no_memory(s);
    }
    return true;
}

/* Note in the draft how often each literal of the sub-line counts, and drop the rows that its owner ignores. */
static void note_literals(scan *s, const hit *hits, size_t n_hits, int32_t owner, bool ignores) {
    for (size_t n = 0; n < n_hits; n++) {
        const presence *seen = &s->present[hits[n].literal];
        if (seen->first != (int32_t)n) continue;
        int32_t count = 0;
        for (int32_t k = seen->first; k >= 0; k = hits[k].next) count++;
        note_literal(s->draft, hits[n].literal, count);
    }
    int32_t kept = 0;
    for (int32_t n = 0; n < s->draft->n_rows; n++) {
        const rule *r = &s->p->rules[s->draft->rows[n].rule];
        if (!ignores || r->role < OTHER || r->parser != owner) s->draft->rows[kept++] = s->draft->rows[n];
    }
    s->draft->n_rows = kept;
}

/* All literals of a sub-line: their rules' regexes, and who owns the sub-line. */
static bool match_hits(scan *s, hit *hits, size_t n_hits, sub_line in) {
    int32_t owner = -1;
    bool ignores = false;
    s->stamp++;
    s->n_touched = 0;
    s->n_unit_captures = 0;
    sort_hits(hits, n_hits);
    note_hits(s, hits, n_hits);
    if (!take_turns(s, hits, &in, &owner, &ignores)) {
        memset(s->pending, 0, (size_t)(s->p->n_rules + 63) / 64 * sizeof *s->pending);
        return false;
    }
    if (s->draft) note_literals(s, hits, n_hits, owner, ignores);
    if (in.cut && s->n_touched) s->result->flags[s->text] |= CUT;
    return in.cut || !s->n_touched || settle(s, owner, ignores);
}

/* ------------------------------------------------------------------------------------ lines of a known shape */

/* Count the literals of the lines that were of a variant. */
static void count_use(scan *s, variant *of) {
    for (int32_t n = 0; of->uses && n < of->n_literals; n++) {
        presence *seen = &s->present[of->literals[n].literal];
        if (!seen->occurrences) s->in_text[s->n_in_text++] = of->literals[n].literal;
        seen->occurrences += of->uses * of->literals[n].count;
        seen->sub_lines += of->uses;
    }
    of->uses = 0;
    of->listed = false;
}

static void count_uses(scan *s) {
    while (s->known->n_used) count_use(s, s->known->used[--s->known->n_used]);
}

/* Nothing of a text whose literals are not counted yet counts. */
static void forget_uses(shapes *all) {
    while (all->n_used) {
        variant *of = all->used[--all->n_used];
        of->uses = 0;
        of->listed = false;
    }
}

/* So many digits are read at once. */
#define MOST_DIGITS 8
/* So many decimal digits a double holds, whatever they are, and so does a power of ten that they are divided by. */
#define EXACT_DIGITS 15
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define READS_DIGITS_AT_ONCE true
#else
#define READS_DIGITS_AT_ONCE false
#endif

/* The number that 1 to 8 digits print, of which eight bytes can be read: added up in pairs, fours and all. */
static inline uint64_t value_of_digits(const uint8_t *at, int32_t count) {
    uint64_t digits;
    memcpy(&digits, at, 8);
    digits = (digits << (8 * (8 - count))) & 0x0f0f0f0f0f0f0f0full;
    digits = 10 * digits + (digits >> 8);
    return (((digits & 0x000000ff000000ffull) * 0x000f424000000064ull +
             ((digits >> 16) & 0x000000ff000000ffull) * 0x0000271000000001ull) >> 32) & 0xffffffffull;
}

/* Keep a capture of a line of a known shape. `reads_on`: whether MOST_DIGITS bytes behind the line may be read. False: no
 * memory. */
static inline bool put_span(scan *s, rows *r, const group *g, const span *of, const uint8_t *line, bool reads_on) {
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const int32_t *const edges = s->known->edges;
    if (READS_DIGITS_AT_ONCE && of->whole && reads_on) {
        const int32_t *const at = edges + of->whole;
        const int32_t n_whole = at[1] - at[0], n_decimals = of->has_decimals ? at[3] - at[2] : 0;
        if (LIKELY(n_whole <= MOST_DIGITS && n_decimals <= MOST_DIGITS && n_whole + n_decimals <= EXACT_DIGITS)) {
            const uint64_t whole = value_of_digits(line + at[0], n_whole);
            r->numbers[g->column][r->n] =
                n_decimals ? (double)(whole * tens[n_decimals] + value_of_digits(line + at[2], n_decimals)) / TENS[n_decimals]
                           : (double)whole;
            return true;
        }
    }
    if (of->start.edge < 0) return put_capture(s, r, g, NULL, 0);
    const int32_t start = edges[of->start.edge] + of->start.delta, end = edges[of->end.edge] + of->end.delta;
    return put_capture(s, r, g, line + start, (size_t)(end - start));
}

/* Keep what a line of a variant holds, whose edges are known. */
static bool use_variant(scan *s, variant *of, const sub_line *in) {
    const uint8_t *const line = s->base + in->start;
    shapes *known = s->known;
    if (!of->listed) {
        if (known->n_used == known->cap_used) {
            const int64_t cap = known->cap_used ? 2 * known->cap_used : 64;
            if (!grow(&known->used, cap, sizeof *known->used)) return no_memory(s);
            known->cap_used = cap;
        }
        of->listed = true;
        known->used[known->n_used++] = of;
    }
    of->uses++;
    if (!of->n_rows) return true;
    s->stamp++;
    s->n_unit_captures = 0;
    const bool reads_on = s->buffer_end - s->base - in->end >= MOST_DIGITS;
    for (int32_t n = 0; n < of->n_rows; n++) {
        const int32_t index = of->rows[n].rule;
        const rule *rule_of = &s->p->rules[index];
        const span *captured = of->captures + of->rows[n].captures;
        rows *r = &s->rows[index];
        if (!begin_row(s, index, in)) return no_memory(s);
        if (!n || of->rows[n - 1].rule != index) r->before = r->n;
        for (int32_t k = 0; k < rule_of->n_groups; k++)
            if (!put_span(s, r, &rule_of->groups[k], &captured[k], line, reads_on)) return no_memory(s);
        end_row(s, index, in->start + known->edges[of->rows[n].at.edge] + of->rows[n].at.delta, in);
    }
    return !s->n_unit_captures || settle(s, -1, false);
}

/* The variant that a line is of, and its edges; NULL where it is of none. `room`: its tokens are left there. */
static variant *recognise(scan *s, const uint8_t *line, int32_t size) {
    shapes *known = s->known;
    draft *to = s->room;
    if (!find_tokens(&to->of, line, size)) return NULL;
    to->size = size;
    to->hash = hash_text(&to->of, size, s->cleaned);
    shape *of = known_shape(known, &to->of, size, to->hash);
    if (!of) return NULL;
    for (int32_t n = 0; n < to->of.n_tokens; n++) {
        known->own_edges[1 + 2 * n] = to->of.tokens[n].start;
        known->own_edges[2 + 2 * n] = to->of.tokens[n].end;
    }
    known->edges = known->own_edges;
    if (known->last) note_follower(known->last, of);
    known->last = of;
    return variant_of(of, line, known->edges);
}

/* Begin to note what is found in a line, whose tokens have just been found: what other lines of its shape must be for
 * the literals to stand where they stand here. */
static void begin_draft(scan *s) {
    draft *to = s->room;
    to->n_rows = to->n_captures = to->n_literals = 0;
    to->of.refused = false;
    for (int32_t n = 0; n < to->of.n_tokens; n++) {
        to->of.conditions[n].n = 0;
        to->of.conditions[n].closed = false;
        to->of.conditions[n].last = ALL_SYMBOLS[to->of.tokens[n].kind];
    }
    bool has[256] = {0};
    for (int32_t n = 0; n < to->size; n++) has[to->of.line[n]] = true;
    for (int32_t n = 0; n < s->p->n_with_symbols; n++) {
        const symbol_literal *one = &s->p->with_symbols[n];
        if (!one->size || has[one->text.bytes[one->rare]]) require_literal(&to->of, one, to->size);
    }
    s->draft = to;
}

/* Keep what was noted. False: no memory. */
static bool keep_draft(scan *s) {
    draft *from = s->draft;
    s->draft = NULL;
    if (from->of.refused) return true;
    if (s->known->room > SHAPE_ROOM) {
        count_uses(s);
        forget_shapes(s->known);
    }
    return keep_variant(s->known, from) || no_memory(s);
}

/* ------------------------------------------------------------------------------------------------- literals */

static bool add_hit(scan *s, int32_t index, int64_t start) {
    const literal *of = &s->p->literals[index];
    if (!s->cleaned) s->dirty |= of->dirty;
    if (!of->n_rules) return true;
    if (UNLIKELY(s->n_hits == s->cap_hits)) {
        size_t cap = s->cap_hits ? 2 * s->cap_hits : 1024;
        if (!grow(&s->hits, (int64_t)cap, sizeof *s->hits)) return no_memory(s);
        s->cap_hits = cap;
    }
    s->hits[s->n_hits++] = (hit){start, index, -1, NOBODY};
    s->result->occurrences++;
    return true;
}

/* Note those of some literals whose windows stand at a place. */
static bool check_literals(scan *s, int32_t first, int64_t at, const sub_line *in) {
    for (int32_t n = first; n >= 0; n = s->p->literals[n].next) {
        const literal *of = &s->p->literals[n];
        const int64_t start = at - (int64_t)of->window;
        if (start < in->start || in->end - start < (int64_t)of->text.size) continue;
        if (same_bytes(s->base + start, of->text.bytes, of->text.size) && !add_hit(s, n, start)) return false;
    }
    return true;
}

/* Find all literals of a sub-line. */
static bool find_literals(scan *s, const sub_line *in) {
    const program *p = s->p;
    const uint8_t *at = s->base + in->start, *const end = s->base + in->end;
    s->n_hits = 0;
    s->result->searched += in->end - in->start;
    for (; end - at >= WINDOW; at++) {
        const uint32_t four = four_of(at);
        if (LIKELY(!(may_begin(p, four) | p->bytes[*at]))) continue;
        if (!check_literals(s, p->short_ones[*at], at - s->base, in)) return false;
        if (may_begin(p, four) && !check_literals(s, p->buckets[four % BUCKETS], at - s->base, in)) return false;
    }
    for (; at < end; at++)
        if (!check_literals(s, p->short_ones[*at], at - s->base, in)) return false;
    return true;
}

/* Note why a sub-line needs cleaning. False: it is clean, and no UTF-8 none the less. */
static bool check_bytes(scan *s, const sub_line *in) {
    const uint8_t *const at = s->base + in->start, *const end = s->base + in->end;
    bool high;
    const int codes = codes_in(at, end, &high);
    if (!s->cleaned) s->dirty |= codes;
    if (LIKELY(!high) || (check_utf8(at, end, end) && (s->cleaned || !find_words(at, end, LOST, LOST[0])))) return true;
    if (s->cleaned) return fail(s, NOT_UTF8, -1, -1, "the text is not UTF-8");
    s->dirty |= DIRTY_UTF8;
    return true;
}

/* ------------------------------------------------------------------------------------------------- texts */

/* [0-9][-+0-9.eE]*$ */
static bool ends_in_number(const uint8_t *start, const uint8_t *end) {
    while (end > start && memchr("-+0123456789.eE", end[-1], 15))
        if (is_digit(*--end)) return true;
    return false;
}

/* Of `also` each text's last matches count. */
static void cut_also(scan *s, int32_t index) {
    const rule *of = &s->p->rules[index];
    rows *r = &s->rows[index];
    int64_t first = r->n;
    while (first && r->text[first - 1] == s->text) first--;
    for (int32_t k = 0; k < of->n_groups; k++)
        for (int64_t n = first; of->groups[k].part == ALSO && n < r->n - ALSO_ROWS; n++)
            r->numbers[of->groups[k].column][n] = (double)NAN;
}

/* Take back all that was kept of the present text. */
static void abandon(scan *s) {
    for (int32_t n = 0; n < s->p->n_rules; n++) {
        const rule *of = &s->p->rules[n];
        rows *r = &s->rows[n];
        int64_t kept = r->n;
        while (kept && r->text[kept - 1] == s->text) kept--;
        truncate_rows(r, of, kept);
        for (int32_t g = 0; r->units && g < of->n_of_kind[UNIT]; g++) remove_units(&r->units[g], s->text);
    }
}

/* How often the text holds each rule's literal. */
static bool count_candidates(scan *s) {
    for (int32_t n = 0; n < s->n_in_text; n++) {
        const literal *of = &s->p->literals[s->in_text[n]];
        const presence *seen = &s->present[s->in_text[n]];
        for (int32_t k = 0; k < of->n_rules; k++) {
            const int32_t index = of->rules[k];
            const bool by_line = s->p->rules[index].kind == LINE;
            if (!add_candidates(&s->rows[index], s->text, by_line ? seen->sub_lines : seen->occurrences))
                return no_memory(s);
        }
    }
    return true;
}

/* Where the sub-line from s->from on ends; the text's size where it is not ended. So many bytes are looked at at once,
 * for a text may have many carriage returns and no line feed. */
static int64_t line_end(const scan *s) {
    for (int64_t at = s->from; at < s->size; at += SHAPE_BYTES) {
        const size_t room = s->size - at < SHAPE_BYTES ? (size_t)(s->size - at) : SHAPE_BYTES;
        const uint8_t *const feed = memchr(s->base + at, '\n', room);
        const uint8_t *const back = memchr(s->base + at, '\r', feed ? (size_t)(feed - s->base - at) : room);
        if (back || feed) return (back ? back : feed) - s->base;
    }
    return s->size;
}

/* The variant of the sub-line at s->from, by the shapes that have followed the one before; NULL where it is of none of
 * them. `*size`: its size, -1 where its shape is none of these. */
static variant *follow_line(scan *s, int32_t *size) {
    shapes *known = s->known;
    const uint8_t *const limit = s->base + s->size, *const line = s->base + s->from;
    shape *before = known->last;
    *size = -1;
    for (int32_t n = 0; before && n < FOLLOWERS && before->followers[n]; n++) {
        shape *of = before->followers[n];
        layout *like = like_before(of, line, limit);
        if (like)
            *size = like->size;
        else if ((*size = follow_shape(of, line, limit, known->own_edges)) < 0)
            continue;
        else
            keep_layout(known, of, line, *size, known->own_edges);
        if (n) note_follower(before, of);
        known->edges = like ? like->edges : known->own_edges;
        known->last = of;
        if (like && is_of_last(like, line)) return like->last;
        variant *one = variant_of(of, line, known->edges);
        if (like && one) note_variant(known, like, of, one);
        return one;
    }
    return NULL;
}

/* A sub-line of which no variant was found. `looked`: it was looked for; else it is where there are literals. */
static bool scan_line(scan *s, const sub_line *in, bool has_shape, bool looked) {
    if (!check_bytes(s, in)) return false;
    if (UNLIKELY(s->dirty)) return true;
    if (!find_literals(s, in)) return false;
    if (UNLIKELY(s->dirty) || (!s->n_hits && !looked)) return true;
    if (has_shape && !looked) {
        variant *of = recognise(s, s->base + in->start, (int32_t)(in->end - in->start));
        if (of) return use_variant(s, of, in);
    }
    if (has_shape && s->room->of.n_tokens < MOST_TOKENS) begin_draft(s);
    const bool good = !s->n_hits || match_hits(s, s->hits, s->n_hits, *in);
    if (good && s->draft) return keep_draft(s);
    s->draft = NULL;
    return good;
}

/* Say whether a sub-line of so many bytes was of a known variant: where few are, the next ones are not looked at. */
static void note_known(shapes *known, bool is_known, int64_t size) {
    if (known->rest > 0) {
        known->rest -= size;
    } else if (is_known && known->patience < MOST_PATIENCE) {
        known->patience += 2;
    } else if (is_known) {
        known->next_rest = FIRST_REST;
    } else if (!known->patience--) {
        known->patience = PATIENCE;
        known->rest = known->next_rest;
        known->next_rest = known->next_rest < LONGEST_REST ? 2 * known->next_rest : LONGEST_REST;
    }
}

/* All sub-lines of a text. */
static bool scan_lines(scan *s, bool at_end) {
    while (s->from < s->size && !s->dirty) {
        const bool looks = s->known->rest <= 0;
        int32_t size = -1;
        variant *of = looks ? follow_line(s, &size) : NULL;
        const int64_t end = size < 0 ? line_end(s) : s->from + size;
        const uint8_t *const line = s->base + s->from, *const limit = s->base + end;
        const bool is_whole = end < s->size, has_shape = is_whole && end - s->from <= SHAPE_BYTES;
        const sub_line in = {s->from, end, s->line, !is_whole && at_end && ends_in_number(line, limit)};
        if (!of && looks && has_shape) of = recognise(s, line, (int32_t)(end - s->from));
        if (!(of ? use_variant(s, of, &in) : scan_line(s, &in, has_shape, looks))) return false;
        note_known(s->known, of != NULL, end + 1 - s->from);
        s->line += is_whole && *limit == '\n';
        s->from = is_whole ? end + 1 : end;
    }
    return true;
}

/* What only the end of a text makes known: the groups of `also`, the candidates. */
static bool finish_text(scan *s) {
    count_uses(s);
    for (int32_t n = 0; n < s->p->n_rules; n++)
        if (s->p->rules[n].n_also && s->rows[n].n) cut_also(s, n);
    return count_candidates(s);
}

static bool scan_text(scan *s, bool at_end) {
    int32_t *flags = &s->result->flags[s->text];
    while (s->n_in_text) {
        presence *seen = &s->present[s->in_text[--s->n_in_text]];
        seen->occurrences = seen->sub_lines = 0;
    }
    forget_uses(s->known);
    s->dirty = 0;
    s->from = s->line = 0;
    if (!s->size) return true;
    if (!scan_lines(s, at_end)) return false;
    if (UNLIKELY(s->dirty)) {
        abandon(s);
        *flags = s->dirty;
        return true;
    }
    if (!finish_text(s)) return false;
    s->result->line_feeds[s->text] = s->line;
    if (s->base[s->size - 1] != '\n') *flags |= NO_LINE_END;
    return true;
}

static int64_t address(const void *memory) { return (int64_t)(intptr_t)memory; }

/* What Python reads the rows by: see compiled.py. */
static bool make_directory(pf_result *result) {
    int64_t size = 0, at = 0;
    for (int32_t n = 0; n < result->n_rules; n++)
        if (result->rows[n].n_candidates)
            size += 8 + 2 * result->rows[n].n_candidates + 4 * (int64_t)result->of->rules[n].n_groups;
    if (!grow(&result->directory, size, sizeof *result->directory)) return false;
    result->n_directory = size;
    for (int32_t n = 0; n < result->n_rules; n++) {
        const rows *r = &result->rows[n];
        const rule *of = &result->of->rules[n];
        if (!r->n_candidates) continue;
        const int64_t head[8] = {n, r->n, r->ranked, r->n_candidates,
                                 address(r->text), address(r->line), address(r->offset), address(r->rank)};
        memcpy(result->directory + at, head, sizeof head);
        at += 8;
        for (int64_t k = 0; k < r->n_candidates; k++) {
            result->directory[at++] = r->candidate_text[k];
            result->directory[at++] = r->candidate_count[k];
        }
        for (int32_t k = 0; k < of->n_groups; k++, at += 4) {
            const group *g = &of->groups[k];
            int64_t entry[4] = {0, 0, 0, 0};
            if (g->kind == NUMBER && r->n) {
                entry[0] = address(r->numbers[g->column]);
                entry[1] = r->n;
            } else if (g->kind == TEXT && r->n) {
                entry[0] = address(r->texts[g->column].bytes);
                entry[1] = (int64_t)r->texts[g->column].size - 1;
            } else if (g->kind == UNIT && r->n && r->units[g->column].n) {
                entry[0] = address(r->units[g->column].all.bytes);
                entry[1] = (int64_t)r->units[g->column].all.size - 1;
                entry[2] = address(r->units[g->column].text);
                entry[3] = r->units[g->column].n;
            }
            memcpy(result->directory + at, entry, sizeof entry);
        }
    }
    return true;
}

static struct shapes *next_in_store(struct shapes *of) { return of->next; }

/* A table of shapes for one scan: one that another scan has filled, or an empty one. NULL: no memory. */
static shapes *borrow_shapes(program *p) {
    pthread_mutex_lock(&p->lock);
    shapes *all = p->store;
    if (all) p->store = all->next;
    pthread_mutex_unlock(&p->lock);
    if (!all && !(all = zeroed(1, sizeof *all))) return NULL;
    forget_uses(all);
    all->last = NULL;
    all->patience = PATIENCE;
    all->rest = 0;
    all->next_rest = FIRST_REST;
    return all;
}

static void return_shapes(program *p, shapes *all) {
    if (!all) return;
    pthread_mutex_lock(&p->lock);
    all->next = p->store;
    p->store = all;
    pthread_mutex_unlock(&p->lock);
}

static bool prepare(scan *s, int64_t n_texts) {
    program *p = s->p;
    pf_result *result = s->result;
    result->of = p;
    result->n_rules = p->n_rules;
    result->n_texts = n_texts;
    s->rows = result->rows = zeroed((size_t)p->n_rules, sizeof *result->rows);
    result->line_feeds = zeroed((size_t)n_texts, sizeof *result->line_feeds);
    result->flags = zeroed((size_t)n_texts, sizeof *result->flags);
    s->present = zeroed((size_t)p->n_literals, sizeof *s->present);
    s->in_text = resize(NULL, (size_t)p->n_literals, sizeof *s->in_text);
    s->pending = zeroed((size_t)(p->n_rules + 63) / 64, sizeof *s->pending);
    s->touched = resize(NULL, (size_t)p->n_rules, sizeof *s->touched);
    s->room = resize(NULL, 1, sizeof *s->room);
    s->known = borrow_shapes(p);
    if (!s->rows || !result->line_feeds || !result->flags || !s->present || !s->in_text || !s->pending || !s->touched ||
        !s->room || !s->known)
        return no_memory(s);
    return true;
}

static bool scan_all(scan *s, const uint8_t *buffer, const int64_t *ends, int64_t n_texts, const uint8_t *at_end) {
    if (n_texts < 0 || n_texts > INT32_MAX) return fail(s, BAD_CALL, -1, -1, "too many texts");
    for (int64_t n = 0; n < n_texts; n++)
        if (ends[n] < (n ? ends[n - 1] : 0)) return fail(s, BAD_CALL, -1, -1, "a text ends before it begins");
    if (!prepare(s, n_texts)) return false;
    s->buffer_end = buffer + (n_texts ? ends[n_texts - 1] : 0);
    for (int64_t n = 0; n < n_texts; n++) {
        s->text = (int32_t)n;
        s->origin = n ? ends[n - 1] : 0;
        s->base = buffer + s->origin;
        s->size = ends[n] - s->origin;
        if (!scan_text(s, at_end[n])) return false;
    }
    return make_directory(s->result) || no_memory(s);
}

/* Scan texts that lie behind each other in a buffer. Text n ends at ends[n]; at_end[n]: it is the end of its log.
 * Returns a result, for pf_free, that holds either rows or an error; NULL when there is no memory for even that. */
EXPORT pf_result *pf_scan(program *p, const uint8_t *buffer, const int64_t *ends, int64_t n_texts,
                          const uint8_t *at_end, int cleaned) {
    pf_result *result = zeroed(1, sizeof *result);
    scan *s = zeroed(1, sizeof *s);
    if (!result || !s) {
        free(result);
        free(s);
        return NULL;
    }
    s->p = p;
    s->result = result;
    s->cleaned = cleaned;
    scan_all(s, buffer, ends, n_texts, at_end);
    return_shapes(p, s->known);
    result->steps = s->matcher.steps;
    for (int slot = 0; slot < 2; slot++) free(s->buffers[slot].bytes);
    for (int part = 0; part < 3; part++) free(s->caught[part]);
    free_matcher(&s->matcher);
    free(s->hits);
    free(s->present);
    free(s->in_text);
    free(s->pending);
    free(s->touched);
    free(s->room);
    free(s->unit_captures);
    free(s);
    return result;
}

/* ---------------------------------------------------------------------------------------------- many files
 * Opening and reading 20,000 files takes Python's lock 80,000 times; here it is given up once for many of them.
 */

#define HEAD 8192   /* so many of a file's first bytes tell whether it is text (perflog/logs/unwrap.py) */
#define NOT_BLANK 256 /* ... and in these something else than blanks must stand */

/* Whether a file that begins so is surely plain text: neither binary nor compressed nor an archive nor UTF-16. All
 * that any of these begin with is refused; who asks looks at such a file more closely. */
static bool is_surely_text(const uint8_t *at, size_t size) {
    static const char *const refused[] = {"BZh", "%PDF"};
    const size_t head = size < HEAD ? size : HEAD;
    uint8_t odd = 0, text = 0; /* without a branch in the loops, which then take many bytes at once */
    for (size_t n = 0; n < head; n++) odd |= at[n] < ' ' && at[n] != '\n' && at[n] != '\r' && at[n] != '\t';
    for (size_t n = 0; n < head && n < NOT_BLANK; n++) text |= at[n] > ' ';
    if (odd || !text) return false;
    for (size_t n = 0; n < 4 && n < size; n++)
        if (at[n] >= 0x7f) return false;
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++)
        if (follows(at, at + size, refused[n])) return false;
    return !(size >= 262 && !memcmp(at + 257, "ustar", 5));
}

/* The size of a plain text file, read to `to`; -1 when it does not fit, cannot be read at once or may be something
 * else. It does not wait where a pipe has taken the file's place. */
static int64_t read_text(const char *path, uint8_t *to, int64_t room) {
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return -1;
    struct stat status;
    int64_t size = -1;
    if (!fstat(file, &status) && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size < room) {
        const size_t more = (size_t)status.st_size + 1; /* one more, to see that it has not grown */
        if (read(file, to, more) == status.st_size && is_surely_text(to, (size_t)status.st_size)) size = status.st_size;
    }
    close(file);
    return size;
}

/* ------------------------------------------------------------------------------------------- regexes by themselves */

typedef struct {
    regex_code code;
    group_name names[MOST_GROUPS + 1];
    uint8_t text[];
} lone_regex;

EXPORT void pf_regex_drop(lone_regex *of) {
    if (of) free_code(&of->code);
    free(of);
}

/* A regex to be searched in single lines; NULL where it is none, and what is wrong with it. */
EXPORT lone_regex *pf_regex(const uint8_t *text, size_t size, pf_fault *fault) {
    size_t where = 0;
    lone_regex *of = resize(NULL, 1, sizeof *of + size);
    if (!of) {
        complain(fault, -1, OUT_OF_MEMORY);
        return NULL;
    }
    memset(of, 0, sizeof *of);
    memcpy(of->text, text, size);
    const char *wrong = compile_code(&of->code, (string){of->text, size}, of->names, &where);
    if (!wrong) return of;
    fault->rule = -1;
    snprintf(fault->message, sizeof fault->message, "at character %zu: %s", where, wrong);
    free(of);
    return NULL;
}

/* The name of group n, from 1 on; NULL where there is no such group. */
EXPORT const uint8_t *pf_regex_group(const lone_regex *of, int32_t n, size_t *size) {
    if (n < 1 || n > of->code.n_groups) return NULL;
    *size = of->names[n].size;
    return of->names[n].bytes;
}

/* Search a line. Where it matches: 1, and `places` has where the match and each group begins and ends, -1 for a group
 * that took no part; else 0. Returns -1 where there is no memory. */
EXPORT int pf_regex_find(const lone_regex *of, const uint8_t *line, int32_t size, int32_t *places) {
    matcher m = {0};
    int found = -1;
    if (fit_matcher(&m, &of->code)) {
        found = match_code(&m, &of->code, NULL, line, 0, size, true);
        memcpy(places, m.found, (size_t)m.n_caps * sizeof *places);
    }
    free_matcher(&m);
    return found;
}

/* Read plain text files behind each other into a buffer. `paths`: n names, each with a NUL behind it. sizes[n] becomes
 * file n's size, -1 for one that was not read (its place is the next one's). */
EXPORT void pf_read(const char *paths, int64_t n_files, uint8_t *buffer, int64_t room, int64_t *sizes) {
    for (int64_t n = 0; n < n_files; n++) {
        sizes[n] = read_text(paths, buffer, room);
        if (sizes[n] > 0) {
            buffer += sizes[n];
            room -= sizes[n];
        }
        paths += strlen(paths) + 1;
    }
}
