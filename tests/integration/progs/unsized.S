/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions as assemblers leave them: symbols without a size. Truth: a program calls label_spin, which
 * has no call frame information, and cfi_spin, which has, in turn; all time is in these two.
 */
	.text
	.globl label_spin
label_spin:
	mov $3000000, %ecx
	nop
label_spin.loop:
	imul %rcx, %rax
	dec %ecx
	jnz label_spin.loop
	ret

	.globl cfi_spin
cfi_spin:
	.cfi_startproc
	mov $3000000, %ecx
	nop
cfi_loop:
	imul %rcx, %rax
	dec %ecx
	jnz cfi_loop
	ret
	.cfi_endproc

	.section .note.GNU-stack, "", @progbits
