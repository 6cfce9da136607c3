/* A program without a libc that exits with code 42: the kernel's share of the cost. Executed by oracle.c. */
void _start(void) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" ::"a"(231l), "D"(42l));
#elif defined(__aarch64__)
    register long number __asm__("x8") = 94, code __asm__("x0") = 42;
    __asm__ volatile("svc 0" ::"r"(number), "r"(code));
#elif defined(__riscv)
    register long number __asm__("a7") = 94, code __asm__("a0") = 42;
    __asm__ volatile("ecall" ::"r"(number), "r"(code));
#endif
    __builtin_trap();
}
