/* Numbers, as programs print them: part of scan.c. */

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

static bool is_word(const uint8_t *at, size_t size, const char *word) {
    if (size != strlen(word)) return false;
    for (size_t n = 0; n < size; n++)
        if ((at[n] | 0x20) != word[n]) return false;
    return true;
}

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if LDBL_MANT_DIG == 64 && (defined(__x86_64__) || defined(__i386__))
static const long double LONG_TENS[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

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

/* [+-]?(digits[.digits*]|.digits)([eE][+-]?digits)? or nan, inf, infinity: what polars' cast takes, and to the same
 * double, the nearest. */
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
        if (is_word(start, rest, "nan"))
            *value = (double)NAN;
        else if (is_word(start, rest, "inf") || is_word(start, rest, "infinity"))
            *value = (double)INFINITY;
        else
            return NO_NUMBER;
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

/* ----------------------------------------------------------------------------- as people read them
 * The same as perflog/formats/printed.py reads, which has examples.
 */

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end) {
    while (at < end && is_digit(*at)) at++;
    return at;
}

/* The end of [+-]?(digits[.digits*][[eE][+-]?digits]|.digits); `at` where there is none. */
static const uint8_t *plain_end(const uint8_t *at, const uint8_t *end) {
    const uint8_t *const first = at + (at < end && (*at == '-' || *at == '+')), *last = skip_digits(first, end), *next;
    const bool has_point = last < end && *last == '.';
    if (last == first) return has_point && (next = skip_digits(first + 1, end)) > first + 1 ? next : at;
    if (has_point) last = skip_digits(last + 1, end);
    if (last == end || (*last | 0x20) != 'e') return last;
    const uint8_t *const sign = last + 1, *const power = sign + (sign < end && (*sign == '-' || *sign == '+'));
    return (next = skip_digits(power, end)) > power ? next : last;
}

/* What Python's str.strip takes off. */
static bool is_blank(uint32_t c) {
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static void strip_blanks(const uint8_t **at, const uint8_t **end) {
    while (*at < *end && is_blank(char_at(*at))) *at += char_size(**at);
    while (*at < *end) {
        const uint8_t *last = *end - 1;
        while ((*last & 0xc0) == 0x80) last--;
        if (!is_blank(char_at(last))) return;
        *end = last;
    }
}

/* "1,048,576", "2.05M", "1.2Kit". */
static int scaled_number(const uint8_t *at, const uint8_t *end, scratch buffers[2], double *value) {
    static const char suffixes[] = "kmbgtpqe";
    static const char *const powers[] = {"e3", "e6", "e9", "e9", "e12", "e15", "e15", "e18"};
    const size_t least = 4; /* for the longest power */
    if (!reserve(&buffers[1], (size_t)(end - at) + least)) return NO_ROOM;
    uint8_t *const text = (uint8_t *)buffers[1].bytes, *last = text;
    for (; at < end; at++)
        if (*at != ',') *last++ = *at;
    size_t size = (size_t)(plain_end(text, last) - text);
    if (!size) return NO_NUMBER;
    uint8_t *const suffix = text + size;
    if (last - suffix >= 2 && !memcmp(last - 2, "it", 2)) last -= 2;
    if (last > suffix) {
        const char *const known = *suffix ? strchr(suffixes, *suffix | 0x20) : NULL;
        const bool is_letter = (uint8_t)((*suffix | 0x20) - 'a') < 26;
        if (last - suffix > 1 || !known || !is_letter || memchr(text, 'e', size) || memchr(text, 'E', size)) return NO_NUMBER;
        const char *const power = powers[known - suffixes];
        memcpy(suffix, power, strlen(power));
        size += strlen(power);
    }
    const int what = to_double(text, size, &buffers[0], value);
    return what == A_NUMBER && fabs(*value) > 1e24 ? NO_NUMBER : what;
}

/* "2:03:11", "04:00.5": a number, and once or twice a colon with one or two digits; the last may have decimals. */
static int with_colons(const uint8_t *at, const uint8_t *end, scratch buffers[2], double *seconds) {
    if (!reserve(&buffers[1], (size_t)(end - at))) return NO_ROOM;
    int n_colons = 0;
    for (*seconds = 0;; n_colons++) {
        const uint8_t *last = skip_digits(at, end);
        if (last == at || (n_colons && last - at > 2)) return NO_NUMBER;
        const bool more = last < end && *last == ':' && n_colons < 2;
        if (!more && !n_colons) return NO_NUMBER;
        uint8_t *const part = (uint8_t *)buffers[1].bytes;
        if (!more && last < end) {
            const uint8_t *const decimals = last + 1;
            if ((*last != '.' && *last != ',') || decimals == end || skip_digits(decimals, end) < end) return NO_NUMBER;
            last = end;
        }
        for (size_t n = 0; at + n < last; n++) part[n] = at[n] == ',' ? '.' : at[n];
        double value;
        if (to_double(part, (size_t)(last - at), &buffers[0], &value) == NO_ROOM) return NO_ROOM;
        *seconds = *seconds * 60 + value;
        if (!more) return A_NUMBER;
        at = last + 1;
    }
}

static uint8_t lower(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

/* The seconds of a unit of time, in any letters; 0 where it is none. */
static double seconds_of_unit(const uint8_t *at, size_t size) {
    static const struct {
        const char *word;
        double seconds;
    } units[] = {{"s", 1},       {"m", 60},      {"h", 3600},      {"d", 86400},        {"ms", 1e-3},          {"us", 1e-6},
                 {"sec", 1},     {"secs", 1},    {"second", 1},    {"seconds", 1},      {"min", 60},           {"mins", 60},
                 {"minute", 60}, {"hr", 3600},   {"minutes", 60},  {"hrs", 3600},       {"hour", 3600},        {"hours", 3600},
                 {"day", 86400}, {"days", 86400}, {"millisecond", 1e-3}, {"milliseconds", 1e-3}, {"microsecond", 1e-6},
                 {"microseconds", 1e-6}};
    for (size_t n = 0; n < sizeof units / sizeof *units; n++)
        if (is_word(at, size, units[n].word)) return units[n].seconds;
    return 0;
}

/* "18m 42s", "18m:42s", "14 minutes and 44.12 seconds". */
static int with_words(const uint8_t *at, const uint8_t *end, scratch *buffer, double *seconds) {
    if (at == end) return NO_NUMBER;
    for (*seconds = 0; at < end;) {
        const uint8_t *last = skip_digits(at, end), *word;
        if (last == at) return NO_NUMBER;
        if (last < end && *last == '.' && skip_digits(last + 1, end) > last + 1) last = skip_digits(last + 1, end);
        for (word = last; word < end && *word == ' ';) word++;
        const uint8_t *behind = word;
        while (behind < end && (uint8_t)(lower(*behind) - 'a') < 26) behind++;
        const double unit = seconds_of_unit(word, (size_t)(behind - word));
        if (unit == 0) return NO_NUMBER;
        double value;
        if (to_double(at, (size_t)(last - at), buffer, &value) == NO_ROOM) return NO_ROOM;
        *seconds += value * unit;
        for (at = behind; at < end && (*at == ',' || *at == ':' || *at == ' ');) at++;
        if (end - at >= 4 && lower(at[0]) == 'a' && lower(at[1]) == 'n' && lower(at[2]) == 'd' && at[3] == ' ')
            for (at += 4; at < end && *at == ' ';) at++;
    }
    return A_NUMBER;
}

/* A duration in seconds: as a clock, with days before it or not, a number, or words. */
static int clock_seconds(const uint8_t *at, const uint8_t *end, scratch buffers[2], double *seconds) {
    const uint8_t *days_end = skip_digits(at, end), *rest = days_end;
    if (days_end > at && follows(rest, end, " day")) {
        rest += 4;
        rest += rest < end && *rest == 's';
        if (rest < end && *rest == ',') {
            double days;
            for (rest++; rest < end && *rest == ' ';) rest++;
            const int what = with_colons(rest, end, buffers, seconds);
            if (what != A_NUMBER) return what;
            if (to_double(at, (size_t)(days_end - at), &buffers[0], &days) == NO_ROOM) return NO_ROOM;
            *seconds = days * 86400 + *seconds;
            return A_NUMBER;
        }
    }
    const int what = with_colons(at, end, buffers, seconds);
    if (what != NO_NUMBER) return what;
    if (at < end && plain_end(at, end) == end) return to_double(at, (size_t)(end - at), &buffers[0], seconds);
    return with_words(at, end, &buffers[0], seconds);
}

enum form { PLAIN, CLOCK, SCALED };

/* A capture as a number of a form; NaN when it is none. False: no memory. */
static bool number_in(enum form form, const uint8_t *at, size_t size, scratch buffers[2], double *value) {
    const uint8_t *end = at + size;
    if (LIKELY(form == PLAIN)) return number_of(at, size, buffers, value);
    strip_blanks(&at, &end);
    const int what = form == CLOCK ? clock_seconds(at, end, buffers, value) : scaled_number(at, end, buffers, value);
    if (what == NO_NUMBER) *value = (double)NAN;
    return what != NO_ROOM;
}

/* A number text for tests: 1 a number, 0 none, -1 no memory. */
EXPORT int pf_number(int form, const uint8_t *at, size_t size, double *value) {
    scratch buffers[2] = {{NULL, 0}, {NULL, 0}};
    bool good = number_in((enum form)form, at, size, buffers, value);
    free(buffers[0].bytes);
    free(buffers[1].bytes);
    return good ? 1 : -1;
}
