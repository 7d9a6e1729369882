/* Which regexes take all digits alike: part of scan.c.
 *
 * What is found in a line is found in all lines that differ from it in digits alone where no regex tells one digit from
 * another: each of its sets of bytes has all digits or none. See scan_templates.h.
 */

static bool has_digit(string text) {
    for (size_t n = 0; n < text.size; n++)
        if (is_digit(text.bytes[n])) return true;
    return false;
}

/* Whether a set of bytes has all digits or none. */
static bool is_blind(const byte_set *set) {
    const uint64_t digits = set->bits[0] & (0x3ffull << '0');
    return !digits || digits == 0x3ffull << '0';
}

/* The start of a launcher's tag, in which a digit counts. No line that a template is made of holds "]<std". */
static const char TAG[] = "\\[1,[0-9]{1,5}\\]<stdout>:";
static const char OF_TAG[] = "]<std";

/* The brackets and the like at the beginning of a group, moving `*at` on; false for a group of another kind. */
static bool skip_group_head(const uint8_t **at, const uint8_t *end) {
    static const char *const plain[] = {"(?:", "(?=", "(?!", "(?<=", "(?<!"};
    for (size_t n = 0; n < sizeof plain / sizeof *plain; n++)
        if (follows(*at, end, plain[n])) {
            *at += strlen(plain[n]);
            return true;
        }
    if (follows(*at, end, "(?P<")) {
        const uint8_t *close = memchr(*at, '>', (size_t)(end - *at));
        if (close) *at = close + 1;
        return close != NULL;
    }
    if (follows(*at, end, "(?") || follows(*at, end, "(*")) return false;
    ++*at;
    return true;
}

/* The next piece of a regex, moving `*at` on; false where one digit is another to it, or it is not known. */
static bool skip_blind_piece(const uint8_t **at, const uint8_t *end) {
    byte_set set = {{0}};
    const uint8_t byte = **at;
    if (follows(*at, end, TAG)) {
        *at += sizeof TAG - 1;
        return true;
    }
    if (byte == '(') return skip_group_head(at, end);
    ++*at;
    if (byte == '[') return read_class(at, end, &set) && is_blind(&set);
    if (byte == '\\') {
        if (*at < end && (**at == 'b' || **at == 'B')) {
            ++*at;
            return true;
        }
        const int escaped = escaped_byte(at, end);
        return escaped >= 0 && !is_digit((uint8_t)escaped);
    }
    if (byte == '{') {
        while (*at < end && (is_digit(**at) || **at == ',')) ++*at;
        return *at < end && *(*at)++ == '}';
    }
    return !is_digit(byte);
}

/* Whether a regex matches a text at the same places when its digits become others. */
static bool takes_digits_alike(string regex) {
    const uint8_t *at = regex.bytes, *const end = at + regex.size;
    while (at < end)
        if (!skip_blind_piece(&at, end)) return false;
    return true;
}

static void put_zeros(uint8_t *to, const uint8_t *from, size_t size) {
    for (size_t n = 0; n < size; n++) to[n] = is_digit(from[n]) ? '0' : from[n];
}

/* Know the literals with digits by their texts with zeros. False: no memory. */
static bool note_digits(program *p) {
    for (int32_t n = 0; n < p->n_literals; n++) {
        literal *of = &p->literals[n];
        if (!has_digit(of->text)) continue;
        if (!(of->zeroed = resize(NULL, of->text.size, 1))) return false;
        put_zeros(of->zeroed, of->text.bytes, of->text.size);
        of->zeroed_rare = rarest((string){of->zeroed, of->text.size});
    }
    return true;
}
