// filter N COMMAND...: executes a command behind a seccomp filter of N comparisons that all fail, so
// that every system call goes through all of them and is allowed. They look at an argument: for what
// depends on the number alone the kernel remembers the answer and runs no filter.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static struct sock_filter code[4096];
    int rules = argc > 2 ? atoi(argv[1]) : -1;
    if (rules < 0 || rules > 4000) {
        fprintf(stderr, "usage: filter N COMMAND...\n");
        return 2;
    }
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
    for (int i = 1; i <= rules; i++)
        code[i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xdead0000u + i, 0, 0);
    code[rules + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = rules + 2, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("seccomp");
        return 3;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
