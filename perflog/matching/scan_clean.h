/* Cleaning a text: part of scan.c.
 *
 * The same as perflog/logs/clean.py does, which has the reasons: what terminals, launchers and Ray add to a line is taken
 * off, what several ranks wrote into one line becomes sub-lines, and what is not UTF-8 becomes U+FFFD, as does each
 * digit of a number beside one. A line is cleaned by what stands in it alone; lines that need nothing are copied.
 */

typedef struct {
    const uint8_t *start, *rank, *rank_end, *end; /* `rank`: its digits */
} tag;

/* What one rank wrote into a line. */
typedef struct {
    const uint8_t *rank, *at;
    size_t rank_size, size;
    int64_t first, index; /* the rank's first piece of the line, and this one */
} piece;

typedef struct {
    strings to, forms[2]; /* the clean text; forms of the present line, in turn */
    piece *pieces;
    int64_t n_pieces, cap_pieces;
    bool has_tags, has_repeats; /* some line of the text may have one */
} cleaner;

/* Where words stand; `rare`: the byte of theirs that is searched for. */
static inline const uint8_t *find_words(const uint8_t *at, const uint8_t *end, const char *words, char rare) {
    return find_text((const uint8_t *)words, strlen(words), (size_t)(strchr(words, rare) - words), at, end);
}

static const uint8_t *skip_bytes(const uint8_t *at, const uint8_t *end, uint8_t low, uint8_t high) {
    while (at < end && *at >= low && *at <= high) at++;
    return at;
}

/* ------------------------------------------------------------------------------------------- control codes */

/* The end of the control sequence (ECMA-48) that begins with an escape character; NULL where none does. */
static const uint8_t *sequence_end(const uint8_t *at, const uint8_t *end) {
    if (++at == end) return NULL;
    if (*at == '[') {
        const uint8_t *last = skip_bytes(skip_bytes(at + 1, end, '0', '?'), end, ' ', '/');
        return last < end && *last >= '@' && *last <= '~' ? last + 1 : NULL;
    }
    if (*at < '@' || *at > '_') return NULL;
    if (*at == ']') {
        const uint8_t *last = at + 1;
        while (last < end && *last != 0x07 && *last != 0x1b) last++;
        if (last < end && *last == 0x07) return last + 1;
        if (end - last >= 2 && last[1] == '\\') return last + 2;
    }
    return at + 1;
}

/* Write a line without NULs, control sequences and backspaces, of which several in a row become a carriage return, and
 * without the one before its line feed. */
static bool append_without_codes(strings *to, const uint8_t *at, const uint8_t *limit, bool has_feed) {
    const size_t size = (size_t)(limit - at);
    if (!append(to, at, size)) return false;
    uint8_t *kept = to->bytes;
    const uint8_t *from = kept, *end = kept + size;
    if (memchr(from, 0, size)) {
        for (; from < end; from++)
            if (*from) *kept++ = *from;
        from = to->bytes;
        end = kept;
    }
    bool back = false; /* what was kept last was a backspace */
    for (kept = to->bytes; from < end;) {
        const uint8_t *stop = from, *behind;
        while (stop < end && *stop != 0x1b && *stop != '\b') stop++;
        if (stop > from) {
            memmove(kept, from, (size_t)(stop - from));
            kept += stop - from;
            back = false;
        }
        from = stop;
        if (from == end) break;
        if (*from == '\b') {
            if (!back) *kept++ = '\r';
            back = true;
            from++;
        } else if ((behind = sequence_end(from, end)) != NULL) {
            from = behind;
        } else {
            *kept++ = *from++;
            back = false;
        }
    }
    if (has_feed && kept > to->bytes && kept[-1] == '\r') kept--;
    to->size = (size_t)(kept - to->bytes);
    return true;
}

/* ------------------------------------------------------------------------------------------- ranks in one line */

static bool is_name_byte(uint8_t byte) { return is_word_byte(byte) || byte == '.' || byte == '-'; }

/* From a rank's digits on: the rest of a tag. */
static bool rest_of_tag(const uint8_t *at, const uint8_t *end, tag *found) {
    found->rank = at;
    found->rank_end = at = skip_bytes(at, end, '0', '9');
    if (at == found->rank) return false;
    if (at < end && *at == ',') { /* the job's part: ",algo-1" */
        const uint8_t *const name = at + 1, *const dash = skip_bytes(name, end, 'a', 'z');
        if (dash == name || dash == end || *dash != '-') return false;
        at = skip_bytes(dash + 1, end, '0', '9');
        if (at == dash + 1) return false;
    }
    if (!follows(at, end, TAG)) return false;
    at += strlen(TAG);
    if (!follows(at, end, "out>:") && !follows(at, end, "err>:")) return false;
    found->end = at + strlen("out>:");
    return true;
}

/* Whether a tag's bracket is at `at`: "[1,0]<stdout>:", "[1,mpirank:0,algo-1]<stderr>:", "[job@1,0]<stdout>:". */
static bool is_tag(const uint8_t *at, const uint8_t *end, tag *found) {
    const uint8_t *const job = at + 1, *next = skip_bytes(job, end, '0', '9');
    if (next > job && next < end && *next == ',') {
        const uint8_t *const rank = follows(next + 1, end, "mpirank:") ? next + 9 : next + 1;
        if (rest_of_tag(rank, end, found)) return true;
    }
    for (next = job; next < end && is_name_byte(*next);) next++;
    if (next > job && next < end && *next == '@') {
        const uint8_t *const number = next + 1;
        next = skip_bytes(number, end, '0', '9');
        if (next > number && next < end && *next == ',' && rest_of_tag(next + 1, end, found)) return true;
    }
    return rest_of_tag(job, end, found);
}

/* Whether a date as mpirun's --timestamp-output prints it is here, of 24 bytes: "Fri Apr  9 10:16:52 2021". */
static bool is_tags_date(const uint8_t *at) {
    static const char form[] = "Aaa Aaa #0 :::::::: 0000";
    for (size_t n = 0; n < sizeof form - 1; n++) {
        const uint8_t byte = at[n];
        const bool digit = is_digit(byte);
        const bool fits = form[n] == 'A'   ? byte >= 'A' && byte <= 'Z'
                          : form[n] == 'a' ? byte >= 'a' && byte <= 'z'
                          : form[n] == '#' ? digit || byte == ' '
                          : form[n] == '0' ? digit
                          : form[n] == ':' ? digit || byte == ':'
                                           : byte == ' ';
        if (!fits) return false;
    }
    return true;
}
#define TAGS_DATE 24

static bool find_tag(const uint8_t *from, const uint8_t *end, tag *found) {
    for (const uint8_t *at = from; at < end && (at = memchr(at, '[', (size_t)(end - at))) != NULL; at++) {
        if (!is_tag(at, end, found)) continue;
        found->start = at - from >= TAGS_DATE && is_tags_date(at - TAGS_DATE) ? at - TAGS_DATE : at;
        return true;
    }
    return false;
}

static bool append_tag(strings *to, const uint8_t *rank, size_t size) {
    return append(to, "[1,", 3) && append(to, rank, size) && append(to, "]<stdout>:", 10);
}

/* Append what a rank wrote, with its tag behind each carriage return; what is of no rank as it is. */
static bool append_of_rank(strings *to, const uint8_t *rank, size_t rank_size, const uint8_t *at, size_t size) {
    const uint8_t *const end = at + size, *back;
    while (rank_size && at < end && (back = memchr(at, '\r', (size_t)(end - at))) != NULL) {
        if (!append(to, at, (size_t)(back + 1 - at)) || !append_tag(to, rank, rank_size)) return false;
        at = back + 1;
    }
    return append(to, at, (size_t)(end - at));
}

static int by_rank(const void *a, const void *b) {
    const piece *left = a, *right = b;
    if (left->rank_size != right->rank_size) return left->rank_size < right->rank_size ? -1 : 1;
    const int order = left->rank_size ? memcmp(left->rank, right->rank, left->rank_size) : 0;
    return order ? order : left->index < right->index ? -1 : 1;
}

static int by_first(const void *a, const void *b) {
    const piece *left = a, *right = b;
    if (left->first != right->first) return left->first < right->first ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

static bool add_piece(cleaner *c, const tag *of, const uint8_t *at, const uint8_t *end) {
    if (c->n_pieces == c->cap_pieces) {
        const int64_t cap = c->cap_pieces ? 2 * c->cap_pieces : 16;
        if (!grow(&c->pieces, cap, sizeof *c->pieces)) return false;
        c->cap_pieces = cap;
    }
    c->pieces[c->n_pieces] = (piece){of->rank, at, (size_t)(of->rank_end - of->rank), (size_t)(end - at), 0, c->n_pieces};
    c->n_pieces++;
    return true;
}

/* Part a line at its tags, and put the pieces in the order of their ranks' first ones. */
static bool part_by_rank(cleaner *c, const uint8_t *at, const uint8_t *end) {
    tag now = {at, at, at, at}, next; /* what is before the first tag is of no rank */
    for (c->n_pieces = 0; find_tag(now.end, end, &next); now = next)
        if (!add_piece(c, &now, now.end, next.start)) return false;
    if (!add_piece(c, &now, now.end, end)) return false;
    qsort(c->pieces, (size_t)c->n_pieces, sizeof *c->pieces, by_rank);
    for (int64_t n = 0; n < c->n_pieces; n++) {
        piece *one = &c->pieces[n], *before = one - 1;
        const bool same = n && before->rank_size == one->rank_size && !memcmp(before->rank, one->rank, one->rank_size);
        one->first = same ? before->first : one->index;
    }
    qsort(c->pieces, (size_t)c->n_pieces, sizeof *c->pieces, by_first);
    return true;
}

/* Append a line in which each rank's pieces are one sub-line. */
static bool append_by_rank(cleaner *c, strings *to, const uint8_t *line, const uint8_t *end) {
    tag own;
    if (find_tag(line, end, &own) && own.start == line && !find_words(own.end, end, TAG, '<')) {
        const size_t size = (size_t)(own.rank_end - own.rank);
        if (!append_tag(to, own.rank, size)) return false;
        if (!append_of_rank(to, own.rank, size, own.end, (size_t)(end - own.end))) return false;
    } else {
        if (!part_by_rank(c, line, end)) return false;
        int64_t of = -1; /* the rank whose pieces are being written, by its first one */
        for (int64_t n = 0; n < c->n_pieces; n++) {
            const piece *one = &c->pieces[n];
            if (!one->size) continue;
            if (of >= 0 && of != one->first && !append(to, "\r", 1)) return false;
            if (of != one->first && one->rank_size && !append_tag(to, one->rank, one->rank_size)) return false;
            if (!append_of_rank(to, one->rank, one->rank_size, one->at, one->size)) return false;
            of = one->first;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- Ray's repeats */

/* The end of Ray's " [repeated 3x across cluster]"; NULL where it is not there. */
static const uint8_t *repeated_end(const uint8_t *at, const uint8_t *end) {
    const uint8_t *const number = at + strlen(" [repeated "), *const behind = skip_bytes(number, end, '0', '9');
    return behind > number && follows(behind, end, REPEATED) ? behind + strlen(REPEATED) : NULL;
}

/* Append a line without what Ray adds to sub-lines, where a worker's " pid=" stands before it. */
static bool append_without_repeats(strings *to, const uint8_t *line, const uint8_t *end) {
    const uint8_t *const pid = find_words(line, end, " pid=", '=');
    const uint8_t *from = line, *at = line;
    while (pid && (at = find_words(at, end, " [repeated ", '[')) != NULL) {
        const uint8_t *behind = repeated_end(at, end);
        if (!behind) {
            at++;
            continue;
        }
        const uint8_t *const back = memchr(behind, '\r', (size_t)(end - behind));
        behind = back ? back : end;
        if (pid + 5 <= at) {
            if (!append(to, from, (size_t)(at - from))) return false;
            from = behind;
        }
        at = behind;
    }
    return append(to, from, (size_t)(end - from));
}

/* ------------------------------------------------------------------------------------------- UTF-8 */

static bool is_lost(const uint8_t *at, const uint8_t *end) {
    return end - at >= 3 && at[0] == 0xef && at[1] == 0xbf && at[2] == 0xbd;
}

/* The bytes of the character at `at`, or of what may begin one; `*good`: whether it is one (RFC 3629). */
static size_t size_of_char(const uint8_t *at, const uint8_t *end, bool *good) {
    const uint8_t lead = at[0];
    const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    size_t n = 1;
    for (; n < size && at + n < end; n++) {
        const uint8_t least = n > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const uint8_t most = n > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (at[n] < least || at[n] > most) break;
    }
    *good = n == size;
    return n;
}

/* Append a line in which what is no character is replaced. */
static bool append_characters(strings *to, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        bool good;
        const size_t size = size_of_char(at, end, &good);
        if (!(good ? append(to, at, size) : append(to, LOST, 3))) return false;
        at += size;
    }
    return true;
}

/* Append a text, and of numbers with a lost character in them, or beside one, nothing but lost characters. */
static bool append_numbers(strings *to, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        const uint8_t *run = at;
        bool lost = false;
        while (run < end && (is_number_byte(*run) || is_lost(run, end))) {
            lost |= *run == 0xef;
            run += *run == 0xef ? 3 : 1;
        }
        if (!lost && run == at) run++;
        for (; lost && at < run; at++)
            if (!(is_digit(*at) ? append(to, LOST, 3) : append(to, at, 1))) return false;
        if (!append(to, at, (size_t)(run - at))) return false;
        at = run;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- texts */

static inline void note_codes(uint8_t codes[LANES], uint8_t all[LANES], const uint8_t *at) {
    for (int n = 0; n < LANES; n++) {
        codes[n] |= (uint8_t)((at[n] == 0 ? DIRTY_NUL : 0) | (at[n] == 0x1b ? DIRTY_ESCAPE : 0) |
                              (at[n] == '\b' ? DIRTY_BACKSPACE : 0));
        all[n] |= at[n];
    }
}

/* Which codes a line has that have to go; `*high`: whether it has bytes beyond ASCII. */
static int codes_in(const uint8_t *at, const uint8_t *end, bool *high) {
    uint8_t codes[LANES] = {0}, all[LANES] = {0}, padded[LANES];
    if (end - at < LANES) {
        memset(padded, ' ', LANES);
        memcpy(padded, at, (size_t)(end - at));
        note_codes(codes, all, padded);
    } else {
        for (; end - at > LANES; at += LANES) note_codes(codes, all, at);
        note_codes(codes, all, end - LANES);
    }
    int found = 0;
    for (int n = 0; n < LANES; n++) {
        found |= codes[n];
        all[n] &= 0x80;
    }
    *high = !is_zero(all);
    return found;
}

/* The steps of cleaning, in their order. */
enum { NOTHING, CODES, TAGS, REPEATS, CHARACTERS, LOST_ONES };

/* Which step a line, its line feed left out, needs first of those behind `done`. */
static int next_step(const cleaner *c, const uint8_t *line, const uint8_t *end, bool has_feed, int done) {
    bool high;
    const int codes = codes_in(line, end, &high);
    if (done < CODES && (codes || (has_feed && line < end && end[-1] == '\r'))) return CODES;
    if (done < TAGS && c->has_tags && find_words(line, end, TAG, '<')) return TAGS;
    if (done < REPEATS && c->has_repeats && find_words(line, end, REPEATED, ']')) return REPEATS;
    if (!high) return NOTHING;
    if (done < CHARACTERS && !check_utf8(line, end, end)) return CHARACTERS;
    return done < LOST_ONES && find_words(line, end, LOST, LOST[0]) ? LOST_ONES : NOTHING;
}

/* Append a line that needs a step; each may make others needed. False: no memory. */
static bool clean_line(cleaner *c, const uint8_t *at, const uint8_t *end, bool has_feed, int step) {
    for (int turn = 0; step != NOTHING; turn = 1 - turn) {
        strings *to = &c->forms[turn];
        to->size = 0;
        const bool good = step == CODES        ? append_without_codes(to, at, end, has_feed)
                          : step == TAGS       ? append_by_rank(c, to, at, end)
                          : step == REPEATS    ? append_without_repeats(to, at, end)
                          : step == CHARACTERS ? append_characters(to, at, end)
                                               : append_numbers(to, at, end);
        if (!good) return false;
        at = to->bytes;
        end = at + to->size;
        step = next_step(c, at, end, false, step);
    }
    return append(&c->to, at, (size_t)(end - at));
}

static bool clean_text(cleaner *c, const uint8_t *at, const uint8_t *end) {
    const uint8_t *from = at; /* what is clean since then has yet to be appended */
    /* codes may stand in a tag's middle, and tags in Ray's words */
    c->has_tags = memchr(at, 0, (size_t)(end - at)) || memchr(at, 0x1b, (size_t)(end - at)) || find_words(at, end, TAG, '<');
    c->has_repeats = c->has_tags || find_words(at, end, REPEATED, ']');
    while (at < end) {
        const uint8_t *const feed = memchr(at, '\n', (size_t)(end - at)), *const stop = feed ? feed : end;
        const int step = next_step(c, at, stop, feed != NULL, NOTHING);
        if (step != NOTHING) {
            if (!append(&c->to, from, (size_t)(at - from))) return false;
            if (!clean_line(c, at, stop, feed != NULL, step)) return false;
            from = stop;
        }
        at = feed ? feed + 1 : end;
    }
    return append(&c->to, from, (size_t)(end - from));
}

/* Clean a text. Returns the clean one, for pf_clean_free, and its size; NULL where there is no memory. */
EXPORT uint8_t *pf_clean(const uint8_t *text, size_t size, size_t *clean_size) {
    cleaner c = {0};
    c.to.cap = size + size / 8 + 64; /* hardly ever more */
    const bool good = grow(&c.to.bytes, (int64_t)c.to.cap, 1) && (!size || clean_text(&c, text, text + size));
    for (int n = 0; n < 2; n++) free(c.forms[n].bytes);
    free(c.pieces);
    *clean_size = c.to.size;
    if (good) return c.to.bytes;
    free(c.to.bytes);
    return NULL;
}

EXPORT void pf_clean_free(uint8_t *clean) { free(clean); }
