/* Messages of sockets: datagrams in batches, and descriptors that are passed. Included once, by oracle.c. */

enum { BATCH = 32, DATAGRAM = 100 };
static int udp_near, udp_far;
static char leaving[BATCH * DATAGRAM], arriving[BATCH * DATAGRAM];
static struct mmsghdr out_[BATCH], in_[BATCH];
static struct iovec out_parts[BATCH], in_parts[BATCH];
static void datagrams(int segment) {
    int *ends[] = {&udp_near, &udp_far};
    struct sockaddr_in at[2];
    socklen_t len = sizeof *at;
    for (int i = 0; i < 2; i++) {
        at[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        *ends[i] = socket(AF_INET, SOCK_DGRAM, 0);
        CHECK(bind(*ends[i], (void *)&at[i], len) == 0 && getsockname(*ends[i], (void *)&at[i], &len) == 0);
    }
    CHECK(connect(udp_near, (void *)&at[1], len) == 0 && connect(udp_far, (void *)&at[0], len) == 0);
    if (segment) CHECK(setsockopt(udp_near, 17 /* SOL_UDP */, 103 /* UDP_SEGMENT */, &segment, sizeof segment) == 0);
    for (int i = 0; i < BATCH; i++) {
        out_parts[i] = (struct iovec){leaving + i * DATAGRAM, DATAGRAM};
        in_parts[i] = (struct iovec){arriving + i * DATAGRAM, DATAGRAM};
        out_[i].msg_hdr = (struct msghdr){.msg_iov = &out_parts[i], .msg_iovlen = 1};
        in_[i].msg_hdr = (struct msghdr){.msg_iov = &in_parts[i], .msg_iovlen = 1};
    }
}
#define ALL_ARRIVE CHECK(recvmmsg(udp_far, in_, BATCH, MSG_DONTWAIT, 0) == BATCH)
ORACLE(mmsg_) { LOOP(CHECK(sendmmsg(udp_near, out_, BATCH, 0) == BATCH); ALL_ARRIVE); }
ORACLE(segments_) { LOOP(CHECK(send(udp_near, leaving, sizeof leaving, 0) == sizeof leaving); ALL_ARRIVE); }

static int pair_[2];
ORACLE(pass_) {
    char mark = 1, room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&mark, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room};
    uint64_t begin = now();
    for (long i = 0; i < n; i++) {
        message.msg_controllen = sizeof room;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &pair_[0], sizeof(int));
        CHECK(sendmsg(pair_[0], &message, 0) == 1 && recvmsg(pair_[1], &message, 0) == 1);
        int got;
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
        CHECK(close(got) == 0);
    }
    return now() - begin;
}
