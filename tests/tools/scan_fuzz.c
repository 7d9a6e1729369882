/* Random texts and failing allocations for perflog/matching/scan.c, under the sanitizers.
 *
 * The patterns come from a file that Python writes: `Program(rules).dump("catalog.pfs")`.
 *
 * With clang and libFuzzer (Debian: apt-get install clang libclang-rt-14-dev):
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined tests/tools/scan_fuzz.c \
 *     -o scan_fuzz -lm
 *   SCAN_PROGRAM=catalog.pfs ./scan_fuzz -max_len=2000 -max_total_time=300 corpus/
 * With any compiler; it makes its own inputs from a seed, or reads each of the files that are named:
 *   gcc -g -O1 -DSTANDALONE -fsanitize=address,undefined -fno-sanitize-recover=undefined \
 *     tests/tools/scan_fuzz.c -o scan_fuzz -lm
 *   SCAN_PROGRAM=catalog.pfs ./scan_fuzz SECONDS SEED
 *   SCAN_PROGRAM=catalog.pfs ./scan_fuzz FILE...
 *
 * An input is not taken as it is: its first four bytes say how, and bytes that no UTF-8 text has stand for literals of
 * the program, for pieces of its regexes and for the ends of texts, or hardly any input would come near a regex.
 */

#define _GNU_SOURCE  /* as scan.c does, and before the first header */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Fails once the countdown reaches zero; below zero it never does. */
static long countdown = -1;

static void *failing_realloc(void *memory, size_t size) {
    if (countdown == 0) return NULL;
    if (countdown > 0) countdown--;
    return realloc(memory, size);
}

#define PF_REALLOC failing_realloc
#include "../../perflog/matching/scan.c"

static uint8_t *program_bytes;
static size_t program_size;
static program *the_program;

#define REQUIRE(condition)                                                        \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
            abort();                                                              \
        }                                                                         \
    } while (0)

static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        fprintf(stderr, "cannot read %s\n", path ? path : "the file that SCAN_PROGRAM names");
        exit(2);
    }
    uint8_t *bytes = NULL;
    size_t cap = 0;
    for (*size = 0;; *size += fread(bytes + *size, 1, cap - *size, file)) {
        if (feof(file)) break;
        bytes = realloc(bytes, cap = 2 * cap + 4096);
        REQUIRE(bytes);
    }
    fclose(file);
    return bytes;
}

static void start(void) {
    if (the_program) return;
    const char *missing = pf_open();
    if (missing) {
        fprintf(stderr, "%s\n", missing);
        exit(2);
    }
    program_bytes = read_file(getenv("SCAN_PROGRAM"), &program_size);
    pf_fault fault;
    the_program = pf_compile(program_bytes, program_size, 0, &fault);
    if (!the_program) {
        fprintf(stderr, "rule %d: %s\n", (int)fault.rule, fault.message);
        exit(2);
    }
}

typedef struct {
    uint8_t *bytes;
    size_t size, cap;
} text_buffer;

static void put_bytes(text_buffer *to, const void *bytes, size_t size) {
    if (to->cap - to->size < size) {
        to->cap = 2 * to->cap + size;
        to->bytes = realloc(to->bytes, to->cap);
        REQUIRE(to->bytes);
    }
    if (size) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

/* Some text that a regex like this one may match: its plain characters, and a number for each group. */
static void append_like(text_buffer *to, const char *regex, size_t size, uint8_t which) {
    for (size_t n = 0; n < size; n++) {
        char byte = regex[n];
        if (byte == '(' && n + 3 < size && regex[n + 1] == '?') {
            while (n < size && regex[n] != '>' && regex[n] != ':') n++;
        } else if (byte == '[') {
            while (n < size && regex[n] != ']') n++;
            put_bytes(to, which & 1 ? "1" : "1234.5e-3", which & 1 ? 1 : 9);
        } else if (byte == '\\' && n + 1 < size) {
            n++;
            put_bytes(to, strchr("sdwSbz", regex[n]) ? " " : &regex[n], 1);
        } else if (byte != ')' && byte != '*' && byte != '+' && byte != '?' && byte != '^' && byte != '$') {
            put_bytes(to, &byte, 1);
        }
    }
}

/* Rule n of the program, found in its text again: a literal, then a regex. */
static void append_rule(text_buffer *to, uint32_t n, uint8_t which) {
    static struct { string literal, first, tail; } * all;
    if (!all) {
        all = calloc((size_t)the_program->n_rules, sizeof *all);
        REQUIRE(all);
        reader r = {memchr(program_bytes, '\n', program_size), program_bytes + program_size, true};
        r.at++;
        for (int32_t k = 0; k < the_program->n_rules; k++) {
            for (int field = 0; field < 4; field++) read_number(&r, ' ');
            int64_t groups = read_number(&r, '\n');
            all[k].literal = read_string(&r);
            all[k].first = read_string(&r);
            read_string(&r);
            all[k].tail = read_string(&r);
            read_string(&r);
            for (; groups > 0; groups--) {
                for (int field = 0; field < 2; field++) read_number(&r, ' ');
                read_number(&r, '\n');
                read_string(&r);
            }
        }
        REQUIRE(r.good);
    }
    const rule *of = &the_program->rules[n];
    if (of->kind != LINE || which < 64) put_bytes(to, all[n].literal.bytes, all[n].literal.size);
    if (which < 32) return;
    append_like(to, (const char *)all[n].first.bytes, all[n].first.size, which);
    if (of->kind != JUMP) return;
    put_bytes(to, of->jump.bytes, of->jump.size);
    append_like(to, (const char *)all[n].tail.bytes, all[n].tail.size, which);
}

/* What every result must be like. */
static void check(const pf_result *result, const int64_t *ends, int64_t n_texts) {
    if (result->error) {
        REQUIRE(result->error >= NO_MEMORY && result->error <= BAD_RULE);
        return;
    }
    for (int32_t n = 0; n < the_program->n_rules; n++) {
        const rows *r = &result->rows[n];
        const rule *of = &the_program->rules[n];
        for (int64_t k = 0; k < r->n; k++) {
            REQUIRE(r->text[k] >= 0 && r->text[k] < n_texts);
            const int64_t size = ends[r->text[k]] - (r->text[k] ? ends[r->text[k] - 1] : 0);
            REQUIRE(r->offset[k] >= 0 && r->offset[k] < size);
            REQUIRE(r->line[k] >= 0 && r->line[k] <= result->line_feeds[r->text[k]]);
            REQUIRE(!(result->flags[r->text[k]] & 63));
            if (!k) continue;
            REQUIRE(r->text[k] >= r->text[k - 1]);
            if (r->text[k] == r->text[k - 1]) REQUIRE(r->offset[k] > r->offset[k - 1] && r->line[k] >= r->line[k - 1]);
        }
        for (int32_t g = 0; r->n && g < of->n_of_kind[TEXT]; g++) {
            int64_t feeds = 0;
            for (size_t k = 0; k < r->texts[g].size; k++) feeds += r->texts[g].bytes[k] == '\n';
            REQUIRE(feeds == r->n);
        }
        int64_t candidates = 0;
        for (int64_t k = 0; k < r->n_candidates; k++) {
            REQUIRE(!(result->flags[r->candidate_text[k]] & 63) && r->candidate_count[k] > 0);
            candidates += r->candidate_count[k];
        }
        REQUIRE(candidates >= r->n);
    }
}

static size_t count_feeds(const uint8_t *at, size_t size) {
    size_t feeds = 0;
    for (size_t n = 0; n < size; n++) feeds += at[n] == '\n';
    return feeds;
}

/* Clean text is UTF-8 and has the same line feeds. */
static void check_cleaning(const uint8_t *text, size_t size, long allocations) {
    size_t clean_size;
    countdown = allocations;
    uint8_t *clean = pf_clean(text, size, &clean_size);
    countdown = -1;
    if (!clean) {
        REQUIRE(allocations >= 0);
        return;
    }
    REQUIRE(count_feeds(clean, clean_size) == count_feeds(text, size));
    REQUIRE(pf_is_utf8(clean, clean_size));
    pf_clean_free(clean);
}

/* The program's own text with some bytes changed must be taken or refused, nothing else. */
static void compile_changed(const uint8_t *data, size_t size) {
    uint8_t *text = malloc(program_size);
    REQUIRE(text);
    memcpy(text, program_bytes, program_size);
    for (size_t n = 0; n + 3 <= size; n += 3) text[(data[n] << 8 | data[n + 1]) % program_size] = data[n + 2];
    pf_fault fault;
    const size_t part = size % 2 ? program_size : (program_size / 256) * (data[0] + 1u) % program_size;
    program *changed = pf_compile(text, part, size & 2, &fault);
    if (!changed) REQUIRE(fault.message[0]);
    pf_drop(changed);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static text_buffer all;
    int64_t ends[64], n_texts = 0;
    uint8_t at_end[64];
    start();
    if (size < 5) return 0;
    const uint8_t how = data[0], repeats = data[3];
    if (how >= 254) {
        countdown = how == 254 ? 40 * data[1] : -1;
        compile_changed(data + 4, size - 4);
        countdown = -1;
        return 0;
    }
    all.size = 0;
    for (int n = 0; n < data[2] % 64; n++) put_bytes(&all, "a line without anything in it\n", 30 - n % 3);
    for (int again = 0; again <= (repeats & 0x80 ? repeats & 0x7f : 0); again++)
        for (size_t n = 4; n < size; n++) {
            const uint8_t byte = data[n], next = n + 1 < size ? data[n + 1] : 0, last = n + 2 < size ? data[n + 2] : 0;
            if (byte >= 0xf8 && byte < 0xfe && the_program->n_rules) {
                append_rule(&all, (uint32_t)(next << 8 | last) % (uint32_t)the_program->n_rules,
                            (uint8_t)(byte * 37 + last));
                n += 2;
            } else if (byte == 0xfe && n_texts < 63) {
                at_end[n_texts] = next & 1;
                ends[n_texts++] = (int64_t)all.size;
            } else {
                put_bytes(&all, &byte, 1);
            }
        }
    at_end[n_texts] = how & 2;
    ends[n_texts++] = (int64_t)all.size;
    /* A copy of just this size, so that one byte read too many is seen. */
    uint8_t *exact = malloc(all.size ? all.size : 1);
    REQUIRE(exact);
    if (all.size) memcpy(exact, all.bytes, all.size);
    countdown = how & 4 ? data[1] : -1;
    pf_result *result = pf_scan(the_program, exact, ends, n_texts, at_end, how & 1);
    countdown = -1;
    if (result)
        check(result, ends, n_texts);
    else
        REQUIRE(how & 4);
    pf_free(result);
    check_cleaning(exact, all.size, how & 4 ? data[1] : -1);
    free(exact);
    return 0;
}

#ifdef STANDALONE
static uint64_t state;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

int main(int argc, char **argv) {
    char *end = NULL;
    const double seconds = argc == 3 ? strtod(argv[1], &end) : 0;
    if (!end || *end) {
        for (int n = 1; n < argc; n++) {
            size_t size;
            uint8_t *bytes = read_file(argv[n], &size);
            LLVMFuzzerTestOneInput(bytes, size);
            free(bytes);
        }
        return 0;
    }
    static const char common[] = "\n\n\r \t0123456789.,:-+=eEabcdefghij[](){}/%\"'";
    long inputs = 0;
    state = strtoull(argv[2], NULL, 10);
    for (const time_t stop = time(NULL) + (time_t)seconds; time(NULL) < stop; inputs++) {
        uint8_t input[3000];
        const size_t size = 5 + draw(draw(4) ? 200 : 2990);
        const uint32_t strange = draw(3) ? 0 : 40;
        for (size_t n = 0; n < size; n++) {
            const uint32_t kind = draw(100);
            input[n] = kind < 12                   ? (uint8_t)(0xf8 + draw(7))
                       : kind < 100 - strange / 10 ? (uint8_t)common[draw(sizeof common - 1)]
                                                   : (uint8_t)draw(256);
        }
        input[0] = (uint8_t)(draw(200) ? draw(8) : 254 + draw(2));
        for (int n = 1; n < 4; n++) input[n] = (uint8_t)draw(256);
        if (draw(4)) input[0] &= 0xfb; /* allocations fail in a quarter of them */
        if (size > 500) input[3] &= 0x7f;
        LLVMFuzzerTestOneInput(input, size);
    }
    printf("%ld inputs\n", inputs);
    return 0;
}
#endif
