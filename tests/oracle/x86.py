# SPDX-License-Identifier: Apache-2.0
"""Instructions as objdump reads them; and how code leaves its function as the file describes it."""
import platform
import re
import subprocess

from names_common import HELPER, Tap, ask, binaries, need, output_of

MAX_INSNS = 400000
(OTHER, PUSH, POP, ADD_SP, SP_FROM_FP, FP_FROM_SP, FP_AT_SP, FP_AT_FP, STORE_FP, LOAD, LEAVE, SP_LOST, CALL,
 CALL_INDIRECT, JMP, JMP_IF, JMP_INDIRECT, RET, HALT, TRAP) = range(20)
BY_NAME = {"leave": LEAVE, "ret": RET, "hlt": HALT, "int3": TRAP, "ud2": TRAP}
LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t?(.*)$")
# Names of instructions that have no bytes of their own, or none that programs are compiled to.
ODD = re.compile(r"\(bad\)|^\.byte|^$|rex\.|^(data16|addr32|lock|rep\w*|notrack|[c-g]s|jmpw|jmpw|callw|rex)( |$)|%db")
# Read a register, or write to what is not the last operand.
READS = re.compile(r"^(cmp|test|push|call|jmp|bt |nop|ud|mov\w* .*,[^,%]*\(|xchg.*\))")


def instructions(path):
    for line in output_of("objdump", "-d", "--insn-width=16", path).splitlines():
        m = LINE.match(line)
        # fwait and what follows are one line
        if m and not m.group(2).startswith("9b") and not ODD.search(m.group(3)):
            yield m.group(2).replace(" ", ""), m.group(3)


def is_wrong(text, size, answer):
    """Why our answer is not objdump's, or None."""
    if answer == "bad":
        return "unknown"
    got, op = (int(x) for x in answer.split()[:2])
    name = re.sub(r"^(bnd|notrack) ", "", text).split()[0]
    if got != size:
        return f"{got} bytes, not {size}"
    if name in BY_NAME and op != BY_NAME[name]:
        return f"op {op}"
    target = text.split(" <")[0]
    if name.startswith("j") and "*" not in target and op not in (JMP, JMP_IF):
        return f"no jump: {op}"
    if name == "call" and op != (CALL_INDIRECT if "*" in target else CALL):
        return f"no call: {op}"
    if re.search(r",%rsp$", text) and op == OTHER and not READS.match(text):
        return "sp is not followed"
    return None


def check_insns(tap, path):
    seen = dict(zip(*zip(*instructions(path)))) if path else {}
    seen = dict(sorted(seen.items())[:MAX_INSNS])
    wrong = []
    for (code, text), answer in zip(seen.items(), ask(["insns"], seen)):
        why = is_wrong(text, len(code) // 2, answer)
        if why:
            wrong.append(f"{code} {text}: {why}")
    for line in wrong[:10]:
        print(f"# {line}")
    name = path.rsplit("/", 1)[-1]
    tap.ok(not wrong, f"{name}: {len(seen)} instructions, {len(wrong)} read otherwise")


def check_exits(tap, path):
    text = output_of(HELPER, "exits", path)
    print("".join(f"# {line.lstrip('# ')}\n" for line in text.splitlines()), end="")
    same, _, other, silent = (int(x) for x in re.findall(r"(\d+) \w+[,:]", text.splitlines()[-1]))
    name = path.rsplit("/", 1)[-1]
    # Behind a call that does not return they run into what is not theirs; a walk would see that.
    tap.ok(same > 0 and other <= 0.05 * (same + other),
           f"{name}: {same} exits as the file says, {other} otherwise, {silent} silent")


def main():
    tap = Tap()
    need(tap, "objdump")
    if platform.machine() != "x86_64":
        tap.skip("needs files of x86-64")
        tap.done()
    for path in binaries():
        check_insns(tap, path)
        check_exits(tap, path)
    tap.done()


main()
