/* The shapes of lines: part of scan.c.
 *
 * A shape is a line's text with its tokens taken out: two lines of one shape have the same bytes but for their runs of
 * digits and of a bar's blocks. What the rules find in a line is decided once for all lines of its shape whose tokens
 * meet the conditions that the regexes made on the way (scan_regex.h): a variant of the shape. Every other line of it is
 * compared, each byte of its text, and its numbers are read where they must stand.
 *
 * A shape's text has no byte that makes a text dirty, and is UTF-8; shapes of cleaned texts are others. What is decided
 * depends on the rules and the line alone, so that tables of shapes go from one scan to the next; a table belongs to one
 * scan at a time.
 */

#define SHAPE_BYTES 4096 /* of a line */
#define MOST_ROWS 64
#define MOST_CAPTURES 320
#define MOST_LITERALS 64
#define MOST_VARIANTS 48 /* of a shape; a line that would be another one is matched by itself */
#define SHAPE_SLOTS 4096 /* a power of two */
#define SHAPE_ROOM ((size_t)8 * 1024 * 1024) /* so much memory for all shapes, then they are forgotten */

/* A place in a line of a shape: so many bytes from its beginning (edge 0), or from where token n begins (1 + 2 * n) or
 * ends (2 + 2 * n). */
typedef struct {
    int16_t edge, delta;
} spot;

/* A capture; `start.edge` is -1 where the group took no part. `whole`: of a plain number the edge where the token begins
 * that is all of it, or its digits before the point, of which the next token has those behind; 0 for anything else. */
typedef struct {
    spot start, end;
    int16_t whole;
    bool has_decimals;
} span;

typedef struct {
    int32_t rule, captures; /* the first of its captures */
    spot at;                /* where its literal begins, or the line */
} shape_row;

typedef struct {
    int32_t literal, count;
} shape_literal;

typedef struct {
    int32_t token;
    condition is;
} requirement;

typedef struct variant {
    struct variant *next;
    int32_t n_requirements, n_rows, n_literals;
    bool listed;  /* among those that have uses */
    int64_t uses; /* lines of the present text that are of it and whose literals have yet to be counted */
    const requirement *requirements;
    const shape_row *rows;
    const span *captures;
    const shape_literal *literals;
} variant;

/* One line of a shape with its edges. A line of the same size is compared with it many bytes at a time: its bytes must
 * be the same, or digits where this one has them; then its edges are the same. */
typedef struct {
    int32_t size, room;
    uint8_t *line; /* without_digit of each byte */
    int32_t *edges;
    variant *last; /* of the line that was like it last, and what its digits must be for another one to be of it */
    int32_t n_checks, room_checks;
    struct check {
        uint16_t place, mask;
    } *checks;
} layout;

#define LAYOUTS 4
#define FOLLOWERS 8

typedef struct shape {
    struct shape *next_in_slot;
    struct shape *followers[FOLLOWERS]; /* the shapes of lines that followed one of this shape, likely ones first */
    variant *variants;
    uint64_t hash;
    int32_t n_tokens, n_variants;
    const uint8_t *text;    /* all of its pieces, one behind the other */
    const int16_t *pieces;  /* their sizes: one before each token, one behind the last */
    const uint8_t *kinds;   /* of its tokens */
    layout layouts[LAYOUTS];
    int32_t present, next_layout; /* the one that matched last, and the one to be written over */
} shape;

typedef struct block {
    struct block *next;
    size_t used, size;
    max_align_t memory[];
} block;

typedef struct shapes {
    struct shapes *next; /* in the program's store */
    shape *slots[SHAPE_SLOTS];
    block *blocks;
    size_t room; /* of all blocks */
    shape *last; /* the shape of the line before */
    variant **used; /* variants that have uses */
    int64_t n_used, cap_used;
    const int32_t *edges; /* of the line that was compared last: its beginning, its tokens' borders */
    int32_t own_edges[2 * MOST_TOKENS + 1];
    int32_t patience; /* so many more lines that are of no known shape are looked at ... */
    int64_t rest;     /* ... and then so many bytes are not */
    int64_t next_rest;
} shapes;

/* To understand a line takes a hundred times as long as to search it for literals. */
#define PATIENCE 32
#define MOST_PATIENCE 64
#define FIRST_REST 16384
#define LONGEST_REST (16 * FIRST_REST)

static void forget_shapes(shapes *all) {
    while (all->blocks) {
        block *of = all->blocks;
        all->blocks = of->next;
        free(of);
    }
    memset(all->slots, 0, sizeof all->slots);
    all->room = 0;
    all->last = NULL;
    all->n_used = 0;
}

static void drop_shapes(shapes *all) {
    if (!all) return;
    forget_shapes(all);
    free(all->used);
    free(all);
}

/* Memory that is given back with all others' shapes; NULL where there is none. */
static void *keep_bytes(shapes *all, size_t size) {
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!all->blocks || all->blocks->size - all->blocks->used < size) {
        const size_t room = size > 65536 ? size : 65536;
        block *made = resize(NULL, 1, sizeof *made + room);
        if (!made) return NULL;
        made->next = all->blocks;
        made->used = 0;
        made->size = room;
        all->blocks = made;
        all->room += room;
    }
    uint8_t *memory = (uint8_t *)all->blocks->memory + all->blocks->used;
    all->blocks->used += size;
    return memory;
}

/* The same for what only makes the scan faster: NULL where all shapes together have much already. */
static void *spare_bytes(shapes *all, size_t size) { return all->room > SHAPE_ROOM ? NULL : keep_bytes(all, size); }

/* ------------------------------------------------------------------------------------------------- tokens */

/* Part a line into text and tokens. False where it has too many tokens. */
static bool find_tokens(understanding *of, const uint8_t *line, int32_t size) {
    of->line = line;
    of->n_tokens = 0;
    for (int32_t at = 0; at < size;) {
        const bool digit = is_digit(line[at]);
        if (!digit && (line[at] != 0xe2 || size - at < 3 || block_at(line + at) < 0)) {
            at++;
            continue;
        }
        if (of->n_tokens == MOST_TOKENS) return false;
        token *made = &of->tokens[of->n_tokens++];
        made->start = at;
        made->kind = digit ? DIGITS : BLOCKS;
        if (digit)
            while (at < size && is_digit(line[at])) at++;
        else
            while (size - at >= 3 && block_at(line + at) >= 0) at += 3;
        made->end = at;
    }
    return true;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *at, size_t size) {
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        hash = (hash ^ eight) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 32;
    }
    while (size--) hash = (hash ^ *at++) * 0x100000001b3ull;
    return hash;
}

static uint64_t hash_text(const understanding *of, int32_t size, bool cleaned) {
    uint64_t hash = 0xcbf29ce484222325ull ^ cleaned; /* no step makes two hashes one: the two never meet */
    int32_t at = 0;
    for (int32_t n = 0; n <= of->n_tokens; n++) {
        const int32_t end = n < of->n_tokens ? of->tokens[n].start : size;
        hash = hash_bytes(hash, of->line + at, (size_t)(end - at));
        if (n == of->n_tokens) break;
        hash = (hash ^ (0x100u + (uint32_t)of->tokens[n].kind)) * 0x100000001b3ull;
        at = of->tokens[n].end;
    }
    return hash ^ (hash >> 29);
}

/* The highest bits of those of eight bytes that are no digits. */
static inline uint64_t no_digits(uint64_t eight) {
    eight ^= 0x3030303030303030ull; /* a digit is 0 to 9 now */
    return (((eight & 0x7f7f7f7f7f7f7f7full) + 0x7676767676767676ull) | eight) & 0x8080808080808080ull;
}

/* How many digits stand at a place. */
static inline int32_t count_digits(const uint8_t *at, const uint8_t *limit) {
    const uint8_t *const from = at;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t eight;
    while (limit - at >= 8) {
        memcpy(&eight, at, 8);
        const uint64_t others = no_digits(eight);
        if (others) return (int32_t)(at - from) + __builtin_ctzll(others) / 8;
        at += 8;
    }
#endif
    while (at < limit && is_digit(*at)) at++;
    return (int32_t)(at - from);
}

/* The size of a line of a shape, which ends with a line feed or carriage return before `limit`; -1 where it is of
 * another shape. Its edges are noted. */
static inline int32_t follow_shape(const shape *of, const uint8_t *line, const uint8_t *limit, int32_t *edges) {
    const uint8_t *at = line, *text = of->text;
    for (int32_t n = 0;; n++) {
        const int32_t size = of->pieces[n];
        if (limit - at <= size || !same_bytes(at, text, (size_t)size)) return -1;
        at += size;
        text += size;
        if (n == of->n_tokens) break;
        const uint8_t *const start = at;
        if (of->kinds[n] == DIGITS)
            at += count_digits(at, limit);
        else
            while (limit - at >= 3 && block_at(at) >= 0) at += 3;
        if (at == start) return -1;
        edges[1 + 2 * n] = (int32_t)(start - line);
        edges[2 + 2 * n] = (int32_t)(at - line);
    }
    return *at == '\n' || *at == '\r' ? (int32_t)(at - line) : -1;
}

/* A byte in a form in which all digits are one, and no two others. */
static inline uint8_t without_digit(uint8_t byte) {
    byte = (uint8_t)(byte - '0');
    return byte > 9 ? byte : 9;
}

static inline void compare(uint8_t unlike[LANES], const uint8_t *line, const uint8_t *like) {
    for (int n = 0; n < LANES; n++) unlike[n] |= without_digit(line[n]) ^ like[n];
}

/* Whether a line, of which as many bytes as the layout has (LANES at least) may be read, is like its line. */
static bool is_like(const layout *of, const uint8_t *line) {
    uint8_t unlike[LANES] = {0};
    for (int32_t at = 0; at + LANES < of->size; at += LANES) compare(unlike, line + at, of->line + at);
    compare(unlike, line + of->size - LANES, of->line + of->size - LANES);
    return is_zero(unlike);
}

/* The layout that a line is like; NULL where there is none. */
static layout *like_before(shape *of, const uint8_t *line, const uint8_t *limit) {
    for (int32_t n = 0; n < LAYOUTS; n++) {
        const int32_t index = (of->present + n) % LAYOUTS;
        layout *one = &of->layouts[index];
        if (!one->size || limit - line <= one->size) continue;
        if ((line[one->size] != '\n' && line[one->size] != '\r') || !is_like(one, line)) continue;
        of->present = index;
        return one;
    }
    return NULL;
}

/* Keep a line of a shape, whose edges are known, for those that are like it. */
static void keep_layout(shapes *all, shape *of, const uint8_t *line, int32_t size, const int32_t *edges) {
    if (size < LANES) return;
    const int32_t n_edges = 1 + 2 * of->n_tokens, index = of->next_layout;
    layout *to = &of->layouts[index];
    if (to->room < size) {
        uint8_t *bytes = spare_bytes(all, (size_t)size);
        int32_t *places = to->edges ? to->edges : spare_bytes(all, (size_t)n_edges * sizeof *places);
        if (!bytes || !places) return;
        to->line = bytes;
        to->edges = places;
        to->room = size;
    }
    to->size = size;
    to->last = NULL;
    for (int32_t n = 0; n < size; n++) to->line[n] = without_digit(line[n]);
    memcpy(to->edges, edges, (size_t)n_edges * sizeof *edges);
    of->present = index;
    of->next_layout = (index + 1) % LAYOUTS;
}

/* Whether a line's token meets a condition. */
static bool meets(const requirement *of, const shape *in, const uint8_t *line, const int32_t *edges) {
    const enum token_kind kind = (enum token_kind)in->kinds[of->token];
    const int32_t start = edges[1 + 2 * of->token], n = (edges[2 + 2 * of->token] - start) / SYMBOL_SIZE[kind];
    if (of->is.closed ? n != of->is.n : n < of->is.n) return false;
    for (int32_t k = 0; k < of->is.n; k++) {
        if (of->is.masks[k] == ALL_SYMBOLS[kind]) continue;
        if (!(of->is.masks[k] >> symbol_at(line + start + k * SYMBOL_SIZE[kind], kind) & 1)) return false;
    }
    return of->is.last == ALL_SYMBOLS[kind] ||
           (of->is.last >> symbol_at(line + edges[2 + 2 * of->token] - SYMBOL_SIZE[kind], kind) & 1);
}

/* Note of which variant a line of a layout is. What a variant asks of digits becomes a list of places and digits; its
 * tokens have the same sizes and blocks in all lines of the layout. */
static void note_variant(shapes *all, layout *to, const shape *of, variant *one) {
    int32_t n = 0;
    to->last = NULL;
    for (int32_t k = 0; k < one->n_requirements; k++) n += one->requirements[k].is.n + 1;
    if (n > to->room_checks) {
        struct check *made = spare_bytes(all, (size_t)n * sizeof *made);
        if (!made) return;
        to->checks = made;
        to->room_checks = n;
    }
    to->n_checks = 0;
    for (int32_t k = 0; k < one->n_requirements; k++) {
        const requirement *r = &one->requirements[k];
        if (of->kinds[r->token] != DIGITS) continue;
        for (int32_t m = 0; m < r->is.n; m++)
            if (r->is.masks[m] != ALL_SYMBOLS[DIGITS])
                to->checks[to->n_checks++] = (struct check){(uint16_t)(to->edges[1 + 2 * r->token] + m), r->is.masks[m]};
        if (r->is.last != ALL_SYMBOLS[DIGITS])
            to->checks[to->n_checks++] = (struct check){(uint16_t)(to->edges[2 + 2 * r->token] - 1), r->is.last};
    }
    to->last = one;
}

/* Whether a line of a layout is of the variant that was noted. */
static bool is_of_last(const layout *of, const uint8_t *line) {
    for (int32_t n = 0; n < of->n_checks; n++)
        if (!(of->checks[n].mask >> (line[of->checks[n].place] & 15) & 1)) return false;
    return of->last != NULL;
}

static bool is_of_variant(const variant *one, const shape *of, const uint8_t *line, const int32_t *edges) {
    int32_t n = 0;
    while (n < one->n_requirements && meets(&one->requirements[n], of, line, edges)) n++;
    return n == one->n_requirements;
}

/* The variant of a shape that a line is of, whose edges are known; NULL where it is of none. */
static variant *variant_of(shape *of, const uint8_t *line, const int32_t *edges) {
    for (variant **at = &of->variants; *at; at = &(*at)->next) {
        variant *one = *at;
        if (!is_of_variant(one, of, line, edges)) continue;
        *at = one->next; /* the next one is often of it, too */
        one->next = of->variants;
        return of->variants = one;
    }
    return NULL;
}

/* A line's shape by its tokens; NULL where it is not known. */
static shape *known_shape(const shapes *all, const understanding *of, int32_t size, uint64_t hash) {
    for (shape *one = all->slots[hash % SHAPE_SLOTS]; one; one = one->next_in_slot) {
        if (one->hash != hash || one->n_tokens != of->n_tokens) continue;
        const uint8_t *text = one->text;
        int32_t at = 0, n = 0;
        for (; n <= of->n_tokens; n++) {
            const int32_t end = n < of->n_tokens ? of->tokens[n].start : size;
            if (one->pieces[n] != end - at || !same_bytes(of->line + at, text, (size_t)(end - at))) break;
            if (n == of->n_tokens) return one;
            if (one->kinds[n] != of->tokens[n].kind) break;
            text += end - at;
            at = of->tokens[n].end;
        }
    }
    return NULL;
}

/* Note that a line of one shape followed one of another: the next time it is tried sooner. */
static void note_follower(shape *before, shape *after) {
    int32_t n = 0;
    while (n < FOLLOWERS - 1 && before->followers[n] && before->followers[n] != after) n++;
    if (before->followers[n] == after && n) {
        before->followers[n] = before->followers[n - 1];
        n--;
    }
    before->followers[n] = after;
}

static shape *new_shape(shapes *all, const understanding *of, int32_t size, uint64_t hash) {
    uint8_t *text = keep_bytes(all, (size_t)size), *kinds = keep_bytes(all, (size_t)of->n_tokens);
    int16_t *pieces = keep_bytes(all, (size_t)(of->n_tokens + 1) * sizeof *pieces);
    shape *made = keep_bytes(all, sizeof *made);
    if (!text || !kinds || !pieces || !made) return NULL;
    *made = (shape){.next_in_slot = all->slots[hash % SHAPE_SLOTS], .hash = hash, .n_tokens = of->n_tokens,
                    .text = text, .pieces = pieces, .kinds = kinds};
    int32_t at = 0;
    for (int32_t n = 0; n <= of->n_tokens; n++) {
        const int32_t end = n < of->n_tokens ? of->tokens[n].start : size;
        memcpy(text, of->line + at, (size_t)(end - at));
        text += end - at;
        pieces[n] = (int16_t)(end - at);
        if (n == of->n_tokens) break;
        kinds[n] = (uint8_t)of->tokens[n].kind;
        at = of->tokens[n].end;
    }
    all->slots[hash % SHAPE_SLOTS] = made;
    return made;
}

/* ------------------------------------------------------------------------------------------------- drafts */

/* What is noted of a line while it is matched; places are the line's. */
typedef struct {
    understanding of;
    int32_t size;
    uint64_t hash;
    int32_t n_rows, n_captures, n_literals;
    struct {
        int32_t rule, at, captures;
    } rows[MOST_ROWS];
    struct {
        int32_t start, end;
        bool is_number;
    } captures[MOST_CAPTURES];
    shape_literal literals[MOST_LITERALS];
} draft;

static void note_capture(draft *to, int32_t start, int32_t end, bool is_number) {
    if (to->n_captures == MOST_CAPTURES) {
        to->of.refused = true;
        return;
    }
    to->captures[to->n_captures].start = start;
    to->captures[to->n_captures].end = end;
    to->captures[to->n_captures++].is_number = is_number;
}

/* `at`: where its literal begins, -1 for a rule by line; its `n_captures` captures have just been noted. */
static void note_row(draft *to, int32_t rule, int32_t at, int32_t n_captures) {
    if (to->of.refused || to->n_rows == MOST_ROWS) {
        to->of.refused = true;
        return;
    }
    to->rows[to->n_rows].rule = rule;
    to->rows[to->n_rows].at = at;
    to->rows[to->n_rows++].captures = to->n_captures - n_captures;
}

static void note_literal(draft *to, int32_t literal, int32_t count) {
    if (to->n_literals == MOST_LITERALS)
        to->of.refused = true;
    else
        to->literals[to->n_literals++] = (shape_literal){literal, count};
}

/* A place that other lines of the shape have, too. */
static spot spot_of(const understanding *of, int32_t place) {
    for (int32_t n = of->n_tokens - 1; n >= 0; n--) {
        if (place >= of->tokens[n].end) return (spot){(int16_t)(2 + 2 * n), (int16_t)(place - of->tokens[n].end)};
        if (place > of->tokens[n].start) return (spot){(int16_t)(1 + 2 * n), (int16_t)(place - of->tokens[n].start)};
    }
    return (spot){0, (int16_t)place};
}

/* The same of a literal's first byte: a literal that begins in a token goes on to its end. */
static spot literal_spot(const understanding *of, int32_t place) {
    if (place < 0) return (spot){0, 0};
    for (int32_t n = 0; n < of->n_tokens; n++)
        if (place >= of->tokens[n].start && place < of->tokens[n].end)
            return (spot){(int16_t)(2 + 2 * n), (int16_t)(place - of->tokens[n].end)};
    return spot_of(of, place);
}

static span span_of(const understanding *of, int32_t start, int32_t end, bool is_number) {
    if (start < 0) return (span){{-1, 0}, {-1, 0}, 0, false};
    span made = {spot_of(of, start), spot_of(of, end), 0, false};
    for (int32_t n = 0; is_number && n < of->n_tokens; n++) {
        const token *first = &of->tokens[n], *next = n + 1 < of->n_tokens ? first + 1 : first;
        if (first->start != start || first->kind != DIGITS) continue;
        made.has_decimals = next->kind == DIGITS && of->line[first->end] == '.' && next->start == first->end + 1 && next->end == end;
        if (first->end == end || made.has_decimals) made.whole = (int16_t)(1 + 2 * n);
    }
    return made;
}

/* Whether a condition leaves some tokens out; each has one symbol at least. */
static bool is_strict(const condition *of, enum token_kind kind) {
    return of->closed || of->n > 1 || of->last != ALL_SYMBOLS[kind] || (of->n && of->masks[0] != ALL_SYMBOLS[kind]);
}

/* Keep what was found in a line for all lines that are like it. False: no memory. */
static bool keep_variant(shapes *all, const draft *from) {
    const understanding *of = &from->of;
    shape *in = known_shape(all, of, from->size, from->hash);
    if (!in && !(in = new_shape(all, of, from->size, from->hash))) return false;
    if (in->n_variants == MOST_VARIANTS) return true;
    int32_t n_requirements = 0;
    for (int32_t n = 0; n < of->n_tokens; n++) n_requirements += is_strict(&of->conditions[n], of->tokens[n].kind);
    requirement *requirements = keep_bytes(all, (size_t)n_requirements * sizeof *requirements);
    shape_row *rows = keep_bytes(all, (size_t)from->n_rows * sizeof *rows);
    span *captures = keep_bytes(all, (size_t)from->n_captures * sizeof *captures);
    shape_literal *literals = keep_bytes(all, (size_t)from->n_literals * sizeof *literals);
    variant *made = keep_bytes(all, sizeof *made);
    if (!requirements || !rows || !captures || !literals || !made) return false;
    *made = (variant){NULL, 0, from->n_rows, from->n_literals, false, 0, requirements, rows, captures, literals};
    for (int32_t n = 0; n < of->n_tokens; n++) {
        const condition *c = &of->conditions[n];
        if (!is_strict(c, of->tokens[n].kind)) continue;
        requirements[made->n_requirements++] = (requirement){n, *c};
    }
    for (int32_t n = 0; n < from->n_rows; n++)
        rows[n] = (shape_row){from->rows[n].rule, from->rows[n].captures, literal_spot(of, from->rows[n].at)};
    for (int32_t n = 0; n < from->n_captures; n++)
        captures[n] = span_of(of, from->captures[n].start, from->captures[n].end, from->captures[n].is_number);
    if (from->n_literals) memcpy(literals, from->literals, (size_t)from->n_literals * sizeof *literals);
    made->next = in->variants;
    in->variants = made;
    in->n_variants++;
    return true;
}

/* --------------------------------------------------------------------------------- literals that have symbols */

enum { NO_SYMBOL = -1 };

static int kind_at(string text, size_t at) {
    if (is_digit(text.bytes[at])) return DIGITS;
    return text.size - at >= 3 && block_at(text.bytes + at) >= 0 ? BLOCKS : NO_SYMBOL;
}

static bool has_symbol(string text) {
    for (size_t n = 0; n < text.size; n++)
        if (kind_at(text, n) != NO_SYMBOL) return true;
    return false;
}

/* How many bytes of a literal from `at` on are of a kind. */
static size_t run_size(string text, size_t at, int kind) {
    size_t n = at;
    while (n < text.size && kind_at(text, n) == kind) n += kind == BLOCKS ? 3 : 1;
    return n - at;
}

/* Require that a token goes on as it does here beside a literal's symbols: `whole`: they are all of it, else they begin
 * it. Returns whether they do. */
static bool require_beside(understanding *of, int32_t index, const uint8_t *symbols, size_t size, bool whole) {
    const token *t = &of->tokens[index];
    const int32_t length = n_symbols(t), wanted = (int32_t)size / SYMBOL_SIZE[t->kind];
    int32_t same = 0;
    for (; same < wanted && same < length; same++) {
        const int32_t at = same * SYMBOL_SIZE[t->kind];
        const int symbol = symbol_at(symbols + at, t->kind);
        if (symbol_at(of->line + t->start + at, t->kind) == symbol) continue;
        require_same(of, index, same);
        require_symbols(of, index, same, (uint16_t)(ALL_SYMBOLS[t->kind] & ~(1u << symbol)));
        return false;
    }
    require_same(of, index, same);
    if (same == wanted && !whole) return true;
    if (length == same)
        of->conditions[index].closed = true;
    else
        require_symbols(of, index, same, ALL_SYMBOLS[t->kind]);
    return same == wanted && length == same;
}

/* Require of the token in front of a text that it ends with a literal's symbols, or not, as it does here. */
static void require_before(understanding *of, int32_t index, string text, size_t size) {
    const token *t = &of->tokens[index];
    const int32_t width = SYMBOL_SIZE[t->kind];
    if ((int32_t)size > width) return require_all(of, index);
    const uint16_t symbol = (uint16_t)(1u << symbol_at(text.bytes, t->kind));
    const bool stands = symbol >> symbol_at(of->line + t->end - width, t->kind) & 1;
    of->conditions[index].last &= stands ? symbol : (uint16_t)~symbol;
}

/* A literal's first text, of `size` bytes behind `leading` bytes of symbols, stands in front of token `index` (or behind
 * the last one), at the place `at`: follow the rest of the literal as far as the line's text lets it. */
static void follow_literal(understanding *of, string text, size_t leading, size_t size, int32_t index, int32_t at,
                           int32_t line_size) {
    size_t done = leading + size;
    if (leading) {
        if (!index || at != of->tokens[index - 1].end || (int)of->tokens[index - 1].kind != kind_at(text, 0)) return;
        require_before(of, index - 1, text, leading);
    }
    at += (int32_t)size;
    while (done < text.size) { /* a literal's symbols, then a text */
        const int kind = kind_at(text, done);
        const size_t symbols = run_size(text, done, kind), next = run_size(text, done + symbols, NO_SYMBOL);
        if (index >= of->n_tokens || at != of->tokens[index].start || (int)of->tokens[index].kind != kind) return;
        const bool last = done + symbols == text.size;
        if (!require_beside(of, index, text.bytes + done, symbols, !last) || last) return;
        at = of->tokens[index++].end;
        const int32_t until = index < of->n_tokens ? of->tokens[index].start : line_size;
        if (until - at < (int32_t)next || !same_bytes(of->line + at, text.bytes + done + symbols, next)) return;
        at += (int32_t)next;
        done += symbols + next;
    }
}

static void note_symbols_of(program *p, string text) {
    if (!has_symbol(text)) return;
    symbol_literal *made = &p->with_symbols[p->n_with_symbols++];
    const int kind = kind_at(text, 0);
    const size_t leading = kind == NO_SYMBOL ? 0 : run_size(text, 0, kind), size = run_size(text, leading, NO_SYMBOL);
    *made = (symbol_literal){text, leading, size, leading + rarest((string){text.bytes + leading, size})};
}

/* Where the line's tokens might be, or might not be, part of a literal, require that they stay as they are. */
static void require_literal(understanding *of, const symbol_literal *one, int32_t line_size) {
    const uint8_t *at = of->line, *const end = at + line_size, *const text = one->text.bytes + one->leading;
    for (int32_t n = 0; !one->size && n < of->n_tokens; n++) require_all(of, n);
    for (int32_t n = 0; one->size && (at = find_text(text, one->size, one->rare - one->leading, at, end)) != NULL; at++) {
        while (n < of->n_tokens && of->tokens[n].start < at - of->line) n++;
        follow_literal(of, one->text, one->leading, one->size, n, (int32_t)(at - of->line), line_size);
    }
}
