/* A library for LD_PRELOAD that fails the n-th call of one kind, counted over all processes that share its state; once, or
 * that and all after it.
 *
 * The state is the file that FAULT_STATE names, mapped by every process that has the library: tests/faults/nth.py
 * writes it (struct state below) and reads from it how many calls there were and whether one was struck. Calls on files
 * count only below the state's folder, so that the interpreter's own files are never struck; calls for memory, processes
 * and threads count only in a process that was told to begin (fault_begin), after its modules were loaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, OPEN, READ, WRITE, SYNC, RENAME, MAP, FORK, THREAD, MALLOC };
enum { SHORT = -1 };

struct state {
    int32_t kind, error;   /* which calls; errno, or SHORT */
    int64_t nth, lasting;  /* the call that fails, from 1, 0 for none; whether all after it fail too */
    int64_t count, struck; /* calls so far; how many were struck */
    char folder[1024];     /* with its links resolved, no slash at the end */
    char name[1024];       /* where the call that was struck was made */
};

static struct state *state;
static int here; /* whether memory, processes and threads of this process count */

static void attach(const char *path) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    if (file < 0)
        return;
    void *map = (void *)syscall(SYS_mmap, NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map != MAP_FAILED)
        state = map;
}

/* A shell or another program that a campaign trains with is no part of what is tried. */
static int is_python(void) {
    char exe[512];
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof exe - 1);
    if (size <= 0)
        return 0;
    exe[size] = 0;
    return strstr(exe, "python") != NULL;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_STATE");
    if (path && is_python())
        attach(path);
}

/* Told by a process whose modules are loaded, with the state of this trial. */
void fault_begin(const char *path) {
    attach(path);
    here = 1;
}

/* Told when the command has ended: what Python does at its own end is not tried. */
void fault_end(void) { state = NULL; }

static int strikes(int kind, const char *what) {
    if (!state || state->kind != kind)
        return 0;
    int64_t count = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (!state->nth || (state->lasting ? count < state->nth : count != state->nth))
        return 0;
    if (__atomic_fetch_add(&state->struck, 1, __ATOMIC_SEQ_CST) == 0 && what)
        strncpy(state->name, what, sizeof state->name - 1);
    if (state->error != SHORT)
        errno = state->error;
    return 1;
}

static int below(const char *path) {
    size_t size = strlen(state->folder);
    return size && !strncmp(path, state->folder, size) && (path[size] == '/' || !path[size]);
}

static int of_descriptor(int file, char *path, size_t size) {
    char link[64] = "/proc/self/fd/";
    char digits[16];
    int n = 0, place = 14;
    unsigned number = (unsigned)file;
    if (file < 0)
        return 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        link[place++] = digits[--n];
    link[place] = 0;
    ssize_t got = syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
    if (got <= 0)
        return 0;
    path[got] = 0;
    return 1;
}

static int counts_file(int kind, int file, char *path, size_t size) {
    if (!state || state->kind != kind)
        return 0;
    int error = errno, is = of_descriptor(file, path, size) && below(path);
    errno = error;
    return is;
}

static int strikes_file(int kind, int file) {
    char path[1024];
    return counts_file(kind, file, path, sizeof path) && strikes(kind, path);
}

static int strikes_path(int kind, int folder, const char *name) {
    char path[2200] = "";
    if (!state || state->kind != kind || !name)
        return 0;
    if (name[0] != '/') {
        int error = errno, is = folder == AT_FDCWD ? syscall(SYS_getcwd, path, 1024) > 0 : of_descriptor(folder, path, 1024);
        errno = error;
        if (!is)
            return 0;
        strcat(path, "/");
    }
    strncat(path, name, 1024);
    return below(path) && strikes(kind, path);
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) \
        real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }

int open(const char *name, int flags, ...) {
    MODE(flags)
    return strikes_path(OPEN, AT_FDCWD, name) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
}
int open64(const char *name, int flags, ...) {
    MODE(flags)
    return strikes_path(OPEN, AT_FDCWD, name) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *name, int flags, ...) {
    MODE(flags)
    return strikes_path(OPEN, folder, name) ? -1 : (int)syscall(SYS_openat, folder, name, flags, mode);
}
int openat64(int folder, const char *name, int flags, ...) {
    MODE(flags)
    return strikes_path(OPEN, folder, name) ? -1 : (int)syscall(SYS_openat, folder, name, flags | O_LARGEFILE, mode);
}

/* Of a short call a third is done, and at least one byte. */
static size_t part(size_t size) { return size > 3 ? size / 3 : size > 1 ? 1 : size; }

#define FAIL_OR_SHORTEN(kind, file, size) \
    if (strikes_file(kind, file)) { \
        if (state->error != SHORT) \
            return -1; \
        size = part(size); \
    }

ssize_t read(int file, void *data, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    FAIL_OR_SHORTEN(READ, file, size)
    return real(file, data, size);
}
ssize_t pread(int file, void *data, size_t size, off_t at) {
    REAL(ssize_t, "pread", int, void *, size_t, off_t);
    FAIL_OR_SHORTEN(READ, file, size)
    return real(file, data, size, at);
}
ssize_t pread64(int file, void *data, size_t size, off64_t at) {
    REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
    FAIL_OR_SHORTEN(READ, file, size)
    return real(file, data, size, at);
}
ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    FAIL_OR_SHORTEN(WRITE, file, size)
    return real(file, data, size);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    FAIL_OR_SHORTEN(WRITE, file, size)
    return real(file, data, size, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    FAIL_OR_SHORTEN(WRITE, file, size)
    return real(file, data, size, at);
}
ssize_t writev(int file, const struct iovec *pieces, int count) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    if (strikes_file(WRITE, file)) {
        if (state->error != SHORT)
            return -1;
        count = 1;
    }
    return real(file, pieces, count);
}

int fsync(int file) { return strikes_file(SYNC, file) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return strikes_file(SYNC, file) ? -1 : (int)syscall(SYS_fdatasync, file); }

int rename(const char *old, const char *new) {
    return strikes_path(RENAME, AT_FDCWD, new) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}
int renameat(int from, const char *old, int to, const char *new) {
    return strikes_path(RENAME, to, new) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, 0);
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return strikes_path(RENAME, to, new) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

static void *map(void *at, size_t size, int protection, int flags, int file, off_t from) {
    char path[1024];
    int counts = file >= 0 ? counts_file(MAP, file, path, sizeof path) : here;
    if (counts && strikes(MAP, file >= 0 ? path : "memory"))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, from);
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t from) {
    return map(at, size, protection, flags, file, from);
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t from) {
    return map(at, size, protection, flags, file, from);
}

/* vfork's child runs in its caller's frame, which a wrapper cannot give back: fork does all that is promised of it. */
pid_t fork(void) {
    REAL(pid_t, "fork", void);
    return here && strikes(FORK, "fork") ? -1 : real();
}
pid_t vfork(void) {
    REAL(pid_t, "fork", void);
    return here && strikes(FORK, "vfork") ? -1 : real();
}
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                char *const words[], char *const environment[]) {
    REAL(int, "posix_spawn", pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
         char *const[], char *const[]);
    return here && strikes(FORK, path) ? errno : real(pid, path, actions, attributes, words, environment);
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    REAL(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return here && strikes(THREAD, "thread") ? errno : real(thread, attributes, start, argument);
}

/* glibc's own names for what these wrap: dlsym itself asks for memory. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) { return here && strikes(MALLOC, NULL) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return here && strikes(MALLOC, NULL) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return here && strikes(MALLOC, NULL) ? NULL : __libc_realloc(old, size); }
