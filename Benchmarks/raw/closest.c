/* closest COUNT OLD-LIST NEW-LIST: for each new file, the old ones whose content is most alike.
 *
 * The lists name a file a line. For every new file that shares anything with an old one a line
 *
 *     number-of-new number-of-old shared [number-of-old shared ...]
 *
 * is printed, the old ones in falling order, at most COUNT. Alike is: how many hashes of 24-byte windows two files
 * share, of those windows whose hash falls on a fixed residue (1 of 128, below 8 KiB 1 of 16), at most the
 * 4,096 smallest of a file. Stands for a publisher who looks for bases by content, whatever files are called.
 */
#include "common.h"
#include <stdint.h>

enum { WINDOW = 24, RARE = 128, OFTEN = 16, SHORT = 8192, MOST = 4096 };
static const uint64_t FACTOR = 0x9E3779B97F4A7C15u;

typedef struct { uint64_t hash; uint32_t file; } Mark;
typedef struct { Mark *marks; size_t count, room; } Marks;
typedef struct { uint32_t file, shared; } Match;

static uint64_t mixed(uint64_t h) {
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCDu;
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 33);
}

static int by_hash(const void *left, const void *right) {
    const Mark *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file;
}

static int by_shared(const void *left, const void *right) {
    const Match *a = left, *b = right;
    if (a->shared != b->shared) return a->shared > b->shared ? -1 : 1;
    return a->file < b->file ? -1 : a->file > b->file;
}

static void add(Marks *all, uint64_t hash, uint32_t file) {
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 4096;
        all->marks = must_alloc(realloc(all->marks, all->room * sizeof(Mark)));
    }
    all->marks[all->count++] = (Mark){hash, file};
}

/* Appends the marks of one file, sorted, each once. */
static void sketch(const char *path, uint32_t file, Marks *all) {
    FILE *stream = fopen(path, "rb");
    if (!stream) die("open", path);
    fseek(stream, 0, SEEK_END);
    size_t size = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *bytes = must_alloc(malloc(size + 1));
    if (fread(bytes, 1, size, stream) != size) die("read", path);
    fclose(stream);
    uint64_t leaving = 1, h = 0, residue = size < SHORT ? OFTEN : RARE;
    for (int i = 0; i < WINDOW; i++) leaving *= FACTOR;
    size_t first = all->count;
    for (size_t i = 0; i < size; i++) {
        h = h * FACTOR + bytes[i] + 1;
        if (i >= WINDOW) h -= (bytes[i - WINDOW] + 1) * leaving;
        if (i + 1 < WINDOW) continue;
        uint64_t hash = mixed(h);
        if (hash % residue == 0) add(all, hash, file);
    }
    free(bytes);
    if (all->count == first) return;
    qsort(all->marks + first, all->count - first, sizeof(Mark), by_hash);
    size_t kept = first + 1;
    for (size_t i = first + 1; i < all->count && kept - first < MOST; i++)
        if (all->marks[i].hash != all->marks[kept - 1].hash) all->marks[kept++] = all->marks[i];
    all->count = kept;
}

static char *next_line(FILE *list, char *line, int room) {
    if (!fgets(line, room, list)) return NULL;
    line[strcspn(line, "\n")] = 0;
    return line;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: closest COUNT OLD-LIST NEW-LIST\n");
        return 2;
    }
    long most = atol(arguments[1]);
    FILE *older = fopen(arguments[2], "r"), *newer = fopen(arguments[3], "r");
    if (!older) die("open", arguments[2]);
    if (!newer) die("open", arguments[3]);
    char line[4096];
    Marks old = {0};
    uint32_t files = 0;
    while (next_line(older, line, sizeof line)) sketch(line, files++, &old);
    qsort(old.marks, old.count, sizeof(Mark), by_hash);
    Match *matches = must_alloc(calloc(files + 1, sizeof(Match)));
    for (uint32_t number = 0; next_line(newer, line, sizeof line); number++) {
        Marks own = {0};
        sketch(line, number, &own);
        for (uint32_t i = 0; i < files; i++) matches[i] = (Match){i, 0};
        size_t at = 0;
        for (size_t i = 0; i < own.count; i++) {
            while (at < old.count && old.marks[at].hash < own.marks[i].hash) at++;
            for (size_t same = at; same < old.count && old.marks[same].hash == own.marks[i].hash; same++)
                matches[old.marks[same].file].shared++;
        }
        free(own.marks);
        qsort(matches, files, sizeof(Match), by_shared);
        if (files == 0 || matches[0].shared == 0) continue;
        printf("%u", number);
        for (long i = 0; i < most && i < files && matches[i].shared > 0; i++)
            printf(" %u %u", matches[i].file, matches[i].shared);
        printf("\n");
    }
    return 0;
}
