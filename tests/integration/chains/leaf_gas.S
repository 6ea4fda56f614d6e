/* SPDX-License-Identifier: Apache-2.0 */
/* Without .cfi and, with -DNO_SIZE, without a size. */
	.text
	.globl asm_leaf
	.type asm_leaf, @function
asm_leaf:
#ifdef PUSHES
	push %rbx
	push %r12
#endif
#ifdef STALE
	sub $168, %rsp
	test %rdi, %rdi
	jz 2f
#endif
	mov $2000000, %ecx
	mov %rdi, %rax
1:	imul $31, %rax, %rax
	add %rcx, %rax
	ror $7, %rax
	dec %rcx
	jnz 1b
#ifdef STALE
2:	add $168, %rsp
#endif
#ifdef PUSHES
	pop %r12
	pop %rbx
#endif
	ret
#ifndef NO_SIZE
	.size asm_leaf, . - asm_leaf
#endif
	.section .note.GNU-stack, "", @progbits
