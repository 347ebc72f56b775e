#!/usr/bin/env python3
"""Tests of the analysis of machine code, on short programs with and without leaks."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "gpu_model"))
import cubin
import dataflow
import memory
import sass
import values

PARAMETERS = 0x210
IN, OUT, MESSAGES, KEYS, SCRATCH = (PARAMETERS + at for at in (0, 8, 16, 40, 48))
COUNT, TILES = PARAMETERS + 24, PARAMETERS + 32


def function(text, name="ecb_encrypt", parameter_bytes=68):
    """An entry from lines as nvdisasm prints them; `name:` is a label. `;` ends a line, too."""
    instructions, labels = [], {}
    for line in filter(None, map(str.strip, text.replace(";", "\n").splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = f"{16 * len(instructions):#x}"
            continue
        guard, line = line.split(None, 1) if line.startswith("@") else ("", line)
        opcode, _, operands = line.partition(" ")
        fields = {"opcode": opcode, "operands": operands.replace(" ", "")}
        if guard:
            fields["predicate"] = guard
        instructions.append(fields)
    for fields in instructions:
        if fields["opcode"] in ("BRA", "BSSY", "CALL.REL.NOINC"):
            *rest, target = fields["operands"].split(",")
            fields["operands"] = ",".join([*rest, labels[target]])
    return cubin.Function(name, instructions, PARAMETERS, parameter_bytes, {}, b"", 0, 0, {})


def findings(text, secret_counter=False, **of_function):
    entry = function(text, **of_function)
    found = dataflow.Analysis(entry, memory.Memory(entry, secret_counter)).run().findings
    return [finding.what for finding in sorted(found, key=lambda finding: finding.at)]


def load(pointer, register="R4"):
    """Loads the first word that a parameter points to."""
    return f"LDC.64 R2, c[0x0][{pointer:#x}]; LDG.E {register}, desc[UR4][R2.64]"


def branch_on(register):
    """Ends, and where a register is not zero does so earlier."""
    return f"ISETP.NE.AND P6, PT, {register}, RZ, PT; @P6 EXIT; EXIT"


def store_at(offset, condition):
    """Adds a register to the pointer to the output and stores there, if the condition holds."""
    return f"""
        LDC.64 R6, c[0x0][{OUT:#x}]
        {condition} IADD3 R10, P2, {offset}, R6, RZ
        {condition} IMAD.X R11, RZ, RZ, R7, P2
        {condition} STG.E desc[UR4][R10.64], RZ
        EXIT
        """


STACK = "LDC R1, c[0x0][0x28]; VIADD R1, R1, 0xfffffff0"
P0_FROM_R4 = "ISETP.NE.AND P0, PT, R4, RZ, PT"
BRANCH, ADDRESS = ["secret branch"], ["secret address"]


class Case(unittest.TestCase):
    def check(self, expected, *texts, **of_function):
        text = "\n".join(texts)
        with self.subTest(text):
            self.assertEqual(findings(text, **of_function), expected)


class Secrets(Case):
    def test_decide_branches(self):
        branch = f"{P0_FROM_R4}; @P0 BRA end; NOP; end:; EXIT"
        for pointer in (IN, OUT, KEYS, SCRATCH):
            self.check(BRANCH, load(pointer), branch)
        self.check([], load(MESSAGES), branch)
        # Whether a thread exits.
        self.check(BRANCH, load(IN), "LOP3.LUT P0, RZ, R4, 0x1, RZ, 0xc0, !PT; @!P0 EXIT; EXIT")
        # The last argument, `single`.
        single = f"LDC R4, c[0x0][{PARAMETERS + 68:#x}]"
        self.check(BRANCH, single, branch_on("R4"), parameter_bytes=548)

    def test_are_addresses(self):
        text = """
            LDC.64 R6, c[0x0][0x218]
            IMAD.WIDE.U32 R6, R4, 0x4, R6
            LDG.E R8, desc[UR4][R6.64]
            STG.E desc[UR4][R6.64], RZ
            LDS R8, [R4+0x400]
            STS [R4], R8
            LDC R9, c[0x3][R4]
            EXIT
            """
        self.check(ADDRESS * 5, load(IN), text)
        self.check(ADDRESS, load(IN), "R2UR UR6, R4; IADD3 R8, RZ, c[0x3][UR6], RZ; EXIT")
        # The upper half of one.
        text = "LDC R6, c[0x0][0x218]; LDG.E R8, desc[UR4][R6.64]; EXIT"
        self.check(ADDRESS, load(IN, "R7"), text)

    def test_are_upper_halves_of_sums(self):
        for kind, upper in (("HI", "R10"), ("WIDE", "R11")):
            sums = f"MOV R8, RZ; IMAD.{kind}.U32 R10, R12, R13, R8"
            self.check(BRANCH, load(IN, "R9"), sums, branch_on(upper))

    def test_decide_whether_memory_is_accessed(self):
        text = """
            LDC.64 R6, c[0x0][0x218]
            ISETP.GE.U32.AND P0, PT, R4, 0x5, PT
            @P0 LDG.E R8, desc[UR4][R6.64]
            @P0 STG.E desc[UR4][R6.64], RZ
            EXIT
            """
        self.check(["secret condition of an access"] * 2, load(IN), text)

    def test_select_values(self):
        text = f"""
            LDC.64 R6, c[0x0][0x218]
            {P0_FROM_R4}
            SEL R9, RZ, 0x1, P0
            @P0 LOP3.LUT R9, R9, R4, RZ, 0x3c, !PT
            """
        self.check([], load(IN), text, "STG.E desc[UR4][R6.64], R9; EXIT")
        self.check(BRANCH, load(IN), f"MOV R9, RZ; {P0_FROM_R4}; @P0 MOV R9, 0x1", branch_on("R9"))

    def test_come_back_from_memory(self):
        for place, expected in (("0x8", BRANCH), ("0x4", [])):
            text = f"STL [R1+0x8], R4; STL [R1+0x4], RZ; LDL R9, [R1+{place}]"
            self.check(expected, STACK, load(IN), text, branch_on("R9"))
        self.check(BRANCH, "LDS R4, [0x10]", branch_on("R4"))

    def test_come_round_a_loop(self):
        text = """
            LDC.64 R2, c[0x0][0x210]
            MOV R4, RZ
            again:
            ISETP.GE.U32.AND P0, PT, R4, 0x10, PT
            @P0 EXIT
            LDG.E R4, desc[UR4][R2.64]
            BRA again
            """
        self.check(BRANCH, text)

    def test_written_to_public_memory(self):
        text = "LDC.64 R6, c[0x0][0x220]; STG.E desc[UR4][R6.64+0x10], R4; EXIT"
        self.check(["secret written to public memory"], load(IN), text)

    def test_in_other_bits_of_a_register(self):
        for bits, expected in (("0x4", []), ("0x6", BRANCH)):
            text = f"""
                LOP3.LUT R4, R4, 0xfffffffb, RZ, 0xc0, !PT
                LOP3.LUT P0, RZ, R4, {bits}, RZ, 0xc0, !PT
                @P0 EXIT
                EXIT
                """
            self.check(expected, load(IN), text)

    def test_in_packed_predicates(self):
        for chosen, expected in (("P0", BRANCH), ("P1", [])):
            text = f"""
                {P0_FROM_R4}
                LDC R5, c[0x0][{COUNT:#x}]
                ISETP.NE.AND P1, PT, R5, RZ, PT
                P2R R6, PR, RZ, 0x3
                NOP
                R2P PR, R6, 0x3
                @{chosen} EXIT
                EXIT
                """
            self.check(expected, load(IN), text)


KEEP, OTHER = "P2R R5, PR, RZ, 0x1", "ISETP.NE.AND P0, PT, R0, RZ, PT"
TEST, BIT = "ISETP.NE.AND P1, PT, R5, RZ, PT", "LOP3.LUT P1, RZ, R5, 0x1, RZ, 0xc0, !PT"
CLEAR_ALL_ELSE = "LOP3.LUT R5, R5, 0xfffffffe, RZ, 0xc0, !PT"
SET_BIT = "@P0 LOP3.LUT R5, R5, 0x1, RZ, 0xfc, !PT"
AGAIN = "ISETP.NE.AND P1, PT, R4, 0x7, PT"


class ConditionalPointers(Case):
    def test_replace_older_secrets(self):
        text = f"""
            {P0_FROM_R4}
            @P0 IMAD R8, R4, 0x10, RZ
            @P0 LDC.64 R6, c[0x0][0x218]
            @P0 IADD3 R8, P1, R8, R6, RZ
            @P0 IMAD.X R9, RZ, RZ, R7, P1
            @P0 STG.E desc[UR4][R8.64], RZ
            EXIT
            """
        self.check([], load(IN, "R8"), load(KEYS, "R9"), load(MESSAGES), text)

    def test_that_the_stack_keeps(self):
        for pointer, expected in ((OUT, []), (COUNT, ADDRESS)):
            text = f"""
                {P0_FROM_R4}
                @P0 LDC.64 R6, c[0x0][{pointer:#x}]
                @P0 STL.64 [R1], R6
                ISETP.NE.AND P1, PT, R4, 0x5, PT
                LDL.64 R10, [R1]
                @P1 STG.E desc[UR4][R10.64], RZ
                EXIT
                """
            stored = "STL [R1], R8; STL [R1+0x4], R8"
            self.check(expected, STACK, load(IN, "R8"), stored, load(MESSAGES), text)

    def check_later(self, expected, *lines, computed="@P0"):
        """An offset replaces a secret under P0, and is added to a pointer when P1 holds."""
        computation = f"""
            ISETP.NE.AND P0, PT, R4, 0x7, PT
            {computed} IMAD R8, R4, 0x10, RZ
            {computed} MOV R9, RZ
            """
        use = """
            @P1 LDC.64 R6, c[0x0][0x218]
            @P1 IADD3 R10, P2, R8, R6, RZ
            @P1 IMAD.X R11, R9, 0x1, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
        loads = (load(IN, "R8"), load(KEYS, "R9"), load(MESSAGES))
        self.check(expected, *loads, computation, *lines, use)

    def test_whose_condition_a_register_has_kept(self):
        moved = TEST.replace("R5", "R12")
        for mask, test in (
            ("0x1", (TEST,)),
            ("0x1", ("MOV R12, R5", moved)),
            ("0x1", ("STL [R1], R5; LDL R12, [R1]", moved)),
            ("0x9", (BIT,)),
        ):
            for kept, expected in ((f"P2R R5, PR, RZ, {mask}", []), ("MOV R5, R4", ADDRESS)):
                self.check_later(expected, "LDC R1, c[0x0][0x28]", kept, OTHER, *test)
        # In one bit, which was cleared before.
        for cleared, bit, expected in (
            ("0xffffffef", "0x10", []),
            ("0xffffffef", "0x20", ADDRESS),
            ("0xffffffff", "0x10", ADDRESS),
        ):
            clear = f"LOP3.LUT R5, R5, {cleared}, RZ, 0xc0, !PT"
            test = BIT.replace("0x1", bit)
            self.check_later(expected, clear, SET_BIT.replace("0x1", "0x10"), OTHER, test)

    def test_whose_condition_may_be_another(self):
        for lines in (
            (KEEP, OTHER, f"@P3 {TEST}"),
            (KEEP, OTHER, f"@P3 {BIT}"),
            (KEEP, OTHER, "@P3 MOV R12, R5", TEST.replace("R5", "R12")),
            (KEEP, OTHER, "@P3 R2P PR, R5, 0x1", KEEP, TEST),
            (KEEP, OTHER, TEST.replace("AND", "OR")),
            (KEEP, OTHER, TEST.replace("NE", "EQ")),
            (
                "P2R R12, PR, RZ, 0x9; IMAD.MOV.U32 R5, RZ, RZ, -R12",
                OTHER,
                BIT.replace("0x1", "0x2"),
            ),
            # Two bits, of which one is not known any more.
            ("P2R R5, PR, RZ, 0x5; IADD3 R12, P2, R0, R0, RZ", OTHER, TEST),
            ("P2R R5, PR, RZ, 0x9", OTHER, TEST),
            (KEEP, "LOP3.LUT R5, R5, 0x2, RZ, 0xfc, !PT", OTHER, TEST),
            (KEEP, "@P3 BRA skip; P2R R5, PR, RZ, 0x9; skip:", OTHER, TEST),
            (CLEAR_ALL_ELSE.replace("R5, R5", "R5, R4"), SET_BIT, OTHER, TEST),
            (f"@P3 {CLEAR_ALL_ELSE}", SET_BIT, OTHER, BIT),
        ):
            self.check_later(ADDRESS, *lines)

    def test_whose_condition_is_computed_again(self):
        self.check_later([], AGAIN)
        self.check_later(ADDRESS, "IADD3 R4, R4, 0x1, RZ", AGAIN)
        self.check_later(ADDRESS, AGAIN.replace("NE", "EQ"))
        self.check_later(ADDRESS, AGAIN.replace("0x7", "0x8"))
        self.check_later(ADDRESS, AGAIN, computed="@!P0")
        # After a secret has replaced the offset again.
        self.check_later(ADDRESS, load(IN, "R8"), AGAIN)

    def test_whose_condition_a_routine_computes_twice(self):
        routine = f"routine:; {P0_FROM_R4}; RET.REL.NODEC R20, 0x0"
        for call, expected in (("NOP", []), ("CALL.REL.NOINC routine", ADDRESS)):
            text = f"""
                MOV R20, 0x60
                CALL.REL.NOINC routine
                @P0 MOV R8, RZ
                IADD3 R4, R4, 0x1, RZ
                MOV R20, 0xa0
                {call}
                """
            store = store_at("R8", "@P0")
            self.check(expected, load(IN, "R8"), load(MESSAGES), text, store, routine)

    def test_whose_condition_changes(self):
        """An offset that may have replaced a secret is added to a pointer if P0 holds."""
        carry = "IADD3 R5, P0, R4, R4, RZ; @P0 MOV R8, RZ"
        one_way = f"{P0_FROM_R4}; @P0 MOV R8, RZ; @P1 BRA skip; LDC.64 R2, c[0x0][0x210];"
        for expected, text in (
            ([], carry),
            (ADDRESS, f"{carry}; IADD3 R5, P0, R5, R4, RZ"),
            ([], f"{one_way} skip:"),
            (ADDRESS, f"{one_way} ISETP.NE.AND P0, PT, R4, 0x5, PT; skip:"),
            (ADDRESS, f"{one_way} LDG.E R8, desc[UR4][R2.64]; skip:"),
        ):
            self.check(expected, load(IN, "R8"), load(MESSAGES), text, store_at("R8", "@P0"))

    def test_whose_condition_changes_in_a_loop(self):
        use = f"""
            {TEST}
            @P1 IADD3 R10, P2, R8, R6, RZ
            @P1 IMAD.X R11, RZ, RZ, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            """
        replaced = "LDG.E R8, desc[UR4][R2.64]; @P0 MOV R8, RZ"
        for expected, first, last in (
            ([], replaced, use),
            ([], "", f"{replaced}\n{use}"),
            (ADDRESS, "", f"{use}\n{replaced}"),  # P0 of this round, and R8 of the last one
        ):
            text = f"""
                LDC.64 R2, c[0x0][{IN:#x}]
                LDC.64 R12, c[0x0][{MESSAGES:#x}]
                LDC.64 R6, c[0x0][{OUT:#x}]
                P2R R5, PR, RZ, 0x0
                again:
                LDG.E R4, desc[UR4][R12.64]
                {P0_FROM_R4}
                {first}
                {KEEP}
                {last}
                IADD3 R12, R12, 0x40, RZ
                BRA again
                """
            self.check(expected, text)


class PairsOfRegisters(Case):
    def test_keep_their_secrets(self):
        def check(expected, line, secret, result):
            zeros = "MOV R4, RZ; MOV R5, RZ; MOV R8, RZ; MOV R9, RZ"
            self.check(expected, zeros, load(IN, secret), line, branch_on(result))

        for line in (
            "IADD.64 R8, R4, R6",
            "IADD.64 R8, R6, -R4",
            "SEL.64 R8, R4, R6, P1",
            "SEL.64 R8, R4, -0x1, P1",
            "IMNMX.U64 PT, PT, R8, R4, R6, !PT, !PT",
        ):
            for secret, result in (("R4", "R9"), ("R4", "R8"), ("R5", "R9")):
                check(BRANCH, line, secret, result)
        check(BRANCH, "MOV.64 R8, R4", "R4", "R8")
        check([], "MOV.64 R8, R4", "R4", "R9")
        check(BRANCH, "MOV.64 R8, R4", "R5", "R9")

    def test_are_compared_whole(self):
        for secret, expected in (("R4", BRANCH), ("R5", BRANCH), ("R10", [])):
            for kind in ("GE.U64", "NE.S64"):
                text = f"ISETP.{kind}.AND P0, PT, R4, RZ, PT; @P0 EXIT; EXIT"
                self.check(expected, load(IN, secret), text)


class OtherThreads(Case):
    def test_have_other_conditions(self):
        for line in ("VOTE.ANY R9, PT, P1", "R2UR R9, R8", "BMMA.88128.AND.POPC R9, R8, R4, R16"):
            text = f"{P0_FROM_R4}; @P0 MOV R8, RZ; ISETP.NE.AND P1, PT, R8, RZ, PT; {line}"
            store = store_at("R9", "@P0")
            found = findings("\n".join([load(IN, "R8"), load(MESSAGES), text, store]))
            self.assertIn("secret address", found, line)


class MeetingPoints(Case):
    def test_under_conditions(self):
        secret = "ISETP.NE.AND P1, PT, R4, RZ, PT;"
        public = "ISETP.NE.AND P0, PT, R5, RZ, PT;"
        for text in (
            f"{secret} {public} BSSY B0, end; @P0 BSYNC B0; @P1 EXIT; end:; EXIT",
            f"{secret} BSSY B0, end; @P1 BSYNC B0; end:; EXIT",
            f"{secret} {public} BSSY B0, a; @P0 BSSY B0, end; BSYNC B0; a:; @P1 EXIT; end:; EXIT",
        ):
            self.check(BRANCH, load(IN), text)


class Calls(Case):
    @staticmethod
    def text(given="0x50", back="0x50", result="RZ"):
        return f"""
            MOV R20, {given}
            MOV R4, RZ
            CALL.REL.NOINC routine
            {branch_on("R4")}
            routine:
            MOV R4, {result}
            MOV R20, {back}
            RET.REL.NODEC R20, 0x0
            """

    def test_return_to_where_a_register_says(self):
        self.check([], load(IN, "R9"), self.text())
        self.check(BRANCH, load(IN, "R9"), self.text(result="R9"))
        for given, back in (("0x60", "0x60"), ("0x50", "RZ")):
            with self.assertRaisesRegex(sass.Unknown, "returns to an unknown place"):
                findings(load(IN, "R9") + ";" + self.text(given, back))

    def test_without_a_place_to_return_to_are_branches(self):
        text = f"""
            LDC R3, c[0x0][{COUNT:#x}]
            MOV R4, RZ
            again:
            IADD3 R3, R3, 0x1, RZ
            ISETP.NE.AND P0, PT, R3, RZ, PT
            @P0 CALL.REL.NOINC out
            BRA again
            out:
            IADD3 R5, R5, 0x1, RZ
            ISETP.NE.AND P1, PT, R5, RZ, PT
            @P1 BRA again
            """
        self.check(BRANCH, load(IN, "R9"), text, branch_on("R9"))


class Messages(Case):
    place = f"LDC.64 R2, c[0x0][{MESSAGES:#x}]; IMAD.WIDE.U32 R2, R0, 0x40, R2"

    def test_have_secret_counters_only(self):
        for at in range(0, 64, 4):
            text = f"{self.place}; LDG.E R4, desc[UR4][R2.64+{at:#x}]"
            expected = BRANCH if 40 <= at < 56 else []
            self.check(expected, text, branch_on("R4"), secret_counter=True)
            self.check([], text, branch_on("R4"))

    def test_say_that_a_counter_is_secret(self):
        for flag, expected in (("0x4", []), ("0x2", BRANCH)):
            text = f"""
                {self.place}
                LDG.E R4, desc[UR4][R2.64+0x24]
                LOP3.LUT P0, RZ, R4, {flag}, RZ, 0xc0, !PT
                @P0 BRA end
                LDG.E R5, desc[UR4][R2.64+0x28]
                ISETP.NE.AND P1, PT, R5, RZ, PT
                @P1 EXIT
                end:
                EXIT
                """
            self.check(expected, text, secret_counter=True)


class EndsOfMessages(Case):
    def test_have_secret_addends_only_and_are_read_by_two_entries_only(self):
        for at in range(0, 64, 4):
            text = f"""
                LDC R4, c[0x0][{COUNT:#x}]
                LDC R5, c[0x0][{TILES:#x}]
                LDC.64 R2, c[0x0][{SCRATCH:#x}]
                IADD3 R4, R4, R5, RZ
                IMAD.WIDE.U32 R2, R4, 0x10, R2
                IMAD.WIDE.U32 R2, R0, 0x40, R2
                LDG.E R4, desc[UR4][R2.64+{at:#x}]
                """
            expected = BRANCH if at >= 48 else []
            self.check(expected, text, branch_on("R4"), name="gcm_finish")
            self.check(BRANCH, text, branch_on("R4"), name="ghash")

    def test_have_public_verdicts_after_the_barrier(self):
        barrier = "BAR.SYNC.DEFER_BLOCKING 0x0"
        for name, before, place, expected in (
            ("gcm_finish", barrier, "R2.64", []),
            ("ghash_join", barrier, "R2.64", BRANCH),
            ("gcm_finish", "NOP", "R2.64", BRANCH),
            ("gcm_finish", barrier, "R2.64+0x4", BRANCH),
            # One that not all threads reach.
            ("gcm_finish", f"ISETP.NE.AND P2, PT, R0, 0x5, PT; @P2 {barrier}", "R2.64", BRANCH),
        ):
            text = f"""
                LDC.64 R2, c[0x0][{SCRATCH:#x}]
                IMAD.WIDE.U32 R2, R0, 0x10, R2
                {before}
                LDG.E R4, desc[UR4][{place}]
                """
            self.check(expected, text, branch_on("R4"), name=name)


class Analysis(unittest.TestCase):
    def test_refuses_what_it_does_not_know(self):
        for line in (
            "SHFL.BFLY PT, R4, R4, 0x1, 0x1f",
            "ATOMG.E.ADD R4, [R2.64], R5",
            "BRX R2",
            "LEA.64 R2, R4, R6, 0x4",
            "IMAD.WIDE.U64 R2, R4, R6, R8",
            "LDL.U8 R2, [R1]",
            "P2R.B1 R2, PR, RZ, 0x1",
        ):
            with self.assertRaises(sass.Unknown):
                findings(f"{line}\nEXIT")

    def test_knows_the_logic_of_three_operands(self):
        a, b, c = values.constant(0xF0), values.constant(0xCC), values.constant(0xAA)
        for table in range(256):
            _, known, bits = values.logic3(a, b, c, table)
            self.assertEqual((known, bits & 0xFF), (values.ALL, table))

    def test_knows_which_bits_a_secret_reaches(self):
        for other, table, expected in (
            (values.constant(0xFF), 0xC0, (values.SECRET, 0xFFFFFF00, 0)),
            (values.constant(0xFF), 0x3C, (values.SECRET, 0, 0)),
            (values.ZERO, 0xC0, values.ZERO),
        ):
            found = values.logic3(values.SECRET_VALUE, other, values.ZERO, table)
            self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
