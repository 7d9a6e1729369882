/* Lines like one before: part of scan.c.
 *
 * Most lines of a log differ from one before in nothing but their digits. Where each regex that was tried on that line
 * takes all digits alike, it matches such a line at the same places, and so do the literals: what was found is found
 * again by comparing the line's bytes, every one, and reading the numbers.
 *
 * A template is a line of which this is known. Its digits may be any others, as many at each place, but those that lie
 * where a literal with digits may stand ("DLL 2"): these must be the same. A template has no carriage return, no byte
 * that is not ASCII, and no byte that makes a text dirty.
 */

#define TEMPLATE_BYTES 512 /* of a line with its line feed */
#define LEAST_TEMPLATE 16
#define TEMPLATE_ROWS 8
#define TEMPLATE_CAPTURES 40
#define TEMPLATE_LITERALS 32
#define TEMPLATE_SETS 32 /* by the line's size; a power of two */
#define TEMPLATE_WAYS 4
#define TEMPLATES (TEMPLATE_SETS * TEMPLATE_WAYS)

typedef struct {
    int16_t start, size;   /* from the line's beginning; start is -1 where the group took no part */
    int8_t whole, decimals; /* of a plain number, its digits before and behind the point; else whole is 0 */
} span;

typedef struct {
    int32_t size; /* 0 where there is none */
    bool refused; /* of a draft: other lines may not be like it */
    bool listed;  /* among those that have uses */
    int64_t uses; /* lines of the present text that are like it and whose literals have yet to be counted */
    int32_t n_rows, n_captures, n_literals;
    struct {
        int32_t rule;
        int16_t at, captures; /* where its literal begins; its first capture */
    } rows[TEMPLATE_ROWS];
    span captures[TEMPLATE_CAPTURES];
    struct {
        int32_t literal, count;
    } literals[TEMPLATE_LITERALS];
    uint8_t bytes[TEMPLATE_BYTES];  /* zeros in place of the digits that may be others ... */
    uint8_t digits[TEMPLATE_BYTES]; /* ... and 0xff at these, 0 at all other bytes */
} template;

typedef struct {
    template of[TEMPLATES];
    template draft;
    uint8_t next[TEMPLATE_SETS]; /* which of a set is replaced next */
    int32_t used[TEMPLATES];     /* those that have uses */
    int32_t n_used;
    int32_t patience; /* so many more lines that are like none are looked at one by one ... */
    int32_t rest;     /* ... and then so many chunks are not */
    int32_t next_rest;
} templates;

/* A line that is like another is several times as fast as one that is looked at alone, and that is a little slower
 * than in a chunk. */
#define PATIENCE 16
#define MOST_PATIENCE 64
#define LONGEST_REST 16

static templates *new_templates(void) {
    templates *like = resize(NULL, 1, sizeof *like);
    if (!like) return NULL;
    for (int32_t n = 0; n < TEMPLATES; n++) {
        like->of[n].size = 0;
        like->of[n].listed = false;
        like->of[n].uses = 0;
    }
    memset(like->next, 0, sizeof like->next);
    like->n_used = 0;
    like->patience = PATIENCE;
    like->rest = 0;
    like->next_rest = 1;
    return like;
}

/* Whether a subject lacks a text without digits that each match of a rule has. */
static bool lacks_plain_text(const rule *of, const uint8_t *at, const uint8_t *end) {
    for (int32_t n = 0; of->filter && n < of->filter->n_texts; n++) {
        const string text = {of->filter->texts[n].bytes, of->filter->texts[n].size};
        if (!has_digit(text) && !has_text(of->filter, n, at, end)) return true;
    }
    return false;
}

/* Whether a subject lacks what each match of a rule begins with, and lacks it whatever its digits are. */
static bool lacks_plain_steps(const rule *of, const uint8_t *at, const uint8_t *end) {
    const filter *by = of->filter;
    if (!by || (by->ends_in_set && !is_blind(&by->last))) return false;
    for (int32_t n = 0; n < by->n_steps; n++) {
        const step *next = &by->steps[n];
        if (next->kind == RUN && !is_blind(&next->of.set)) return false;
        for (int32_t k = 0; next->kind == SAME && k < next->most; k++)
            if (is_digit(next->of.bytes[k])) return false;
    }
    return !follows_steps(by, at, end);
}

/* ------------------------------------------------------------------------------------------------- drafts */

static void begin_draft(template *draft) {
    draft->refused = false;
    draft->n_rows = draft->n_captures = draft->n_literals = 0;
}

static void refuse(template *draft) { draft->refused = true; }

static void note_capture(template *draft, int64_t start, size_t size) {
    if (draft->n_captures == TEMPLATE_CAPTURES || start + (int64_t)size > TEMPLATE_BYTES) return refuse(draft);
    draft->captures[draft->n_captures++] = (span){(int16_t)start, (int16_t)size, 0, 0};
}

/* `at`: where its literal begins; its `n_captures` captures have just been noted. */
static void note_row(template *draft, int32_t rule, int64_t at, int32_t n_captures) {
    if (draft->refused || draft->n_rows == TEMPLATE_ROWS || at >= TEMPLATE_BYTES) return refuse(draft);
    draft->rows[draft->n_rows].rule = rule;
    draft->rows[draft->n_rows].at = (int16_t)at;
    draft->rows[draft->n_rows++].captures = (int16_t)(draft->n_captures - n_captures);
}

static void note_literal(template *draft, int32_t literal, int32_t count) {
    if (draft->n_literals == TEMPLATE_LITERALS) return refuse(draft);
    draft->literals[draft->n_literals].literal = literal;
    draft->literals[draft->n_literals++].count = count;
}

/* Whether a line can be a template: no byte of it is of those that a template has none of. */
static bool is_plain_line(const uint8_t *line, int32_t size) {
    uint8_t all = 0;
    for (int32_t n = 0; n < size; n++) all |= line[n];
    return all < 0x80 && !memchr(line, '\r', (size_t)size) &&
           !find_text((const uint8_t *)OF_TAG, sizeof OF_TAG - 1, 1, line, line + size);
}

/* So many digits are read at once. */
#define MOST_DIGITS 8
/* So many decimal digits a double holds, whatever they are, and so does a power of ten that they are divided by. */
#define EXACT_DIGITS 15

static int32_t count_digits(const uint8_t *at, const uint8_t *end) {
    int32_t count = 0;
    while (at + count < end && is_digit(at[count])) count++;
    return count;
}

/* Note how many digits a capture has before and behind its point, if it is a number without anything else. */
static void note_number(span *of, const uint8_t *line) {
    const uint8_t *const at = line + of->start, *const end = at + of->size;
    const int32_t whole = count_digits(at, end);
    const bool has_point = at + whole < end && at[whole] == '.';
    const int32_t decimals = has_point ? count_digits(at + whole + 1, end) : 0;
    if (at + whole + has_point + decimals < end || whole > MOST_DIGITS || decimals > MOST_DIGITS) return;
    if (!whole || has_point != (decimals > 0) || whole + decimals > EXACT_DIGITS) return;
    of->whole = (int8_t)whole;
    of->decimals = (int8_t)decimals;
}

/* Make a template of a line's draft. */
static void finish_draft(const program *p, template *draft, const uint8_t *line, int32_t size) {
    uint8_t zeroed[TEMPLATE_BYTES];
    draft->size = size;
    draft->uses = 0;
    put_zeros(zeroed, line, (size_t)size);
    memcpy(draft->bytes, zeroed, (size_t)size);
    for (int32_t n = 0; n < size; n++) draft->digits[n] = is_digit(line[n]) ? 0xff : 0;
    for (int32_t n = 0; n < draft->n_captures; n++)
        if (draft->captures[n].start >= 0) note_number(&draft->captures[n], line);
    for (int32_t n = 0; n < p->n_literals; n++) {
        const literal *of = &p->literals[n];
        const uint8_t *at = of->zeroed ? zeroed : NULL;
        for (; at && (at = find_text(of->zeroed, of->text.size, of->zeroed_rare, at, zeroed + size)); at++) {
            memcpy(draft->bytes + (at - zeroed), line + (at - zeroed), of->text.size);
            memset(draft->digits + (at - zeroed), 0, of->text.size);
        }
    }
}

/* ---------------------------------------------------------------------------------------------- likeness */

/* Whether 16 bytes are those of a template, any digits where it has some. */
#if defined(__SSE2__)
static inline bool are_like(const uint8_t *at, const uint8_t *bytes, const uint8_t *digits) {
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    const __m128i line = _mm_loadu_si128((const __m128i *)(const void *)at);
    const __m128i value = _mm_sub_epi8(line, zero);
    const __m128i is_free = _mm_and_si128(_mm_cmpeq_epi8(_mm_min_epu8(value, nine), value),
                                          _mm_loadu_si128((const __m128i *)(const void *)digits));
    const __m128i zeroed = _mm_or_si128(_mm_andnot_si128(is_free, line), _mm_and_si128(is_free, zero));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(zeroed, _mm_loadu_si128((const __m128i *)(const void *)bytes))) == 0xffff;
}
#else
static inline bool are_like(const uint8_t *at, const uint8_t *bytes, const uint8_t *digits) {
    uint8_t unlike = 0;
    for (int n = 0; n < 16; n++) unlike |= (uint8_t)((is_digit(at[n]) && digits[n] ? '0' : at[n]) ^ bytes[n]);
    return !unlike;
}
#endif

static bool is_like(const template *of, const uint8_t *line, int32_t size) {
    if (of->size != size) return false;
    for (int32_t n = 0; n < size - 16; n += 16)
        if (!are_like(line + n, of->bytes + n, of->digits + n)) return false;
    return are_like(line + size - 16, of->bytes + size - 16, of->digits + size - 16);
}

/* The template that a line is like, its line feed included; NULL where there is none. */
static template *template_of(templates *like, const uint8_t *line, int32_t size) {
    template *const set = &like->of[(size % TEMPLATE_SETS) * TEMPLATE_WAYS];
    for (int32_t n = 0; size >= LEAST_TEMPLATE && n < TEMPLATE_WAYS; n++)
        if (is_like(&set[n], line, size)) return &set[n];
    return NULL;
}

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

/* A number whose digits are known, as to_double gives it: fifteen digits and a power of ten are exact. */
static inline double number_at(const span *of, const uint8_t *at) {
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const uint64_t whole = value_of_digits(at, of->whole);
    if (!of->decimals) return (double)whole;
    const uint64_t decimals = value_of_digits(at + of->whole + 1, of->decimals);
    return (double)(whole * tens[of->decimals] + decimals) / TENS[of->decimals];
}

/* Nothing of a text whose literals are not counted yet counts. */
static void forget_uses(templates *like) {
    while (like->n_used) {
        template *of = &like->of[like->used[--like->n_used]];
        of->uses = 0;
        of->listed = false;
    }
}
