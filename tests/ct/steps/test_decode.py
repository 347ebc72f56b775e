#!/usr/bin/env python3
"""Tests of decode.py: the addresses of instructions whose meaning the manuals state."""

import unittest

from decode import NONE, SIGNED32, UNSIGNED32, Address, Arm64Decoder, Refused, X86Decoder

AT = 0x1000
RAX, RCX, RBX, RSP, RBP, RSI, RDI, FS = 0, 1, 3, 4, 5, 6, 7, 16


def sum_of(displacement, *terms):
    """`terms` are registers, or tuples of a register, a factor and an extension."""
    return Address(
        displacement, tuple(term if isinstance(term, tuple) else (term, 1, NONE) for term in terms)
    )


class Decode(unittest.TestCase):
    def check(self, decoder, *cases):
        for code, text, expected in cases:
            with self.subTest(text):
                code = bytes.fromhex(code)
                self.assertEqual(decoder.text(code, AT).strip(), text)
                self.assertEqual(decoder.addresses(code, AT), expected)

    def check_refused(self, decoder, *codes):
        for code in codes:
            with self.subTest(code), self.assertRaises(Refused):
                decoder.addresses(bytes.fromhex(code), AT)

    def test_x86_operands_give_their_addresses(self):
        self.check(
            X86Decoder(),
            ("488b44cb10", "mov rax, qword ptr [rbx + rcx*8 + 0x10]",
             [sum_of(0x10, RBX, (RCX, 8, NONE))]),
            ("488b0510000000", "mov rax, qword ptr [rip + 0x10]", [sum_of(AT + 7 + 0x10)]),
            ("64488b042528000000", "mov rax, qword ptr fs:[0x28]", [sum_of(0x28, FS)]),
            ("62f27d48dc4001", "vaesenc zmm0, zmm0, zmmword ptr [rax + 0x40]",
             [sum_of(0x40, RAX)]),
            ("62f37d48440000", "vpclmulqdq zmm0, zmm0, zmmword ptr [rax], 0", [sum_of(0, RAX)]),
            ("0f184040", "prefetchnta byte ptr [rax + 0x40]", [sum_of(0x40, RAX)]),
            ("488d44cb10", "lea rax, [rbx + rcx*8 + 0x10]", []),
            ("0f1f440000", "nop dword ptr [rax + rax]", []),
            ("4801d8", "add rax, rbx", []),
            ("cc", "int3", None),
        )

    def test_x86_hidden_operands_give_their_addresses(self):
        self.check(
            X86Decoder(),
            ("53", "push rbx", [sum_of(-8, RSP)]),
            ("ff30", "push qword ptr [rax]", [sum_of(0, RAX), sum_of(-8, RSP)]),
            ("5b", "pop rbx", [sum_of(0, RSP)]),
            ("c3", "ret", [sum_of(0, RSP)]),
            ("c9", "leave", [sum_of(0, RBP)]),
            ("ff5008", "call qword ptr [rax + 8]", [sum_of(8, RAX), sum_of(-8, RSP)]),
            ("f3aa", "rep stosb byte ptr [rdi], al", [sum_of(0, RDI)]),
            ("f3a4", "rep movsb byte ptr [rdi], byte ptr [rsi]",
             [sum_of(0, RDI), sum_of(0, RSI)]),
            # A mask belongs to the address.
            ("62f17f496f07", "vmovdqu8 zmm0 {k1}, zmmword ptr [rdi]",
             [sum_of(0, RDI), sum_of(0, 18 + 1)]),
        )

    def test_unknown_addresses_are_refused(self):
        self.check_refused(
            X86Decoder(),
            "c4e2719004c8",  # vpgatherdd xmm0, dword ptr [rax + xmm1*8], xmm1
            "62f27d49900487",  # vpgatherdd zmm0 {k1}, zmmword ptr [rdi + zmm0*4]
            "0ff7c1",  # maskmovq
            "c4e2718e00",  # vpmaskmovd xmmword ptr [rax], xmm1, xmm0
            "678b00",  # mov eax, dword ptr [eax]
            "d7",  # xlatb
            "0f05",  # syscall
            "06",  # not an instruction
        )
        self.check_refused(
            Arm64Decoder(),
            "207c5fc8",  # ldxr x0, [x1]
            "010000d4",  # svc #0
            "00a000a4",  # ld1b {z0.b}, p0/z, [x0]
        )

    def test_arm64_operands_give_their_addresses(self):
        self.check(
            Arm64Decoder(),
            ("208440f8", "ldr x0, [x1], #8", [sum_of(0, 1)]),
            ("208c40f8", "ldr x0, [x1, #8]!", [sum_of(8, 1)]),
            ("2078e23c", "ldr q0, [x1, x2, lsl #4]", [sum_of(0, 1, (2, 16, NONE))]),
            ("20d862b8", "ldr w0, [x1, w2, sxtw #2]", [sum_of(0, 1, (2, 4, SIGNED32))]),
            ("204862b8", "ldr w0, [x1, w2, uxtw]", [sum_of(0, 1, (2, 1, UNSIGNED32))]),
            ("e007bfad", "stp q0, q1, [sp, #-0x20]!", [sum_of(-32, 31)]),
            ("e007c1a8", "ldp x0, x1, [sp], #0x10", [sum_of(0, 31)]),
            ("00020058", "ldr x0, #0x1040", [sum_of(AT + 0x40)]),
            ("6020df4c", "ld1 {v0.16b, v1.16b, v2.16b, v3.16b}, [x3], #64", [sum_of(0, 3)]),
            ("25740bd5", "dc zva, x5", [sum_of(0, 5)]),
            ("2000024e", "tbl v0.16b, {v1.16b}, v2.16b", []),
            ("200c02ce", "eor3 v0.16b, v1.16b, v2.16b, v3.16b", []),
            ("c0035fd6", "ret", []),
            ("000020d4", "brk #0", None),
        )


if __name__ == "__main__":
    unittest.main()
