/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 32-bit program without any library, which every x86-64 assembler can make. Truth: all time is in
 * spin32.
 */
	.text
	.code32
	.globl _start
	.type _start, @function
_start:
	call spin32
	jmp _start
	.size _start, . - _start

	.type spin32, @function
spin32:
	mov $10000000, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size spin32, . - spin32

	.section .note.GNU-stack, "", @progbits
