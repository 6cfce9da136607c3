/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * unix.c - AF_UNIX stream servers and clients.
 */
#include "internal.h"

#define BACKLOG 100

/* The address of a path. A longer path than fits is refused: cut, it would be another one. */
static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {0};
    address.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address.sun_path)
        groma_lmb_refuse("the path '%s' is too long for a socket, expected at most %zu bytes", path,
                         sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    return address;
}

/* A socket that is connected, or -1 with errno. */
static int attempt(const struct sockaddr_un *address)
{
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sock < 0 || connect(sock, (const struct sockaddr *)address, sizeof *address) == 0)
        return sock;
    int error = errno;
    close(sock);
    errno = error;
    return -1;
}

/* Removes a socket that an earlier server left. One that still listens stays. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat is;
    if (lstat(address->sun_path, &is) != 0 || !S_ISSOCK(is.st_mode))
        return;
    int sock = attempt(address);
    if (sock >= 0)
        close(sock);
    else if (errno == ECONNREFUSED)
        unlink(address->sun_path);
}

int unix_server(char *path)
{
    struct sockaddr_un address = address_of(path);
    int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    remove_stale(&address);
    if (sock < 0 || bind(sock, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(sock, BACKLOG) != 0) {
        groma_lmb_say("cannot listen at '%s': %s", path, strerror(errno));
        exit(1);
    }
    return sock;
}

int unix_accept(int sock)
{
    int conn;
    do
        conn = accept(sock, NULL, NULL);
    while (conn < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (conn < 0) {
        groma_lmb_say("cannot accept a connection: %s", strerror(errno));
        exit(1);
    }
    return conn;
}

int unix_connect(char *path)
{
    struct sockaddr_un address = address_of(path);
    char why[256];
    int sock = attempt(&address);
    if (sock >= 0) {
        groma_lmb_no_peer(NULL);
        return sock;
    }
    snprintf(why, sizeof why, "cannot connect to '%.128s': %s", path, strerror(errno));
    groma_lmb_say("%s", why);
    groma_lmb_no_peer(why);
    return -1;
}

void unix_done(int sock, char *path)
{
    close(sock);
    unlink(path);
}
