/* checkout SOURCE TARGET: makes TARGET as a tree of hard links to the files of the tree SOURCE.
 *
 * Stands for the lower bound of `castree checkout`: mkdirat for every directory, linkat for every file,
 * by directory descriptor, one thread, no sync, nothing checked.
 *
 * Prints "files directories".
 */
#include "common.h"

static unsigned long files, directories;

/* The file system may leave d_type unknown. */
static int is_directory(int at, const struct dirent *entry) {
    if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
    struct stat status;
    if (fstatat(at, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) die("look at", entry->d_name);
    return S_ISDIR(status.st_mode);
}

/* Takes over `source`, not `target`. */
static void link_tree(int source, int target, const char *path) {
    DIR *list = list_directory(source, path);
    struct dirent *entry;
    while ((entry = next_entry(list, path))) {
        const char *name = entry->d_name;
        if (is_directory(source, entry)) {
            if (mkdirat(target, name, 0755) != 0) die("create", name);
            int below = open_directory(target, name);
            link_tree(open_directory(source, name), below, name);
            close(below);
            directories++;
        } else {
            if (linkat(source, name, target, name, 0) != 0) die("link", name);
            files++;
        }
    }
    closedir(list);
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: checkout SOURCE TARGET\n");
        return 2;
    }
    if (mkdir(arguments[2], 0755) != 0) die("create", arguments[2]);
    link_tree(open_directory(AT_FDCWD, arguments[1]), open_directory(AT_FDCWD, arguments[2]),
              arguments[1]);
    printf("%lu %lu\n", files, directories);
    return 0;
}
