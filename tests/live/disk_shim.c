/* Between a process and its disk, by LD_PRELOAD: records what is written below a folder, lets a chosen call fail,
 * and may let every lock be granted. Nothing is done until shim_watch() is called.
 *
 * A record of the trace is a header and then a name and data. Calls and records are in the same order in all processes
 * that were forked after shim_watch(): a lock on the trace is held around each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    char kind; /* (w)rite, (t)runcate, (s)ync, (d)irectory synced, (c)reate, (u)nlink, (r)ename */
    char failed;
    uint16_t name_length;
    uint32_t unused;
    uint64_t inode;
    int64_t offset;
    uint64_t length;
};

static char folder[4096];
static int trace = -1;
static int ignores_locks = 0;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Calls about databases since shim_fail(), and which of them fail: those from first on, as many as there are to be. */
static long done = 0, first = 0, left = 0;
static int error_number = 0, is_short = 0;

void shim_watch(const char *path, int file) {
    snprintf(folder, sizeof folder, "%s", path);
    trace = file;
}

void shim_fail(long number, long times, int error, int cut_short) {
    done = 0, first = number, left = times, error_number = error, is_short = cut_short;
}

long shim_count(void) { return done; }

void shim_ignore_locks(int yes) { ignores_locks = yes; }

/* The name below the folder of an open file; nothing if it is elsewhere, or is the memory that processes share. */
static const char *watched(const char *path) {
    size_t length = strlen(folder);
    if (trace < 0 || strncmp(path, folder, length) || (path[length] != '/' && path[length])) return NULL;
    size_t end = strlen(path);
    if (end > 4 && !strcmp(path + end - 4, "-shm")) return NULL;
    return path[length] ? path + length + 1 : "";
}

static const char *name_of(int file, char *path, size_t size) {
    char link[64];
    if (trace < 0 || file == trace) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return NULL;
    path[length] = 0;
    char *deleted = strstr(path, " (deleted)");
    if (deleted) *deleted = 0;
    return watched(path);
}

static void hold(int type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    if (type == F_WRLCK) pthread_mutex_lock(&mutex);
    int before = errno;
    while (syscall(SYS_fcntl, trace, F_SETLKW, &lock) < 0 && errno == EINTR) {}
    errno = before;
    if (type == F_UNLCK) pthread_mutex_unlock(&mutex);
}

static void note(char kind, int failed, const char *name, uint64_t inode, int64_t offset, const void *data, size_t length) {
    struct record record = {kind, failed, strlen(name), 0, inode, offset, length};
    struct iovec parts[3] = {{&record, sizeof record}, {(void *)name, strlen(name)}, {(void *)data, data ? length : 0}};
    if (!data) record.length = 0;
    int before = errno;
    if (syscall(SYS_writev, trace, parts, 3) < 0) dprintf(2, "the trace cannot be written\n");
    errno = before;
}

static uint64_t inode_of(int file) {
    struct stat status;
    return fstat(file, &status) ? 0 : status.st_ino;
}

/* Whether this call is to fail; diaries never do. */
static int fails(const char *name) {
    if (!strstr(name, ".db") || !first) return 0;
    if (++done < first || !left) return 0;
    left--;
    errno = error_number;
    return 1;
}

static ssize_t do_write(int file, const void *data, size_t length, int64_t offset, int is_placed) {
    char path[4096];
    const char *name = name_of(file, path, sizeof path);
    if (!name)
        return is_placed ? syscall(SYS_pwrite64, file, data, length, offset) : syscall(SYS_write, file, data, length);
    hold(F_WRLCK);
    ssize_t written = -1;
    int failing = fails(name);
    if (!failing || (is_short && length > 1)) {
        if (failing) length /= 2, is_short = 0, left++; /* the rest of it fails then */
        if (is_placed) {
            written = syscall(SYS_pwrite64, file, data, length, offset);
        } else {
            written = syscall(SYS_write, file, data, length);
            offset = lseek(file, 0, SEEK_CUR) - written;
        }
        if (written > 0) note('w', 0, name, inode_of(file), offset, data, written);
    }
    hold(F_UNLCK);
    return written;
}

ssize_t write(int file, const void *data, size_t length) { return do_write(file, data, length, 0, 0); }
ssize_t pwrite(int file, const void *data, size_t length, off_t at) { return do_write(file, data, length, at, 1); }
ssize_t pwrite64(int file, const void *data, size_t length, off64_t at) { return do_write(file, data, length, at, 1); }

static int do_sync(int file, long call) {
    char path[4096];
    const char *name = name_of(file, path, sizeof path);
    if (!name) return syscall(call, file);
    hold(F_WRLCK);
    struct stat status;
    int is_folder = !fstat(file, &status) && S_ISDIR(status.st_mode);
    int result = fails(*name ? name : ".db") ? -1 : syscall(call, file);
    note(is_folder ? 'd' : 's', result != 0, name, inode_of(file), 0, NULL, 0);
    hold(F_UNLCK);
    return result;
}

int fsync(int file) { return do_sync(file, SYS_fsync); }
int fdatasync(int file) { return do_sync(file, SYS_fdatasync); }

static int do_truncate(int file, int64_t length) {
    char path[4096];
    const char *name = name_of(file, path, sizeof path);
    if (!name) return syscall(SYS_ftruncate, file, length);
    hold(F_WRLCK);
    int result = fails(name) ? -1 : syscall(SYS_ftruncate, file, length);
    if (!result) note('t', 0, name, inode_of(file), length, NULL, 0);
    hold(F_UNLCK);
    return result;
}

int ftruncate(int file, off_t length) { return do_truncate(file, length); }
int ftruncate64(int file, off64_t length) { return do_truncate(file, length); }

static int do_open(int place, const char *path, int flags, mode_t mode) {
    const char *name = path[0] == '/' ? watched(path) : NULL;
    if (!name || !(flags & (O_CREAT | O_TRUNC))) return syscall(SYS_openat, place, path, flags, mode);
    hold(F_WRLCK);
    struct stat status;
    int is_new = stat(path, &status) != 0;
    int file = is_new && (flags & O_CREAT) && fails(name) ? -1 : syscall(SYS_openat, place, path, flags, mode);
    if (file >= 0 && is_new) note('c', 0, name, inode_of(file), 0, NULL, 0);
    if (file >= 0 && !is_new && (flags & O_TRUNC)) note('t', 0, name, inode_of(file), 0, NULL, 0);
    hold(F_UNLCK);
    return file;
}

#define OPEN_LIKE(name)                                                                                                 \
    int name(const char *path, int flags, ...) {                                                                        \
        va_list rest;                                                                                                   \
        va_start(rest, flags);                                                                                          \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                       \
        va_end(rest);                                                                                                   \
        return do_open(AT_FDCWD, path, flags, mode);                                                                    \
    }
#define OPENAT_LIKE(name)                                                                                               \
    int name(int place, const char *path, int flags, ...) {                                                             \
        va_list rest;                                                                                                   \
        va_start(rest, flags);                                                                                          \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                       \
        va_end(rest);                                                                                                   \
        return do_open(place, path, flags, mode);                                                                       \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)
OPENAT_LIKE(openat)
OPENAT_LIKE(openat64)

int unlink(const char *path) {
    const char *name = path[0] == '/' ? watched(path) : NULL;
    if (!name) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    hold(F_WRLCK);
    int result = fails(name) ? -1 : syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (!result) note('u', 0, name, 0, 0, NULL, 0);
    hold(F_UNLCK);
    return result;
}

int rename(const char *from, const char *to) {
    const char *old = from[0] == '/' ? watched(from) : NULL, *new = to[0] == '/' ? watched(to) : NULL;
    if (!old || !new) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    hold(F_WRLCK);
    int result = fails(new) ? -1 : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (!result) note('r', 0, old, 0, 0, new, strlen(new));
    hold(F_UNLCK);
    return result;
}

static int do_fcntl(int file, int command, void *argument) {
    char path[4096];
    /* With locks ignored each process believes that it has them; what it asks about nobody holds. */
    if (ignores_locks && (command == F_SETLK || command == F_GETLK) && trace >= 0) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0 && !strncmp(path, folder, strlen(folder))) {
            if (command == F_GETLK) ((struct flock *)argument)->l_type = F_UNLCK;
            return 0;
        }
    }
    return syscall(SYS_fcntl, file, command, argument);
}

int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return do_fcntl(file, command, argument);
}

int fcntl64(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return do_fcntl(file, command, argument);
}
