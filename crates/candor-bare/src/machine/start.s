# Two ways in, one way on: a processor that another one has started, and a machine that boots this program (PVH).

.section .trampoline, "awx"
.code16
.global trampoline
trampoline:
    cli
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl trampoline_gdt
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $0x08, $start_32
.balign 8
trampoline_gdt:
    .word gdt_end - gdt - 1
    .long gdt

# XEN_ELFNOTE_PHYS32_ENTRY: the address to boot at, in 32-bit mode.
.section .note.pvh, "a", @note
.balign 4
    .long 4
    .long 8
    .long 18
    .asciz "Xen"
    .quad start_32

.section .rodata
.balign 8
gdt:
    .quad 0
    .quad 0x00CF9A000000FFFF # 08: code, 32 bits
    .quad 0x00CF92000000FFFF # 10: data
    .quad 0x00AF9A000000FFFF # 18: code, 64 bits
gdt_end:
gdt_pointer:
    .word gdt_end - gdt - 1
    .long gdt

# The lowest 4 GiB at their own addresses, in pages of 2 MiB.
.section .data
.balign 4096
tables_4:
    .quad tables_3 + 3
    .fill 511, 8, 0
tables_3:
    .quad tables_2 + 3
    .quad tables_2 + 0x1003
    .quad tables_2 + 0x2003
    .quad tables_2 + 0x3003
    .fill 508, 8, 0
tables_2:
    .set page, 0
    .rept 2048
    .quad page + 0x83
    .set page, page + 0x200000
    .endr

.section .bss
.balign 16
    .skip 65536
stack_top:

.section .text
.code32
.global start_32
start_32:
    cli
    cld
    lgdtl gdt_pointer
    ljmpl $0x08, $1f
1:  movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl %cr4, %eax
    orl $0x20, %eax # physical addresses of 64 bits
    movl %eax, %cr4
    movl $tables_4, %eax
    movl %eax, %cr3
    movl $0xC0000080, %ecx # EFER: 64-bit mode
    rdmsr
    orl $0x100, %eax
    wrmsr
    movl $0x80000033, %eax # paging, protection, caches on
    movl %eax, %cr0
    ljmpl $0x18, $start_64

.code64
start_64:
    xorl %eax, %eax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movq $stack_top, %rsp
    call run
1:  cli
    hlt
    jmp 1b

# The device stays unserved, so its vector stays blocked: run() serves it when hlt has returned.
.global on_device
on_device:
    iretq

.global on_exception
on_exception:
    andq $-16, %rsp
    call exception
