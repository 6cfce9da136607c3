/* Operations of the CPU alone. Included once, by oracle.c. */

__attribute__((noinline, noclone)) static void leaf(void) { __asm__ volatile(""); }
#define FOUR(...) __VA_ARGS__; __VA_ARGS__; __VA_ARGS__; __VA_ARGS__
#define SIXTEEN(...) FOUR(__VA_ARGS__); FOUR(__VA_ARGS__); FOUR(__VA_ARGS__); FOUR(__VA_ARGS__)
#define SIXTY_FOUR(...) SIXTEEN(__VA_ARGS__); SIXTEEN(__VA_ARGS__); SIXTEEN(__VA_ARGS__); SIXTEEN(__VA_ARGS__)
ORACLE(call_) { LOOP(SIXTY_FOUR(leaf())); }
static long word = 1;
ORACLE(add_) { long x = 1, y = word; KEEP(y); LOOP(SIXTY_FOUR(x += y; KEEP(x))); }
ORACLE(mul_) { long x = 1, y = word; KEEP(y); LOOP(SIXTY_FOUR(x *= y; KEEP(x))); }

/* Instructions that do nothing, and one that a hypervisor executes. */
#if defined __x86_64__
#define NOTHING ".byte 0x0f, 0x1f, 0x40, 0x00\n"
ORACLE(cpuid_) { LOOP(int a = 0, b, c = 0, d; __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d))); }
#else
#define NOTHING "nop\n"
#endif
ORACLE(code_) { LOOP(__asm__ volatile(".rept 4096\n" NOTHING ".endr")); }
