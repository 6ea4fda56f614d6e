; SPDX-License-Identifier: Apache-2.0
; nasm's symbols have no size, and its code no unwind information.
section .text
global asm_leaf:function

asm_leaf:
	mov ecx, 2000000
	mov rax, rdi
.loop:
	imul rax, rax, 31
	add rax, rcx
	ror rax, 7
	dec rcx
	jnz .loop
	ret

section .note.GNU-stack noalloc noexec nowrite progbits
