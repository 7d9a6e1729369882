/* The scanner: all patterns of all parsers, found in one pass over every byte of a batch of texts.
 *
 * Three steps follow each other over 16 KiB at a time, while those bytes are in the processor's first cache.
 *
 *   1. `classify` makes a bit per byte that says where lines and sub-lines end, counts line feeds, and notices
 *      bytes that need the slow cleaning, which is Python's work.
 *   2. `find_literals` finds every occurrence of every literal. It looks at pairs of bytes, two bytes apart: a
 *      table with an entry for each of the 65,536 pairs says for eight classes of literals whether the pair may be
 *      the first, second, third or fourth of a window of eight bytes. Four entries, shifted over each other and
 *      combined, leave a bit only where some class may have a window; what is left is compared byte by byte.
 *      Every literal has two windows, one for even and one for odd places, put where its rarest characters are.
 *   3. `match_line` takes a sub-line with all its literals, runs their regexes with PCRE2, and keeps the captures.
 *
 * A text without any literal never leaves steps 1 and 2; its lines are not even told apart.
 *
 * A program is never written to after pf_compile: any number of threads may call pf_scan with it. All memory comes
 * through `resize`; a scan that cannot get some ends with an error, and pf_free gives back whatever it had.
 */

#define _GNU_SOURCE
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#include <xlocale.h>
#endif
#include <dlfcn.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ABI 1
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

/* ---------------------------------------------------------------------------------------------- PCRE2
 * The library is opened when it is first needed, so that neither its header nor the library itself is needed to
 * install perflog. Names and numbers are those of the manual page pcre2api(3); the numbers are part of PCRE2's
 * binary interface and have not changed since 10.00.
 */

#define PCRE2_ANCHORED 0x80000000u
#define PCRE2_NO_UTF_CHECK 0x40000000u
#define PCRE2_DOLLAR_ENDONLY 0x00000010u
#define PCRE2_UTF 0x00080000u
#define PCRE2_NEVER_BACKSLASH_C 0x00100000u
#define PCRE2_JIT_COMPLETE 0x00000001u
#define PCRE2_NEWLINE_LF 2u
#define PCRE2_ERROR_NOMATCH (-1)
#define PCRE2_ERROR_NOMEMORY (-48)
#define PCRE2_INFO_CAPTURECOUNT 4u
#define PCRE2_CONFIG_JIT 1u
#define PCRE2_CONFIG_VERSION 11u
#define PCRE2_UNSET (~(size_t)0)

typedef struct pcre2_code pcre2_code;
typedef struct pcre2_match_data pcre2_match_data;
typedef struct pcre2_match_context pcre2_match_context;
typedef struct pcre2_compile_context pcre2_compile_context;
typedef struct pcre2_jit_stack pcre2_jit_stack;
typedef int pcre2_matcher(const pcre2_code *, const uint8_t *, size_t, size_t, uint32_t, pcre2_match_data *, pcre2_match_context *);

static struct {
    void *library;
    bool jit;
    char version[64];
    int (*config)(uint32_t, void *);
    pcre2_code *(*compile)(const uint8_t *, size_t, uint32_t, int *, size_t *, pcre2_compile_context *);
    void (*code_free)(pcre2_code *);
    int (*pattern_info)(const pcre2_code *, uint32_t, void *);
    int (*number_from_name)(const pcre2_code *, const uint8_t *);
    int (*jit_compile)(pcre2_code *, uint32_t);
    pcre2_matcher *jit_match;
    pcre2_matcher *match;
    pcre2_match_data *(*match_data_create)(uint32_t, void *);
    void (*match_data_free)(pcre2_match_data *);
    size_t *(*ovector)(pcre2_match_data *);
    pcre2_match_context *(*match_context_create)(void *);
    void (*match_context_free)(pcre2_match_context *);
    int (*set_match_limit)(pcre2_match_context *, uint32_t);
    pcre2_compile_context *(*compile_context_create)(void *);
    void (*compile_context_free)(pcre2_compile_context *);
    int (*set_newline)(pcre2_compile_context *, uint32_t);
    int (*error_message)(int, uint8_t *, size_t);
    pcre2_jit_stack *(*jit_stack_create)(size_t, size_t, void *);
    void (*jit_stack_free)(pcre2_jit_stack *);
    void (*jit_stack_assign)(pcre2_match_context *, void *, void *);
} pcre;

/* The locale whose strtod reads a point and nothing else, whatever the user's language. */
static locale_t c_locale;

static bool find_functions(void) {
    static const struct {
        const char *name;
        void *slot;
    } wanted[] = {
        {"pcre2_config_8", &pcre.config},
        {"pcre2_compile_8", &pcre.compile},
        {"pcre2_code_free_8", &pcre.code_free},
        {"pcre2_pattern_info_8", &pcre.pattern_info},
        {"pcre2_substring_number_from_name_8", &pcre.number_from_name},
        {"pcre2_jit_compile_8", &pcre.jit_compile},
        {"pcre2_jit_match_8", &pcre.jit_match},
        {"pcre2_match_8", &pcre.match},
        {"pcre2_match_data_create_8", &pcre.match_data_create},
        {"pcre2_match_data_free_8", &pcre.match_data_free},
        {"pcre2_get_ovector_pointer_8", &pcre.ovector},
        {"pcre2_match_context_create_8", &pcre.match_context_create},
        {"pcre2_match_context_free_8", &pcre.match_context_free},
        {"pcre2_set_match_limit_8", &pcre.set_match_limit},
        {"pcre2_compile_context_create_8", &pcre.compile_context_create},
        {"pcre2_compile_context_free_8", &pcre.compile_context_free},
        {"pcre2_set_newline_8", &pcre.set_newline},
        {"pcre2_get_error_message_8", &pcre.error_message},
        {"pcre2_jit_stack_create_8", &pcre.jit_stack_create},
        {"pcre2_jit_stack_free_8", &pcre.jit_stack_free},
        {"pcre2_jit_stack_assign_8", &pcre.jit_stack_assign},
    };
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n++) {
        void *function = dlsym(pcre.library, wanted[n].name);
        if (!function) return false;
        memcpy(wanted[n].slot, &function, sizeof function);
    }
    return true;
}

EXPORT int pf_abi(void) { return ABI; }

/* Open PCRE2. Returns NULL, or what is missing. Must return before any other function is called; call it under a lock. */
EXPORT const char *pf_open(void) {
#if defined(__APPLE__)
    static const char *const names[] = {"libpcre2-8.0.dylib", "libpcre2-8.dylib", "/opt/homebrew/lib/libpcre2-8.0.dylib",
                                        "/usr/local/lib/libpcre2-8.0.dylib"};
#else
    static const char *const names[] = {"libpcre2-8.so.0", "libpcre2-8.so"};
#endif
    if (pcre.library) return NULL;
    if (!c_locale) c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) return "the C locale cannot be had";
    for (size_t n = 0; n < sizeof names / sizeof *names && !pcre.library; n++) pcre.library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    if (!pcre.library) return "the library PCRE2 (libpcre2-8) is not installed";
    if (!find_functions()) {
        dlclose(pcre.library);
        pcre.library = NULL;
        return "the library PCRE2 (libpcre2-8) lacks a function";
    }
    uint32_t jit = 0;
    pcre.jit = pcre.config(PCRE2_CONFIG_JIT, &jit) >= 0 && jit;
    if (pcre.config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof pcre.version) pcre.config(PCRE2_CONFIG_VERSION, pcre.version);
    return NULL;
}

/* "10.42 2022-12-11" */
EXPORT const char *pf_pcre2_version(void) { return pcre.version; }

/* ---------------------------------------------------------------------------------------------- programs */

enum role { METADATA, IGNORE, OTHER };
enum kind { TAIL, JUMP, LINE };
enum group_kind { NUMBER, TEXT, UNIT };
enum part { FIRST, SECOND, ALSO };  /* of which regex a group is */

typedef struct {
    uint8_t *bytes;
    size_t size;
} string;

typedef struct {
    pcre2_code *code;
    pcre2_matcher *match;
    uint32_t options;
    uint32_t captures;
} regex;

typedef struct {
    enum group_kind kind;
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
    regex regexes[3]; /* by part: the whole, a tail or a jump's head; a jump's tail; also */
    group *groups;
    int32_t n_groups, n_of_kind[3], n_also;
} rule;

typedef struct {
    string text;
    int32_t *rules;
    int32_t n_rules;
    int dirty; /* the reason for slow cleaning that this literal is */
} literal;

/* Eight bytes, some of which may be any: where they stand, the literal may begin `at` bytes before. */
typedef struct {
    uint64_t value, mask;
    int32_t literal;
    int16_t at;
    bool whole; /* there is no more of the literal than the window shows */
    uint32_t first; /* the pair it begins with, as an index; sorts windows into buckets */
} window;

#define BUCKETS 4096u

typedef struct {
    rule *rules;
    int32_t n_rules;
    literal *literals;
    int32_t n_literals;
    uint32_t *pairs; /* (65536): byte s, bit c: the pair may be the one numbered s in a window of class c */
    window *windows;
    size_t n_windows, cap_windows;
    uint32_t buckets[BUCKETS + 1];
    uint32_t match_limit;
    uint32_t captures;
    int32_t max_groups;
    bool jit;
} program;

/* What was wrong with a program: the rule's index, -1 when it is none's, and a sentence. */
typedef struct {
    int32_t rule;
    char message[252];
} pf_fault;

/* How common a byte is in training logs, roughly, in thousandths: only ratios matter, and only for speed. */
static double frequency(uint8_t byte) {
    static const char letters[] = "etaonirslcdmpugfhbvxwykjzq";
    if (byte == ' ') return 0.15;
    if (byte >= '0' && byte <= '9') return byte <= '2' ? 0.035 : 0.02;
    if (byte >= 'a' && byte <= 'z') return 0.05 - 0.0019 * (double)(strchr(letters, byte) - letters);
    if (byte == '.' || byte == ':') return 0.03;
    if (byte && strchr(",-_/=[]", byte)) return 0.012;
    if (byte >= 'A' && byte <= 'Z') return 0.004;
    return byte > ' ' && byte < 0x80 ? 0.004 : 0.0005;
}

static uint32_t pair_index(uint8_t first, uint8_t second) {
    const uint8_t bytes[2] = {first, second};
    uint16_t index;
    memcpy(&index, bytes, 2);
    return index;
}

static uint32_t bucket_of(uint32_t pair) { return (pair * 0x9E3779B1u) >> 20; }

/* One step of a window: which pairs it accepts. -1 stands for any byte. */
typedef struct {
    int byte[2];
} step;

static step step_of(const literal *of, int at, int n) {
    step result;
    for (int side = 0; side < 2; side++) {
        int where = at + 2 * n + side;
        result.byte[side] = where >= 0 && (size_t)where < of->text.size ? of->text.bytes[where] : -1;
    }
    return result;
}

/* How much more of a text's pairs `bit` would accept with this step; sets the bits when told to. */
static double widen(uint32_t *pairs, step accepts, uint32_t bit, bool set) {
    double more = 0;
    int from[2], to[2];
    for (int side = 0; side < 2; side++) {
        from[side] = accepts.byte[side] < 0 ? 0 : accepts.byte[side];
        to[side] = accepts.byte[side] < 0 ? 255 : accepts.byte[side];
    }
    for (int first = from[0]; first <= to[0]; first++)
        for (int second = from[1]; second <= to[1]; second++) {
            uint32_t index = pair_index((uint8_t)first, (uint8_t)second);
            if (pairs[index] & bit) continue;
            more += frequency((uint8_t)first) * frequency((uint8_t)second);
            if (set) pairs[index] |= bit;
        }
    return more;
}

static bool add_window(program *p, int32_t index, int at) {
    const literal *of = &p->literals[index];
    uint8_t value[8] = {0}, mask[8] = {0};
    for (int n = 0; n < 8; n++)
        if (at + n >= 0 && (size_t)(at + n) < of->text.size) {
            value[n] = of->text.bytes[at + n];
            mask[n] = 0xff;
        }
    step first = step_of(of, at, 0);
    for (int other = 0; other < 256; other++) { /* a first pair that is half open lies in 256 buckets */
        uint8_t pair[2];
        for (int side = 0; side < 2; side++) pair[side] = (uint8_t)(first.byte[side] < 0 ? other : first.byte[side]);
        if (p->n_windows == p->cap_windows) {
            size_t cap = p->cap_windows ? 2 * p->cap_windows : 1024;
            window *more = resize(p->windows, cap, sizeof *more);
            if (!more) return false;
            p->windows = more;
            p->cap_windows = cap;
        }
        window *entry = &p->windows[p->n_windows++];
        memcpy(&entry->value, value, 8);
        memcpy(&entry->mask, mask, 8);
        entry->literal = index;
        entry->at = (int16_t)at;
        entry->whole = at <= 0 && of->text.size <= (size_t)(8 + at);
        entry->first = pair_index(pair[0], pair[1]);
        if (first.byte[0] >= 0 && first.byte[1] >= 0) break;
    }
    return true;
}

/* The best place and class for a literal's window in even or odd places: where least text passes in the end. */
static bool place_window(program *p, double passing[8][4], int32_t index, int parity) {
    const literal *of = &p->literals[index];
    int longest = of->text.size < 64 ? (int)of->text.size : 64;
    int best_at = 0, best_class = 0;
    double best = INFINITY;
    for (int at = parity ? -1 : 0; at < longest; at += 2) {
        for (int class = 0; class < 8; class++) {
            double before = 1, after = 1;
            for (int n = 0; n < 4; n++) {
                before *= fmin(1, passing[class][n]);
                after *= fmin(1, passing[class][n] + widen(p->pairs, step_of(of, at, n), 1u << (8 * n + class), false));
            }
            /* Long literals have many places that are as good: prefer the one that shows most of them. */
            double cost = after - before + 1e-12 * at;
            if (cost < best) {
                best = cost;
                best_at = at;
                best_class = class;
            }
        }
        if (at >= 0 && (size_t)at + 8 >= of->text.size && at >= 2) break; /* further on, less and less is shown */
    }
    for (int n = 0; n < 4; n++) passing[best_class][n] += widen(p->pairs, step_of(of, best_at, n), 1u << (8 * n + best_class), true);
    return add_window(p, index, best_at);
}

static int by_bucket(const void *a, const void *b) {
    const window *left = a, *right = b;
    uint32_t first = bucket_of(left->first), second = bucket_of(right->first);
    if (first != second) return first < second ? -1 : 1;
    return left->literal != right->literal ? (left->literal < right->literal ? -1 : 1) : left->at - right->at;
}

static int shortest_first(const void *a, const void *b) {
    const literal *left = *(literal *const *)a, *right = *(literal *const *)b;
    return left->text.size != right->text.size ? (left->text.size < right->text.size ? -1 : 1) : left < right ? -1 : left > right;
}

static bool build_search(program *p) {
    p->pairs = zeroed(65536, sizeof *p->pairs);
    literal **order = resize(NULL, (size_t)p->n_literals, sizeof *order);
    if (!p->pairs || !order) {
        free(order);
        return false;
    }
    for (int32_t n = 0; n < p->n_literals; n++) order[n] = &p->literals[n];
    /* Short literals leave parts of their windows open and spoil a class for others; they must choose first. */
    qsort(order, (size_t)p->n_literals, sizeof *order, shortest_first);
    double passing[8][4] = {{0}};
    bool good = true;
    for (int32_t n = 0; n < p->n_literals && good; n++)
        for (int parity = 0; parity < 2 && good; parity++) good = place_window(p, passing, (int32_t)(order[n] - p->literals), parity);
    free(order);
    if (!good) return false;
    qsort(p->windows, p->n_windows, sizeof *p->windows, by_bucket);
    size_t at = 0;
    for (uint32_t n = 0; n <= BUCKETS; n++) {
        while (at < p->n_windows && bucket_of(p->windows[at].first) < n) at++;
        p->buckets[n] = (uint32_t)at;
    }
    return true;
}

static void free_regex(regex *r) {
    if (r->code) pcre.code_free(r->code);
}

EXPORT void pf_drop(program *p) {
    if (!p) return;
    for (int32_t n = 0; p->rules && n < p->n_rules; n++) {
        rule *r = &p->rules[n];
        free(r->jump.bytes);
        free(r->groups);
        for (int part = 0; part < 3; part++) free_regex(&r->regexes[part]);
    }
    for (int32_t n = 0; p->literals && n < p->n_literals; n++) {
        free(p->literals[n].text.bytes);
        free(p->literals[n].rules);
    }
    free(p->rules);
    free(p->literals);
    free(p->pairs);
    free(p->windows);
    free(p);
}

/* ------------------------------------------------------------------------------ reading a program's text
 * A program comes as one piece of text, the same that compiled.py's Program.dump writes for the fuzzer:
 *   perflog-scan 1 <rules>\n
 * and per rule
 *   <parser> <priority> <role> <kind> <groups>\n  then literal, regex, jump, jump's tail, also
 * and per group
 *   <kind> <part>\n  then its name
 * where a string is <size>:<bytes>\n. An empty jump or also is none.
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

static bool copy_string(string *to, string from) {
    to->bytes = resize(NULL, from.size + 1, 1);
    if (!to->bytes) return false;
    if (from.size) memcpy(to->bytes, from.bytes, from.size);
    to->bytes[from.size] = 0;
    to->size = from.size;
    return true;
}

static bool complain(pf_fault *fault, int32_t rule, const char *message) {
    fault->rule = rule;
    snprintf(fault->message, sizeof fault->message, "%s", message);
    return false;
}

static const char *const OUT_OF_MEMORY = "out of memory";

/* The literal's index; a new one where it was not known. -1 when there is no memory. */
static int32_t literal_index(program *p, string text) {
    for (int32_t n = 0; n < p->n_literals; n++)
        if (p->literals[n].text.size == text.size && !memcmp(p->literals[n].text.bytes, text.bytes, text.size)) return n;
    literal *added = &p->literals[p->n_literals];
    memset(added, 0, sizeof *added);
    if (!copy_string(&added->text, text)) return -1;
    return p->n_literals++;
}

static bool add_rule_to_literal(literal *of, int32_t rule) {
    int32_t *more = resize(of->rules, (size_t)of->n_rules + 1, sizeof *more);
    if (!more) return false;
    of->rules = more;
    of->rules[of->n_rules++] = rule;
    return true;
}

/* UTF is always on: a character class such as [^|] and a lone `.` must take a character, not a byte, as Rust's do. */
static bool compile_regex(program *p, regex *r, string text, uint32_t options, pcre2_compile_context *context, int32_t rule, pf_fault *fault) {
    int error;
    size_t where;
    options |= PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C | PCRE2_UTF;
    r->code = pcre.compile(text.bytes, text.size, options, &error, &where, context);
    if (!r->code) {
        uint8_t reason[160] = "";
        pcre.error_message(error, reason, sizeof reason);
        fault->rule = rule;
        snprintf(fault->message, sizeof fault->message, "at character %zu of its regex: %s", where, reason);
        return false;
    }
    /* Where no memory may be both written and executed there is no JIT; the interpreter finds the same. */
    if (pcre.jit && pcre.jit_compile(r->code, PCRE2_JIT_COMPLETE) == 0) {
        r->match = pcre.jit_match;
    } else {
        p->jit = false;
        r->match = pcre.match;
        r->options = PCRE2_NO_UTF_CHECK;
    }
    pcre.pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &r->captures);
    if (r->captures > p->captures) p->captures = r->captures;
    return true;
}

static bool read_group(rule *r, int32_t index, reader *from, int32_t number, pf_fault *fault) {
    group *g = &r->groups[index];
    g->kind = (enum group_kind)read_int(from, ' ', NUMBER, UNIT);
    g->part = (enum part)read_int(from, '\n', FIRST, ALSO);
    string view = read_string(from), name = {NULL, 0};
    if (!from->good) return complain(fault, number, "not a program's text");
    if (g->part == ALSO && g->kind != NUMBER) return complain(fault, number, "a group of 'also' must be a number");
    if (!r->regexes[g->part].code) return complain(fault, number, "a group of a regex that is not given");
    if (!copy_string(&name, view)) return complain(fault, number, OUT_OF_MEMORY);
    int found = pcre.number_from_name(r->regexes[g->part].code, name.bytes);
    if (found <= 0 && g->part == FIRST && r->kind == JUMP) { /* the caller need not know which half has it */
        g->part = SECOND;
        found = pcre.number_from_name(r->regexes[SECOND].code, name.bytes);
    }
    if (found <= 0) {
        fault->rule = number;
        snprintf(fault->message, sizeof fault->message, "its regex has no group '%.100s'", name.bytes);
    }
    free(name.bytes);
    if (found <= 0) return false;
    g->number = (uint32_t)found;
    g->column = r->n_of_kind[g->kind]++;
    r->n_also += g->part == ALSO;
    return true;
}

static size_t rarest(string text) {
    size_t best = 0;
    for (size_t n = 1; n < text.size; n++)
        if (frequency(text.bytes[n]) < frequency(text.bytes[best])) best = n;
    return best;
}

static bool read_rule(program *p, reader *from, int32_t number, pcre2_compile_context *context, pf_fault *fault) {
    rule *r = &p->rules[number];
    r->parser = read_int(from, ' ', 0, INT32_MAX);
    r->priority = read_int(from, ' ', INT32_MIN, INT32_MAX);
    r->role = (enum role)read_int(from, ' ', METADATA, OTHER);
    r->kind = (enum kind)read_int(from, ' ', TAIL, LINE);
    r->n_groups = read_int(from, '\n', 0, 1000);
    string text = read_string(from), first = read_string(from), jump = read_string(from), tail = read_string(from), also = read_string(from);
    if (!from->good) return complain(fault, number, "not a program's text");
    if (!text.size || text.size > 10000) return complain(fault, number, "its literal must have 1 to 10000 bytes");
    if (memchr(text.bytes, '\n', text.size) || memchr(text.bytes, '\r', text.size)) return complain(fault, number, "its literal holds a line's end");
    if (r->kind == JUMP && !jump.size) return complain(fault, number, "a jump needs a literal to jump to");
    if (!compile_regex(p, &r->regexes[FIRST], first, r->kind == LINE ? 0 : PCRE2_ANCHORED, context, number, fault)) return false;
    if (r->kind == JUMP && !compile_regex(p, &r->regexes[SECOND], tail, PCRE2_ANCHORED, context, number, fault)) return false;
    if (also.size && !compile_regex(p, &r->regexes[ALSO], also, 0, context, number, fault)) return false;
    r->groups = zeroed((size_t)r->n_groups, sizeof *r->groups);
    r->literal = literal_index(p, text);
    if (!r->groups || r->literal < 0 || !copy_string(&r->jump, jump) || !add_rule_to_literal(&p->literals[r->literal], number))
        return complain(fault, number, OUT_OF_MEMORY);
    r->jump_rare = rarest(r->jump);
    for (int32_t n = 0; n < r->n_groups; n++)
        if (!read_group(r, n, from, number, fault)) return false;
    if (r->n_groups > p->max_groups) p->max_groups = r->n_groups;
    return true;
}

/* Why a text needs the slow cleaning, and what else there is to say of it. */
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

static bool read_program(program *p, reader *from, pf_fault *fault) {
    static const struct {
        const char *text;
        int dirty;
    } marks[] = {{"]<std", DIRTY_TAG}, {"x across cluster]", DIRTY_REPEATED}};
    static const char header[] = "perflog-scan 1 ";
    size_t size = sizeof header - 1;
    if ((size_t)(from->end - from->at) < size || memcmp(from->at, header, size)) return complain(fault, -1, "not a program's text");
    from->at += size;
    int32_t n_rules = read_int(from, '\n', 0, 1000000);
    if (!from->good) return complain(fault, -1, "not a program's text");
    p->rules = zeroed((size_t)n_rules, sizeof *p->rules);
    p->literals = zeroed((size_t)n_rules + 2, sizeof *p->literals);
    if (!p->rules || !p->literals) return complain(fault, -1, OUT_OF_MEMORY);
    pcre2_compile_context *context = pcre.compile_context_create(NULL);
    if (!context) return complain(fault, -1, OUT_OF_MEMORY);
    pcre.set_newline(context, PCRE2_NEWLINE_LF);
    bool good = true;
    while (good && p->n_rules < n_rules) good = read_rule(p, from, p->n_rules++, context, fault);
    pcre.compile_context_free(context);
    for (size_t n = 0; good && n < sizeof marks / sizeof *marks; n++) {
        int32_t index = literal_index(p, (string){(uint8_t *)(uintptr_t)marks[n].text, strlen(marks[n].text)});
        if (index < 0) return complain(fault, -1, OUT_OF_MEMORY);
        p->literals[index].dirty = marks[n].dirty;
    }
    if (good && !build_search(p)) return complain(fault, -1, OUT_OF_MEMORY);
    return good;
}

/* Make a program; NULL when it cannot be made, and `fault` says why. */
EXPORT program *pf_compile(const uint8_t *text, size_t size, uint32_t match_limit, pf_fault *fault) {
    fault->rule = -1;
    fault->message[0] = 0;
    program *p = zeroed(1, sizeof *p);
    if (!p) {
        complain(fault, -1, OUT_OF_MEMORY);
        return NULL;
    }
    p->jit = pcre.jit;
    p->match_limit = match_limit;
    reader from = {text, text + size, true};
    if (read_program(p, &from, fault)) return p;
    pf_drop(p);
    return NULL;
}

/* Whether every regex of the program has been compiled to machine code. */
EXPORT int pf_is_jit(const program *p) { return p->jit; }

/* ---------------------------------------------------------------------------------------------- numbers */

typedef struct {
    char *bytes;
    size_t cap;
} scratch;

static bool reserve(scratch *buffer, size_t size) {
    if (LIKELY(size <= buffer->cap)) return true;
    size_t cap = size < 256 ? 256 : 2 * size;
    char *more = resize(buffer->bytes, cap, 1);
    if (!more) return false;
    buffer->bytes = more;
    buffer->cap = cap;
    return true;
}

static bool is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static bool is_word(const uint8_t *at, size_t size, const char *word) {
    if (size != strlen(word)) return false;
    for (size_t n = 0; n < size; n++)
        if ((at[n] | 0x20) != word[n]) return false;
    return true;
}

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if LDBL_MANT_DIG == 64 && (defined(__x86_64__) || defined(__i386__))
static const long double LONG_TENS[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                        1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

/* All of a 64-bit mantissa and of 10^27 is held by the 80-bit type, so one division or product is rounded once, to 64
 * bits. Rounding that to 53 is right unless it lies exactly between two doubles, where it may have been moved there. */
static bool by_long_double(uint64_t mantissa, int64_t exponent, double *value) {
    long double wide = (long double)mantissa;
    wide = exponent < 0 ? wide / LONG_TENS[-exponent] : wide * LONG_TENS[exponent];
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    *value = (double)wide;
    return (bits & 0x7ff) != 0x400;
}
#else
static bool by_long_double(uint64_t mantissa, int64_t exponent, double *value) {
    (void)mantissa, (void)exponent, (void)value;
    return false;
}
#endif

enum { NO_NUMBER, A_NUMBER, NO_ROOM };

static int by_strtod(const uint8_t *at, size_t size, scratch *buffer, double *value) {
    if (!reserve(buffer, size + 1)) return NO_ROOM;
    memcpy(buffer->bytes, at, size);
    buffer->bytes[size] = 0;
    locale_t before = uselocale(c_locale);
    *value = strtod(buffer->bytes, NULL);
    uselocale(before);
    return A_NUMBER;
}

/* [+-]?(digits[.digits*]|.digits)([eE][+-]?digits)? or nan, inf, infinity: what polars' cast takes, to the nearest double. */
static int to_double(const uint8_t *at, size_t size, scratch *buffer, double *value) {
    const uint8_t *from = at, *end = at + size;
    bool minus = from < end && *from == '-';
    if (from < end && (*from == '-' || *from == '+')) from++;
    const uint8_t *start = from;
    uint64_t mantissa = 0;
    while (from < end && is_digit(*from)) mantissa = 10 * mantissa + (uint64_t)(*from++ - '0');
    int64_t digits = from - start, exponent = 0;
    if (from < end && *from == '.') {
        const uint8_t *point = ++from;
        while (from < end && is_digit(*from)) mantissa = 10 * mantissa + (uint64_t)(*from++ - '0');
        exponent = -(from - point);
        digits -= exponent;
    }
    if (UNLIKELY(!digits)) {
        size_t rest = (size_t)(end - start);
        if (is_word(start, rest, "nan")) *value = (double)NAN;
        else if (is_word(start, rest, "inf") || is_word(start, rest, "infinity")) *value = (double)INFINITY;
        else return NO_NUMBER;
        *value = copysign(*value, minus ? -1.0 : 1.0);
        return A_NUMBER;
    }
    if (from < end) {
        if ((*from | 0x20) != 'e') return NO_NUMBER;
        from++;
        bool down = from < end && *from == '-';
        if (from < end && (*from == '-' || *from == '+')) from++;
        if (from >= end) return NO_NUMBER;
        int64_t power = 0;
        for (; from < end; from++) {
            if (!is_digit(*from)) return NO_NUMBER;
            if (power < 100000) power = 10 * power + (*from - '0');
        }
        exponent += down ? -power : power;
    }
    if (UNLIKELY(digits > 19)) return by_strtod(at, size, buffer, value); /* the mantissa may have overflowed */
    if (LIKELY(mantissa < (1ull << 53) && exponent >= -22 && exponent <= 22)) {
        *value = (double)mantissa;
        *value = exponent < 0 ? *value / TENS[-exponent] : *value * TENS[exponent];
    } else if (mantissa == 0 || exponent < -27 || exponent > 27 || !by_long_double(mantissa, exponent, value)) {
        return by_strtod(at, size, buffer, value);
    }
    if (minus) *value = -*value;
    return A_NUMBER;
}

/* A capture as a number; NaN when it is none. Thousands commas are understood. False: no memory. */
static bool number_of(const uint8_t *at, size_t size, scratch buffers[2], double *value) {
    int what = to_double(at, size, &buffers[0], value);
    if (UNLIKELY(what == NO_NUMBER && memchr(at, ',', size))) {
        if (!reserve(&buffers[1], size)) return false;
        size_t kept = 0;
        for (size_t n = 0; n < size; n++)
            if (at[n] != ',') buffers[1].bytes[kept++] = (char)at[n];
        what = to_double((const uint8_t *)buffers[1].bytes, kept, &buffers[0], value);
    }
    if (what == NO_NUMBER) *value = (double)NAN;
    return what != NO_ROOM;
}

/* A number text for tests: 1 a number, 0 none, -1 no memory. */
EXPORT int pf_number(const uint8_t *at, size_t size, double *value) {
    scratch buffers[2] = {{NULL, 0}, {NULL, 0}};
    bool good = number_of(at, size, buffers, value);
    free(buffers[0].bytes);
    free(buffers[1].bytes);
    return good ? 1 : -1;
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
    int64_t before; /* rows there were before the present sub-line */
    int64_t stamp;  /* the sub-line that `before` is of */
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
    /* what follows is not for the caller */
    int32_t n_rules;
    const program *of;
    rows *rows;
} pf_result;

enum { NO_MEMORY = 1, MATCH_FAILED = 2, NOT_UTF8 = 3, BAD_CALL = 4 };

EXPORT void pf_free(pf_result *result) {
    if (!result) return;
    for (int32_t n = 0; result->rows && n < result->n_rules; n++) {
        rows *r = &result->rows[n];
        const rule *of = &result->of->rules[n];
        free(r->text);
        free(r->line);
        free(r->offset);
        free(r->rank);
        for (int32_t g = 0; r->numbers && g < of->n_of_kind[NUMBER]; g++) free(r->numbers[g]);
        for (int32_t g = 0; r->texts && g < of->n_of_kind[TEXT]; g++) free(r->texts[g].bytes);
        for (int32_t g = 0; r->units && g < of->n_of_kind[UNIT]; g++) {
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

/* `*memory = realloc(...)` that leaves what there was when there is no more. */
static bool grow(void *slot, int64_t count, size_t size) {
    void *memory;
    memcpy(&memory, slot, sizeof memory);
    memory = resize(memory, (size_t)count, size);
    if (!memory) return false;
    memcpy(slot, &memory, sizeof memory);
    return true;
}

static bool more_rows(rows *r, const rule *of) {
    int32_t n_numbers = of->n_of_kind[NUMBER];
    if (!r->cap) {
        r->numbers = zeroed((size_t)n_numbers, sizeof *r->numbers);
        r->texts = zeroed((size_t)of->n_of_kind[TEXT], sizeof *r->texts);
        r->units = zeroed((size_t)of->n_of_kind[UNIT], sizeof *r->units);
        if (!r->numbers || !r->texts || !r->units) return false;
    }
    int64_t cap = r->cap ? 2 * r->cap : 64;
    bool good = grow(&r->text, cap, sizeof *r->text) && grow(&r->line, cap, sizeof *r->line);
    good = good && grow(&r->offset, cap, sizeof *r->offset) && grow(&r->rank, cap, sizeof *r->rank);
    for (int32_t n = 0; good && n < n_numbers; n++) good = grow(&r->numbers[n], cap, sizeof **r->numbers);
    if (good) r->cap = cap;
    return good;
}

static bool add_string(strings *to, const uint8_t *bytes, size_t size) {
    if (UNLIKELY(to->cap - to->size <= size)) {
        size_t cap = to->cap * 2 + size + 64;
        uint8_t *more = resize(to->bytes, cap, 1);
        if (!more) return false;
        to->bytes = more;
        to->cap = cap;
    }
    if (size) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    to->bytes[to->size++] = '\n';
    return true;
}

static void remove_strings(strings *from, int64_t count) {
    while (count--) {
        from->size--;
        while (from->size && from->bytes[from->size - 1] != '\n') from->size--;
    }
}

static void truncate_rows(rows *r, const rule *of, int64_t n) {
    for (int32_t g = 0; g < of->n_of_kind[TEXT]; g++) remove_strings(&r->texts[g], r->n - n);
    r->n = n;
}

static bool same_unit(const units *u, int64_t entry, const uint8_t *bytes, size_t size) {
    int64_t end = entry + 1 < u->n ? u->start[entry + 1] : (int64_t)u->all.size;
    return end - u->start[entry] - 1 == (int64_t)size && (!size || !memcmp(u->all.bytes + u->start[entry], bytes, size));
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
        if (cap > INT32_MAX || !grow(&u->text, cap, sizeof *u->text) || !grow(&u->start, cap, sizeof *u->start)) return false;
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

static bool count_candidate(rows *r, int32_t text) {
    if (LIKELY(r->n_candidates && r->candidate_text[r->n_candidates - 1] == text)) {
        r->candidate_count[r->n_candidates - 1]++;
        return true;
    }
    if (r->n_candidates == r->cap_candidates) {
        int64_t cap = r->cap_candidates ? 2 * r->cap_candidates : 4;
        if (!grow(&r->candidate_text, cap, sizeof *r->candidate_text) || !grow(&r->candidate_count, cap, sizeof *r->candidate_count)) return false;
        r->cap_candidates = cap;
    }
    r->candidate_text[r->n_candidates] = text;
    r->candidate_count[r->n_candidates++] = 1;
    return true;
}

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

static bool follows(const uint8_t *at, const uint8_t *limit, const char *text) {
    size_t size = strlen(text);
    return (size_t)(limit - at) >= size && !memcmp(at, text, size);
}

static bool is_word_byte(uint8_t byte) { return is_digit(byte) || byte == '_' || (uint8_t)((byte | 0x20) - 'a') < 26; }

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
    if (at >= limit || (*at != '[' && *at != ' ' && *at != '(' && !is_digit(*at))) return -1;
    if (limit - at > 128) limit = at + 128;
    const uint8_t *end;
    if (*at == '(') return ray_rank(at, limit);
    if (*at == '[') {
        bool mpi = follows(at, limit, "[1,");
        if (!mpi && !follows(at, limit, "[rank") && !follows(at, limit, "[default")) return -1;
        int64_t rank = digits_of(at + (mpi ? 3 : at[1] == 'r' ? 5 : 8), limit, &end);
        return follows(end, limit, mpi ? "]<stdout>:" : "]:") ? rank : -1;
    }
    int blanks = 0;
    while (at < limit && *at == ' ' && blanks < 3) at++, blanks++;
    int64_t rank = digits_of(at, limit, &end);
    return end - at <= 5 && follows(end, limit, ": ") ? rank : -1;
}

/* ---------------------------------------------------------------------------------------------- scanning */

#define CHUNK 16384 /* bytes; a multiple of 64 */
#define WORDS (CHUNK / 64)
#define ALSO_ROWS 64

typedef struct {
    int64_t at; /* of the literal's first byte in its text */
    int32_t literal;
} hit;

typedef struct {
    int32_t rule, column;
    const uint8_t *bytes;
    size_t size;
} unit_capture;

typedef struct {
    const program *p;
    pf_result *result;
    rows *rows;
    const uint8_t *buffer_end;
    pcre2_match_data *data[2];
    size_t *ovector[2];
    int captured[2];
    const uint8_t *subject[2];
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    scratch buffers[2];
    hit *hits;
    size_t n_hits, cap_hits;
    int64_t *free_from; /* per literal: where in the buffer its next occurrence may begin */
    int64_t *seen_in;   /* per literal: the sub-line it was seen in last */
    int32_t *touched;   /* the rules that matched in the present sub-line */
    int32_t n_touched;
    unit_capture *unit_captures;
    size_t n_unit_captures, cap_unit_captures;
    int64_t stamp; /* of the present sub-line */
    int64_t rank, rank_stamp;
    bool cleaned;
    /* the present text */
    int32_t text;
    const uint8_t *base;
    int64_t size;
    int32_t dirty;
    /* the present chunk */
    uint64_t feeds[WORDS], breaks[WORDS];
    uint32_t feeds_before[WORDS + 1];
    int64_t from, to;
    int64_t feeds_until;           /* line feeds before the chunk */
    int64_t sub_line, sub_line_no; /* the sub-line that the chunk begins in */
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

/* 1 matched, 0 not, -1 the scan has failed. */
static int run_regex(scan *s, int32_t index, enum part part, int slot, const uint8_t *subject, size_t size, int64_t line) {
    const regex *r = &s->p->rules[index].regexes[part];
    int found = r->match(r->code, subject, size, 0, r->options, s->data[slot], s->context);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    if (LIKELY(found > 0)) {
        s->captured[slot] = found;
        s->subject[slot] = subject;
        return 1;
    }
    uint8_t message[200] = "";
    pcre.error_message(found, message, sizeof message);
    fail(s, found == PCRE2_ERROR_NOMEMORY ? NO_MEMORY : MATCH_FAILED, index, line, (const char *)message);
    return -1;
}

/* A group's capture; NULL when it took no part. */
static const uint8_t *capture(const scan *s, const group *g, int slot, size_t *size) {
    *size = 0;
    if ((int)g->number >= s->captured[slot]) return NULL;
    const size_t *at = s->ovector[slot] + 2 * g->number;
    if (at[0] == PCRE2_UNSET) return NULL;
    *size = at[1] - at[0];
    return s->subject[slot] + at[0];
}

static bool keep_unit(scan *s, int32_t index, int32_t column, const uint8_t *bytes, size_t size) {
    if (s->n_unit_captures == s->cap_unit_captures) {
        size_t cap = s->cap_unit_captures ? 2 * s->cap_unit_captures : 16;
        if (!grow(&s->unit_captures, (int64_t)cap, sizeof *s->unit_captures)) return false;
        s->cap_unit_captures = cap;
    }
    s->unit_captures[s->n_unit_captures++] = (unit_capture){index, column, bytes, size};
    return true;
}

/* Add what has just matched to the rule's rows. */
static bool add_row(scan *s, int32_t index, int64_t offset, int64_t start, int64_t end, int64_t line) {
    const rule *of = &s->p->rules[index];
    rows *r = &s->rows[index];
    if (UNLIKELY(r->n == r->cap) && !more_rows(r, of)) return false;
    if (r->stamp != s->stamp) {
        r->stamp = s->stamp;
        r->before = r->n;
        s->touched[s->n_touched++] = index;
    }
    if (s->rank_stamp != s->stamp) {
        s->rank_stamp = s->stamp;
        s->rank = rank_of(s->base + start, s->base + end);
    }
    int64_t n = r->n;
    for (int32_t k = 0; k < of->n_groups; k++) {
        const group *g = &of->groups[k];
        size_t size;
        const uint8_t *bytes = g->part == ALSO ? NULL : capture(s, g, g->part, &size);
        if (g->kind == NUMBER) {
            double *value = &r->numbers[g->column][n];
            if (!bytes) *value = (double)NAN;
            else if (!number_of(bytes, size, s->buffers, value)) return false;
        } else if (g->kind == TEXT) {
            if (!(bytes ? add_string(&r->texts[g->column], bytes, size) : add_string(&r->texts[g->column], (const uint8_t *)"", 1))) return false;
        } else if (bytes && !keep_unit(s, index, g->column, bytes, size)) {
            return false;
        }
    }
    r->text[n] = s->text;
    r->line[n] = line;
    r->offset[n] = offset;
    r->rank[n] = s->rank;
    r->ranked |= s->rank >= 0;
    r->n = n + 1;
    return true;
}

/* The first occurrence of a jump's literal; NULL when there is none. */
static const uint8_t *find_jump(const rule *of, const uint8_t *at, const uint8_t *end) {
    const uint8_t *bytes = of->jump.bytes;
    size_t size = of->jump.size, rare = of->jump_rare;
    while ((size_t)(end - at) >= size) {
        const uint8_t *found = memchr(at + rare, bytes[rare], (size_t)(end - at) - size + 1);
        if (!found) return NULL;
        at = found - rare;
        if (!memcmp(at, bytes, size)) return at;
        at++;
    }
    return NULL;
}

/* 1 matched, 0 not, -1 the scan has failed. */
static int try_rule(scan *s, int32_t index, const uint8_t *subject, const uint8_t *end, int64_t line) {
    const rule *of = &s->p->rules[index];
    int found = run_regex(s, index, FIRST, 0, subject, (size_t)(end - subject), line);
    if (of->kind != JUMP || found <= 0) return found;
    const uint8_t *there = find_jump(of, subject, end);
    if (!there) return 0;
    there += of->jump.size;
    return run_regex(s, index, SECOND, 1, there, (size_t)(end - there), line);
}

/* Of the parsers that matched in the sub-line, one owns it; what others found there, and what it ignores, goes. */
static bool settle(scan *s) {
    const rule *rules = s->p->rules, *owner = NULL;
    bool mixed = false, ignores = false;
    for (int32_t n = 0; n < s->n_touched; n++) {
        const rule *r = &rules[s->touched[n]];
        if (r->role == METADATA) continue;
        mixed |= owner && owner->parser != r->parser;
        if (!owner || r->priority > owner->priority || (r->priority == owner->priority && r < owner)) owner = r;
    }
    for (int32_t n = 0; n < s->n_touched; n++) {
        const rule *r = &rules[s->touched[n]];
        ignores |= r->role == IGNORE && r->parser == owner->parser;
    }
    for (int32_t n = 0; (mixed || ignores) && n < s->n_touched; n++) {
        const rule *r = &rules[s->touched[n]];
        if (r->role == METADATA || (r->parser == owner->parser && (!ignores || r->role == IGNORE))) continue;
        rows *of = &s->rows[s->touched[n]];
        truncate_rows(of, r, of->before);
    }
    for (size_t n = 0; n < s->n_unit_captures; n++) {
        unit_capture *u = &s->unit_captures[n];
        rows *of = &s->rows[u->rule];
        if (of->n > of->before && !add_unit(&of->units[u->column], s->text, u->bytes, u->size)) return no_memory(s);
    }
    return true;
}

static void drop_line(scan *s) {
    for (int32_t n = 0; n < s->n_touched; n++) {
        rows *of = &s->rows[s->touched[n]];
        truncate_rows(of, &s->p->rules[s->touched[n]], of->before);
    }
}

/* All literals of a sub-line: their rules' regexes, and who owns the line. `cut`: its last number may go on. */
static bool match_line(scan *s, hit *hits, size_t n_hits, int64_t start, int64_t end, int64_t line, bool cut) {
    const program *p = s->p;
    s->stamp++;
    s->n_touched = 0;
    s->n_unit_captures = 0;
    for (size_t n = 1; n < n_hits; n++) { /* found in the order of their windows, so nearly in order */
        hit moving = hits[n];
        size_t to = n;
        for (; to && hits[to - 1].at > moving.at; to--) hits[to] = hits[to - 1];
        hits[to] = moving;
    }
    for (size_t n = 0; n < n_hits; n++) {
        const int32_t which = hits[n].literal;
        const literal *of = &p->literals[which];
        const int64_t at = hits[n].at, behind = at + (int64_t)of->text.size;
        const int64_t shift = s->base - (s->buffer_end - (s->buffer_end - s->base)); /* 0: positions are the text's own */
        if (at + shift < s->free_from[which]) continue;
        s->free_from[which] = behind;
        int64_t until = end;
        for (size_t next = n + 1; next < n_hits; next++)
            if (hits[next].literal == which && hits[next].at >= behind) {
                until = hits[next].at;
                break;
            }
        const bool first = s->seen_in[which] != s->stamp;
        s->seen_in[which] = s->stamp;
        bool taken = false;
        for (int32_t k = 0; k < of->n_rules; k++) {
            const int32_t index = of->rules[k];
            const rule *r = &p->rules[index];
            const bool whole = r->kind == LINE;
            if (whole ? !first : taken && r->role != METADATA) continue;
            if (!count_candidate(&s->rows[index], s->text)) return no_memory(s);
            int found = try_rule(s, index, s->base + (whole ? start : behind), s->base + (whole ? end : until), line);
            if (found < 0) return false;
            if (!found) continue;
            if (!add_row(s, index, whole ? start : at, start, end, line)) return no_memory(s);
            taken |= !whole && r->role != METADATA;
        }
    }
    if (!s->n_touched) return true;
    if (cut) {
        drop_line(s);
        s->result->flags[s->text] |= CUT;
        return true;
    }
    return settle(s);
}
